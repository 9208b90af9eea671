/** Watches: one long answer, one JSON event a line. */

import type { IncomingMessage } from 'node:http';
import { StringDecoder } from 'node:string_decoder';

import type { RequestIdentity } from './api-error.ts';
import type { RawRequest, ResourcePath, WatchEvent, WatchOptions } from './client.ts';
import { startDeadline } from './deadline.ts';
import { parseJson } from './json.ts';
import { asApiError, identify, open, timeoutOf } from './requester.ts';
import type { RequestContext } from './requester.ts';
import { trusted } from './values.ts';
import { statusError, transportError } from './response-errors.ts';

const TYPES: ReadonlySet<unknown> = new Set(['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK']);

/** Opens a watch and yields its events; see `KubernetesClient.watch`. */
export async function* openWatch<T>(
  context: RequestContext,
  path: ResourcePath,
  options: WatchOptions,
): AsyncGenerator<WatchEvent<T>> {
  if (options.signal?.aborted === true) return;
  const timeoutSeconds = options.timeoutSeconds ?? 300;
  const idleMs = options.idleTimeoutMs ?? (timeoutSeconds + 60) * 1000;
  const request: RawRequest = {
    ...(options.impersonate === undefined ? {} : { impersonate: options.impersonate }),
    ...(options.metadataOnly === undefined ? {} : { metadataOnly: options.metadataOnly }),
    method: 'GET',
    path,
    query: {
      ...options.query,
      watch: true,
      labelSelector: options.labelSelector,
      fieldSelector: options.fieldSelector,
      resourceVersion: options.resourceVersion,
      allowWatchBookmarks: options.allowWatchBookmarks,
      timeoutSeconds,
    },
  };
  const idle = startDeadline(idleMs, options.signal);
  const head = startDeadline(timeoutOf(context, options), idle.signal);
  let body: IncomingMessage | undefined;
  try {
    const response = await open(context, request, head.signal, true);
    head.disarm();
    options.onContact?.();
    body = response;
    yield* watchEvents<T>(response, identify(context, request), () => {
      idle.extend();
      options.onContact?.();
    });
  } catch (error) {
    if (isAborted(options.signal)) return;
    throw asApiError(context, request, error, head.signal);
  } finally {
    head.clear();
    idle.clear();
    body?.destroy();
  }
}

/**
 * The events of a watch's body, in order. Ends when the body ends.
 * @throws {ApiError} for an ERROR event (410 = the version is too old) and for a line that is no event (`BadResponse`)
 */
async function* watchEvents<T>(
  body: AsyncIterable<Buffer>,
  request: RequestIdentity,
  onContact: () => void,
): AsyncGenerator<WatchEvent<T>> {
  const decoder = new StringDecoder('utf8');
  let pending: string[] = [];
  for await (const chunk of body) {
    onContact();
    const lines = decoder.write(chunk).split('\n');
    const rest = lines.pop() ?? '';
    for (const line of lines) {
      const text = pending.length === 0 ? line : pending.join('') + line;
      pending = [];
      if (text.trim() !== '') yield parseEvent<T>(text, request);
    }
    if (rest !== '') pending.push(rest);
  }
  if (pending.join('').trim() !== '') {
    throw transportError(request, 'BadResponse', 'the watch ended in the middle of an event');
  }
}

function isAborted(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true;
}

function parseEvent<T>(line: string, request: RequestIdentity): WatchEvent<T> {
  let event: { type?: unknown; object?: unknown };
  try {
    event = trusted(parseJson(line));
  } catch (error) {
    throw transportError(
      request,
      'BadResponse',
      `the watch sent a line that is not JSON (${line.length} characters)`,
      {
        name: error instanceof Error ? error.name : 'Error',
      },
    );
  }
  if (event?.type === 'ERROR') throw statusError(request, event.object);
  if (!TYPES.has(event?.type) || typeof event.object !== 'object' || event.object === null) {
    throw transportError(request, 'BadResponse', 'the watch sent a line that is no event');
  }
  return trusted<WatchEvent<T>>(event);
}
