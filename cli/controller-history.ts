/** `rollout history rc/NAME`: the records of its rolling updates are its revisions. */

import { readAttempts } from '../kubernetes/attempts.ts';
import type { RollingUpdatePlan } from '../planners/rolling-update.ts';
import type { UpdateRecord } from '../planners/rolling-update-record.ts';
import { isActiveRecord } from '../planners/rolling-update-record.ts';
import { readPlan, updateOf } from './controller-session.ts';
import type { ExitCode } from './exit-codes.ts';
import type { Call } from './io.ts';
import type { HistoryOptions, RevisionView } from './rollout-history.ts';
import { printHistory } from './rollout-history.ts';
import { withSession } from './session.ts';

/** Runs the verb. */
export async function runControllerHistory(call: Call<HistoryOptions>): Promise<ExitCode> {
  return await withSession(call, async (session) => {
    const reference = updateOf(session, call);
    return await printHistory(call, {
      workload: `replicationcontroller/${reference.name}`,
      namespace: reference.namespace,
      revisionKind: 'controllerrevision',
      all: viewRecords(await readPlan(session, reference)),
    });
  });
}

function viewRecords({ view: { records, name } }: RollingUpdatePlan): readonly RevisionView[] {
  const own = records.filter(({ from, to }) => from === name || to === name);
  const complete = own.findLast(({ to, state }) => to === name && state.phase === 'Done');
  const present = own.findLast((record) => record.from === name && isActiveRecord(record)) ?? complete;
  return own.map((record) => viewRecord(record, { complete, present }));
}

function viewRecord(
  record: UpdateRecord,
  { complete, present }: Readonly<Record<'complete' | 'present', UpdateRecord | undefined>>,
): RevisionView {
  const { revision, controller, state, from, to } = record;
  const { name, creationTimestamp } = revision.metadata;
  const { template } = controller.spec;
  return {
    revision: revision.revision,
    name,
    ...(creationTimestamp !== undefined && { createdAt: creationTimestamp }),
    roles: [
      ...(record === present ? (['present'] as const) : []),
      ...(record === complete ? (['complete'] as const) : []),
    ],
    images: (template?.spec.containers ?? []).map(({ image = '' }) => image),
    attempts: readAttempts(revision),
    from,
    to,
    phase: state.phase,
    ...(template !== undefined && { template }),
  };
}
