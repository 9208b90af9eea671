/** The key `notify` of the repositories file: who is told of what becomes of commits. */

import { z } from 'zod';

import type { Receiver } from './notifications.ts';
import type { Source } from './source-url.ts';

const FILE = z.string().min(1).optional();

/** One entry of the list. */
export const ReceiverEntry = z.strictObject({
  type: z.enum(['github', 'gitlab', 'gitea', 'slack', 'webhook']),
  url: z
    .string()
    .regex(/^https?:\/\/[^/@]+(?:\/.*)?$/, 'an http(s) address without credentials')
    .optional(),
  api: z
    .string()
    .regex(
      /^(?:https:\/\/|http:\/\/(?:127\.0\.0\.1|localhost)[:/])[^@]*[^/]$/,
      'an https address without credentials and a last /',
    )
    .optional(),
  urlFile: FILE,
  tokenFile: FILE,
  secretFile: FILE,
  caFile: FILE,
});

const NEEDED = {
  github: ['tokenFile'],
  gitlab: ['tokenFile'],
  gitea: ['tokenFile'],
  slack: ['urlFile'],
  webhook: ['url', 'secretFile'],
} as const;

const FILES = ['urlFile', 'tokenFile', 'secretFile', 'caFile'] as const;

/**
 * The receivers of a repository, with their files as `resolve` gives them.
 * @returns beside them what is wrong, each naming its field
 */
export function readReceivers(
  entries: readonly z.infer<typeof ReceiverEntry>[],
  source: Source | undefined,
  resolve: (file: string) => string,
): { readonly receivers: readonly Receiver[]; readonly errors: readonly string[] } {
  const errors: string[] = [];
  const receivers = entries.map((entry, index): Receiver => {
    const where = `notify[${index}]`;
    const needed: readonly string[] = NEEDED[entry.type];
    for (const [field, value] of Object.entries({ ...entry })) {
      const allowed =
        field === 'type' || field === 'caFile' || (field === 'api' && needed.includes('tokenFile'));
      if (value !== undefined && !allowed && !needed.includes(field))
        errors.push(`${where}.${field}: is not for ${entry.type}`);
    }
    for (const field of NEEDED[entry.type])
      if (entry[field] === undefined) errors.push(`${where}.${field}: is needed for ${entry.type}`);
    if (needed.includes('tokenFile') && source?.kind === 'local')
      errors.push(`${where}: a local repository has no commit status`);
    const number = entries.slice(0, index).filter(({ type }) => type === entry.type).length + 1;
    const files = FILES.flatMap((field) => {
      const file = entry[field];
      return file === undefined ? [] : [[field, resolve(file)] as const];
    });
    return {
      id: number === 1 ? entry.type : `${entry.type}-${number}`,
      type: entry.type,
      ...(entry.url !== undefined && { url: entry.url }),
      ...(entry.api !== undefined && { api: entry.api }),
      ...Object.fromEntries(files),
    };
  });
  return { receivers, errors };
}
