/** The repositories file: which repositories a worker follows, and how (design §2). */

import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import { z } from 'zod';
import { ConfigurationError } from '../kubernetes/configuration-error.ts';
import { shownOnOneLine } from '../kubernetes/safe-text.ts';
import { asRecord } from '../kubernetes/values.ts';
import { MAKE_KEY, scanHost } from './credentials.ts';
import type { Signers, SourceFiles } from './mirror-options.ts';
import type { Receiver } from './notifications.ts';
import { ReceiverEntry, readReceivers } from './receivers.ts';
import { ProblemError, problemText, quotedName } from './problems.ts';
import { checkPath, checkRef, parseSource } from './source-url.ts';
import type { Source } from './source-url.ts';
import { readYaml } from './yaml.ts';
import { findFieldLine } from './field-line.ts';
import { SourceText } from './source-text.ts';

/** One repository, with every default filled in. */
export interface Repository extends SourceFiles, Signers {
  /** Unique in the worker; part of workflow ids, labels and the name of the inventory. */
  readonly name: string;
  /** https or ssh URL, or an absolute local path. */
  readonly url: string;
  /** Branch, tag, full name (`refs/…`) or full sha; absent: the remote's HEAD. */
  readonly ref?: string;
  /** User name for https, with {@link SourceFiles.tokenFile}. */
  readonly username?: string | undefined;
  /** Folder (or file) with the manifests; `''` is the root. */
  readonly path: string;
  /** For objects whose manifest names none. */
  readonly namespace: string;
  /** User to impersonate when objects are written: `system:serviceaccount:<namespace>:<name>`. Absent: the worker itself. */
  readonly impersonate?: string;
  /** Seconds between two looks. @default 30; 2 for a local path */
  readonly intervalSeconds: number;
  readonly prune: boolean;
  /** What was changed in the cluster is put back. @default false */
  readonly heal?: boolean | undefined;
  /** File with the secret of its webhooks; absent: it takes none. */
  readonly webhookSecretFile?: string | undefined;
  /** Who is told of what becomes of its commits. @default nobody */
  readonly notify?: readonly Receiver[] | undefined;
}

/** Seconds. Looking at a local repository costs two short processes and nobody's server. */
const INTERVAL = 30;
const LOCAL_INTERVAL = 2;

/** What a repository may be called. */
export const DNS_LABEL = /^[a-z0-9](?:[-a-z0-9]{0,48}[a-z0-9])?$/;
const DNS_SUBDOMAIN = /^[a-z0-9](?:[-.a-z0-9]{0,251}[a-z0-9])?$/;

const LABEL_CHARACTERS = 'lower-case letters, digits and "-"';
const NAMESPACE = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;

/** A text that is a name: what is wrong is told with what was written. */
function nameLike(pattern: RegExp, what: string) {
  return z.string().regex(pattern, {
    error: ({ input }) => `${quotedName(String(input))} is not ${what}`,
  });
}

/** What `url` has to be. */
const URL_WANTED = 'an https:// or ssh:// URL, or a path';

const Entry = z.strictObject({
  name: nameLike(DNS_LABEL, `a name: ${LABEL_CHARACTERS}, at most 50 of them`).optional(),
  url: z
    .string({ error: ({ input }) => (input === undefined ? `is missing: ${URL_WANTED}` : undefined) })
    .min(1, `is empty: ${URL_WANTED}`),
  ref: z.string().min(1).optional(),
  path: z.string().optional(),
  namespace: nameLike(
    NAMESPACE,
    `the name of a namespace: ${LABEL_CHARACTERS}, at most 63 of them`,
  ).optional(),
  serviceAccount: z
    .string()
    .refine(
      (text) => text.split('/').every((part) => DNS_SUBDOMAIN.test(part)) && text.split('/').length <= 2,
      {
        message: 'NAME or NAMESPACE/NAME of a ServiceAccount, not empty',
      },
    )
    .optional(),
  interval: z
    .union([z.string(), z.number()])
    .transform((value, context) => {
      const seconds = parseInterval(value);
      if (seconds !== undefined) return seconds;
      context.addIssue({ code: 'custom', message: 'a duration from 1s to 24h, such as 30s, 5m or 1h' });
      return z.NEVER;
    })
    .optional(),
  prune: z.boolean().optional(),
  heal: z.boolean().optional(),
  username: z
    .string()
    .regex(/^[^\s:\p{Cc}]{1,200}$/u, 'a user name, without ":" and blanks')
    .optional(),
  tokenFile: z.string().min(1).optional(),
  caFile: z.string().min(1).optional(),
  sshKeyFile: z.string().min(1).optional(),
  knownHostsFile: z.string().min(1).optional(),
  webhookSecretFile: z.string().min(1).optional(),
  allowedSignersFile: z.string().min(1).optional(),
  gpgKeysFile: z.string().min(1).optional(),
  notify: z.array(ReceiverEntry).max(10).optional(),
});

