/** What is to be said of a ReplicationController and its rolling update: one word and one sentence. Pure. */

import { ANNOTATION } from '../planners/names.ts';
import { isActive } from '../planners/availability.ts';
import type { ReplicationController } from '../planners/replication-controller.ts';
import { partnerOf, podsOf, sizeOf } from '../planners/replication-controller.ts';
import { describeHold } from '../planners/pod-reasons.ts';
import type { RollingUpdatePlan } from '../planners/rolling-update.ts';
import { foreignFinalizers, freedPods } from '../planners/rolling-update-handover.ts';
import { describeLeftover, leftBy } from '../planners/rolling-update-leftover.ts';
import { describeLost } from '../planners/rolling-update-lost.ts';
import { describeVainTurn } from '../planners/rolling-update-marks.ts';
import type { Turned, UpdateRecord } from '../planners/rolling-update-record.ts';
import { isActiveRecord } from '../planners/rolling-update-record.ts';
import {
  byEditorsSince,
  editedSince,
  editedSinceBack,
  hasPodOfBefore,
} from '../planners/rolling-update-template.ts';
import type { ControllerProgress, UpdateEnding, UpdateProgress } from '../planners/rolling-update-steps.ts';
import type { UpdateView } from '../planners/rolling-update-view.ts';
import {
  ABANDONED,
  describeAbandoned,
  isMadeSince,
  leftPods,
  ownPods,
} from '../planners/rolling-update-abandoned.ts';
import type { Wish } from '../planners/workload.ts';
import type { GitState } from './git-state.ts';
import { describeWish } from './workload-state.ts';

/** `rolledBack`: it is well, as it was before the last update. */
export type UpdateOutcome = 'done' | 'rolledBack' | 'progressing' | 'stalled';

export interface UpdateVerdict {
  readonly outcome: UpdateOutcome;
  /** Without a full stop. */
  readonly sentence: string;
}

/** Whether an update is under way, whatever became of its run. */
export function isUnderWay({ view }: RollingUpdatePlan): boolean {
  const { nextController, record, isRollback } = view;
  if (leftoverOf(view) !== undefined) return false;
  return nextController !== undefined || record !== undefined || isRollback;
}

/** That the controller is left of an update that was given up, whose marks are no marks of one of its own; undefined where it is not. */
export function leftoverOf(view: UpdateView): string | undefined {
  const record = view.old && leftBy(view, view.old);
  return view.old && record && describeLeftover(view.old, record);
}

/**
 * `fairlead rolling-update foo -n shop`: attaches to the update, or takes on one that kubectl began. With the name of a next controller that
 * keeps it: the command that is printed says what will be.
 */
export function commandFor({ name, namespace, keepsName, nextController, record }: UpdateView): string {
  const next = nextController?.metadata.name ?? record?.next;
  const kept = keepsName && next !== undefined ? ` ${next}` : '';
  return `fairlead rolling-update ${name}${kept} -n ${namespace}`;
}

/**
 * @param git of the repository that the controller comes from; undefined: nothing is known of it
 * @param isGivenUp nothing has come of the commit that turned it round, and where nothing is known of that, nothing is awaited any more
 */
export function judgeUpdate(plan: RollingUpdatePlan, git?: GitState, isGivenUp = false): UpdateVerdict {
  const { outcome, sentence } = judge(plan, git, isGivenUp);
  const { paused, old } = plan.view;
  const isOver = outcome === 'done' || outcome === 'rolledBack';
  if (paused === undefined || old === undefined || !isOver) return { outcome, sentence };
  return { outcome, sentence: `${sentence}; the next update will wait: ${describePause(paused)}` };
}

