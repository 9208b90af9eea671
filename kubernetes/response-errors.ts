/** Makes an {@link ApiError} of what came back instead of a result. */

import { ApiError, isInvalid, isUnreached } from './api-error.ts';
import type { ErrorCause, ErrorDetails, RequestIdentity } from './api-error.ts';
import { parseJson } from './json.ts';
import { withoutQuotedValues } from './quoted-values.ts';
import { holdsSecrets } from './resource-path.ts';
import { SCHEMA_REFUSAL, isSchemaCause, schemaCauses } from './schema-refusal.ts';
import { WITHHELD, tellableRefusal } from './secret-refusal.ts';
import { unreachedOf } from './unreached.ts';
import type { Unreached } from './unreached.ts';
import { asRecord } from './values.ts';

/** The error of an HTTP answer: a Status object, or whatever a proxy in between wrote. */
export function responseError(
  request: RequestIdentity,
  status: number,
  body: string,
  retryAfter: string | undefined,
): ApiError {
  return statusError(
    request,
    parseStatus(body) ?? { message: body.trim().slice(0, 300) },
    status,
    retryAfter,
  );
}

/**
 * The error of a Status object: an answer's body, or a watch's ERROR event. A patch whose `metadata.uid` is not the object's
 * is refused by the apiserver as a change of an immutable field; it becomes the conflict that a delete would get.
 */
export function statusError(
  request: RequestIdentity,
  object: unknown,
  status?: number,
  retryAfter?: string,
): ApiError {
  const answer = asRecord(object);
  const code = status ?? (typeof answer['code'] === 'number' ? answer['code'] : 0);
  const secret = holdsSecrets(request.path);
  const message = withoutQuotedValues(string(answer['message']) ?? '');
  const details = withSchemaCauses(parseDetails(answer['details'], secret), message, secret);
  const reason = string(answer['reason']);
  const unreached = unreachedOf(request.path, { status: code, reason, message });
  const text = secret ? aboutSecret(request, string(answer['message']) ?? '', details, unreached) : message;
  const seconds = Number(retryAfter ?? asRecord(answer['details'])['retryAfterSeconds'] ?? Number.NaN);
  if (code === 422 && details?.causes.some((cause) => cause.field === 'metadata.uid') === true) {
    return new ApiError(request, {
      status: 409,
      reason: 'Conflict',
      text: `another uid has the name: ${text}`,
      details,
    });
  }
  return new ApiError(request, {
    status: code,
    reason: reason ?? (SCHEMA_REFUSAL.test(message) ? 'Invalid' : `HTTP ${code}`),
    text: text === '' ? 'the server gave no message' : text,
    details,
    ...(Number.isFinite(seconds) ? { retryAfterSeconds: seconds } : {}),
    ...(unreached === undefined ? {} : { unreached }),
  });
}

/** The error of a request that got no complete answer: refused, reset, timed out, or not JSON. */
export function transportError(
  request: RequestIdentity,
  reason: 'Network' | 'RequestTimeout' | 'BadResponse',
  text: string,
  cause?: unknown,
): ApiError {
  return new ApiError(request, { status: 0, reason, text, cause });
}

function parseStatus(body: string): unknown {
  try {
    const value = parseJson(body);
    return asRecord(value)['kind'] === 'Status' ? value : undefined;
  } catch {
    return undefined; // not JSON: the caller quotes the text itself
  }
}

function parseDetails(value: unknown, secret: boolean): ErrorDetails | undefined {
  if (value === undefined || value === null) return undefined;
  const details = asRecord(value);
  const causes = Array.isArray(details['causes']) ? details['causes'].map(asRecord) : [];
  return {
    ...fields(details, ['kind', 'group', 'name', 'uid']),
    causes: causes.map((cause) => {
      const { message, ...rest } = fields(cause, ['field', 'reason', 'message']);
      // Who owns a field holds no value.
      const isWithheld = secret && rest.reason !== 'FieldManagerConflict';
      if (isWithheld) return { ...rest, ...lastingCause(rest.field, message) };
      if (message === undefined) return rest;
      return { ...rest, message: withoutQuotedValues(message, rest.field) };
    }),
  };
}

/** Fields of a Secret that last. A key of its data is not among them: the apiserver names none, a webhook might name a value. */
const LASTING_FIELDS: ReadonlySet<string | undefined> = new Set(['data', 'immutable', 'type']);
const LASTING = /(?:^|: )(field is immutable(?: when `immutable` is set)?)$/;

