/** Sends one request and turns whatever happens into a result or an error: guards, deadlines, metrics, warnings. */

import type { IncomingMessage } from 'node:http';

import { ApiError } from './api-error.ts';
import type { RequestIdentity } from './api-error.ts';
import type { ClientOptions, RawRequest } from './client.ts';
import { DeadlineExceeded, startDeadline } from './deadline.ts';
import type { HttpTransport } from './http-transport.ts';
import { parseJson, stringifyBody } from './json.ts';
import { describePath, resourceId, urlPath } from './resource-path.ts';
import { responseError, transportError } from './response-errors.ts';
import { errorCode, trusted } from './values.ts';

const DEFAULT_TIMEOUT_MS = 30_000;

/** Reviews are POSTs that store nothing, so they need no guard. */
const REVIEWS: ReadonlySet<string> = new Set(['authorization.k8s.io', 'authentication.k8s.io']);

/** What every request of one client has in common. */
export interface RequestContext {
  readonly transport: HttpTransport;
  readonly guards: readonly (() => void)[];
  readonly impersonate: string | undefined;
  readonly longestRequestMs: number;
  readonly onRequest: ClientOptions['onRequest'];
  readonly onWarning: ClientOptions['onWarning'];
}

/** A request that changes nothing although it is no GET: it is not guarded. */
export interface SentRequest extends RawRequest {
  readonly harmless?: boolean;
}

/** How long a request may take, milliseconds; of a watch: until it stands. */
export function timeoutOf(
  { longestRequestMs }: Pick<RequestContext, 'longestRequestMs'>,
  { timeoutMs = DEFAULT_TIMEOUT_MS }: Pick<RawRequest, 'timeoutMs'>,
): number {
  return Math.min(timeoutMs, longestRequestMs);
}

/** Names the request for errors. */
export function identify(context: RequestContext, request: RawRequest): RequestIdentity {
  return { method: request.method, path: request.path, server: context.transport.connection.server };
}

/**
 * One request, its answer read to the end: JSON if the answer is, else its text.
 * @throws {ApiError} or what a guard threw, or the reason of `request.signal`
 */
export async function exchange<T>(context: RequestContext, request: SentRequest): Promise<T> {
  const deadline = startDeadline(timeoutOf(context, request), request.signal);
  try {
    const response = await open(context, request, deadline.signal, false);
    const text = await readText(context, request, response, deadline.signal);
    if (!/\bjson\b/.test(response.headers['content-type'] ?? '')) return trusted<T>(text);
    try {
      return trusted<T>(parseJson(text));
    } catch {
      throw transportError(identify(context, request), 'BadResponse', 'the answer is not valid JSON');
    }
  } finally {
    deadline.clear();
  }
}

/** Sends a request and resolves with the head of a successful answer; errors as of {@link exchange}. */
export async function open(
  context: RequestContext,
  request: SentRequest,
  signal: AbortSignal,
  streaming: boolean,
): Promise<IncomingMessage> {
  const { transport, guards } = context;
  const mutating = request.method !== 'GET' && request.harmless !== true && !isHarmless(request);
  const headers = requestHeaders(context, request);
  const body = request.body === undefined ? undefined : stringifyBody(request.body);
  let refusal: { readonly error: unknown } | undefined;
  const beforeSend = (): void => {
    try {
      for (const guard of guards) guard();
    } catch (error) {
      refusal = { error };
      throw error;
    }
  };
  const started = performance.now();
  let status = 0;
  try {
    const response = await transport.send({
      method: request.method,
      target: target(request),
      headers,
      body,
      signal,
      streaming,
      ...(mutating && guards.length > 0 ? { beforeSend } : {}),
    });
    status = response.statusCode ?? 0;
    warn(context, request, response);
    if (status >= 200 && status < 300) return response;
    const text = await readText(context, request, response, signal);
    throw responseError(identify(context, request), status, text, response.headers['retry-after']);
  } catch (error) {
    if (refusal !== undefined) throw refusal.error;
    throw asApiError(context, request, error, signal);
  } finally {
    if (refusal === undefined) {
      const durationMs = performance.now() - started;
      context.onRequest?.({ method: request.method, resource: metricName(request), status, durationMs });
    }
  }
}

