/** The last writes of an update: pods adopted, records kept with the controller that stays, the state that says it is over. */

import { isActive } from './availability.ts';
import { controllerOf } from './controller-ref.ts';
import { withWritersSince } from './field-owners.ts';
import { ANNOTATION } from './names.ts';
import { awaitAbandoned, isMadeSince } from './rolling-update-abandoned.ts';
import type { ReplicationController } from './replication-controller.ts';
import { isMadeByUpdate, strippedMarks } from './replication-controller.ts';
import type { UpdateRecord } from './rolling-update-record.ts';
import { isActiveRecord } from './rolling-update-record.ts';
import { awaitPods, withAsking } from './rolling-update-pods.ts';
import type { UpdateEnding, UpdateStep } from './rolling-update-steps.ts';
import { annotate, patch, remove, setState, wait } from './rolling-update-steps.ts';
import type { UpdateView } from './rolling-update-view.ts';
import { matchesSelector } from './selector.ts';

/** So many finished records are kept, as `revisionHistoryLimit` of other kinds does by default. */
const KEPT = 10;

/** What is left to do before the update is over, one write after the other; then the outcome. `now` in milliseconds since the epoch. */
export function finish(
  view: UpdateView,
  final: ReplicationController,
  outcome: UpdateEnding,
  now: number,
): UpdateStep {
  const adoption = adoptionStep(view, final, now);
  if (adoption !== undefined) return adoption;
  const owners = ownersStep(view, final);
  if (owners !== undefined) return owners;
  const marks = strippedMarks(final);
  if (Object.keys(marks).length > 0) {
    return annotate(final, marks, 'Strip', `the update of ${final.metadata.name} is over`);
  }
  // Somebody may have deleted the old controller before they were there. Its marks are gone: another image may be rolled out.
  const lacking =
    outcome === 'Succeeded' && view.record !== undefined
      ? (awaitPods(final, view.pods, now) ?? awaitAbandoned(view))
      : undefined;
  if (lacking !== undefined) return lacking;
  const own = recordsOf(view, final);
  // Whatever holds one that is being deleted already, a finalizer or the garbage collector: it is on its way, and takes no place.
  const staying = own.filter(({ revision }) => revision.metadata.deletionTimestamp === undefined);
  const ownerless = staying.find((record) => isOwnerless(record, view));
  if (ownerless !== undefined) return ownStep(ownerless, final);
  const open = own.filter((record) => record.from === view.name && isActiveRecord(record));
  // The one that was rolled out is closed last: until then this is an update that is to be finished.
  const closing = open.find((record) => record !== view.record) ?? view.record;
  if (closing !== undefined) {
    const phase = closing === view.record && outcome === 'Succeeded' ? 'Done' : 'Aborted';
    return setState(closing, { phase }, `the update of ${view.name} is over: ${outcome}`);
  }
  const superfluous = staying.filter((record) => !isActiveRecord(record)).slice(0, -KEPT);
  const oldest = superfluous[0];
  if (oldest !== undefined) {
    const message = `delete the record ${oldest.revision.metadata.name}: ${String(KEPT)} newer ones are kept`;
    return remove('controllerrevisions', oldest.revision, false, 'TrimHistory', message);
  }
  return { do: 'done', outcome, message: `${final.metadata.name} ${whatItIs(view, final, outcome)}` };
}

/**
 * Records that stay with the controller, oldest first: its own, and those of what was under the names before it, whose controllers are
 * gone one after the other (`app-v1`, `app-v2`). What another one that is there owns is the history of that.
 */
function recordsOf(view: UpdateView, { metadata }: ReplicationController): readonly UpdateRecord[] {
  const { records, name } = view;
  const before = namesBefore(records, name);
  return records.filter((record) => {
    if (isOfLaterUpdate(record, view)) return false;
    if (record.from === name || record.to === metadata.name) return true;
    const isFree = isOwnerless(record, view) || controllerOf(record.revision)?.uid === metadata.uid;
    return (before.has(record.to) || before.has(record.from)) && !isActiveRecord(record) && isFree;
  });
}

/** The name, and those of which updates that are over have made it. */
function namesBefore(records: readonly UpdateRecord[], name: string): ReadonlySet<string> {
  const names = new Set([name]);
  // A set visits what is added meanwhile.
  for (const one of names) {
    for (const { from } of records.filter(({ to, state }) => to === one && state.phase === 'Done'))
      names.add(from);
  }
  return names;
}

