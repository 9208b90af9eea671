/** Clicks that come when a run can hardly hear them: cancellation while a write hangs, signals while it closes. */

import { describe, expect, it } from '@jest/globals';
import { Context } from '@temporalio/activity';
import { WorkflowFailedError } from '@temporalio/client';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';

import type { RolloutInput } from '../../workflows/messages.ts';
import { workflowTaskQueue } from '../../workflows/messages.ts';
import type { RollingUpdateInput } from '../../workflows/rolling-update-messages.ts';
import { found } from '../support/eventually.ts';
import { usePlayedActivities } from '../support/played-activities.ts';

const HEARTBEAT_MS = 200;

const input = { clusterUid: 'uid', searchAttributes: [] };
const workload = { kind: 'StatefulSet', group: 'apps', version: 'v1', namespace: 'default' } as const;
const rollout: Omit<RolloutInput, 'cluster'> = {
  ...input,
  workload: { ...workload, name: 'web', uid: 'web-uid' },
  target: 'template',
  onDeadline: 'Report',
};
const update: Omit<RollingUpdateInput, 'cluster'> = { ...input, namespace: 'default', name: 'web' };

const played = usePlayedActivities();

/** A write that is answered with an error once its run was cancelled. */
async function failOnceCancelled(): Promise<never> {
  const { cancellationSignal, heartbeat } = Context.current();
  const timer = setInterval(heartbeat, HEARTBEAT_MS);
  await new Promise((resolve) => {
    cancellationSignal.addEventListener('abort', resolve, { once: true });
  });
  clearInterval(timer);
  throw ApplicationFailure.create({ message: 'POST pods: 504 the webhook did not answer' });
}

/** A step of a rolling update that fails so, and is paused when it is tried again. */
function failOnceAndPause(): () => Promise<object> {
  let tries = 0;
  return async () => {
    tries += 1;
    if (tries === 1) return await failOnceCancelled();
    const paused = { by: 'Temporal UI', reason: 'the run was cancelled' };
    return { outcome: 'paused', paused, progress: { phase: 'Rolling' }, waiting: [], written: [] };
  };
}

/** Somebody sends the run of a workflow a signal. */
async function resume(workflowId: string): Promise<void> {
  await played().client.workflow.getHandle(workflowId).signal('resume', { by: 'ann' });
}

/** Starts a run, and cancels it as soon as it writes. @returns why it ended, and what was called, in order */
async function cancelledWhileWriting(
  workflow: 'rollout' | 'rollingUpdate',
  activities: Readonly<Record<string, (input: never) => Promise<unknown>>>,
  args: Omit<RolloutInput, 'cluster'> | Omit<RollingUpdateInput, 'cluster'>,
): Promise<{ readonly cause: unknown; readonly calls: readonly string[] }> {
  const calls: string[] = [];
  const named = Object.entries(activities).map(([name, run]) => [
    name,
    async (given: { readonly verb?: string; readonly ending?: string; readonly outcome?: string }) => {
      calls.push([name, given.verb ?? given.ending ?? given.outcome ?? ''].join(' ').trim());
      return await run(given as never);
    },
  ]);
  let cause: unknown;
  await played().play(workflow, Object.fromEntries(named), async () => {
    const handle = await played().client.workflow.start(workflow, {
      workflowId: workflow,
      taskQueue: workflowTaskQueue(workflow),
      args: [{ ...args, cluster: workflow }],
    });
    const writes = workflow === 'rollout' ? 'updateBatch' : 'advanceRollingUpdate';
    await found('it writes', async () => await Promise.resolve(calls.includes(writes) || undefined));
    await handle.cancel();
    await handle.result().catch((error: unknown) => {
      cause = error instanceof WorkflowFailedError ? error.cause : error;
    });
  });
  return { cause, calls };
}

describe('a run that is cancelled while a write of it fails', () => {
  it('of a rollout writes the pause', async () => {
    const { cause, calls } = await cancelledWhileWriting(
      'rollout',
      {
        createRevision: async () =>
          await Promise.resolve({ outcome: 'ready', revision: 'web-1', created: true, desired: 3 }),
        updateBatch: failOnceCancelled,
        closeRun: async () => await Promise.resolve({ outcome: 'Canceled' }),
      },
      rollout,
    );

    expect(calls).toEqual(['createRevision', 'updateBatch', 'closeRun cancelled']);
    expect(cause).toBeInstanceOf(CancelledFailure);
  });

  it('of a rolling update writes the pause, and does what cannot wait', async () => {
    const { cause, calls } = await cancelledWhileWriting(
      'rollingUpdate',
      {
        advanceRollingUpdate: failOnceAndPause(),
        recordUpdateWish: async () => await Promise.resolve({ changed: true, message: '' }),
        closeRollingUpdate: async () => await Promise.resolve(),
      },
      update,
    );

    expect(calls).toEqual([
      'advanceRollingUpdate',
      'recordUpdateWish pause',
      'advanceRollingUpdate',
      'closeRollingUpdate Canceled',
    ]);
    expect(cause).toBeInstanceOf(CancelledFailure);
  });
});

describe('a wish that is signalled while a run closes is written', () => {
  it('of a rollout', async () => {
    const { calls } = await cancelledWhileWriting(
      'rollout',
      {
        createRevision: async () =>
          await Promise.resolve({ outcome: 'ready', revision: 'web-1', created: true, desired: 3 }),
        updateBatch: failOnceCancelled,
        closeRun: async () => {
          await resume('rollout');
          return { outcome: 'Canceled' };
        },
        recordWish: async () => await Promise.resolve({ changed: true, message: '', rolledBack: false }),
      },
      rollout,
    );

    expect(calls.slice(-2)).toEqual(['closeRun cancelled', 'recordWish resume']);
  });

  it('of a rolling update', async () => {
    const { calls } = await cancelledWhileWriting(
      'rollingUpdate',
      {
        advanceRollingUpdate: failOnceAndPause(),
        closeRollingUpdate: async () => await resume('rollingUpdate'),
        recordUpdateWish: async () => await Promise.resolve({ changed: true, message: '' }),
      },
      update,
    );

    expect(calls.slice(-2)).toEqual(['closeRollingUpdate Canceled', 'recordUpdateWish resume']);
  });
});