/** Turns an error of the way to the apiserver into an ApiError; an abort stays the signal's reason. */
export function asApiError(
  context: RequestContext,
  request: RawRequest,
  error: unknown,
  signal: AbortSignal,
): unknown {
  if (error instanceof ApiError) return error;
  // One of the transport says what it waited for.
  const reason: unknown = signal.aborted && !(error instanceof DeadlineExceeded) ? signal.reason : error;
  const identity = identify(context, request);
  if (reason instanceof DeadlineExceeded) return transportError(identity, 'RequestTimeout', reason.message);
  if (signal.aborted) return reason;
  return transportError(identity, 'Network', networkText(error), error);
}

async function readText(
  context: RequestContext,
  request: RawRequest,
  response: IncomingMessage,
  signal: AbortSignal,
): Promise<string> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of response) chunks.push(trusted<Buffer>(chunk));
  } catch (error) {
    throw asApiError(context, request, error, signal);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function requestHeaders(context: RequestContext, request: RawRequest): Record<string, string> {
  const accept = request.metadataOnly === true ? metadataType(request) : 'application/json';
  const headers: Record<string, string> = { accept, 'user-agent': 'fairlead' };
  if (request.body !== undefined) headers['content-type'] = request.contentType ?? 'application/json';
  const user = request.impersonate ?? context.impersonate ?? context.transport.connection.impersonate;
  if (user !== undefined) headers['impersonate-user'] = checkedUser(user);
  return headers;
}

/** What the server is asked for instead of whole objects. */
function metadataType({ path, query }: RawRequest): string {
  const isList = typeof path !== 'string' && path.name === undefined && query?.['watch'] !== true;
  const kind = isList ? 'PartialObjectMetadataList' : 'PartialObjectMetadata';
  return `application/json;as=${kind};g=meta.k8s.io;v=v1`;
}

/**
 * An empty `Impersonate-User` would act as the client's own, stronger identity.
 * @throws {Error} when the name is empty or blank
 */
export function checkedUser(user: string): string {
  if (user.trim() === '')
    throw new Error('refused: an empty user to impersonate would mean acting as Fairlead itself');
  return user;
}

function target(request: RawRequest): string {
  const path = typeof request.path === 'string' ? request.path : urlPath(request.path);
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(request.query ?? {})) {
    if (value !== undefined) query.set(name, String(value));
  }
  if (query.size === 0) return path;
  return `${path}${path.includes('?') ? '&' : '?'}${query.toString()}`;
}

function isHarmless(request: RawRequest): boolean {
  if (request.query?.['dryRun'] === 'All') return true;
  return typeof request.path !== 'string' && REVIEWS.has(request.path.group);
}

/** Never what a commit may choose freely: the group and version of a look-up are not told, served or not. */
function metricName(request: RawRequest): string {
  if (typeof request.path === 'string') return describePath(request.path).replace(/^(\/apis?)\/.*/, '$1');
  const { subresource } = request.path;
  return subresource === undefined ? resourceId(request.path) : `${resourceId(request.path)}/${subresource}`;
}

/** `Warning: 299 - "text"`, one or more. */
function warn(context: RequestContext, request: RawRequest, response: IncomingMessage): void {
  const header = response.headers['warning'];
  if (header === undefined || context.onWarning === undefined) return;
  for (const match of header.matchAll(/299 [^ ]+ "((?:[^"\\]|\\.)*)"/g)) {
    const text = (match[1] ?? '').replace(/\\(.)/g, '$1');
    context.onWarning(text, { method: request.method, path: describePath(request.path) });
  }
}

function networkText(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0)
    return error.errors.map(networkText).join('; ');
  if (!(error instanceof Error)) return String(error);
  const code = errorCode(error);
  if (error.message === '') return code ?? error.name;
  return code === undefined || error.message.includes(code) ? error.message : `${error.message} (${code})`;
}
