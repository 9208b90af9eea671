/** What the apiserver hands a request on to, and could not reach: itself it is well, though it answers with a 5xx. Pure. */

import type { ResourcePath } from './client.ts';

/** Named as in the cluster: an admission webhook, a CustomResourceDefinition with a conversion webhook, an APIService. */
export interface Unreached {
  readonly kind: 'admission' | 'conversion' | 'aggregation';
  readonly name: string;
}

/** An answer, as far as it tells. */
interface Answer {
  readonly status: number;
  /** The Status object's, where it was one. */
  readonly reason: string | undefined;
  readonly message: string;
}

/** Undefined: the apiserver itself could not do it, or it was refused. */
export function unreachedOf(path: ResourcePath | string, answer: Answer): Unreached | undefined {
  const { status, reason, message } = answer;
  if (status === 500 && reason === 'InternalError') return admission(message);
  // Of the IPAddress that the apiserver makes for a Service: said of a field in which nothing is wrong.
  if (status === 422 && typeof path !== 'string' && path.resource === 'services')
    return admission(/: failed to allocate IP(?: [\d.:a-f]+)?: (.*)$/s.exec(message)?.[1] ?? '');
  if (status === 500 && /^conversion webhook for \S+, Kind=\S+ (?:failed|returned)\b/.test(message))
    return typeof path === 'string'
      ? undefined
      : { kind: 'conversion', name: `${path.resource}.${path.group}` };
  // In the words of the aggregator, which no Status object holds: of a kind that the apiserver serves itself it says nothing.
  if (status !== 503 || reason !== undefined || !AGGREGATOR.test(message)) return undefined;
  const name = apiServiceOf(path);
  return name === undefined ? undefined : { kind: 'aggregation', name };
}

const AGGREGATOR = /^(?:service unavailable$|error trying to reach service\b)/;

/** Its name, which holds no value, of an admission webhook with `failurePolicy: Fail` that was not there or gave no sensible answer. */
function admission(message: string): Unreached | undefined {
  const [, name] = /^(?:Internal error occurred: )?failed calling webhook "([^"\s]+)"/.exec(message) ?? [];
  return name === undefined ? undefined : { kind: 'admission', name };
}

/** The kinds of core are never an APIService's. */
function apiServiceOf(path: ResourcePath | string): string | undefined {
  if (typeof path !== 'string') return path.group === '' ? undefined : `${path.version}.${path.group}`;
  const [, group, version] = /^\/apis\/([^/?]+)\/([^/?]+)/.exec(path) ?? [];
  return group === undefined || version === undefined ? undefined : `${version}.${group}`;
}

/** The stable code of what it stands in the way of. */
export function codeOf({ kind }: Unreached): 'WebhookFailed' | 'ApiServiceUnavailable' {
  return kind === 'aggregation' ? 'ApiServiceUnavailable' : 'WebhookFailed';
}

/** What to do about it, and the command that shows where. */
export interface Remedy {
  readonly advice: string;
  readonly command: string;
  readonly shows: string;
}

/** An admission webhook's configuration need not bear its name. */
export function remedyOf({ kind, name }: Unreached): Remedy {
  switch (kind) {
    case 'admission':
      return {
        advice: `mend what serves the webhook ${name}, or have its configuration changed`,
        command: 'kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations -o yaml',
        shows: 'which one names it',
      };
    case 'conversion':
      return {
        advice: `mend the conversion webhook of the CustomResourceDefinition ${name}, or have its spec.conversion changed`,
        command: `kubectl get customresourcedefinition ${name} -o yaml`,
        shows: 'where it is called',
      };
    case 'aggregation':
      return {
        advice: `mend what serves the APIService ${name}, or have it deleted`,
        command: `kubectl describe apiservice ${name}`,
        shows: 'why it cannot be reached',
      };
  }
}
