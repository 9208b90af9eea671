/** What becomes of commits, told to others: a commit status at the repository's server, a line in Slack, a signed webhook. */

import { createHmac } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';

import { startDeadline } from '../kubernetes/deadline.ts';
import { errorCode } from '../kubernetes/values.ts';
import type { Repository } from './repositories.ts';
import { shortSha } from './problems.ts';
import { isDistrust, isUnknownAuthority } from './server-certificate.ts';
import { redactUrls, remoteKey } from './source-url.ts';

/** Who is told; secrets are in files, never in the entry. */
export interface Receiver {
  /** Unique in the repository: `slack`, `webhook-2`. */
  readonly id: string;
  readonly type: 'github' | 'gitlab' | 'gitea' | 'slack' | 'webhook';
  /** Of a webhook. */
  readonly url?: string | undefined;
  /** Base of a server's API, where it is not the usual one of its host. */
  readonly api?: string | undefined;
  /** Of Slack: the address is the secret. */
  readonly urlFile?: string | undefined;
  /** Of GitHub, GitLab, Gitea. */
  readonly tokenFile?: string | undefined;
  /** Of a webhook: signs its body. */
  readonly secretFile?: string | undefined;
  readonly caFile?: string | undefined;
}

export interface CommitNews {
  readonly sha: string;
  readonly outcome: 'Pending' | 'Succeeded' | 'Refused' | 'Failed' | 'Superseded' | 'Canceled' | 'Terminated';
  /** What is wrong with it. */
  readonly message?: string;
  /** The same for every try of the same news, as a header of each: a receiver that has seen it leaves it out. */
  readonly delivery: string;
  /** How many news before it, and after the last one that got through, were given up. */
  readonly missed?: number;
}

/** Whose commits the news is about; two clusters that follow one repository tell the same receivers. */
export interface NewsSource extends Pick<Repository, 'name' | 'url'> {
  /** Name of the cluster, `FAIRLEAD_CLUSTER`. */
  readonly cluster: string;
}

/** Milliseconds for one post: what others give a receiver, and less than proxies do. */
const TIMEOUT_MS = 30_000;

/** A receiver answered that it does not take this news, now or later: another try brings the same. */
export class NewsRefusedError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'NewsRefusedError';
  }
}

/** The news was sent, and no answer came: the receiver may have taken it, and each further try may be a double. */
export class NewsUnansweredError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'NewsUnansweredError';
  }
}

/** A receiver answered when it is to be asked again. */
export class NewsPutOffError extends Error {
  readonly retryAfterMs: number;
  constructor(message: string, retryAfterMs: number) {
    super(message);
    this.name = 'NewsPutOffError';
    this.retryAfterMs = retryAfterMs;
  }
}

/** Client errors after which the same request may succeed: slow, in conflict, too early, too many. Redirects are final: none is followed. */
const PASSING_STATUSES: ReadonlySet<number> = new Set([408, 409, 425, 429]);

/** Statuses that may come with `Retry-After` (RFC 9110 §10.2.3, RFC 6585 §4). */
const PUTTING_OFF: ReadonlySet<number> = new Set([429, 503]);

/** A proxy's word for a server behind it that does not answer. */
const GATEWAY_TIMEOUT = 504;

/** When a post is ended; `timeoutMs` in milliseconds. */
export interface PostLimits {
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
}

/**
 * Tells one receiver. Redirects are not followed, and no error holds what is in a file or in an answer.
 * @throws NewsRefusedError; NewsUnansweredError; NewsPutOffError; Error when it may succeed later. All name the receiver and what its server answered
 */
