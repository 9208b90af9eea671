/** A rollout as a tree for a terminal: workload, why it waits, revisions, pods. */

import stringWidth from 'string-width';

import type { Colors } from './colors.ts';
import { oneLine } from '../kubernetes/safe-text.ts';
import { formatPod, podLayout } from './pod-columns.ts';
import type { PodColumn } from './pod-columns.ts';
import { cutToEnd, cutToWidth, wrapToWidth } from './table.ts';
import type { PodLine, RevisionLine, WatchView } from './watch-view.ts';
import type { WorkloadState } from './workload-state.ts';
import { describeWish } from './workload-state.ts';
import { describePin } from '../planners/reasons.ts';

export interface TreeOptions {
  readonly colors: Colors;
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly columns: number;
  /** Lines that there is room for; pods beyond that are counted only. */
  readonly rows: number;
}

const BAR_CELLS = 24;
const NARROW_BAR_CELLS = 8;
/** The numbers beside the long bar have room from here on. */
const BAR_COLUMNS = 100;
const GAP = '  ';
const INDENT_COLUMNS = '│   ├── '.length;

/**
 * Lines without line feeds, none wider than `columns`, at most `rows`. What does not fit is wrapped above the pods; of a pod it is
 * what says least about whether it is ready that goes first.
 */
export function renderTree(view: WatchView, options: TreeOptions): readonly string[] {
  const head = headLines(view, options).flatMap((line) => wrapToWidth(line, options.columns));
  const shown = fitPods(view.revisions, options.rows - head.length);
  const layout = podLayout(
    shown.flatMap(({ pods }) => pods),
    options.columns - INDENT_COLUMNS,
    options.now,
  );
  const lines = shown.flatMap(({ revision, pods, hidden }, index) =>
    revisionLines(revision, pods, hidden, index === shown.length - 1, layout, options),
  );
  return [...head, ...lines]
    .slice(0, Math.max(options.rows, 1))
    .map((line) => cutToWidth(line, options.columns));
}

/** `[########····]`: updated and available pods of those wanted. */
export function progressBar(done: number, total: number, cells: number): string {
  const filled = total === 0 ? cells : Math.min(cells, Math.floor((done / total) * cells));
  return `[${'#'.repeat(filled)}${'·'.repeat(cells - filled)}]`;
}

const GLYPHS: Readonly<Record<WorkloadState, string>> = {
  Ready: '✔',
  Progressing: '◌',
  Paused: '‖',
  Stalled: '✖',
  Pending: '◌',
  Terminating: '◌',
};

function headLines(view: WatchView, { colors, columns }: TreeOptions): string[] {
  const { progress, state, paused, pinned } = view;
  const paint =
    { Ready: colors.good, Stalled: colors.bad, Paused: colors.held, Progressing: colors.busy }[
      state as string
    ] ?? colors.dim;
  const commit = view.commit === undefined ? '' : `   commit ${oneLine(view.commit.slice(0, 8))}`;
  const cells = columns < BAR_COLUMNS ? NARROW_BAR_CELLS : BAR_CELLS;
  const bar = progressBar(progress.updatedAvailable, progress.target, cells);
  return [
    `${colors.bold(oneLine(view.workload))} -n ${oneLine(view.namespace)}   ${paint(`${GLYPHS[state]} ${state}`)}${commit}`,
    `${bar} ${String(progress.updatedAvailable)}/${String(progress.target)} updated and available   ` +
      `${String(progress.available)} of ${String(progress.desired)} available, ` +
      `${String(progress.unavailable)} unavailable of ${String(progress.maxUnavailable)} allowed`,
    ...(state === 'Stalled' ? [colors.bad(oneLine(view.message))] : []),
    ...(paused === undefined ? [] : [colors.held(`paused ${oneLine(describeWish(paused))}`.trimEnd())]),
    ...(pinned === undefined ? [] : [colors.held(oneLine(describePin(pinned)))]),
    ...view.waiting.slice(0, 3).map((reason) => colors.dim(`waiting: ${oneLine(reason)}`)),
  ];
}

interface Shown {
  readonly revision: RevisionLine;
  readonly pods: readonly PodLine[];
  readonly hidden: number;
}

/** Shares the room between revisions; pods that are not ready are shown first, because they are what one looks for. */
function fitPods(revisions: readonly RevisionLine[], rows: number): readonly Shown[] {
  const total = revisions.reduce((sum, { pods }) => sum + pods.length, 0);
  if (total + revisions.length <= rows) {
    return revisions.map((revision) => ({ revision, pods: revision.pods, hidden: 0 }));
  }
  const room = Math.max(1, Math.floor((rows - revisions.length * 2) / Math.max(1, revisions.length)));
  return revisions.map((revision) => {
    if (revision.pods.length <= room) return { revision, pods: revision.pods, hidden: 0 };
    const first = new Set(
      [...revision.pods].sort((a, b) => Number(a.ready) - Number(b.ready)).slice(0, room),
    );
    const pods = revision.pods.filter((pod) => first.has(pod));
    return { revision, pods, hidden: revision.pods.length - pods.length };
  });
}

function revisionLines(
  revision: RevisionLine,
  pods: readonly PodLine[],
  hidden: number,
  last: boolean,
  layout: readonly PodColumn[],
  options: TreeOptions,
): readonly string[] {
  const { colors, columns } = options;
  const number = revision.number === undefined ? '' : ` #${revision.number}`;
  const role = { new: 'new', complete: 'last complete', old: 'old' }[revision.role];
  const count = revision.pods.length;
  const start = `${last ? '└──' : '├──'} ${revision.what ?? 'revision'}${number} `;
  const end = `${role}, ${String(count)} ${count === 1 ? 'pod' : 'pods'}`;
  const name = cutToEnd(oneLine(revision.name), columns - stringWidth(start) - GAP.length - end.length);
  const title = `${start}${name}${GAP}${colors.dim(end)}`;
  const indent = last ? '    ' : '│   ';
  const lines = pods.map((pod, index) => {
    const branch = index === pods.length - 1 && hidden === 0 ? '└──' : '├──';
    return `${indent}${branch} ${formatPod(pod, layout, options)}`;
  });
  const more = hidden === 0 ? [] : [`${indent}└── ${colors.dim(`… and ${String(hidden)} more`)}`];
  return [title, ...lines, ...more];
}