/** Thrown with every error of the file, one a line. */
export class RepositoriesError extends ConfigurationError {
  constructor(source: string, errors: readonly string[]) {
    super(`${source}: ${errors.length === 1 ? '' : `${errors.length} errors\n  `}${errors.join('\n  ')}`);
    this.name = 'RepositoriesError';
  }
}

/**
 * Reads a repositories file; relative paths in it are relative to the file.
 * @throws RepositoriesError naming file, entry and field of every error
 */
export async function readRepositories(file: string): Promise<readonly Repository[]> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    throw new RepositoriesError(file, [
      `cannot be read: ${error instanceof Error ? error.message : String(error)}`,
    ]);
  }
  return parseRepositories(text, file);
}

/** @throws RepositoriesError */
export function parseRepositories(text: string, source: string): readonly Repository[] {
  const content = readYaml(text);
  if (content.problems.length > 0) {
    throw new RepositoriesError(
      source,
      content.problems.map((item) => `line ${item.line}: ${item.message}`),
    );
  }
  const [document, second] = content.documents;
  if (document === undefined)
    throw new RepositoriesError(source, ['is empty: it should be a list of repositories, each with a `url`']);
  if (second !== undefined || !Array.isArray(document.value)) {
    throw new RepositoriesError(source, [
      'must be one YAML list of repositories, each beginning with `- url: …`',
    ]);
  }
  const directory = dirname(resolve(source));
  const errors: string[] = [];
  const repositories: Repository[] = [];
  const items: readonly unknown[] = document.value;
  const { lines } = new SourceText(text);
  const lineOf = (item: unknown) =>
    typeof item === 'object' && item !== null ? document.lines.get(item) : undefined;
  for (const [index, item] of items.entries()) {
    const name = asRecord(item)['name'];
    const called = typeof name === 'string' && DNS_LABEL.test(name) ? ` (${name})` : '';
    const first = lineOf(item);
    const end = (lineOf(items[index + 1]) ?? lines.length + 1) - 1;
    const tell = (message: string): void => {
      const line =
        first && (lineOfField(new SourceText(lines.slice(0, end).join('\n')), first, message) ?? first);
      errors.push(`${line === undefined ? '' : `line ${line}: `}entry ${index + 1}${called}: ${message}`);
    };
    const result = toRepository(item, directory);
    if (Array.isArray(result)) result.forEach(tell);
    else if (repositories.some((other) => other.name === result.name))
      tell(`the name ${result.name} is taken by an earlier entry; set \`name\``);
    else repositories.push(result);
  }
  if (errors.length > 0) throw new RepositoriesError(source, errors);
  return repositories;
}

/** Of the field that the message begins with, or of the key that it does not know; undefined: it is not written there. */
function lineOfField(entry: SourceText, line: number, message: string): number | undefined {
  const [, field, unknown] = /^(?:([\w.]+): )?(?:Unrecognized key: "([^"]+)")?/.exec(message) ?? [];
  const path = [field, unknown].filter((part) => part !== undefined).join('.');
  return path === '' ? undefined : findFieldLine(entry, line, path.replaceAll(/\.(\d+)(?=\.|$)/g, '[$1]'));
}

/** Longer ones are not kept: they share a ConfigMap with what was seen of each repository. */
const MOST_KEPT = 300_000;

/**
 * A list of repositories that can be used, as text for {@link parseRepositories}, to be kept where others may read it: without receivers
 * that are named by their address, which may let whoever knows it write there. Undefined: it is too long.
 */
