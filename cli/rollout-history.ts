/** `fairlead rollout history`: revisions and what became of each attempt; from the cluster alone, without Temporal. */

import type { Attempt } from '../kubernetes/attempts.ts';
import { readAttempts } from '../kubernetes/attempts.ts';
import { causeOfObject } from '../kubernetes/template-change.ts';
import { readRestarted } from '../kubernetes/template-edits.ts';
import {
  lastComplete,
  listRevisions,
  presentRevision,
  templateOfData,
} from '../kubernetes/workload-revisions.ts';
import { hasEndedBadly } from '../kubernetes/wish-edits.ts';
import type { WorkloadObject, WorkloadTarget } from '../kubernetes/workload-edit.ts';
import { WORKLOAD_KINDS } from '../kubernetes/workload-kinds.ts';
import { saysComplete, saysPaused } from '../planners/conditions.ts';
import type { ControllerRevision, PodTemplate } from '../planners/objects.ts';
import type { Wish } from '../planners/workload.ts';
import { colorsOf } from './colors.ts';
import { differences } from '../git/differences.ts';
import type { Difference } from '../git/differences.ts';
import { ageOf } from './durations.ts';
import { CliError, EXIT } from './exit-codes.ts';
import type { ExitCode } from './exit-codes.ts';
import { formatDifference } from './format-difference.ts';
import type { Call, Io } from './io.ts';
import { readWorkload } from './read-workload.ts';
import { manyLines } from '../kubernetes/safe-text.ts';
import { targetOf, withSession } from './session.ts';
import type { Document } from './structured.ts';
import { CLI_API_VERSION, printStructured, toYaml } from './structured.ts';
import type { Column } from './table.ts';
import { formatTable } from './table.ts';
import { formatWorkload } from './workload-argument.ts';
import { conditionsOf, describeWish, isObserved } from './workload-state.ts';

export interface HistoryOptions {
  readonly revision?: bigint;
  /** Two revisions to compare. */
  readonly diff?: readonly [bigint, bigint];
}

export interface RevisionView {
  readonly revision: number | bigint;
  readonly name: string;
  readonly createdAt?: string;
  /** The revision of the present template, and the last one that was complete. */
  readonly roles: readonly ('present' | 'complete')[];
  readonly images: readonly string[];
  /** Who restarted it and why, or the annotation kubernetes.io/change-cause. */
  readonly changeCause?: string;
  /** Oldest first, at most 10; of runs that are over. */
  readonly attempts: readonly Attempt[];
  /** Of the present one, while its rollout is under way. */
  readonly underWay?: 'Running' | 'Paused';
  /** Only with --revision. */
  readonly template?: PodTemplate;
  /** Of a ReplicationController: which one was replaced, what is there in the end, and how far the update is. */
  readonly from?: string;
  readonly to?: string;
  readonly phase?: string;
  /** Who began what is under way, or which commit: no attempt tells it yet. */
  readonly begun?: Wish;
  readonly commit?: string;
}

/** Whose history it is. */
export interface HistorySubject {
  readonly workload: string;
  readonly namespace: string;
  /** What its revisions are: `controllerrevision`, `replicaset`. */
  readonly revisionKind: string;
  /** Oldest first, with their templates. */
  readonly all: readonly RevisionView[];
}

interface HistoryDocument extends Document {
  readonly kind: 'RolloutHistory';
  readonly workload: string;
  readonly namespace: string;
  /** Oldest first. */
  readonly revisions: readonly RevisionView[];
  /** Only with --diff: from the template of the first to that of the second. */
  readonly differences?: readonly Difference[];
}

/** Runs the verb. */
export async function runRolloutHistory(call: Call<HistoryOptions>): Promise<ExitCode> {
  return await withSession(call, async (session) => {
    const { argument, target } = targetOf(session, call.operands[0] ?? '');
    const object = await readWorkload(session, target);
    return await printHistory(call, {
      workload: formatWorkload(argument),
      namespace: session.namespace,
      revisionKind: WORKLOAD_KINDS[target.kind].history.kind.toLowerCase(),
      all: viewRevisions(object, target, await listRevisions(session.client, object, target)),
    });
  });
}