/**
 * Whether another update was begun since the one that is over: its run may still ask for the next controller that this one had, and is
 * about to hear of the other.
 */
function isOfLaterUpdate(record: UpdateRecord, { records, record: present, last }: UpdateView): boolean {
  const ended = present ?? last;
  if (!isActiveRecord(record)) return false;
  return ended === undefined || records.indexOf(record) > records.indexOf(ended);
}

function whatItIs({ last }: UpdateView, final: ReplicationController, outcome: UpdateEnding): string {
  if (outcome === 'Succeeded') return 'is rolled out';
  return last !== undefined && isMadeSince(final, last)
    ? 'was made anew since the update began, which is given up'
    : 'is as it was before the update';
}

/** One that had been renamed, and waited for its pods, when another began: were that rolled back, it would go on. */
export function closeEarlier(
  { records, controllers, name }: UpdateView,
  record: UpdateRecord,
): UpdateStep | undefined {
  const isThere = (next: string) => controllers.some(({ metadata }) => metadata.name === next);
  const earlier = records.find(
    (one) => one.from === name && isActiveRecord(one) && one !== record && !isThere(one.next),
  );
  return (
    earlier &&
    setState(
      earlier,
      { phase: 'Aborted' },
      `${record.next} is rolled out instead of ${earlier.next}`,
      'Supersede',
    )
  );
}

/** Milliseconds; adoption takes one or two tenths of a second. */
const ADOPTION_PATIENCE_MS = 10_000;

/** Until the controller has taken up the pods that were left for it, they are nobody's. */
function adoptionStep(
  { pods }: UpdateView,
  final: ReplicationController,
  now: number,
): UpdateStep | undefined {
  const selector = { matchLabels: final.spec.selector ?? {} };
  const orphans = pods.filter(
    (pod) =>
      isActive(pod) && matchesSelector(selector, pod.metadata.labels) && controllerOf(pod) === undefined,
  );
  if (orphans.length === 0) return undefined;
  const { name, creationTimestamp } = final.metadata;
  const names = orphans.map(({ metadata }) => metadata.name);
  const have = orphans.length === 1 ? 'pod has' : 'pods have';
  const made = isMadeByUpdate(final) ? creationTimestamp : undefined;
  const isLate = made !== undefined && now - Date.parse(made) >= ADOPTION_PATIENCE_MS;
  const why = isLate ? ": the controller manager's log says why (a policy or webhook may refuse it)" : '';
  const message = `${String(orphans.length)} ${have} no controller: ${name} has not adopted all its pods yet${why}`;
  const step = wait('Adoption', message, names, true);
  const asking = `make the controller manager try again to adopt the pods of ${name}`;
  return made === undefined ? step : withAsking(final, step, { since: made, now, message: asking });
}

/**
 * Fields of the controller that was made anew, given to those who owned them before: its creation has made all of them the update's, and
 * the next commit, or `kubectl apply --server-side`, could take nothing away any more. Who has written it since keeps what is his: else
 * it would be no drift of what is in git.
 */
function ownersStep({ records }: UpdateView, final: ReplicationController): UpdateStep | undefined {
  const mark = final.metadata.annotations?.[ANNOTATION.fieldOwners];
  if (mark === undefined) return undefined;
  const record = records.find(({ revision }) => revision.metadata.name === mark);
  const change = {
    annotations: { [ANNOTATION.fieldOwners]: null },
    ...(record?.owners !== undefined && {
      managedFields: withWritersSince(record.owners, final.metadata.managedFields),
    }),
  };
  const message = `who owned the fields of ${final.metadata.name} owns them again`;
  return patch('replicationcontrollers', final, { metadata: change }, 'FieldOwners', message);
}

function isOwnerless({ revision }: UpdateRecord, { controllers }: UpdateView): boolean {
  const owner = controllerOf(revision);
  return owner === undefined || !controllers.some(({ metadata }) => metadata.uid === owner.uid);
}

function ownStep({ revision }: UpdateRecord, final: ReplicationController): UpdateStep {
  const { name, uid } = final.metadata;
  // The garbage collector takes it when its controller is deleted; nothing has to wait for that.
  const owner = { apiVersion: 'v1', kind: 'ReplicationController', name, uid, controller: true };
  const change = { metadata: { ownerReferences: [owner] } };
  return patch(
    'controllerrevisions',
    revision,
    change,
    'Own',
    `${name} keeps the record ${revision.metadata.name}`,
  );
}