function judge(plan: RollingUpdatePlan, git: GitState | undefined, isGivenUp: boolean): UpdateVerdict {
  const { view, step, progress } = plan;
  const { old, last, name } = view;
  const leftover = leftoverOf(view);
  if (leftover !== undefined) return { outcome: 'stalled', sentence: leftover };
  if (isUnderWay(plan)) {
    if (step.do === 'refuse') return { outcome: 'stalled', sentence: step.message };
    const why = reasonOf(plan);
    return {
      outcome: 'progressing',
      sentence: `${describeProgress(progress)}${why === undefined ? '' : ` (${why})`}`,
    };
  }
  if (step.do === 'refuse' && step.code === 'NextLost') return { outcome: 'stalled', sentence: step.message };
  if (old === undefined && step.do === 'done' && last?.state.phase === 'Aborted') {
    return { outcome: 'rolledBack', sentence: step.message };
  }
  if (old === undefined) {
    return last?.state.phase === 'Done'
      ? { outcome: 'done', sentence: `replication controller "${last.to}" has taken the place of "${name}"` }
      : { outcome: 'stalled', sentence: `there is no ReplicationController ${name}` };
  }
  const back = cameBack(plan);
  if (back !== undefined) {
    const { record, turned } = back;
    if (turned.verb === 'commit' && git === undefined && !isGivenUp) {
      return { outcome: 'progressing', sentence: unknown(name, record, turned) };
    }
    if (turned.verb === 'commit' && git?.outcome === 'Progressing') {
      return { outcome: 'progressing', sentence: superseded(name, record, turned) };
    }
    // What it brings is what the controller had: nothing was to be rolled out next.
    if (turned.verb === 'commit' && git?.outcome === 'Succeeded') {
      return { outcome: 'done', sentence: reverted(name, record, turned) };
    }
    const said = rolledBack(name, record, turned);
    return { outcome: 'rolledBack', sentence: `${said}; ${howItIs(plan, old, record)}` };
  }
  const { generation = 0 } = old.metadata;
  if ((old.status?.observedGeneration ?? 0) < generation) {
    return {
      outcome: 'progressing',
      sentence: `Waiting for replication controller "${name}" spec update to be observed...`,
    };
  }
  const [desired, available] = [sizeOf(old), old.status?.availableReplicas ?? 0];
  return available < desired
    ? {
        outcome: 'progressing',
        sentence: `${String(available)} of ${String(desired)} replicas of ${name} are available`,
      }
    : {
        outcome: 'done',
        sentence: `replication controller "${name}" successfully rolled out${whoEdited(plan)}`,
      };
}

/**
 * An edited template changes no pod that is there, so that what was rolled out is not what the next pod is. Empty: nobody has, or all
 * pods are of the present one.
 */
function whoEdited({ view: { old, last, name, pods } }: RollingUpdatePlan): string {
  if (old === undefined || last?.to !== name || last.state.phase !== 'Done' || !editedSince(last, old))
    return '';
  return hasPodOfBefore({ pods }, last, old) ? `; its template was changed since${byEditors(last, old)}` : '';
}

/** The last update, if it was turned round and nothing has been applied to the controller since, nor another made of its name. */
export function cameBack({
  view: { old, last, name, records },
}: RollingUpdatePlan): { readonly record: UpdateRecord; readonly turned: Turned } | undefined {
  const newest = records.findLast(({ from, to }) => from === name || to === name);
  if (old === undefined || last === undefined || last !== newest || last.state.phase !== 'Aborted')
    return undefined;
  if (isMadeSince(old, last)) return undefined;
  const turned = last.state.turned ?? {};
  return turned.from === old.metadata.annotations?.[ANNOTATION.commit] ? { record: last, turned } : undefined;
}

/** How one update has ended, whatever is rolled out by now. */
export interface RecordedEnd {
  readonly outcome: UpdateEnding;
  readonly turned?: Turned | undefined;
  /** Next controller of the one that took its place, where no commit is known to have done so. */
  readonly by?: string;
}

/**
 * How the update has ended whose record has the uid; undefined while it is under way, and for a record that is gone. One that was
 * edited in the middle has a newer record with the same next controller, and ends as that does.
 */
export function recordedEnd({ records }: Pick<UpdateView, 'records'>, uid: string): RecordedEnd | undefined {
  const at = records.findIndex(({ revision }) => revision.metadata.uid === uid);
  const record = records[at];
  if (record === undefined || isActiveRecord(record)) return undefined;
  const { phase, turned } = record.state;
  if (phase === 'Done') return { outcome: 'Succeeded' };
  if (turned !== undefined) return { outcome: turned.verb === 'commit' ? 'Superseded' : 'Aborted', turned };
  const later = laterRecords(records, record)[0];
  if (later === undefined) return { outcome: 'Aborted' };
  return later.next === record.next
    ? recordedEnd({ records }, later.revision.metadata.uid)
    : { outcome: 'Superseded', by: later.next };
}

/** Whether another update of the same controller has been written down since: then its run says nothing about this one. */
export function isFollowedByOther({ records }: Pick<UpdateView, 'records'>, uid: string): boolean {
  const record = records.find(({ revision }) => revision.metadata.uid === uid);
  return record !== undefined && laterRecords(records, record).length > 0;
}

