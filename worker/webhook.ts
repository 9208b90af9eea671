/**
 * `/hook`: a push is acted on at once instead of at the next look. The port is open to anybody: nothing of a request is believed before
 * its proof, nothing of it is logged, and all that it can bring about is that Fairlead looks at the repository itself.
 */

import { readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';

import type { Logger } from 'pino';

import type { Repository } from '../git/repositories.ts';
import { toMessage } from '../kubernetes/api-error.ts';
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
/** Bodies in memory at a time. */
const MOST_AT_ONCE = 16;
/**
 * Of one address, which may be that of an ingress and stand for everybody: a token is a proof to be looked for in 64 kB or less. What a
 * wrong secret costs leaves room for the right ones beside it: sixteen of them a second are borne.
 */
const FLOOD = { burst: 300, perSecond: 100, addresses: 1_000 };
/** Bytes of a body for each token. */
const TOKEN_BYTES = 64 * 1024;
/** Tokens, beside those of the body. All repositories were asked, and their secrets read. */
const COST_OF_FAILURE = 5;
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
  #atOnce = 0;

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
    this.#answer(request, path, from).then(
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
    if (!this.#flood.take(from, costOf(bytes))) return refusal(429, 'too many requests', 'limited');
    if (bytes > LARGEST_BODY) return TOO_LARGE;
    if (this.#atOnce >= MOST_AT_ONCE) return refusal(503, 'too many requests at once', 'limited');
    this.#atOnce += 1;
    try {
      const body = await readBody(request);
      if (body === 'aborted') return refusal(400, 'the body did not arrive', 'aborted');
      if (body === 'too large') return TOO_LARGE;
      const sender = senderOf(request.headers);
      const name = path === '/hook' ? undefined : path.slice('/hook/'.length);
      const named = taking.filter((one) => name === undefined || one.name === name);
      const trusting = sender === undefined ? [] : await this.#trusting(sender, body, named);
      if (sender === undefined || trusting.length === 0) {
        this.#flood.take(from, COST_OF_FAILURE);
        return refusal(401, 'no valid signature or token', 'unauthorized');
      }
      return this.#accept(sender, request, body, trusting, name !== undefined);
    } finally {
      this.#atOnce -= 1;
    }
  }

  /** The repositories whose secret the sender knows. All are tried: how long that takes tells nothing. */
  async #trusting(
    sender: Sender,
    body: Buffer,
    repositories: readonly Repository[],
  ): Promise<readonly Repository[]> {
    const candidates = await Promise.all(repositories.map((one) => this.#candidate(one)));
    return candidates.flatMap((candidate) =>
      candidate !== undefined && sender.proves(candidate.secret, body) ? [candidate.repository] : [],
    );
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
    // Whoever sends on after a refusal is not listened to.
    const isOver = request.complete;
    response.once('finish', () => {
      if (!isOver) request.destroy();
    });
    response
      .writeHead(status, {
        'content-type': 'text/plain',
        ...(status === 429 && { 'retry-after': '10' }),
        ...(!isOver && { connection: 'close' }),
      })
      .end(`${text}\n`);
  }

  /** A flood of requests must not become a flood of lines. */
  #warn(kind: string, fields: object, message: string): void {
    const last = this.#warned.get(kind);
    const isNews = last === undefined || this.#now() - last >= WARN_EVERY_MS;
    if (isNews) this.#warned.set(kind, this.#now());
    this.#options.log[isNews ? 'warn' : 'debug'](fields, message);
  }
}

const TOO_LARGE: Answer = refusal(413, `a webhook has at most ${LARGEST_BODY} bytes`, 'too_large');

/** Tokens; one that is refused for its length is not read, and costs one. */
function costOf(bytes: number): number {
  return bytes > LARGEST_BODY ? 1 : Math.max(1, Math.ceil(bytes / TOKEN_BYTES));
}

function refusal(status: number, text: string, result: WebhookResult): Answer {
  return { status, text, result };
}

/** The body, as long as it is not too large; the rest of one that is stays unread. */
async function readBody(request: IncomingMessage): Promise<Buffer | 'too large' | 'aborted'> {
  return await new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let size = 0;
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= LARGEST_BODY) {
        chunks.push(chunk);
        return;
      }
      chunks.length = 0;
      request.pause();
      resolve('too large');
    });
    request.once('end', () => resolve(Buffer.concat(chunks)));
    request.on('error', () => resolve('aborted'));
    request.once('close', () => resolve('aborted'));
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
