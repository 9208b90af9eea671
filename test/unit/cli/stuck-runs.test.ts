/** A run that does not go on, by what Temporal describes of it. */

import { describe, expect, it } from '@jest/globals';
import { temporal } from '@temporalio/proto';

import type { RunTrouble } from '../../../cli/stuck-runs.ts';
import { rolloutTrouble, troubledRuns } from '../../../cli/stuck-runs.ts';
import { troubleOf as troubleToTell } from '../../../cli/temporal.ts';
import { trusted } from '../../../kubernetes/values.ts';

type Arguments = Parameters<typeof rolloutTrouble>;

const WORKFLOW = 'rollout/default/shop/StatefulSet.fairlead.dev/web';
const WHO = 'statefulset.fairlead.dev/web -n shop';

/** @param events Of the history, the newest first */
async function troubleOf(raw: object, events: readonly object[] = []): Promise<RunTrouble | undefined> {
  const client = {
    options: { namespace: 'default' },
    workflowService: {
      getWorkflowExecutionHistoryReverse: () => Promise.resolve({ history: { events } }),
    },
  };
  const described = { raw, workflowId: WORKFLOW, runId: 'run-1' };
  return await rolloutTrouble(trusted<Arguments[0]>(client), trusted<Arguments[1]>(described), WHO);
}

describe('an activity that is paused in Temporal', () => {
  const activity = { activityId: '3', activityType: { name: 'awaitReady' }, attempt: 2 };
  const text = `the run ${WORKFLOW} does not go on: its activity awaitReady was paused in Temporal`;

  it.each([
    ['by somebody', { manual: { identity: 'ann@vm', reason: 'db alarm' } }, ' by ann@vm: db alarm'],
    ['by a rule', { rule: { identity: '', reason: 'quiet hours' } }, ': quiet hours'],
    ['by nobody that is known', undefined, ''],
  ])('%s', async (_, pauseInfo, words) => {
    expect(await troubleOf({ pendingActivities: [{ ...activity, state: 4, pauseInfo }] })).toEqual({
      kind: 'paused',
      text: `${text}${words}`,
      next: `temporal activity unpause --namespace default --workflow-id ${WORKFLOW} --activity-id 3`,
    });
  });

  it('is none as long as it runs: it may come to its end', async () => {
    expect(await troubleOf({ pendingActivities: [{ ...activity, state: 5 }] })).toBeUndefined();
  });
});

it('a run that was paused in Temporal as a whole: who and why, and the command that unpauses it', async () => {
  const raw = {
    workflowExecutionInfo: {
      status: temporal.api.enums.v1.WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_PAUSED,
    },
    workflowExtendedInfo: { pauseInfo: { identity: 'ann@vm', reason: 'db alarm' } },
  };
  expect(await troubleOf(raw)).toEqual({
    kind: 'held',
    text: `the run ${WORKFLOW} does not go on: it was paused in Temporal by ann@vm: db alarm`,
    next: `temporal workflow unpause --namespace default --workflow-id ${WORKFLOW}`,
  });
});

describe('a workflow task that is tried again and again', () => {
  const raw = { pendingWorkflowTask: { attempt: 3 } };

  it('fails: what ends the run, and what begins the next', async () => {
    const trouble = await troubleOf(raw, [{ workflowTaskFailedEventAttributes: {} }]);
    expect(trouble?.text).toMatch(/ cannot go on: its workflow task fails again and again/);
    expect(trouble?.next).toContain(
      `else \`temporal workflow terminate --namespace default --workflow-id ${WORKFLOW}\`, then \`fairlead rollout retry ${WHO}\``,
    );
  });

  it('times out: nobody is told to terminate it', async () => {
    const trouble = await troubleOf(raw, [{ workflowTaskTimedOutEventAttributes: {} }]);
    expect(trouble?.text).toMatch(/ does not get on: its workflow task has timed out/);
    expect(trouble?.next).toContain('not to be terminated');
  });

  it('is no trouble the first times', async () => {
    expect(await troubleOf({ pendingWorkflowTask: { attempt: 2 } })).toBeUndefined();
  });
});

it('runs of repositories that do not go on, by id: one that is paused is none that is to be ended', async () => {
  const PAUSED = temporal.api.enums.v1.WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_PAUSED;
  const activity = { activityId: '3', activityType: { name: 'apply' }, state: 4 };
  const runs: Readonly<Record<string, object>> = {
    'sync/c/shop': { workflowExecutionInfo: { status: PAUSED } },
    'sync/c/fine': {},
    'commit/c/web/1': { pendingActivities: [activity] },
    'commit/c/api/1': { pendingWorkflowTask: { attempt: 3 } },
  };
  const client = {
    options: { namespace: 'team' },
    workflow: {
      list: async function* () {
        yield* await Promise.resolve(Object.keys(runs).map((workflowId) => ({ workflowId, runId: 'r' })));
      },
      getHandle: (workflowId: string) => ({
        describe: async () => await Promise.resolve({ raw: runs[workflowId], workflowId, runId: 'r' }),
      }),
    },
    workflowService: {
      getWorkflowExecutionHistoryReverse: async () =>
        await Promise.resolve({ history: { events: [{ workflowTaskFailedEventAttributes: {} }] } }),
    },
  };
  const found = await troubledRuns(trusted<Arguments[0]>(client), 'c');
  expect(found.map(({ kind, next }) => [kind, next])).toEqual([
    ['fails', 'temporal workflow terminate --namespace team --workflow-id commit/c/api/1'],
    ['paused', 'temporal activity unpause --namespace team --workflow-id commit/c/web/1 --activity-id 3'],
    ['held', 'temporal workflow unpause --namespace team --workflow-id sync/c/shop'],
  ]);
});

describe('what is told of an open run', () => {
  const run = {
    state: 'running',
    status: 'RUNNING',
    workflowId: WORKFLOW,
    runId: 'run-1',
    startedAt: '',
  } as const;
  const told = (kind: RunTrouble['kind'], isLed: boolean) =>
    troubleToTell({ ...run, trouble: { kind, text: 'it is so', next: '' } }, isLed)?.text;

  it('is no slow worker while none leads: whatever becomes of its tasks says nothing more then', () => {
    expect(told('timesOut', true)).toBe('it is so');
    expect(told('timesOut', false)).toBeUndefined();
  });

  it.each(['fails', 'paused', 'held'] as const)('is that it %s, whoever leads', (kind) => {
    expect([true, false].map((isLed) => told(kind, isLed))).toEqual(['it is so', 'it is so']);
  });
});