export function entriesToKeep(text: string): string | undefined {
  const entries: unknown = readYaml(text).documents[0]?.value;
  if (!Array.isArray(entries)) return undefined;
  const kept = JSON.stringify(
    entries.map((entry: unknown) => {
      const { notify, ...others } = asRecord(entry);
      if (!Array.isArray(notify)) return others;
      return { ...others, notify: notify.filter((one: unknown) => asRecord(one)['url'] === undefined) };
    }),
  );
  return kept.length > MOST_KEPT ? undefined : kept;
}

/** What decides how a commit of the repository is applied, in a few characters: the same commit is applied anew when it changes. */
export function settingsOf(repository: Repository): string {
  const { url, path, namespace, impersonate, prune, allowedSignersFile, gpgKeysFile } = repository;
  const signers = [allowedSignersFile ?? '', gpgKeysFile ?? ''];
  const settings = JSON.stringify([url, path, namespace, impersonate ?? '', prune, ...signers]);
  return createHash('sha256').update(settings).digest('hex').slice(0, 16);
}

/** What the flags of `fairlead up` may say. */
export interface RepositoryFlags extends SourceFiles, Signers {
  readonly repo: string;
  readonly name?: string | undefined;
  readonly ref?: string | undefined;
  readonly username?: string | undefined;
  readonly path?: string | undefined;
  readonly namespace?: string | undefined;
  readonly serviceAccount?: string | undefined;
  readonly interval?: string | undefined;
  readonly prune?: boolean | undefined;
  readonly heal?: boolean | undefined;
}

/**
 * One repository from flags: the same keys, the same defaults, relative to the current directory. Other flags are left alone.
 * @throws ConfigurationError naming the flags
 */
export function repositoryFromFlags(flags: RepositoryFlags, directory = process.cwd()): Repository {
  const given = Object.entries(flags).filter(([key, value]) => key in Entry.shape && value !== undefined);
  const result = toRepository({ ...Object.fromEntries<unknown>(given), url: flags.repo }, directory);
  if (!Array.isArray(result)) return result;
  const [first = '', ...others] = result.map(asFlag);
  throw new ConfigurationError([first, ...others.map((message) => `  ${message}`)].join('\n'));
}

/** `serviceAccount: what is wrong` of an entry as `--service-account: what is wrong`. */
function asFlag(message: string): string {
  const [field = ''] = /^[a-zA-Z]+(?=: )/.exec(message) ?? [];
  const flag = field === 'url' || field === '' ? 'repo' : field;
  const rest = message.slice(field === '' ? 0 : field.length + 2);
  return `--${flag.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}: ${rest}`;
}