/** Prints a history as the options say. @throws CliError for a revision that is not there, and for options that exclude each other */
export async function printHistory(
  { io, options }: Call<HistoryOptions>,
  { workload, namespace, revisionKind, all }: HistorySubject,
): Promise<ExitCode> {
  if (options.diff !== undefined && options.revision !== undefined) {
    throw new CliError('--diff names its revisions itself: leave --revision away', EXIT.usage);
  }
  const compared = options.diff?.map((number) => pick(all, number, workload));
  const revisions =
    compared?.map(withoutTemplate) ??
    (options.revision === undefined ? all.map(withoutTemplate) : [pick(all, options.revision, workload)]);
  const document: HistoryDocument = {
    apiVersion: CLI_API_VERSION,
    kind: 'RolloutHistory',
    workload,
    namespace,
    revisions,
    ...(compared && { differences: differences(compared[0]?.template, compared[1]?.template) }),
  };
  if (await printStructured(io, options, document)) return EXIT.ok;
  if (options.output === 'name') {
    for (const { name } of revisions) io.out(`${revisionKind}.apps/${name}\n`);
    return EXIT.ok;
  }
  if (document.differences !== undefined) {
    await printDifferences(io, document, document.differences);
    return EXIT.ok;
  }
  const [one] = revisions;
  if (options.revision !== undefined && one !== undefined) {
    await printRevision(io, document, one);
  } else {
    // The records of a rolling update have numbers: what they are of, the images say.
    const isWide = options.output === 'wide' || revisions.some(({ phase }) => phase !== undefined);
    printTable(io, document, isWide);
  }
  return EXIT.ok;
}

/** Revisions as `history` shows them. */
export function viewRevisions(
  object: WorkloadObject,
  target: WorkloadTarget,
  revisions: readonly ControllerRevision[],
): readonly RevisionView[] {
  const present = presentRevision(object, target, revisions)?.metadata.name;
  const complete = lastComplete(object, present, revisions)?.metadata.name;
  const underWay = stageOf(object);
  // An undo gives an old revision the highest number: what a template was made from is the one that was made before it.
  const made = revisions.toSorted((a, b) => createdAt(a) - createdAt(b));
  return revisions.map((revision) => {
    const { name, creationTimestamp, annotations } = revision.metadata;
    const template = templateOfData(revision);
    const changeCause =
      causeOf(revision, made[made.indexOf(revision) - 1]) ?? annotations?.['kubernetes.io/change-cause'];
    return {
      revision: revision.revision,
      name,
      ...(creationTimestamp !== undefined && { createdAt: creationTimestamp }),
      roles: [
        ...(name === present ? (['present'] as const) : []),
        ...(name === complete ? (['complete'] as const) : []),
      ],
      images: template.spec.containers.map((container) => container.image ?? ''),
      ...(changeCause !== undefined && { changeCause }),
      attempts: readAttempts(revision),
      ...(name === present && underWay !== undefined && { underWay, ...beginningOf(object) }),
      template,
    };
  });
}

function beginningOf(object: WorkloadObject): Pick<RevisionView, 'begun' | 'commit'> {
  const { by, reason, commit } = causeOfObject(object);
  const begun = { ...(by !== undefined && { by }), ...(reason !== undefined && { reason }) };
  return { begun, ...(commit !== undefined && { commit }) };
}

/** Whether a rollout is in progress, as far as the object tells: one whose run ended badly is not. */
function stageOf(object: WorkloadObject): RevisionView['underWay'] {
  const conditions = conditionsOf(object);
  if (!isObserved(object) || conditions.length === 0 || saysComplete(conditions)) return undefined;
  if (hasEndedBadly(object)) return undefined;
  return saysPaused(conditions) ? 'Paused' : 'Running';
}

function createdAt({ metadata }: ControllerRevision): number {
  return Date.parse(metadata.creationTimestamp ?? '') || 0;
}

/** A restart makes a revision of its own; later ones carry its annotation on. */
function causeOf(revision: ControllerRevision, before: ControllerRevision | undefined): string | undefined {
  const restarted = readRestarted(templateOfData(revision));
  const known = before === undefined ? undefined : readRestarted(templateOfData(before));
  if (restarted === undefined || restarted.at === known?.at) return undefined;
  return `restarted ${describeWish(restarted)}`.trimEnd();
}

function withoutTemplate(view: RevisionView): RevisionView {
  const { template: _, ...rest } = view;
  return rest;
}

function pick(views: readonly RevisionView[], number: bigint, workload: string): RevisionView {
  const found = views.findLast((view) => BigInt(view.revision) === number);
  if (found === undefined) {
    const known = views.map((view) => String(view.revision)).join(', ');
    throw new CliError(
      `${workload} has no revision ${String(number)}: ${known === '' ? 'it has none yet' : `known are ${known}`}`,
      EXIT.failed,
      { code: 'RevisionNotFound' },
    );
  }
  return found;
}