export async function notify(
  receiver: Receiver,
  repository: NewsSource,
  news: CommitNews,
  { signal, timeoutMs = TIMEOUT_MS }: PostLimits = {},
): Promise<void> {
  const who = `${receiver.id} of repository ${repository.name}`;
  const cannot = (why: string) => new Error(`${who} cannot be told: ${why}`);
  const call = await CALLS[receiver.type](receiver, repository, news).catch((error: unknown) => {
    throw cannot(`its secret cannot be read: ${errorCode(error) ?? 'no file'}`);
  });
  const { status, retryAfter } = await post(call, receiver, news.delivery, { signal, timeoutMs }).catch(
    (error: unknown) => {
      // Without the cause: an error of an address quotes it.
      if (signal?.aborted === true) throw cannot('given up');
      const code = errorCode(error);
      const how =
        code === 'ABORT_ERR'
          ? `did not answer within ${String(timeoutMs / 1_000)} s`
          : code === 'ECONNRESET'
            ? 'broke the connection before it answered'
            : undefined;
      throw how === undefined
        ? cannot((code === undefined ? undefined : distrust(code, call.url)) ?? code ?? 'no answer')
        : new NewsUnansweredError(`${who} ${how} (${ANSWER_FIRST})`);
    },
  );
  if (status >= 200 && status <= 299) return;
  const message = `${who} answered with status ${status}`;
  if (status === GATEWAY_TIMEOUT) throw new NewsUnansweredError(`${message} (${ANSWER_FIRST})`);
  const retryAfterMs = PUTTING_OFF.has(status) ? waitOf(retryAfter, Date.now()) : undefined;
  if (retryAfterMs !== undefined) throw new NewsPutOffError(message, retryAfterMs);
  const isFinal = status >= 300 && status <= 499 && !PASSING_STATUSES.has(status);
  throw isFinal ? new NewsRefusedError(message) : new Error(message);
}

/** Milliseconds that a `Retry-After` asks for, in seconds or as a date, from `now`; undefined: it says nothing of the kind. */
function waitOf(retryAfter: string | undefined, now: number): number | undefined {
  if (retryAfter === undefined) return undefined;
  const wait = /^\d+$/.test(retryAfter) ? Number(retryAfter) * 1_000 : Date.parse(retryAfter) - now;
  return Number.isNaN(wait) ? undefined : Math.max(0, wait);
}

/** Whose certificate is not taken, and what helps; undefined for other errors. Of the address no more than the host: the rest may be a secret. */
function distrust(code: string, url: string): string | undefined {
  if (!isDistrust(code)) return undefined;
  const next = isUnknownAuthority(code)
    ? "if its authority is one of your own, name that one's certificate (PEM) with `caFile` beside the receiver, or in NODE_EXTRA_CA_CERTS of the worker; else the server must get a valid one"
    : 'the server must get a valid one';
  return `the certificate of ${new URL(url).host} is not trusted (${code}): ${next}`;
}

const ANSWER_FIRST = 'it should answer first, and work then';