function toRepository(item: unknown, directory: string): Repository | string[] {
  if (typeof item !== 'object' || item === null || Array.isArray(item))
    return ['must be a mapping with at least `url`'];
  const parsed = Entry.safeParse(item);
  const issues = parsed.error?.issues ?? [];
  const errors = issues.map((issue) => {
    const field = issue.path.join('.');
    // What YAML reads of y, no, on or a number.
    const isUnquoted = /expected string, received (?:boolean|number)/.test(issue.message);
    const quote = isUnquoted ? ': quote the value' : '';
    return `${field === '' ? '' : `${field}: `}${shownOnOneLine(issue.message)}${quote}`;
  });
  const attempt = <T>(field: string, read: () => T): T | undefined => {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof ProblemError)) throw error;
      errors.push(`${field}: ${problemText(error.problem)}`);
      return undefined;
    }
  };
  /** A text that is one. */
  const given = (field: 'url' | 'ref' | 'path'): string | undefined => {
    const value = issues.some((issue) => issue.path[0] === field) ? undefined : asRecord(item)[field];
    return typeof value === 'string' ? value : undefined;
  };
  const [url, named, folder = '.'] = [given('url'), given('ref'), given('path')];
  const source =
    url === undefined ? undefined : attempt('url', () => parseSource(expandHome(url), directory));
  // As git says what is meant without one.
  const ref = named === undefined || named === 'HEAD' ? undefined : attempt('ref', () => checkRef(named));
  const path = attempt('path', () => checkPath(folder));
  if (!parsed.success) return errors;
  const entry = parsed.data;
  const address = source === undefined ? '' : source.kind === 'local' ? source.path : source.url;
  const name = entry.name ?? nameFromUrl(address);
  if (source !== undefined && !DNS_LABEL.test(name))
    errors.push(`name: none can be made of ${address}; set \`name\``);
  if (source !== undefined) errors.push(...misplacedFiles(source, entry));
  if (entry.username !== undefined && entry.tokenFile === undefined)
    errors.push('username: is of use with `tokenFile` alone');
  const { receivers, errors: bad } = readReceivers(entry.notify ?? [], source, (file) =>
    inDirectory(file, directory),
  );
  errors.push(...bad);
  if (errors.length > 0 || path === undefined) return errors;
  const namespace = entry.namespace ?? 'default';
  const { tokenFile, caFile, sshKeyFile, knownHostsFile, webhookSecretFile } = entry;
  const { allowedSignersFile, gpgKeysFile } = entry;
  const signers = { allowedSignersFile, gpgKeysFile };
  const files = { tokenFile, caFile, sshKeyFile, knownHostsFile, webhookSecretFile, ...signers };
  return {
    name,
    url: address,
    ...(ref === undefined ? {} : { ref }),
    ...(entry.username === undefined ? {} : { username: entry.username }),
    path,
    namespace,
    ...(entry.serviceAccount === undefined ? {} : { impersonate: userOf(entry.serviceAccount, namespace) }),
    intervalSeconds: entry.interval ?? (source?.kind === 'local' ? LOCAL_INTERVAL : INTERVAL),
    prune: entry.prune ?? true,
    ...(entry.heal === true && { heal: true }),
    ...(receivers.length > 0 && { notify: receivers }),
    ...Object.fromEntries(
      Object.entries(files).flatMap(([key, value]) =>
        value === undefined ? [] : [[key, inDirectory(value, directory)]],
      ),
    ),
  };
}

/** Files that this kind of address does not use, and those that it cannot do without. */
function misplacedFiles(source: Source, files: SourceFiles): readonly string[] {
  const asked = { https: ['tokenFile', 'caFile'], ssh: ['sshKeyFile', 'knownHostsFile'], local: [] } as const;
  const used: readonly string[] = asked[source.kind];
  const unused = [...asked.https, ...asked.ssh].filter(
    (field) => files[field] !== undefined && !used.includes(field),
  );
  const needed = { sshKeyFile: MAKE_KEY, knownHostsFile: source.kind === 'ssh' ? scanHost(source.host) : '' };
  const missing = source.kind === 'ssh' ? asked.ssh.filter((field) => files[field] === undefined) : [];
  return [
    ...unused.map(
      (field) =>
        `${field}: is not for ${source.kind === 'local' ? 'a local path' : `an ${source.kind} address`}`,
    ),
    ...missing.map((field) => `${field}: is needed for an ssh address. ${needed[field]}`),
  ];
}

function userOf(serviceAccount: string, namespace: string): string {
  const [first = '', second] = serviceAccount.split('/');
  return second === undefined
    ? `system:serviceaccount:${namespace}:${first}`
    : `system:serviceaccount:${first}:${second}`;
}

function nameFromUrl(url: string): string {
  // Also of `git@host:name.git`.
  return (basename(url).split(':').at(-1) ?? '')
    .replace(/\.git$/i, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 50)
    .replace(/^-+|-+$/g, '');
}

/** Seconds of `30s`, `5m`, `1h` or a number of seconds; undefined when it is not one from 1 s to 24 h. */
export function parseInterval(value: string | number): number | undefined {
  const match = /^(\d{1,6})(s|m|h)?$/.exec(String(value));
  if (match === null) return undefined;
  const seconds = Number(match[1]) * ({ s: 1, m: 60, h: 3600 }[match[2] ?? 's'] ?? 1);
  return seconds >= 1 && seconds <= 86_400 ? seconds : undefined;
}

function expandHome(path: string): string {
  return path === '~' || path.startsWith('~/') ? join(homedir(), path.slice(1)) : path;
}

function inDirectory(path: string, directory: string): string {
  const expanded = expandHome(path);
  return isAbsolute(expanded) ? expanded : resolve(directory, expanded);
}