/** @param records Oldest first. */
function laterRecords(records: readonly UpdateRecord[], record: UpdateRecord): readonly UpdateRecord[] {
  return records.slice(records.indexOf(record) + 1).filter(({ from }) => from === record.from);
}

function superseded(name: string, record: UpdateRecord, { commit = '' }: Turned): string {
  return `the update of ${name} to ${imagesOf(record)} was superseded; commit ${commit.slice(0, 8)} is rolled out next`;
}

function unknown(name: string, record: UpdateRecord, { commit = '' }: Turned): string {
  return `the update of ${name} to ${imagesOf(record)} was superseded; what becomes of commit ${commit.slice(0, 8)} is not known here`;
}

function reverted(name: string, record: UpdateRecord, { commit = '' }: Turned): string {
  return `replication controller "${name}" is as commit ${commit.slice(0, 8)} has it, which reverted the update to ${imagesOf(record)}`;
}

function rolledBack(name: string, record: UpdateRecord, turned: Turned): string {
  return `the update of ${name} to ${imagesOf(record)} was ${describeTurn(turned)}`;
}

/** After an update that was turned round. */
function howItIs(plan: RollingUpdatePlan, old: ReplicationController, record: UpdateRecord): string {
  const { name } = plan.view;
  if (editedSinceBack(record, old)) {
    const since = `the template of ${name} was changed since`;
    return hasPodOfBefore(plan.view, record, old) ? `${since}${byEditors(record, old)}` : since;
  }
  return `${name} is as it was before${describeMixed(plan)}`;
}

function byEditors(record: UpdateRecord, old: ReplicationController): string {
  return `${byEditorsSince(record, old)}, so pods made from now on differ from the others`;
}

/** Where its template was edited, and nothing told what it was before: some pods are of the one, some of the other. */
function describeMixed({ view: { old, pods } }: RollingUpdatePlan): string {
  const wanted = new Map(old?.spec.template?.spec.containers.map(({ name, image }) => [name, image]));
  const own = old === undefined ? [] : podsOf(old, pods).filter(isActive);
  const others = own.filter(({ spec }) =>
    spec.containers.some(({ name, image }) => wanted.has(name) && wanted.get(name) !== image),
  );
  // Where all of them are, a webhook writes the images of pods.
  if (others.length === 0 || others.length === own.length) return '';
  return `, but for its template: ${String(others.length)} of its ${String(own.length)} pods have other images`;
}

/** `rolled back by ann: slow`, `rolled back: commit 2326127c brings another manifest` */
export function describeTurn(turned: Turned): string {
  const who = describeWish(turned);
  return `rolled back${who === '' ? '' : turned.by === undefined ? `: ${who}` : ` ${who}`}`;
}

/** Images of what an update rolls out, or rolled out. */
function imagesOf({ controller }: UpdateRecord): string {
  return (controller.spec.template?.spec.containers ?? []).map(({ image = '' }) => image).join(', ');
}

/** `rolling: foo 2 (2 available), foo-9f3a 2 (1 available); 3 wanted` */
export function describeProgress({ phase, old, next, desired }: UpdateProgress): string {
  const size = (one: ControllerProgress | undefined) =>
    one === undefined ? [] : [`${one.name} ${String(one.replicas)} (${String(one.available)} available)`];
  const both = [...size(old), ...size(next)].join(', ');
  return `${PHASES[phase]}: ${both === '' ? 'no controller' : both}; ${String(desired)} wanted`;
}

const PHASES: Readonly<Record<UpdateProgress['phase'], string>> = {
  Initialising: 'beginning',
  Rolling: 'rolling',
  RollingBack: 'rolling back',
  CleaningUp: 'cleaning up',
  Renaming: 'renaming',
  Finished: 'finished',
};

/** To be said before anything else: nothing heals these pods, in the middle of a rename, or where somebody orphaned them. */
export function podsWithoutController({ view }: RollingUpdatePlan): string | undefined {
  const { old, nextController, record, name } = view;
  const elsewhere = describeFreed(view) ?? describeAbandoned(view) ?? describeLost(view);
  if (record === undefined || nextController !== undefined) return elsewhere;
  const isRename = record.state.phase === 'Renaming' && old === undefined;
  const count = (isRename ? ownPods(view.pods, record) : leftPods(view)).length;
  if (count === 0) return elsewhere;
  const [pods, them] = count === 1 ? ['pod has', 'it'] : ['pods have', 'them'];
  const [were, again] =
    old === undefined ? [`${name} and ${record.next} were`, record.to] : [`${record.next} was`, record.next];
  const gone = isRename
    ? `${record.next} is gone and ${name} is not there yet`
    : `${were} deleted without ${them}; ${again} is made again from the record ${record.revision.metadata.name}`;
  return `${String(count)} ${pods} no controller: ${gone}`;
}

