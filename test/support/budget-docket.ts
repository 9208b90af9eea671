/** Places the writes of the audit log among the events of the watches. */

import type { Observation, PodWrite } from './budget-evidence.ts';

/** The writes that wait for the event that they made. */
export class WriteDocket {
  readonly #byVersion = new Map<string, PodWrite[]>();
  readonly #deletes = new Map<string, PodWrite[]>();

  constructor(writes: readonly PodWrite[]) {
    for (const write of writes) {
      add(this.#byVersion, `${write.uid}/${write.resourceVersion}`, write);
      if (write.verb === 'delete') {
        add(this.#deletes, write.uid, write);
      }
    }
  }

  /** The writes whose answer was this version of the pod: the first of them made it, others found it. */
  take({ kind, type, object }: Observation): readonly PodWrite[] {
    if (kind !== 'pod') {
      return [];
    }
    const { uid, resourceVersion, deletionTimestamp } = object.metadata;
    const waiting = this.#byVersion.get(`${uid}/${resourceVersion}`) ?? [];
    if (type === 'DELETED') {
      // A delete without a grace period may answer with the version that was there before.
      return this.#remove([
        ...waiting,
        ...(this.#deletes.get(uid) ?? []).filter((write) => !waiting.includes(write)),
      ]);
    }
    return this.#remove(waiting.filter(({ verb }) => verb === 'patch' || deletionTimestamp !== undefined));
  }

  /** Those that were still waiting. */
  #remove(writes: readonly PodWrite[]): readonly PodWrite[] {
    return writes.filter((write) => {
      const key = `${write.uid}/${write.resourceVersion}`;
      const waiting = this.#byVersion.get(key) ?? [];
      this.#byVersion.set(
        key,
        waiting.filter((other) => other !== write),
      );
      return waiting.includes(write);
    });
  }

  /** @throws Error naming a write that no event was found for */
  close(): void {
    for (const [write] of this.#byVersion.values()) {
      if (write !== undefined) {
        throw new Error(
          `${write.verb} of pod ${write.namespace}/${write.name} (audit ${write.auditID}) made version ` +
            `${write.resourceVersion}, which the watch has not shown: the checker was blind and cannot judge`,
        );
      }
    }
  }
}

function add<V>(map: Map<string, V[]>, key: string, value: V): void {
  map.set(key, [...(map.get(key) ?? []), value]);
}
