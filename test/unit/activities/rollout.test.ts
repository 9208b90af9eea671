/** What the activities of a run answer when the cluster is not what the run was started for. */

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { MockActivityEnvironment } from '@temporalio/testing';

import type { CloseInput, CloseResult, WishInput, WishResult } from '../../../activities/rollout-types.ts';
import { readAttempts } from '../../../kubernetes/attempts.ts';
import { trusted } from '../../../kubernetes/values.ts';
import { workloadKey } from '../../../kubernetes/workload-key.ts';
import { ANNOTATION } from '../../../planners/names.ts';
import type { KubernetesObject } from '../../../planners/objects.ts';
import { ActivityGround } from '../../support/activity-ground.ts';
import { withImage } from '../../support/rollout-objects.ts';
import { workloadObject } from '../../support/workload-objects.ts';

let ground: ActivityGround;

beforeEach(async () => {
  ground = await ActivityGround.start();
});

afterEach(async () => {
  await ground.stop();
});

async function record(verb: WishInput['verb']): Promise<WishResult> {
  const { recordWish } = ground.activities;
  return await new MockActivityEnvironment().run(recordWish, { ...ground.reference, verb });
}

describe.each<WishInput['verb']>(['pause', 'resume', 'abort', 'rollback'])('the signal %s', (verb) => {
  it('has nothing to write on when the workload is gone', async () => {
    ground.object = undefined;
    expect(await record(verb)).toMatchObject({ changed: false, rolledBack: false });
    expect(ground.writes).toEqual([]);
  });

  it('is not for a workload that was made again', async () => {
    const { metadata, ...rest } = workloadObject();
    ground.object = { ...rest, metadata: { ...metadata, uid: 'another' } };
    expect(await record(verb)).toMatchObject({ changed: false, rolledBack: false });
    expect(ground.writes).toEqual([]);
  });
});

it('the signal pause of a run whose template is another one by now holds the workload all the same', async () => {
  const { recordWish } = ground.activities;
  const input = { ...ground.reference, target: 'another', verb: 'pause' } as const;
  expect(await new MockActivityEnvironment().run(recordWish, input)).toMatchObject({ changed: true });
  expect(ground.writes).toEqual([expect.stringContaining('fairlead.dev~1paused')]);
});

describe('an admission that takes annotations off', () => {
  const message = expect.stringMatching(
    /^PATCH statefulsets\.fairlead\.dev default\/web: it was taken, and the annotation fairlead\.dev\/paused stayed as it was: a webhook or policy/,
  );

  beforeEach(() => {
    ground.admission = ({ metadata, ...rest }) => ({ ...rest, metadata: { ...metadata, annotations: {} } });
  });

  it('the signal pause has paused nothing, and says so', async () => {
    expect(await record('pause')).toEqual({ changed: false, rolledBack: false, message });
    expect(await ground.eventMessages()).toEqual([message]);
  });

  it('a run that is cancelled ends all the same, and says that it is not paused', async () => {
    const { closeRun } = ground.activities;
    const run = { revision: undefined, workflowId: 'w', runId: 'r', startedAt: '2026-01-01T00:00:00Z' };
    const input = { ...ground.reference, ...run, ending: 'cancelled' } as const;
    expect(await new MockActivityEnvironment().run(closeRun, input)).toMatchObject({
      outcome: 'Canceled',
      reason: expect.stringContaining('it is not paused: PATCH'),
    });
  });
});

describe('what is about the template of the run', () => {
  const deadline = { by: 'progressDeadlineSeconds', reason: 'no progress before the deadline' };
  const wishes: readonly (readonly [string, Pick<WishInput, 'verb' | 'by' | 'reason'>])[] = [
    ['the pause of a deadline', { verb: 'pause', ...deadline }],
    ['the way back of a deadline', { verb: 'rollback', ...deadline }],
    ['the signal abort', { verb: 'abort', by: 'ann' }],
  ];
  const give = async (wish: (typeof wishes)[number][1]) => {
    const { recordWish } = ground.activities;
    return await new MockActivityEnvironment().run(recordWish, { ...ground.reference, ...wish });
  };

  it.each(wishes)(
    '%s is not written on another one, and takes no earlier pin for its own',
    async (_, wish) => {
      const pin = { verb: 'undo', by: 'bob', at: '2026-01-01T00:00:00Z', revision: 'web-1', to: 'web-0' };
      const annotations = { [ANNOTATION.pinned]: JSON.stringify(pin) };
      ground.object = withImage(workloadObject({ annotations }), 'web:fix');
      expect(await give(wish)).toEqual({
        changed: false,
        rolledBack: false,
        message: 'nothing to do: StatefulSet.fairlead.dev default/web has another template now',
      });
      expect(ground.writes).toEqual([]);
    },
  );

  it.each(wishes)('%s is not tried again on another one that comes before the write', async (_, wish) => {
    ground.meanwhile = withImage(workloadObject(), 'web:fix');
    expect(await give(wish)).toMatchObject({ changed: false, rolledBack: false });
    expect(ground.writes).toHaveLength(1);
  });

  it.each(wishes)('%s is tried again where something else has changed', async (_, wish) => {
    ground.meanwhile = workloadObject({ status: { readyReplicas: 2 } });
    expect(await give(wish)).toMatchObject({ changed: true });
    expect(ground.writes).toHaveLength(2);
  });
});

