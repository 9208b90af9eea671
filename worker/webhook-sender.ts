/** Who sends a webhook: told by its headers, believed only when it proves that it knows the repository's secret. */

import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

export type SenderName = 'github' | 'gitlab' | 'gitea' | 'bitbucket' | 'generic';

/** A webhook as its headers describe it. */
export interface Sender {
  readonly name: SenderName;
  /** The sender's own word for what has happened, such as `push` or `Push Hook`; of a generic one always `push`. */
  readonly event: string;
  /** The proof is of the body; else the headers alone are. */
  readonly needsBody: boolean;
  /** Whether the body was sent by one who knows the secret. Takes as long for a wrong proof as for the right one. */
  readonly proves: (secret: string, body: Buffer) => boolean;
}

interface Form {
  readonly name: SenderName;
  /** Headers that hold the event; the first that is there counts. */
  readonly events: readonly string[];
  /** Headers that hold the proof; likewise. */
  readonly proofs: readonly string[];
  readonly by: 'hmac' | 'token';
}

/** Gitea sends GitHub's headers besides its own, so it comes first. SHA-1 signatures are not taken. */
const FORMS: readonly Form[] = [
  {
    name: 'gitea',
    events: ['x-forgejo-event', 'x-gitea-event', 'x-gogs-event'],
    proofs: ['x-forgejo-signature', 'x-gitea-signature', 'x-gogs-signature', 'x-hub-signature-256'],
    by: 'hmac',
  },
  { name: 'github', events: ['x-github-event'], proofs: ['x-hub-signature-256'], by: 'hmac' },
  { name: 'gitlab', events: ['x-gitlab-event'], proofs: ['x-gitlab-token'], by: 'token' },
  { name: 'bitbucket', events: ['x-event-key'], proofs: ['x-hub-signature'], by: 'hmac' },
  { name: 'generic', events: [], proofs: ['x-signature'], by: 'hmac' },
];

/** HMAC-SHA256 in hexadecimal digits, with or without `sha256=` before it. */
const SIGNATURE = /^(?:sha256=)?([0-9a-f]{64})$/i;

/** The sender that the headers name; undefined when they are no known webhook's, or bring nothing that could be a proof. */
export function senderOf(headers: IncomingHttpHeaders): Sender | undefined {
  for (const form of FORMS) {
    const event = form.events.length === 0 ? 'push' : firstOf(headers, form.events);
    if (event === undefined) continue;
    const proof = firstOf(headers, form.proofs);
    if (proof === undefined) return undefined;
    const { name } = form;
    if (form.by === 'token')
      return { name, event, needsBody: false, proves: (secret) => isSameText(proof, secret) };
    const [, digits] = SIGNATURE.exec(proof) ?? [];
    if (digits === undefined) return undefined;
    return {
      name,
      event,
      needsBody: true,
      proves: (secret, body) =>
        timingSafeEqual(Buffer.from(digits, 'hex'), createHmac('sha256', secret).update(body).digest()),
    };
  }
  return undefined;
}

function firstOf(headers: IncomingHttpHeaders, names: readonly string[]): string | undefined {
  const name = names.find((one) => typeof headers[one] === 'string');
  const value = name === undefined ? undefined : headers[name];
  return typeof value === 'string' ? value : undefined;
}

/** By their hashes, which are of one length whatever the texts are. */
function isSameText(one: string, other: string): boolean {
  const hash = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(hash(one), hash(other));
}
