/**
 * `/hook`: a push is acted on at once instead of at the next look. The port is open to anybody: nothing of a request is believed before
 * its proof, nothing of it is logged, and all that it can bring about is that Fairlead looks at the repository itself.
 */

import { readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setImmediate as yieldToOthers } from 'node:timers/promises';

import type { Logger } from 'pino';

import type { Repository } from '../git/repositories.ts';
import { toMessage } from '../kubernetes/api-error.ts';
import { addressKey } from './address-key.ts';
import { FairPlaces } from './fair-places.ts';
import { FloodLimit } from './flood-limit.ts';
import { concerns, readPush } from './webhook-push.ts';
import type { Sender } from './webhook-sender.ts';
import { senderOf } from './webhook-sender.ts';

/** How a request ended, for metrics. */
export type WebhookResult =
  'accepted' | 'ignored' | 'unauthorized' | 'malformed' | 'too_large' | 'limited' | 'aborted';

export interface WebhookOptions {
  /** Those that are followed now. */
  readonly repositories: () => readonly Repository[];
  /** Somebody who knows its secret says that the repository has a new commit. */
  readonly onPush: (repository: string) => void;
  readonly onResult: (result: WebhookResult) => void;
  readonly log: Pick<Logger, 'info' | 'warn' | 'debug'>;
  /** Milliseconds, of a clock that only goes forward. @default performance.now */
  readonly now?: () => number;
}

/** Bytes. A push of GitHub with its longest list of commits has less; the rest of a body is not needed. */
export const LARGEST_BODY = 1024 * 1024;
/** Bodies that are awaited or in memory at a time. */
const MOST_AT_ONCE = 16;
/** Milliseconds for a body to arrive: it is short, and whoever sends it has it ready. */
const BODY_MS = 2_000;
/**
 * Of one address, which may be that of an ingress and stand for everybody: a token is a proof to be looked for in 64 kB or less, by one
 * secret. What a wrong secret costs leaves room for the right ones beside it: sixteen of them a second are borne where one is looked for.
 */
const FLOOD = { burst: 300, perSecond: 100, addresses: 10_000 };
/** Bytes of a body for each token. */
const TOKEN_BYTES = 64 * 1024;
/** Tokens, beside those of the body. All repositories were asked, and their secrets read. */
const COST_OF_FAILURE = 5;
/** Milliseconds for the rest of a request that is answered already; as long as for a body. */
const LINGER_MS = 2_000;
/** Milliseconds between two looks that webhooks ask for, of one repository. */
const SPACING_MS = 1_000;
/** Milliseconds between two lines of the log about refusals of one kind. */
const WARN_EVERY_MS = 60_000;

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly result: WebhookResult;
}

/** A repository that takes webhooks, with its secret. */
interface Candidate {
  readonly repository: Repository;
  readonly secret: string;
}

export class Webhook {
  readonly #options: WebhookOptions;
  readonly #now: () => number;
  readonly #flood: FloodLimit;
  readonly #warned = new Map<string, number>();
  readonly #passedOn = new Map<string, { at: number; later: NodeJS.Timeout | undefined }>();
  readonly #places = new FairPlaces(MOST_AT_ONCE);

  constructor(options: WebhookOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.#flood = new FloodLimit({ ...FLOOD, now: this.#now });
  }

  /** Whether a path is answered here: `/hook`, or `/hook/NAME` for the entry of that name in the repositories file. */
  static serves(path: string): boolean {
    return path === '/hook' || path.startsWith('/hook/');
  }

