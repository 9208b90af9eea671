/** From measurements to figures. */

import type { ApiWrite } from './audit-log.ts';
import type { Figures } from './figures.ts';
import type { Measurement } from './measured-set.ts';
import { countActions } from './temporal-actions.ts';
import { countWrites } from './write-counts.ts';

/** Figures of rollouts of the same set that belong to one run; the first gives the times. */
export function figuresOf(measurements: readonly [Measurement, ...Measurement[]], replicas: number): Figures {
  const [first] = measurements;
  const pods = replicas * measurements.length;
  const counts = countWrites(measurements.flatMap(({ writes }) => writes));
  const heartbeats = sum(measurements.map((one) => one.heartbeats));
  const runs = measurements.flatMap(({ run }) => run ?? []);
  const events = runs.flatMap((run) => run.events);
  const usages = measurements.flatMap(({ usage }) => usage ?? []);
  const isWhole = runs.length === measurements.length;
  return {
    seconds: first.seconds,
    ...(first.statusSeconds !== undefined && { statusSeconds: first.statusSeconds }),
    writesPerPod: counts.writes / pods,
    podCreatesPerPod: counts.podCreates / pods,
    podDeletesPerPod: counts.podDeletes / pods,
    podPatchesPerPod: counts.podPatches / pods,
    statusWritesPerPod: counts.statusWrites / pods,
    eventsPerPod: counts.events / pods,
    otherWritesPerPod: counts.otherWrites / pods,
    dryRuns: counts.dryRuns,
    statusWrites: counts.statusWrites,
    failedWrites: counts.failedWrites,
    mostUnavailable: Math.max(...measurements.map((one) => one.mostUnavailable)),
    ...(usages.length === measurements.length && {
      cpuSeconds: sum(usages.map((usage) => usage.cpuSeconds)),
      maxRssMiB: Math.max(...usages.map((usage) => usage.maxRssMiB)),
    }),
    ...(isWhole && {
      actions: countActions(events) + heartbeats,
      heartbeats,
      batches: events.filter(
        (event) => event.activityTaskScheduledEventAttributes?.activityType?.name === 'updateBatch',
      ).length,
    }),
  };
}

/** Figures of a revision of which some pods never get ready, and of the one that mends it: each time under its own name. */
export function figuresOfFix(broken: Measurement, fixed: Measurement, replicas: number): Figures {
  const { seconds: brokenSeconds, statusSeconds: _, ...counts } = figuresOf([broken, fixed], replicas);
  return {
    ...counts,
    ...(brokenSeconds !== undefined && { brokenSeconds }),
    fixSeconds: fixed.seconds,
    ...(fixed.statusSeconds !== undefined && { fixStatusSeconds: fixed.statusSeconds }),
  };
}

/** The writes that replace or change a pod and went through. */
function podWrites(writes: readonly ApiWrite[]): readonly ApiWrite[] {
  return writes.filter(({ resource, code, isDryRun }) => resource === 'pods' && code < 400 && !isDryRun);
}

/** The longest time between two writes to pods, seconds. */
export function longestGap(writes: readonly ApiWrite[]): number {
  const times = podWrites(writes)
    .map(({ at }) => at)
    .toSorted((a, b) => a - b);
  return Math.max(0, ...times.slice(1).map((at, index) => at - (times[index] ?? at))) / 1000;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** Until the first write to a pod after that moment (milliseconds since the epoch). */
export function secondsUntilWrite({ writes }: Measurement, from: number): number {
  const first = Math.min(...podWrites(writes).map(({ at }) => (at > from ? at : Infinity)));
  return (first - from) / 1000;
}
