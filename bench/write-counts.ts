/** Writes by kind. */

import type { ApiWrite } from './audit-log.ts';

type Kind = Exclude<keyof WriteCounts, 'writes' | 'failedWrites' | 'dryRuns'>;

const POD_KINDS = new Map<string, Kind>([
  ['create', 'podCreates'],
  ['delete', 'podDeletes'],
  ['patch', 'podPatches'],
  ['update', 'podPatches'],
]);

export interface WriteCounts {
  readonly podCreates: number;
  readonly podDeletes: number;
  readonly podPatches: number;
  /** Of the workload. */
  readonly statusWrites: number;
  readonly events: number;
  /** Revisions, claims, the workload's own metadata. */
  readonly otherWrites: number;
  /** All of the above: what a rollout costs. Failed ones cost as well. */
  readonly writes: number;
  readonly failedWrites: number;
  /** Leader election goes on whether or not anything is rolled out; not in `writes`. */
  readonly leaseWrites: number;
  /** What only asked what would become of it, be it that it was refused: nothing is stored. Not in any of the above. */
  readonly dryRuns: number;
}

/** Counts one user's writes. */
export function countWrites(writes: readonly ApiWrite[]): WriteCounts {
  const counts = {
    podCreates: 0,
    podDeletes: 0,
    podPatches: 0,
    statusWrites: 0,
    events: 0,
    otherWrites: 0,
    writes: 0,
    failedWrites: 0,
    leaseWrites: 0,
    dryRuns: 0,
  };
  for (const write of writes) {
    if (write.isDryRun) {
      counts.dryRuns += 1;
      continue;
    }
    const kind = kindOf(write);
    counts[kind] += 1;
    if (kind === 'leaseWrites') continue;
    counts.writes += 1;
    if (write.code >= 400) counts.failedWrites += 1;
  }
  return counts;
}

function kindOf({ resource, subresource, verb }: ApiWrite): Kind {
  if (resource === 'pods') return POD_KINDS.get(verb) ?? 'otherWrites';
  if (resource === 'events') return 'events';
  if (resource === 'leases') return 'leaseWrites';
  return subresource === 'status' ? 'statusWrites' : 'otherWrites';
}