/** The one sentence on a Secret that quotes nothing: what comes before it in the message may be a value, and is left out. */
function lastingCause(field: string | undefined, message = ''): Pick<ErrorCause, 'message'> {
  const [, said] = LASTING.exec(message) ?? [];
  return said === undefined || !LASTING_FIELDS.has(field) ? {} : { message: said };
}

/** Whether {@link parseDetails} has let the message of a Secret's cause pass. */
function isTellable(cause: ErrorCause): boolean {
  return isSchemaCause(cause) || lastingCause(cause.field, cause.message).message !== undefined;
}

/** What a person is told of a refused Secret, of all that the server says. */
function aboutSecret(
  { path }: RequestIdentity,
  message: string,
  details: ErrorDetails | undefined,
  unreached: Unreached | undefined,
): string {
  if (unreached?.kind === 'admission') return `failed calling webhook "${unreached.name}"; ${WITHHELD}`;
  return tellableRefusal(path, message) ?? secretText(details);
}

/** What may be told of a refused Secret: names of fields and why, never a message of the server. */
function secretText(details: ErrorDetails | undefined): string {
  const causes = details?.causes ?? [];
  if (causes.length > 0 && causes.every(isTellable)) return causes.map(causeText).join(', ');
  const about = causes.map((cause) => `${cause.field ?? '?'} (${cause.reason ?? 'refused'})`);
  return `${about.length > 0 ? `fields ${about.join(', ')}; ` : ''}${WITHHELD}`;
}

function causeText({ field = '', message = '' }: ErrorCause): string {
  return field === '' ? message : `${field}: ${message}`;
}

/**
 * An invalid object's refusal as one error for each field that is wrong, in the server's order; the error itself where it names
 * one alone or none, and where it is no refusal of that kind.
 */
export function byCause(error: ApiError): readonly ApiError[] {
  const { details, status, reason, method, path } = error;
  if (details === undefined || !isInvalid(error) || isUnreached(error)) return [error];
  const told = details.causes.flatMap((cause) => (cause.field === undefined ? ofOwnPolicy(cause) : [cause]));
  // Said whenever the schema already refused something; and what the subresource `scale` says again of `spec.replicas`.
  const all = told.filter(({ field }) => field !== '<nil>');
  const named = new Set(all.map(({ field }) => field));
  const causes = all.filter(
    ({ field = '', reason: why }) =>
      !(field.startsWith('.') && why === 'FieldValueInvalid' && named.has(field.slice(1))),
  );
  const isOneAlone = causes.length === 1 && details.causes.length === 1;
  if (causes.length === 0 || isOneAlone || causes.some(({ field }) => field === undefined)) return [error];
  const secret = holdsSecrets(path);
  return causes.map((cause) => {
    const one = { ...details, causes: [cause] };
    const text = secret ? secretText(one) : causeText(cause);
    return new ApiError({ method, path, server: '' }, { status, reason, text, details: one });
  });
}

const OWN_POLICY = /^ValidatingAdmissionPolicy 'fairlead-[^']*' with binding '[^']*' denied request: (.*)$/s;
/** `spec.replicas: Invalid value: …`, of which our policies join several by semicolons (manifests/generate). */
const FIELD_TEXT = /^([a-z]\w*(?:\.[\w-]+|\[[^\]]*\])+): ([A-Z].*)$/s;

/** What one of our admission policies says of several fields, as a cause for each; the cause itself where it is of another, or of no field. */
function ofOwnPolicy(cause: ErrorCause): readonly ErrorCause[] {
  const [, text] = OWN_POLICY.exec(cause.message ?? '') ?? [];
  const parts = text?.split(/; (?=[a-z]\w*(?:\.[\w-]+|\[[^\]]*\])+: [A-Z])/) ?? [];
  const found = parts.flatMap((part) => {
    const [, field, message] = FIELD_TEXT.exec(part) ?? [];
    return field === undefined || message === undefined
      ? []
      : [{ field, message, reason: 'FieldValueInvalid' }];
  });
  return found.length === parts.length && found.length > 1 ? found : [cause];
}

/** Server-side apply and strict decoding put the fields into the message alone. */
function withSchemaCauses(
  details: ErrorDetails | undefined,
  message: string,
  secret: boolean,
): ErrorDetails | undefined {
  if (details !== undefined && details.causes.length > 0) return details;
  const causes = schemaCauses(message, secret);
  return causes.length === 0 ? details : { ...details, causes };
}

function string(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function fields<K extends string>(
  from: Readonly<Record<string, unknown>>,
  names: readonly K[],
): { [P in K]?: string } {
  const result: { [P in K]?: string } = {};
  for (const name of names) {
    const value = string(from[name]);
    if (value !== undefined) result[name] = value;
  }
  return result;
}
