/** From what people type (`sts/web`, `statefulset.fairlead.dev/web`) to a workload. */

import { GROUP, VERSION } from '../planners/names.ts';
import type { WorkloadKind, WorkloadRef } from '../planners/workload.ts';
import type { WorkloadApi } from '../kubernetes/workload-api.ts';
import { WORKLOAD_APIS, WORKLOAD_RESOURCES } from '../kubernetes/workload-api.ts';
import { trusted } from '../kubernetes/values.ts';
import { CliError, EXIT } from './exit-codes.ts';

/** `api` is the workload API to look in: as typed, else as configured. */
export interface KindArgument {
  readonly kind: WorkloadKind;
  readonly api: WorkloadApi;
}

export interface WorkloadArgument extends KindArgument {
  readonly name: string;
}

/** Short names: those that mean the configured API, and those of our CRDs, which always mean ours. */
const SHORT_NAMES: Readonly<Record<WorkloadKind, { readonly any: string; readonly ours: string }>> = {
  StatefulSet: { any: 'sts', ours: 'fsts' },
  DaemonSet: { any: 'ds', ours: 'fds' },
  Deployment: { any: 'deploy', ours: 'fdeploy' },
};

/** Every kind that Fairlead rolls out. */
export const KINDS: readonly WorkloadKind[] = trusted(Object.keys(WORKLOAD_RESOURCES));

/** How people write the kinds most often. */
export const SHORT_KINDS: readonly string[] = KINDS.map((kind) => SHORT_NAMES[kind].any);

/** How people write ReplicationControllers, which have verbs of their own. */
export const CONTROLLER_KIND = 'rc';

/** What an object can be called. */
export const OBJECT_NAME = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/;

/**
 * `KIND/NAME`. KIND is the kind, its plural or short name, in any case, optionally with `.GROUP` or `.VERSION.GROUP`.
 * @throws CliError (usage)
 */
export function parseWorkloadArgument(text: string, configured: WorkloadApi): WorkloadArgument {
  const slash = text.indexOf('/');
  const [kindText, name] = slash < 0 ? [text, ''] : [text.slice(0, slash), text.slice(slash + 1)];
  if (name === '') {
    throw usage(`"${text}" names no object: write KIND/NAME, for example sts/web or rc/web`);
  }
  if (!OBJECT_NAME.test(name)) {
    throw usage(`"${name}" cannot be the name of a workload: lower-case letters, digits, dashes and dots`);
  }
  return { ...parseKindArgument(kindText, configured), name };
}

/**
 * The KIND part alone.
 * @throws CliError (usage) naming the known kinds
 */
export function parseKindArgument(text: string, configured: WorkloadApi): KindArgument {
  const [word = '', ...rest] = text.toLowerCase().split('.');
  const api = rest.length === 0 ? undefined : explicitApi(rest.join('.'), text);
  for (const kind of KINDS) {
    const { any, ours } = SHORT_NAMES[kind];
    if (word === ours) {
      if (api !== undefined && !api.startsWith(GROUP)) {
        throw usage(
          `"${text}": ${ours} is the short name of ${kind} in ${GROUP}; write ${any}.apps for the native kind`,
        );
      }
      return { kind, api: `${GROUP}/${VERSION}` };
    }
    if (word === any || word === kind.toLowerCase() || word === WORKLOAD_RESOURCES[kind]) {
      return { kind, api: api ?? configured };
    }
  }
  throw usage(`"${text}" is no kind of workload that Fairlead rolls out: ${knownKinds().join(', ')}`);
}

/** `statefulset.fairlead.dev/web`: how every command names what it is about, and what it accepts. */
export function formatWorkload({ kind, api, name }: WorkloadArgument): string {
  return `${kind.toLowerCase()}.${api.split('/', 1)[0] ?? ''}/${name}`;
}

/** `statefulset.apps/web -n shop`: with the group, so that it is the right one whatever `--workload-api` says. */
export function formatTarget({
  kind,
  group,
  name,
  namespace,
}: Pick<WorkloadRef, 'kind' | 'group' | 'name' | 'namespace'>): string {
  return `${kind.toLowerCase()}.${group}/${name} -n ${namespace}`;
}

function explicitApi(text: string, argument: string): WorkloadApi {
  const found = WORKLOAD_APIS.find((api) => {
    const [group, version] = api.split('/');
    return text === group || text === `${String(version)}.${String(group)}`;
  });
  if (found === undefined) {
    throw usage(
      `"${argument}": the API group must be ${WORKLOAD_APIS.map((api) => api.split('/', 1)[0]).join(' or ')}`,
    );
  }
  return found;
}

function knownKinds(): readonly string[] {
  const names = KINDS.map(
    (kind) => `${kind.toLowerCase()} (${SHORT_NAMES[kind].any}, ${SHORT_NAMES[kind].ours})`,
  );
  return [...names, `replicationcontroller (${CONTROLLER_KIND})`];
}

function usage(message: string): CliError {
  return new CliError(message, EXIT.usage);
}