  /** Answers a request, whatever it holds. Never throws, and never ends the process. */
  handle(request: IncomingMessage, response: ServerResponse, path: string): void {
    const from = request.socket.remoteAddress ?? '';
    this.#answer(request, path, addressKey(from)).then(
      (answer) => this.#end(request, response, answer, from),
      // Its own words may hold what was sent: only that it happened is told.
      () => this.#end(request, response, refusal(500, 'failed', 'malformed'), from),
    );
  }

  /** Looks that were put off are given up. */
  stop(): void {
    for (const { later } of this.#passedOn.values()) clearTimeout(later);
  }

  async #answer(request: IncomingMessage, path: string, from: string): Promise<Answer> {
    const taking = this.#options.repositories().filter((one) => one.webhookSecretFile !== undefined);
    if (taking.length === 0) return refusal(404, 'no repository here takes webhooks', 'ignored');
    if (request.method !== 'POST') return refusal(405, 'a webhook is a POST', 'malformed');
    const { 'content-length': length } = request.headers;
    // One that does not tell its length may be as long as any.
    const bytes = length === undefined ? LARGEST_BODY : Number(length);
    if (!this.#flood.take(from, costOf(bytes))) return LIMITED;
    if (bytes > LARGEST_BODY) return UNREAD['too large'];
    // Before anything is kept for him: who brings no proof has nothing to wait for.
    const sender = senderOf(request.headers);
    if (sender === undefined) return this.#unauthorized(from);
    const gone = new AbortController();
    const release = this.#places.take(from, () => gone.abort());
    try {
      return await this.#believe(sender, request, { path, from, taking, gone: gone.signal });
    } finally {
      release();
    }
  }

  /** @param asked.gone The request has to give way to others. */
  async #believe(
    sender: Sender,
    request: IncomingMessage,
    asked: {
      readonly path: string;
      readonly from: string;
      readonly taking: readonly Repository[];
      readonly gone: AbortSignal;
    },
  ): Promise<Answer> {
    const { path, from, taking, gone } = asked;
    const name = path === '/hook' ? undefined : path.slice('/hook/'.length);
    const named = taking.filter((one) => name === undefined || one.name === name);
    const known = sender.needsBody ? undefined : await this.#trusting(sender, Buffer.alloc(0), named, from);
    if (known?.length === 0) return this.#unauthorized(from);
    const body = await readBody(request, gone);
    if (!Buffer.isBuffer(body)) return UNREAD[body];
    const trusting = known ?? (await this.#trusting(sender, body, named, from));
    if (trusting === undefined) return LIMITED;
    if (trusting.length === 0) return this.#unauthorized(from);
    return this.#accept(sender, request, body, trusting, name !== undefined);
  }

  #unauthorized(from: string): Answer {
    this.#flood.charge(from, COST_OF_FAILURE);
    return refusal(401, 'no valid signature or token', 'unauthorized');
  }

  /**
   * The repositories whose secret the sender knows; undefined: his address has no tokens left for so many secrets. All are tried: how long
   * that takes tells nothing. Who knows one has them back.
   */
  async #trusting(
    sender: Sender,
    body: Buffer,
    repositories: readonly Repository[],
    from: string,
  ): Promise<readonly Repository[] | undefined> {
    const candidates = (await Promise.all(repositories.map((one) => this.#candidate(one)))).flatMap(
      (candidate) => candidate ?? [],
    );
    const secrets = new Set(candidates.map(({ secret }) => secret));
    // The first is paid for.
    const tokens = Math.floor(((secrets.size - 1) * body.length) / TOKEN_BYTES);
    if (tokens > 0 && !this.#flood.take(from, tokens)) return undefined;
    const proven = new Set<string>();
    for (const secret of secrets) {
      if (sender.proves(secret, body)) proven.add(secret);
      // A body of 1 MiB takes milliseconds for each, and this process has a Lease to renew.
      await yieldToOthers();
    }
    if (tokens > 0 && proven.size > 0) this.#flood.giveBack(from, tokens);
    return candidates.flatMap(({ repository, secret }) => (proven.has(secret) ? [repository] : []));
  }

  /** Read at each request: a secret that was changed counts at once. One that is empty would be everybody's. */
  async #candidate(repository: Repository): Promise<Candidate | undefined> {
    try {
      const secret = (await readFile(repository.webhookSecretFile ?? '', 'utf8')).trim();
      if (secret !== '') return { repository, secret };
      this.#warn(`secret ${repository.name}`, { repository: repository.name }, 'webhookSecretFile is empty');
    } catch (error) {
      const fields = { repository: repository.name, error: toMessage(error) };
      this.#warn(`secret ${repository.name}`, fields, 'webhookSecretFile cannot be read');
    }
    return undefined;
  }

  #accept(
    sender: Sender,
    request: IncomingMessage,
    body: Buffer,
    trusting: readonly Repository[],
    isNamed: boolean,
  ): Answer {
    const content = parseBody(request.headers['content-type'], body);
    if (content === undefined) return refusal(400, 'the body is not JSON', 'malformed');
    const push = readPush(sender, content.value);
    if (push === undefined) return { status: 200, text: 'ignored: this is no push', result: 'ignored' };
    const meant = trusting.filter((repository) => concerns(repository, push, isNamed));
    if (meant.length === 0)
      return { status: 200, text: 'ignored: nothing that is followed was pushed', result: 'ignored' };
    for (const { name } of meant) this.#passOn(name, sender);
    return { status: 202, text: 'accepted', result: 'accepted' };
  }

  /** At once, or as soon as the last look is a second ago: one look is as good as many. */
  #passOn(name: string, sender: Sender): void {
    const now = this.#now();
    const last = this.#passedOn.get(name);
    if (last?.later !== undefined) return;
    const wait = last === undefined ? 0 : last.at + SPACING_MS - now;
    if (wait > 0) {
      const later = setTimeout(() => {
        this.#passedOn.set(name, { at: this.#now(), later: undefined });
        this.#options.onPush(name);
      }, wait);
      later.unref();
      this.#passedOn.set(name, { at: now, later });
      return;
    }
    this.#passedOn.set(name, { at: now, later: undefined });
    this.#options.log.info({ repository: name, sender: sender.name }, 'push announced');
    this.#options.onPush(name);
  }

  #end(request: IncomingMessage, response: ServerResponse, answer: Answer, from: string): void {
    const { status, text, result } = answer;
    this.#options.onResult(result);
    if (status >= 400) this.#warn(result, { from, status }, 'webhook refused');
    response.once('finish', () => this.#linger(request));
    response
      .writeHead(status, { 'content-type': 'text/plain', ...(status === 429 && { 'retry-after': '10' }) })
      .end(`${text}\n`);
  }

  /**
   * Whoever sends on after a refusal is not listened to for long. Not cut off at once: with what is unread the answer would be lost, and
   * a sender that was set up wrongly has to tell its owner why.
   */
  #linger(request: IncomingMessage): void {
    if (request.complete || request.destroyed) return;
    const timer = setTimeout(() => request.destroy(), LINGER_MS);
    timer.unref();
    request.once('close', () => clearTimeout(timer));
    request.resume();
  }

  /** A flood of requests must not become a flood of lines. */
  #warn(kind: string, fields: object, message: string): void {
    const last = this.#warned.get(kind);
    const isNews = last === undefined || this.#now() - last >= WARN_EVERY_MS;
    if (isNews) this.#warned.set(kind, this.#now());
    this.#options.log[isNews ? 'warn' : 'debug'](fields, message);
  }
}

