/** The one writer of workloads' `.status`: only what changed, and bursts of counters coalesced. */

import { isDeepStrictEqual } from 'node:util';

import type { KubernetesClient } from '../kubernetes/client.ts';
import { asRecord, trusted } from '../kubernetes/values.ts';
import type { WatchCache } from '../kubernetes/watch-cache.ts';
import { WORKLOAD_RESOURCES, workloadPath } from '../kubernetes/workload-api.ts';
import { GROUP } from '../planners/names.ts';
import type { Condition, JsonObject, KubernetesObject } from '../planners/objects.ts';
import type { Plan } from '../planners/plan.ts';
import type { Workload } from '../planners/workload.ts';

/** Writes of mere counters of one workload are at least this far apart, milliseconds, */
const SPACING_MS = 400;
/** and more for each pod of a large one, whose counters always move. */
const SPACING_PER_POD_MS = 0.8;
/** Whatever its size: what has changed is written within a second, the plan that finds it out included. */
const MOST_SPACING_MS = 700;
/** But so many need not wait: a pod that goes and comes back is that many changes, and ends in one of them. */
const MOST_SPARE = 2;
/** One that did not wait is earned back in this time: a rollout, whose batches come one after the other, has none left for each. */
const SPARE_MS = 10_000;
/** Also of those one takes with it what a batch of pods does at the same moment. */
const SPARE_SPACING_MS = 100;

/** A change of one of these is written at once: somebody waits for it. */
const URGENT = ['observedGeneration', 'currentRevision', 'updateRevision', 'collisionCount'] as const;

/** Of one workload, milliseconds since the epoch. */
interface Written {
  readonly last: number;
  /** How many need not wait for their turn. */
  readonly spare: number;
}

export class StatusWriter {
  /** By uid. */
  readonly #written = new Map<string, Written>();
  readonly #cache: WatchCache;
  readonly #now: () => number;

  constructor(cache: WatchCache, now: () => number) {
    this.#cache = cache;
    this.#now = now;
  }

  /**
   * Writes what differs from the served status; answers when to come again if the write was put off (milliseconds since the
   * epoch). The uid is a precondition; the resourceVersion is not: nobody else writes status, and a wish that is written to
   * the metadata meanwhile must not cost a second try. Annotations that the plan wants on the workload itself go with it.
   */
  async write(
    client: KubernetesClient,
    object: KubernetesObject,
    workload: Workload,
    status: JsonObject,
    { annotations = {}, progress }: Pick<Plan<object>, 'annotations' | 'progress'>,
  ): Promise<number | undefined> {
    object = await this.#annotate(client, object, workload, annotations);
    const served = statusOf(object);
    const patch = difference(served, status);
    if (Object.keys(patch).length === 0) {
      return undefined;
    }
    const { uid } = workload.ref;
    const spacing = spacingOf(progress.desired);
    const now = this.#now();
    const known = this.#written.get(uid);
    // One that is still to come tells nothing: the clock was set back.
    const { last, spare: left } =
      known !== undefined && known.last <= now ? known : { last: -Infinity, spare: MOST_SPARE };
    const spare = Math.min(left + (now - last) / SPARE_MS, MOST_SPARE);
    const urgent = isUrgent(served, patch);
    const due = last + (spare >= 1 ? SPARE_SPACING_MS : spacing);
    if (due > now && !urgent) {
      return due;
    }
    const written = await client.patch(workloadPath(workload.ref, 'status'), 'merge', {
      metadata: { uid },
      status: patch,
    });
    const used = !urgent && now < last + spacing ? 1 : 0;
    this.#written.set(uid, { last: now, spare: spare - used });
    this.#cache.observeWrite(WORKLOAD_RESOURCES[workload.ref.kind], written);
    return undefined;
  }

  /**
   * Annotations that the workload is to have. A native object takes them by way of its status, or its generation would rise with
   * each (C15); of a custom resource that way takes the status alone, and an annotation does not count as a change.
   */
  async #annotate(
    client: KubernetesClient,
    object: KubernetesObject,
    { ref }: Workload,
    wanted: Readonly<Record<string, string | null>>,
  ): Promise<KubernetesObject> {
    const annotations = Object.fromEntries(
      Object.entries(wanted).filter(
        ([name, value]) => (object.metadata.annotations?.[name] ?? null) !== value,
      ),
    );
    if (Object.keys(annotations).length === 0) return object;
    const path = workloadPath(ref, ref.group === GROUP ? undefined : 'status');
    // What is taken away must still be what was read: somebody may just have written it anew.
    const takesAway = Object.values(annotations).includes(null);
    const { resourceVersion } = object.metadata;
    const written = await client.patch(path, 'merge', {
      metadata: { uid: ref.uid, ...(takesAway && { resourceVersion }), annotations },
    });
    this.#cache.observeWrite(WORKLOAD_RESOURCES[ref.kind], written);
    return written;
  }

  forget(uid: string): void {
    this.#written.delete(uid);
  }
}

/** Milliseconds between two writes of counters of a workload with so many pods. */
function spacingOf(pods: number): number {
  return Math.min(Math.max(SPACING_MS, pods * SPACING_PER_POD_MS), MOST_SPACING_MS);
}

/** `.status` of an object as served. */
export function statusOf(object: KubernetesObject): JsonObject {
  return asRecord(trusted<{ readonly status?: unknown }>(object).status);
}

/** Counters that the schemas of the kinds ask for, or where client-go tells 0 from "not known" (pointers). */
const REQUIRED: ReadonlySet<string> = new Set([
  'replicas',
  'currentNumberScheduled',
  'desiredNumberScheduled',
  'numberMisscheduled',
  'numberReady',
  'terminatingReplicas',
  'collisionCount',
]);

/** A merge patch from `served` to `wanted`; fields that are gone become null. Zero counters that were never written stay away. */
function difference(served: JsonObject, wanted: JsonObject): JsonObject {
  const patch: Record<string, unknown> = {};
  for (const [field, value] of Object.entries(wanted)) {
    if (value !== undefined && !isDeepStrictEqual(value, served[field])) {
      const unsetZero = value === 0 && served[field] === undefined && !REQUIRED.has(field);
      if (!unsetZero) {
        patch[field] = value;
      }
    }
  }
  for (const field of Object.keys(served)) {
    if (wanted[field] === undefined) {
      patch[field] = null;
    }
  }
  return patch;
}

function isUrgent(served: JsonObject, patch: JsonObject): boolean {
  return (
    URGENT.some((field) => field in patch) ||
    ('conditions' in patch && summary(patch['conditions']) !== summary(served['conditions']))
  );
}

/** Type and status of each condition: a new reason or message alone can wait. */
function summary(conditions: unknown): string {
  return trusted<readonly Condition[]>(conditions ?? [])
    .map((condition) => `${condition.type}=${condition.status}`)
    .sort()
    .join();
}
