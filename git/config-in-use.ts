/**
 * Whether a ConfigMap, Secret or ServiceAccount that left the commit is still needed by a workload that is in it: by pods of an earlier
 * revision, or by the one that an abort or a deadline goes back to. Where their names carry a hash, each commit brings another one, and
 * the rollout from one to the other has to be able to go on, to wait and to turn round.
 */

import { getOrUndefined } from '../kubernetes/get-or-undefined.ts';
import { asRecord, trusted } from '../kubernetes/values.ts';
import type { WorkloadObject } from '../kubernetes/workload-edit.ts';
import { WORKLOAD_KINDS } from '../kubernetes/workload-kinds.ts';
import {
  completeTemplate,
  listRevisions,
  presentRevision,
  wayBackOf,
} from '../kubernetes/workload-revisions.ts';
import { CONFIG_KINDS, configReferences } from '../planners/config-references.ts';
import type { LabelSelector, Pod } from '../planners/objects.ts';
import { matchesSelector } from '../planners/selector.ts';
import type { WorkloadKind } from '../planners/workload.ts';
import type { CommitContext } from './commit.ts';
import { groupOf } from './inventory-content.ts';
import type { InventoryEntry } from './inventory-content.ts';
import type { PreparedObject } from './prepare.ts';
import { isController, isWorkload } from './prepare.ts';
import type { LiveWorkload } from './rollout-state.ts';
import { rolloutState } from './rollout-state.ts';
import { firstOf } from '../planners/first-of.ts';

/** Pods that a reason names. */
const MOST_NAMED = 3;

/** Whether pods may need what the entry names. */
export function isConfig({ apiVersion, kind }: Pick<InventoryEntry, 'apiVersion' | 'kind'>): boolean {
  return groupOf(apiVersion) === '' && CONFIG_KINDS.has(kind);
}

/** Who needs what, by `Kind/name`; the first found. */
type Uses = ReadonlyMap<string, string>;

/** Reads a namespace when it is first asked about something in it, and keeps what it has read. */
export class ConfigUses {
  readonly #context: CommitContext;
  readonly #objects: readonly PreparedObject[];
  readonly #byNamespace = new Map<string, Promise<Uses>>();

  /** @param objects Of the commit, all of them */
  constructor(context: CommitContext, objects: readonly PreparedObject[]) {
    this.#context = context;
    this.#objects = objects.filter(({ manifest }) => isWorkload(manifest) || isController(manifest));
  }

  /** Who needs it still, in a sentence; undefined: nobody in the commit. @throws ApiError */
  async whyNeeded(entry: InventoryEntry): Promise<string | undefined> {
    const { namespace, kind, name } = entry;
    if (namespace === undefined || !isConfig(entry)) return undefined;
    const users = this.#objects.filter((object) => object.namespace === namespace);
    if (users.length === 0) return undefined;
    const known = this.#byNamespace.get(namespace) ?? this.#read(namespace, users);
    this.#byNamespace.set(namespace, known);
    return (await known).get(`${kind}/${name}`);
  }

  async #read(namespace: string, users: readonly PreparedObject[]): Promise<Uses> {
    const { worker, signal } = this.#context;
    const pods = await worker.list<Pod>(
      { group: '', version: 'v1', resource: 'pods', namespace },
      { ...(signal && { signal }) },
    );
    const living = pods.items.filter(
      ({ metadata, status }) =>
        metadata.deletionTimestamp === undefined &&
        status?.phase !== 'Succeeded' &&
        status?.phase !== 'Failed',
    );
    const uses = new Map<string, string>();
    for (const user of users) {
      const live = await getOrUndefined(worker, user.path, signal);
      if (live === undefined) continue;
      for (const [reference, why] of await this.#usesOf(user, trusted<LiveWorkload>(live), living)) {
        if (!uses.has(reference)) uses.set(reference, why);
      }
    }
    return uses;
  }

  async #usesOf(user: PreparedObject, live: LiveWorkload, pods: readonly Pod[]): Promise<Uses> {
    const uses = new Map<string, string>();
    const selector = selectorOf(live);
    const byReference = new Map<string, string[]>();
    for (const { metadata, spec } of pods) {
      if (!matchesSelector(selector, metadata.labels)) continue;
      for (const reference of configReferences(spec)) {
        byReference.set(reference, [...(byReference.get(reference) ?? []), metadata.name]);
      }
    }
    for (const [reference, names] of byReference) {
      const named = firstOf(names.toSorted(), MOST_NAMED);
      const then = 'the next commit or sync after they are replaced deletes it';
      uses.set(reference, `pods of ${user.label} use it (${named}); ${then}`);
    }
    for (const [reference, revision] of await this.#wayBackOf(user, live)) {
      if (uses.has(reference)) continue;
      const then = 'the next commit or sync after its rollout deletes it';
      uses.set(reference, `${user.label} would go back to ${revision}, which names it; ${then}`);
    }
    return uses;
  }

  /** What an end of the rollout that is under way could lead back to: each reference, with the name of what has it. */
  async #wayBackOf(user: PreparedObject, live: LiveWorkload): Promise<Uses> {
    if (isController(user.manifest)) {
      // Of one that is being updated it is the template of before.
      const { spec } = trusted<WorkloadObject>(live).spec.template;
      return referencesOf(spec, 'its present template');
    }
    if (rolloutState(live, user.manifest.hash).state === 'Done') return new Map();
    const object = trusted<WorkloadObject>(live);
    const { group, version } = user.path;
    const kind = trusted<WorkloadKind>(user.manifest.kind);
    const revisions = await listRevisions(this.#context.worker, object, { kind });
    const present = presentRevision(object, trusted({ group, version, kind }), revisions);
    const way = wayBackOf(object, present, revisions);
    const template = way.outcome === 'to' ? completeTemplate(way.revision) : undefined;
    if (way.outcome !== 'to' || template === undefined) return new Map();
    const { history } = WORKLOAD_KINDS[kind];
    const name = `${history.kind} ${way.revision.metadata.name}`;
    return referencesOf(template.spec, name);
  }
}

function referencesOf(spec: Pod['spec'], name: string): Uses {
  return new Map([...configReferences(spec)].map((reference) => [reference, name]));
}

/** A ReplicationController has the labels themselves there. */
function selectorOf({ apiVersion, spec }: LiveWorkload): LabelSelector {
  const selector = asRecord(spec?.['selector']);
  return trusted<LabelSelector>(apiVersion === 'v1' ? { matchLabels: selector } : selector);
}