it('the pause of a deadline says on the object what the apiserver refused when it passed', async () => {
  const message = 'the apiserver refuses to change web-0: no';
  const waiting = [{ code: 'WriteRefused', message }];
  const { workload, target } = ground.reference;
  const key = workloadKey(workload.kind, workload.namespace, workload.name);
  ground.feed.publish(key, trusted({ plan: { waiting }, target, timedOut: true }));
  const { recordWish } = ground.activities;
  const wish = { by: 'progressDeadlineSeconds', reason: 'no progress' };
  const input = { ...ground.reference, verb: 'pause', ...wish } as const;
  expect(await new MockActivityEnvironment().run(recordWish, input)).toMatchObject({ changed: true });
  expect(ground.writes).toEqual([expect.stringContaining(`no progress: ${message}`)]);
});

describe('the end of a run whose template is the wanted one', () => {
  async function close(ending: CloseInput['ending']): Promise<CloseResult> {
    const { closeRun } = ground.activities;
    const run = { revision: undefined, workflowId: 'w', runId: 'r', startedAt: '2026-01-01T00:00:00Z' };
    return await new MockActivityEnvironment().run(closeRun, { ...ground.reference, ...run, ending });
  }

  it('is never a pause when the controller has superseded it: the template was taken back meanwhile', async () => {
    expect(await close('superseded')).toMatchObject({ outcome: 'Superseded' });
    expect(ground.writes).toEqual([]);
  });

  it('is one pause, however often the rest of it is tried: somebody may have resumed it meanwhile', async () => {
    const { closeRun } = ground.activities;
    const run = { revision: undefined, workflowId: 'w', runId: 'r', startedAt: '2026-01-01T00:00:00Z' };
    const input = { ...ground.reference, ...run, ending: 'cancelled' } as const;
    let heartbeatDetails: unknown;
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      const environment = new MockActivityEnvironment({ attempt, heartbeatDetails });
      environment.on('heartbeat', (details: unknown) => {
        heartbeatDetails = details;
      });
      expect(await environment.run(closeRun, input)).toMatchObject({
        outcome: 'Canceled',
        by: 'Temporal UI',
      });
    }
    expect(ground.writes).toHaveLength(1);
  });

  it('is no pause of another template that comes before it is written', async () => {
    ground.meanwhile = withImage(workloadObject(), 'web:fix');
    expect(await close('cancelled')).toMatchObject({ outcome: 'Superseded' });
    expect(ground.writes).toHaveLength(1);
  });

  it('is a pause when it was cancelled without a word of the controller: a click', async () => {
    expect(await close('cancelled')).toMatchObject({ outcome: 'Canceled', by: 'Temporal UI' });
    expect(ground.writes).toEqual([expect.stringContaining('Temporal UI')]);
  });
});

it.each([
  ['set in the middle of it, is the end of it', {}, { outcome: 'Aborted', by: 'ann' }],
  ['of before it is none', { pinnedBefore: '2026-01-01T00:00:00Z' }, { outcome: 'Superseded' }],
])('a pin of the revision %s', async (_, before, outcome) => {
  const { metadata, ...rest } = workloadObject();
  const pin = { verb: 'abort', by: 'ann', at: '2026-01-01T00:00:00Z', revision: 'web-2', to: 'web-1' };
  const annotations = { [ANNOTATION.pinned]: JSON.stringify(pin) };
  ground.object = { ...rest, metadata: { ...metadata, annotations } };
  const run = { revision: 'web-2', workflowId: 'w', runId: 'r', startedAt: '2026-01-01T00:00:00Z' };
  const input = { ...ground.reference, target: 'another', ending: 'superseded' as const, ...run, ...before };
  const { closeRun } = ground.activities;
  expect(await new MockActivityEnvironment().run(closeRun, input)).toMatchObject(outcome);
});

