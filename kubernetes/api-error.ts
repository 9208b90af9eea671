/** What the apiserver, or the way to it, answered instead of a result. */

import type { ResourcePath } from './client.ts';
import { describePath } from './resource-path.ts';
import type { Unreached } from './unreached.ts';

/** One field that the apiserver objects to (`status.details.causes`). */
export interface ErrorCause {
  readonly field?: string;
  readonly reason?: string;
  /** Absent for Secrets, where it may quote values. */
  readonly message?: string;
}

export interface ErrorDetails {
  readonly kind?: string;
  readonly group?: string;
  readonly name?: string;
  readonly uid?: string;
  readonly causes: readonly ErrorCause[];
}

/** Which request failed. */
export interface RequestIdentity {
  readonly method: string;
  readonly path: ResourcePath | string;
  readonly server: string;
}

export interface Failure {
  /** HTTP status; 0 if no complete answer came. */
  readonly status: number;
  /** The Status object's reason (`Conflict`), or `Network`, `RequestTimeout`, `BadResponse`, `HTTP <status>`. */
  readonly reason: string;
  /** What the server said. */
  readonly text: string;
  readonly details?: ErrorDetails | undefined;
  readonly retryAfterSeconds?: number | undefined;
  /** As {@link ApiError.unreached}. */
  readonly unreached?: Unreached | undefined;
  readonly cause?: unknown;
}

/**
 * A failed request. The message names method, object and the server's reason; it never quotes a Secret, and of other objects
 * neither mappings nor differences (quoted-values.ts).
 */
export class ApiError extends Error {
  override name = 'ApiError';
  readonly status: number;
  readonly reason: string;
  readonly details: ErrorDetails | undefined;
  /** The server asked to wait this long (`Retry-After`, `details.retryAfterSeconds`). */
  readonly retryAfterSeconds: number | undefined;
  /** What the apiserver handed the request on to, and could not reach. */
  readonly unreached: Unreached | undefined;
  readonly method: string;
  readonly path: ResourcePath | string;

  constructor(request: RequestIdentity, failure: Failure) {
    const where = failure.status === 0 ? ` at ${request.server}` : '';
    super(
      `${request.method} ${describePath(request.path)}${where}: ${failure.reason}: ${failure.text}`,
      failure.cause === undefined ? undefined : { cause: failure.cause },
    );
    this.status = failure.status;
    this.reason = failure.reason;
    this.details = failure.details;
    this.retryAfterSeconds = failure.retryAfterSeconds;
    this.unreached = failure.unreached;
    this.method = request.method;
    this.path = request.path;
  }
}

/** 404: the object, its kind or its namespace does not exist. */
export function isNotFound(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status === 404;
}

/** 409 about the object's state: a precondition (uid, resourceVersion) or a field owned by another manager. */
export function isConflict(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status === 409 && error.reason !== 'AlreadyExists';
}

/** 409 of a create: the name is taken. */
export function isAlreadyExists(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status === 409 && error.reason === 'AlreadyExists';
}

/** 410: the resourceVersion or continue token is too old, list again. */
export function isGone(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status === 410;
}

/** 400, 422, or an apply that is not of the schema: the request cannot succeed as it is. */
export function isInvalid(error: unknown): error is ApiError {
  return (
    error instanceof ApiError && (error.status === 422 || error.status === 400 || error.reason === 'Invalid')
  );
}

/** The object is larger than etcd, or the apiserver, takes in one request. */
export function isTooLarge(error: unknown): error is ApiError {
  if (!(error instanceof ApiError)) return false;
  return error.status === 413 || /request is too large|Request entity too large/i.test(error.message);
}

/** 403: permissions, an admission plugin or a quota. */
export function isForbidden(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status === 403;
}

/** The apiserver is well, and could not reach what it hands the request on to: other objects go on. */
export function isUnreached(error: unknown): error is ApiError & { readonly unreached: Unreached } {
  return error instanceof ApiError && error.unreached !== undefined;
}

/** As {@link isUnreached}, by what converts the object: its CustomResourceDefinition mends that. */
export function isUnconverted(error: unknown): error is ApiError & { readonly unreached: Unreached } {
  return isUnreached(error) && error.unreached.kind === 'conversion';
}

/**
 * `GROUP/VERSION` under which fields of the object were written (`metadata.managedFields`), and which its CustomResourceDefinition has no more:
 * every apply fails, with a 500 that lasts. Undefined: another error.
 */
export function lostVersion(error: unknown): string | undefined {
  if (!(error instanceof ApiError) || error.status !== 500) return undefined;
  return /: request to convert CR to an invalid group\/version: (\S+)$/.exec(error.message)?.[1];
}

/** Said by admission (a webhook, which may not be there to be called, or a policy), not by authorisation or by the apiserver itself. */
export function isByAdmission(error: unknown): error is ApiError {
  if (!(error instanceof ApiError) || error.status === 0) return false;
  return (
    error.unreached?.kind === 'admission' ||
    /admission webhook "|ValidatingAdmissionPolicy '/.test(error.message)
  );
}

/** The words for a write into a namespace that is being deleted, where the answer itself is not at hand. */
export const NAMESPACE_ENDS = / because it is being terminated/;

/** 403 of a create: the namespace is being deleted. */
export function isNamespaceTerminating(error: unknown): error is ApiError {
  return (
    isForbidden(error) &&
    error.details?.causes.some(({ reason }) => reason === 'NamespaceTerminating') === true
  );
}

/** A webhook has side effects, and so allows no dry run (`sideEffects`): that says nothing of whether the write itself would be refused. */
export function isNoDryRun(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status === 400 && /does not support dry run/.test(error.message);
}

/**
 * The same request may succeed later: no complete answer (network, timeout), 429 or 5xx. A write may then have been done
 * all the same: look before writing again.
 */
export function isTransient(error: unknown): error is ApiError {
  if (isInvalid(error) || !(error instanceof ApiError)) return false;
  return error.status === 0 || error.status === 429 || error.status >= 500;
}

/** 4xx that say nothing of the request itself: credentials that are being renewed, a state that has changed, too many at once. */
const PASSING: ReadonlySet<number> = new Set([401, 408, 409, 429]);

/** The apiserver understood and said no: the same request, in the same state, will be refused again. */
export function isRefusal(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status >= 400 && error.status < 500 && !PASSING.has(error.status);
}

/** The server's own words, without the request in front. */
export function serverText(error: ApiError): string {
  const marker = `: ${error.reason}: `;
  const at = error.message.indexOf(marker);
  return at < 0 ? error.message : error.message.slice(at + marker.length);
}

/** The text of anything that was thrown, for people. */
export function toMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