interface Call {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

type MakeCall = (receiver: Receiver, repository: NewsSource, news: CommitNews) => Promise<Call>;

const CALLS: Readonly<Record<Receiver['type'], MakeCall>> = {
  github: async (receiver, repository, news) => {
    const { host, path } = serverOf(repository);
    const usual = host === 'github.com' ? 'https://api.github.com' : `https://${host}/api/v3`;
    return {
      url: `${receiver.api ?? usual}/repos/${path}/statuses/${news.sha}`,
      headers: {
        authorization: `Bearer ${await secret(receiver.tokenFile)}`,
        accept: 'application/vnd.github+json',
      },
      body: JSON.stringify({ state: STATES[news.outcome].github, ...statusOf(repository, news) }),
    };
  },
  gitea: async (receiver, repository, news) => {
    const { host, path } = serverOf(repository);
    return {
      url: `${receiver.api ?? `https://${host}/api/v1`}/repos/${path}/statuses/${news.sha}`,
      headers: { authorization: `token ${await secret(receiver.tokenFile)}` },
      body: JSON.stringify({ state: STATES[news.outcome].github, ...statusOf(repository, news) }),
    };
  },
  gitlab: async (receiver, repository, news) => {
    const { host, path } = serverOf(repository);
    const { context, description } = statusOf(repository, news);
    return {
      url: `${receiver.api ?? `https://${host}/api/v4`}/projects/${encodeURIComponent(path)}/statuses/${news.sha}`,
      headers: { 'private-token': await secret(receiver.tokenFile) },
      body: JSON.stringify({ state: STATES[news.outcome].gitlab, name: context, description }),
    };
  },
  slack: async (receiver, repository, news) => ({
    url: await secret(receiver.urlFile),
    headers: {},
    body: JSON.stringify({
      text: escapeSlack(
        `${STATES[news.outcome].sign} ${repository.name} on ${repository.cluster} at ${shortSha(news.sha)}: ${describe(news)}${missedOf(news)}`,
      ),
    }),
  }),
  webhook: async (receiver, repository, { delivery: _header, ...news }) => {
    const body = JSON.stringify({
      apiVersion: 'hooks.fairlead.dev/v1',
      kind: 'CommitNews',
      cluster: repository.cluster,
      repository: repository.name,
      url: redactUrls(repository.url),
      ...news,
      message: describe(news),
    });
    const signature = createHmac('sha256', await secret(receiver.secretFile))
      .update(body)
      .digest('hex');
    return {
      url: receiver.url ?? '',
      headers: { 'x-signature': `sha256=${signature}` },
      body,
    };
  },
};

const STATES: Readonly<
  Record<CommitNews['outcome'], { readonly github: string; readonly gitlab: string; readonly sign: string }>
> = {
  Pending: { github: 'pending', gitlab: 'running', sign: '►' },
  Succeeded: { github: 'success', gitlab: 'success', sign: '✔' },
  Refused: { github: 'failure', gitlab: 'failed', sign: '✗' },
  Failed: { github: 'failure', gitlab: 'failed', sign: '✗' },
  Superseded: { github: 'error', gitlab: 'canceled', sign: '◎' },
  Canceled: { github: 'error', gitlab: 'canceled', sign: '◎' },
  Terminated: { github: 'error', gitlab: 'canceled', sign: '◎' },
};

/** Characters: GitHub refuses longer ones. */
const LONGEST_DESCRIPTION = 140;

/** A server keeps one status for each context: another cluster must not overwrite it. */
function statusOf({ cluster, name }: NewsSource, news: CommitNews) {
  const [first = '', problem = ''] = describe(news).split('\n', 2);
  // The place of the first problem; in so few characters there is no room for more of it.
  const place = /^[A-Z]\w+(?: [^:\s]+(?::\d+)?@[0-9a-f]{8}| commit [0-9a-f]{8})?(?=: )/.exec(problem)?.[0];
  const description = place === undefined ? first : `${first}: ${place}`;
  return { context: `fairlead/${cluster}/${name}`, description: cut(description, LONGEST_DESCRIPTION) };
}

function describe({ outcome, message }: Pick<CommitNews, 'outcome' | 'message'>): string {
  if (outcome === 'Pending') return 'is being applied';
  if (outcome === 'Succeeded') return 'applied, and its rollouts are done';
  return message === undefined || message === '' ? outcome.toLowerCase() : message;
}

function missedOf({ missed = 0 }: CommitNews): string {
  if (missed === 0) return '';
  return missed === 1
    ? '\n(one news before this could not be delivered)'
    : `\n(${String(missed)} news before this could not be delivered)`;
}

function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`;
}

/** What Slack asks to be escaped; nothing else in a text is markup that mentions or links. */
function escapeSlack(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** Of https the port is that of the API too; of ssh it says nothing of it. */
function serverOf({ url }: Pick<Repository, 'url'>): { readonly host: string; readonly path: string } {
  const [host = '', ...path] = (remoteKey(url) ?? '').split('/');
  return { host: /^https:/i.test(url) ? new URL(url).host : host, path: path.join('/') };
}

/** Read at each use: a token that was renewed counts at once. */
async function secret(file: string | undefined): Promise<string> {
  return (await readFile(file ?? '', 'utf8')).trim();
}

async function post(
  { url, headers, body }: Call,
  { caFile }: Receiver,
  delivery: string,
  { signal, timeoutMs }: { readonly signal: AbortSignal | undefined; readonly timeoutMs: number },
): Promise<{ readonly status: number; readonly retryAfter: string | undefined }> {
  const ca = caFile === undefined ? undefined : await readFile(caFile);
  const limit = startDeadline(timeoutMs, signal);
  return await new Promise<Awaited<ReturnType<typeof post>>>((resolve, reject) => {
    const options = {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'content-length': String(Buffer.byteLength(body)),
        'user-agent': 'fairlead',
        'x-fairlead-delivery': delivery,
        ...headers,
      },
      signal: limit.signal,
    };
    const open = url.startsWith('https:') ? requestHttps : requestHttp;
    const asked = open(url, { ...options, ...(ca !== undefined && { ca }) }, (answer) => {
      // What it says is of no use, and may hold anything.
      answer.destroy();
      resolve({ status: answer.statusCode ?? 0, retryAfter: answer.headers['retry-after'] });
    });
    asked.on('error', reject);
    asked.end(body);
  }).finally(() => limit.clear());
}