const LIMITED = refusal(429, 'too many requests', 'limited');

/** Why a body was not read to its end. */
type Unread = 'too large' | 'aborted' | 'too slow' | 'gave way';

const UNREAD: Readonly<Record<Unread, Answer>> = {
  'too large': refusal(413, `a webhook has at most ${LARGEST_BODY} bytes`, 'too_large'),
  aborted: refusal(400, 'the body did not arrive', 'aborted'),
  'too slow': refusal(408, `the body did not arrive within ${BODY_MS / 1_000} s`, 'aborted'),
  'gave way': refusal(503, 'too many requests at once', 'limited'),
};

/** Tokens; one that is refused for its length is not read, and costs one. */
function costOf(bytes: number): number {
  return bytes > LARGEST_BODY ? 1 : Math.max(1, Math.ceil(bytes / TOKEN_BYTES));
}

function refusal(status: number, text: string, result: WebhookResult): Answer {
  return { status, text, result };
}

/** The body, as long as it is not too large and comes soon; the rest of one that is not taken stays unread. */
async function readBody(request: IncomingMessage, gone: AbortSignal): Promise<Buffer | Unread> {
  return await new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const end = (result: Buffer | Unread): void => {
      clearTimeout(timer);
      gone.removeEventListener('abort', giveWay);
      request.off('data', onData);
      request.pause();
      resolve(result);
    };
    const giveWay = (): void => end('gave way');
    const timer = setTimeout(() => end('too slow'), BODY_MS);
    gone.addEventListener('abort', giveWay, { once: true });
    const onData = (chunk: Buffer): void => {
      size += chunk.length;
      if (size > LARGEST_BODY) end('too large');
      else chunks.push(chunk);
    };
    request.on('data', onData);
    request.once('end', () => end(Buffer.concat(chunks)));
    request.on('error', () => end('aborted'));
    request.once('close', () => end('aborted'));
    // Before anybody listened.
    if (request.destroyed) end('aborted');
    else if (gone.aborted) giveWay();
  });
}

/** JSON, also in the field `payload` of a form, as GitHub sends it unless told otherwise. Undefined: it is neither. */
function parseBody(contentType: string | undefined, body: Buffer): { readonly value: unknown } | undefined {
  const text = body.toString('utf8');
  const isForm = contentType?.startsWith('application/x-www-form-urlencoded') === true;
  // `curl -d` calls whatever it sends a form.
  const json = isForm ? (new URLSearchParams(text).get('payload') ?? text) : text;
  // A generic one at `/hook/NAME` has nothing more to say.
  if (json === '') return { value: {} };
  try {
    return { value: JSON.parse(json) };
  } catch {
    return undefined;
  }
}
