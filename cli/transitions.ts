/** What happened between two moments of a rollout, a line each: what `watch` prints where nothing can be redrawn. */

import { shortImage } from './pod-columns.ts';
import type { PodLine, WatchView } from './watch-view.ts';
import { describeWish } from './workload-state.ts';

/** Lines in the order of cause and effect; the first view is described whole. Nothing is said of what stayed the same. */
export function describeTransitions(before: WatchView | undefined, after: WatchView): readonly string[] {
  return [
    ...workloadLines(before, after),
    ...podTransitions(before, after),
    ...progressLines(before, after),
    ...waitingLines(before, after),
  ];
}

function workloadLines(before: WatchView | undefined, after: WatchView): string[] {
  const lines: string[] = [];
  const name = after.workload;
  if (before?.commit !== after.commit && after.commit !== undefined) {
    lines.push(`${name}: commit ${after.commit}`);
  }
  if (before?.updateRevision !== after.updateRevision) {
    const from = before?.updateRevision === undefined ? '' : ` (was ${before.updateRevision})`;
    lines.push(`${name}: revision ${after.updateRevision ?? 'not created yet'}${from}`);
  }
  if (JSON.stringify(before?.paused) !== JSON.stringify(after.paused)) {
    if (after.paused !== undefined) lines.push(`${name}: paused ${describeWish(after.paused)}`.trimEnd());
    else if (before !== undefined) lines.push(`${name}: resumed`);
  }
  if (JSON.stringify(before?.pinned) !== JSON.stringify(after.pinned)) {
    if (after.pinned !== undefined) lines.push(`${name}: pinned ${describeWish(after.pinned)}`.trimEnd());
    else if (before !== undefined) lines.push(`${name}: no longer pinned`);
  }
  if (before?.state !== after.state || (after.state === 'Stalled' && before.message !== after.message)) {
    const why = after.state === 'Stalled' ? `: ${after.message}` : '';
    lines.push(`${name}: ${after.state}${why}`);
  }
  return lines;
}

function podTransitions(before: WatchView | undefined, after: WatchView): string[] {
  const old = podsOf(before);
  const present = podsOf(after);
  const lines: string[] = [];
  for (const [name, pod] of old) {
    if (present.get(name)?.uid !== pod.uid) {
      lines.push(`pod ${name} (${uid(pod)}): gone`);
    }
  }
  for (const [name, pod] of present) {
    const previous = old.get(name);
    lines.push(
      ...(previous?.uid === pod.uid
        ? changes(previous, pod)
        : [`pod ${name} (${uid(pod)}): ${describe(pod)}`]),
    );
  }
  return lines;
}

function changes(before: PodLine, after: PodLine): string[] {
  const name = `pod ${after.name} (${uid(after)})`;
  const lines: string[] = [];
  if (before.revision !== after.revision || before.images.join() !== after.images.join()) {
    lines.push(`${name}: now revision ${after.revision}, ${images(after)}, same pod`);
  }
  if (
    before.ready !== after.ready ||
    before.status !== after.status ||
    before.containers !== after.containers
  ) {
    lines.push(
      `${name}: ${after.status}, ${after.containers} containers, ${after.ready ? 'ready' : 'not ready'}`,
    );
  }
  if (before.restarts !== after.restarts && before.status === after.status) {
    lines.push(`${name}: restarted, ${String(after.restarts)} in all`);
  }
  return lines;
}

function progressLines(before: WatchView | undefined, after: WatchView): string[] {
  return before !== undefined && inNumbers(before) === inNumbers(after)
    ? []
    : [`${after.workload}: ${inNumbers(after)}`];
}

function inNumbers({ progress }: WatchView): string {
  return (
    `${String(progress.updatedAvailable)}/${String(progress.target)} updated and available, ` +
    `${String(progress.available)} of ${String(progress.desired)} available`
  );
}

function waitingLines(before: WatchView | undefined, after: WatchView): string[] {
  const [cause] = after.causes;
  return cause === undefined || cause === before?.causes[0]
    ? []
    : [`${after.workload}: waiting: ${after.waiting[0] ?? cause}`];
}

function podsOf(view: WatchView | undefined): ReadonlyMap<string, PodLine> {
  return new Map((view?.revisions ?? []).flatMap(({ pods }) => pods).map((pod) => [pod.name, pod]));
}

function describe(pod: PodLine): string {
  return `revision ${pod.revision}, ${images(pod)}, ${pod.status}, ${pod.ready ? 'ready' : 'not ready'}`;
}

function images(pod: PodLine): string {
  return pod.images.map(shortImage).join(',');
}

function uid(pod: PodLine): string {
  return pod.uid.slice(0, 8);
}