function printTable(io: Io, { workload, revisions }: HistoryDocument, wide: boolean): void {
  if (revisions.length === 0) {
    io.err(`${workload} has no revisions yet: nothing of it has been rolled out by Fairlead\n`);
    return;
  }
  const last = (row: RevisionView) => row.attempts.at(-1);
  // Of what is under way the attempts before it tell nothing.
  const told = (row: RevisionView): Wish | undefined =>
    row.underWay === undefined ? (last(row) ?? row.begun) : (row.begun ?? last(row));
  // Of what is under way there is none yet.
  const end = (row: RevisionView): string => (row.underWay === undefined ? describeEnd(last(row)) : '');
  const columns: readonly Column<RevisionView>[] = [
    { title: 'REVISION', value: (row) => String(row.revision) },
    { title: 'NAME', value: (row) => row.name },
    ...(revisions.some(({ to }) => to !== undefined)
      ? [{ title: 'CONTROLLER', value: (row: RevisionView) => row.to ?? '-' }]
      : []),
    { title: 'ROLE', value: (row) => row.roles.join(',') || '-' },
    { title: 'OUTCOME', value: (row) => row.underWay ?? last(row)?.outcome ?? row.phase ?? '-' },
    { title: 'BY', value: (row) => told(row)?.by ?? '-' },
    { title: 'ATTEMPTS', value: (row) => String(countAttempts(row)) },
    { title: 'AGE', value: (row) => ageOf(row.createdAt, io.now()) },
    { title: 'COMMIT', value: (row) => commitOf(row)?.slice(0, 8) ?? '-' },
    ...(revisions.some((row) => end(row) !== '')
      ? [{ title: 'ENDED-BECAUSE', value: (row: RevisionView) => end(row) || '-' }]
      : []),
    ...(wide ? [{ title: 'IMAGES', value: (row: RevisionView) => row.images.join(',') }] : []),
    {
      title: 'CHANGE-CAUSE',
      value: (row) => row.changeCause ?? told(row)?.reason ?? '<none>',
    },
  ];
  io.out(`${workload}\n${formatTable(columns, revisions)}`);
}

/** Of a ReplicationController the one that runs is told too: who began it stands beside it. */
function countAttempts({ attempts, phase, underWay }: RevisionView): number {
  return attempts.length + (phase !== undefined && underWay !== undefined ? 1 : 0);
}

/** The commit that brought the revision; an undo to it brings none. */
function commitOf({ attempts, commit: begun, underWay }: RevisionView): string | undefined {
  if (underWay !== undefined && begun !== undefined) return begun;
  return attempts.findLast(({ commit }) => commit !== undefined)?.commit ?? begun;
}

/** `by alice: broken`, of a run that did not just succeed; else empty. */
function describeEnd({ endedBy, endedBecause }: Partial<Attempt> = {}): string {
  return describeWish({
    ...(endedBy !== undefined && { by: endedBy }),
    ...(endedBecause !== undefined && { reason: endedBecause }),
  });
}

async function printRevision(io: Io, { workload }: HistoryDocument, view: RevisionView): Promise<void> {
  const roles = view.roles.length === 0 ? '' : ` (${view.roles.join(', ')})`;
  io.out(`${workload} with revision #${String(view.revision)}, ${view.name}${roles}\n`);
  if (view.attempts.length > 0) {
    const columns: readonly Column<Attempt>[] = [
      { title: 'STARTED', value: (row) => row.startedAt },
      { title: 'ENDED', value: (row) => row.endedAt ?? '-' },
      { title: 'OUTCOME', value: (row) => row.outcome },
      { title: 'BY', value: (row) => row.by ?? '-' },
      { title: 'COMMIT', value: (row) => row.commit?.slice(0, 8) ?? '-' },
      { title: 'RUN', value: (row) => row.runId },
      { title: 'REASON', value: (row) => row.reason ?? '-' },
      { title: 'ENDED-BECAUSE', value: (row) => describeEnd(row) || '-' },
    ];
    io.out(formatTable(columns, view.attempts));
  }
  io.out(`Pod Template:\n${indent(manyLines(await toYaml(view.template)))}`);
}

async function printDifferences(
  io: Io,
  { workload, revisions }: HistoryDocument,
  found: readonly Difference[],
): Promise<void> {
  const [from, to] = revisions.map(({ revision, name }) => `#${String(revision)} (${name})`);
  const colors = colorsOf(io);
  const blocks = await Promise.all(found.map((difference) => formatDifference(difference, colors)));
  const title = `${workload} from revision ${from ?? ''} to ${to ?? ''}`;
  io.out(`${[found.length === 0 ? `${title}: the templates are equal` : title, ...blocks].join('\n')}\n`);
}

function indent(text: string): string {
  return text.replaceAll(/^(?=.)/gm, '  ');
}