it.each<[CloseInput['ending'], Partial<CloseInput>, object]>([
  [
    'superseded',
    { target: 'another' },
    { outcome: 'Superseded', endedBecause: 'StatefulSet.fairlead.dev default/web has another template now' },
  ],
  [
    'rolledBack',
    { by: 'progressDeadlineSeconds', reason: 'no progress' },
    { outcome: 'RolledBack', endedBy: 'progressDeadlineSeconds', endedBecause: 'no progress' },
  ],
  ['finished', {}, { outcome: 'Succeeded' }],
])('a run that is %s: its attempt keeps who began it, and why', async (ending, input, told) => {
  const { closeRun } = ground.activities;
  const cause = { by: 'ann', reason: 'set image' };
  const run = { revision: 'web-a', workflowId: 'w', runId: 'r', startedAt: '2026-01-01T00:00:00Z', cause };
  await new MockActivityEnvironment().run(closeRun, { ...ground.reference, ...run, ending, ...input });
  const [write = ''] = ground.revisionWrites;
  const patch = JSON.parse(write) as { readonly metadata: KubernetesObject['metadata'] };
  const [attempt, ...more] = readAttempts(patch);
  expect(more).toEqual([]);
  const { endedAt: _, ...rest } = attempt ?? {};
  const times = { runId: 'r', workflowId: 'w', startedAt: '2026-01-01T00:00:00Z' };
  expect(rest).toEqual({ ...times, ...cause, ...told });
});

describe('a run whose attempt cannot be recorded', () => {
  const run = { revision: 'web-a', workflowId: 'w', runId: 'r', startedAt: '2026-01-01T00:00:00Z' };
  const close = async () => {
    const { closeRun } = ground.activities;
    const input = { ...ground.reference, ...run, ending: 'finished' } as const;
    return await new MockActivityEnvironment().run(closeRun, input);
  };

  it.each([
    [403, 'Forbidden'],
    [422, 'Invalid'],
  ])('refused with %i: its end is what it was, and an Event says what is missing', async (...refusal) => {
    ground.refusal = refusal;
    expect(await close()).toEqual({ outcome: 'Succeeded' });
    expect(await ground.eventMessages()).toEqual([
      expect.stringMatching(/^the attempt is not in the history: .*said by a test/),
      'rollout of revision web-a: Succeeded',
    ]);
  });

  it('without an answer: it is tried again', async () => {
    ground.refusal = [503, 'ServiceUnavailable'];
    await expect(close()).rejects.toMatchObject({ nonRetryable: false });
    expect(await ground.eventMessages()).toEqual([]);
  });
});

describe('a run that is superseded when all pods are at its revision', () => {
  const earlier = [{ runId: 'q', workflowId: 'w', startedAt: '2026-01-01T00:00:00Z', outcome: 'Succeeded' }];

  it.each<[string, Record<string, string>, string]>([
    ['which it has brought about', { [ANNOTATION.complete]: 'true' }, 'Succeeded'],
    ['which is not noted', {}, 'Superseded'],
    [
      'which an earlier one had brought about',
      { [ANNOTATION.complete]: 'true', [ANNOTATION.attempts]: JSON.stringify(earlier) },
      'Superseded',
    ],
  ])('%s', async (_, annotations, outcome) => {
    plantRevision(annotations);
    expect(await close()).toMatchObject({ outcome });
  });

  it.each([
    ['undo', 'Succeeded'],
    ['abort', 'Aborted'],
    ['deadline', 'RolledBack'],
  ] as const)('by a pin of %s: %s', async (verb, outcome) => {
    plantRevision({ [ANNOTATION.complete]: 'true' });
    plantPin(verb);
    expect(await close()).toMatchObject({ outcome });
  });

  it('an undo in the middle of it is the end of it', async () => {
    plantRevision({});
    plantPin('undo');
    expect(await close()).toMatchObject({ outcome: 'Aborted', by: 'ann' });
  });

  function plantRevision(annotations: Record<string, string>): void {
    ground.plantRevision({
      apiVersion: 'apps/v1',
      kind: 'ControllerRevision',
      metadata: { name: 'web-a', namespace: 'default', uid: 'u', resourceVersion: '1', annotations },
    });
  }

  function plantPin(verb: 'undo' | 'abort' | 'deadline'): void {
    const { metadata, ...rest } = workloadObject();
    const pin = { verb, by: 'ann', at: '2026-01-01T00:00:01Z', revision: 'web-a', to: 'web-0' };
    const annotations = { [ANNOTATION.pinned]: JSON.stringify(pin) };
    ground.object = { ...rest, metadata: { ...metadata, annotations } };
  }

  async function close(): Promise<CloseResult> {
    const { closeRun } = ground.activities;
    const run = { revision: 'web-a', workflowId: 'w', runId: 'r', startedAt: '2026-01-01T00:00:00Z' };
    const input = { ...ground.reference, ...run, target: 'another', ending: 'superseded' } as const;
    return await new MockActivityEnvironment().run(closeRun, input);
  }
});