/** Why it does not go on, behind the pods that have no controller for it. */
export function afterPods(plan: RollingUpdatePlan, why: string): string {
  const pods = podsWithoutController(plan);
  return pods === undefined ? why : `${pods}; ${why}`;
}

/** Held until its pods are free, a next controller is there for as long as no worker lets it go. */
function describeFreed(view: UpdateView): string | undefined {
  const { old, nextController: next, keepsName, name } = view;
  const { length } = freedPods(view);
  if (next === undefined || length === 0) return undefined;
  const [pods, them] = length === 1 ? ['pod has', 'it'] : ['pods have', 'them'];
  const hold = describeHold(foreignFinalizers(next));
  const rest =
    old === undefined && !keepsName
      ? `${hold}${hold === '' ? '' : ','} and ${name} is not there yet`
      : ` without ${them}${hold}`;
  return `${String(length)} ${pods} no controller: ${next.metadata.name} is being deleted${rest}`;
}

/** `paused by ann: disk alarm` */
export function describePause(wish: Wish): string {
  return `paused ${describeWish(wish)}`.trimEnd();
}

/** What it waits for, in a sentence: who paused it comes first, also while the last step before the pause is still awaited. */
export function reasonOf(plan: RollingUpdatePlan): string | undefined {
  const why = [describeVainTurn(plan.view), waitsFor(plan)].filter((one) => one !== undefined);
  return why.length === 0 ? undefined : why.join('; ');
}

/** The same of a wait that has seen nothing move: never nothing, for a step that is planned and not done is a reason as well. */
export function whyNothingMoves(plan: RollingUpdatePlan): string {
  const why = reasonOf(plan);
  if (why !== undefined) return why;
  const { step } = plan;
  switch (step.do) {
    case 'write':
      return `its next step is not done: ${step.write.message}`;
    case 'done':
      return `${step.message}, but its run is not over`;
    case 'await':
    case 'paused':
    case 'refuse':
      return describeProgress(plan.progress);
  }
}

function waitsFor(plan: RollingUpdatePlan): string | undefined {
  const alone = podsWithoutController(plan);
  if (alone === undefined) return heldBy(plan);
  const beside = besidePods(plan);
  return beside === undefined ? alone : `${alone}; ${beside}`;
}

/**
 * What the update waits for beside pods that stay without a controller: they are not what holds it. Of those that it is about to take up,
 * as in a rename, nothing is waited for but that.
 */
export function besidePods(plan: RollingUpdatePlan): string | undefined {
  const { step, view } = plan;
  const isStanding = podsWithoutController(plan) === (describeAbandoned(view) ?? describeLost(view));
  return isStanding && (step.do === 'await' || step.do === 'paused') ? heldBy(plan) : undefined;
}

/** What holds it; the pods without a controller, which are told before it, are not told again. */
function heldBy(plan: RollingUpdatePlan): string | undefined {
  const { step, view } = plan;
  const { paused } = view;
  switch (step.do) {
    case 'await': {
      const [reason] = step.waiting;
      const what = reason?.code === ABANDONED ? undefined : reason?.message;
      if (paused === undefined) return what;
      return `${describePause(paused)}${what === undefined ? '' : `; meanwhile ${what}`}`;
    }
    case 'paused':
      return describePause(step);
    case 'refuse':
      return step.message;
    case 'write':
      // The first that a run writes is the record: kubectl began this one, and nobody goes on with it.
      return isUnderWay(plan) && view.record === undefined && !isClosing(view)
        ? `\`${commandFor(view)}\` takes it on: Fairlead did not begin it`
        : undefined;
    case 'done':
      return undefined;
  }
}

/** Its record says already that it was given up: only the marks are left. */
function isClosing({ old, last, nextController }: UpdateView): boolean {
  if (old === undefined || nextController !== undefined || last === undefined) return false;
  return last.state.phase === 'Aborted' && partnerOf(old) === last.next;
}

/** The name that an update has given the controller at last; undefined: its own still. */
export function laterName({ records, name }: Pick<UpdateView, 'records' | 'name'>): string | undefined {
  const last = records.findLast(({ from, to, state }) => state.phase === 'Done' && [from, to].includes(name));
  return last === undefined || last.to === name ? undefined : last.to;
}
