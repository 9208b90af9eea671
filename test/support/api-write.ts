/** Names an API write by what it does, so that the same write can be found again in another run in another namespace. */

export interface ApiWrite {
  /** From 1, over all writes of this worker. */
  readonly number: number;
  /** What it does, without what differs from run to run: `delete pods web-3`, `create events SuccessfulDelete`. */
  readonly key: string;
  /** The kind of write, without a name: `delete pods`, `patch pods/status gate=False`. */
  readonly kind: string;
  /** From 1, over the writes with this key; one that meets a conflict and its next try have the same. */
  readonly occurrence: number;
  readonly verb: 'create' | 'update' | 'patch' | 'delete';
  /** With the subresource: `pods/status`. */
  readonly resource: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  /** Of a delete: the only object that it may hit. */
  readonly uid?: string | undefined;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** HTTP status of the apiserver; undefined while it has not answered. */
  status: number | undefined;
}

interface Body {
  readonly metadata?: {
    readonly name?: string;
    readonly annotations?: Readonly<Record<string, string | null>>;
  };
  readonly preconditions?: { readonly uid?: string };
  readonly reason?: string;
  readonly spec?: object;
  readonly status?: { readonly conditions?: readonly { readonly type?: string; readonly status?: string }[] };
}

const VERBS = { POST: 'create', PUT: 'update', PATCH: 'patch', DELETE: 'delete' } as const;
const IN_PLACE_ANNOTATION = 'fairlead.dev/in-place-update';
const GATE = 'InPlaceUpdateReady';

/** Of a worker's start (worker/other-owner.ts): nothing else of these kinds is ever made in its namespace. */
const CANARIES =
  /^\/apis\/apps\/v1\/namespaces\/fairlead-system\/(?:statefulsets|daemonsets|deployments)(?:\/fairlead-canary)?$/;

/** The list of the repositories that a worker follows: written by each leader, and by the clock. */
const FOLLOWED_LIST = /^fairlead-[-a-z0-9]+\.repositories$/;

/**
 * Requests that change nothing that a rollout or a commit is about: leases (they are renewed by the clock), reviews, dry runs,
 * canaries, the list of repositories.
 */
export function isIgnored(url: URL, body: Buffer): boolean {
  return (
    CANARIES.test(url.pathname) ||
    isOfFollowedList(url, body) ||
    /^\/apis\/(coordination|authorization|authentication)\.k8s\.io\//.test(url.pathname) ||
    url.searchParams.get('dryRun') === 'All'
  );
}

function isOfFollowedList({ pathname }: URL, body: Buffer): boolean {
  const [, name] = /\/configmaps(?:\/([^/]+))?$/.exec(pathname) ?? [];
  if (name !== undefined) return FOLLOWED_LIST.test(name);
  return pathname.endsWith('/configmaps') && FOLLOWED_LIST.test(parse(body).metadata?.name ?? '');
}

/** What stands in a key for a name that is another one in every run. */
export type Alias = (resource: string, name: string, body: object) => string;

/**
 * `alias` gives names that are the same in every run.
 * @throws Error for a path that is no resource's
 */
export function describeWrite(
  method: string,
  url: URL,
  text: Buffer,
  alias: Alias = (_, name) => name,
): Pick<ApiWrite, 'key' | 'kind' | 'verb' | 'resource' | 'namespace' | 'name' | 'uid'> {
  const match =
    /^\/(?:api|apis\/[^/]+)\/[^/]+(?:\/namespaces\/([^/]+))?\/([^/]+)(?:\/([^/]+))?(?:\/([^/]+))?$/.exec(
      url.pathname,
    );
  const verb = VERBS[method as keyof typeof VERBS];
  if (match === null || verb === undefined) {
    throw new Error(`no write to a resource: ${method} ${url.pathname}`);
  }
  const [, namespace, plural = '', inPath, subresource] = match;
  const body = parse(text);
  const resource = subresource === undefined ? plural : `${plural}/${subresource}`;
  const name = inPath ?? body.metadata?.name;
  const detail = plural === 'pods' && verb === 'patch' ? podPatch(body) : '';
  const kind = `${verb} ${resource}${detail === '' ? '' : ` ${detail}`}`;
  const label = labelOf(plural, subresource, body) ?? alias(plural, name ?? '', body);
  const uid = verb === 'delete' ? body.preconditions?.uid : undefined;
  const key = `${kind} ${label}`.trimEnd();
  return { key, kind, verb, resource, namespace, name, ...(uid !== undefined && { uid }) };
}

/** Events have random names, and so have pods of others that are evicted: what tells them apart is the reason, or the order. */
function labelOf(plural: string, subresource: string | undefined, body: Body): string | undefined {
  if (plural === 'events') return body.reason ?? 'count';
  return subresource === 'eviction' ? '' : undefined;
}

/** Which step of a pod's life in place a patch is. */
function podPatch(body: Body): string {
  const gate = body.status?.conditions?.find((condition) => condition.type === GATE)?.status;
  const annotation = body.metadata?.annotations?.[IN_PLACE_ANNOTATION];
  const parts = [
    ...(gate === undefined ? [] : [`gate=${gate}`]),
    ...(annotation === undefined ? [] : [annotation === null ? 'done' : 'marked']),
    ...(body.spec === undefined ? [] : ['spec']),
  ];
  return parts.join(',');
}

function parse(text: Buffer): Body {
  if (text.length === 0) {
    return {};
  }
  const value: unknown = JSON.parse(text.toString('utf8'));
  // A JSON patch is a list: it has no metadata to look into.
  return Array.isArray(value) ? {} : (value as Body);
}
