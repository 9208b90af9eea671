/** Progressing and its deadline (P17–P19): which time counts, and what a rollout is. */

import { describe, expect, it } from '@jest/globals';

import type { ConditionInput, ConditionResult } from '../../planners/conditions.ts';
import { computeConditions } from '../../planners/conditions.ts';
import type { Condition } from '../../planners/objects.ts';

const START = Date.parse('2026-01-01T00:00:00Z');

const rolling: ConditionInput = {
  previous: [],
  finished: false,
  rolling: true,
  allAvailable: false,
  settled: true,
  progressed: false,
  paused: undefined,
  blocked: undefined,
  waiting: [],
  next: undefined,
  deadlineSeconds: 60,
  clockFrom: START,
  clockStopped: false,
  now: START,
};

/** A moment: seconds after the start, and what is other than in a rollout without progress. */
type Moment = readonly [number, Partial<ConditionInput>?];

/** What is said at the last of these moments, each knowing what was written at the one before. */
function after(...moments: readonly Moment[]): ConditionResult {
  let result: ConditionResult = { conditions: [], timedOut: false };
  for (const [seconds, change = {}] of moments) {
    const input = { ...rolling, previous: result.conditions, now: START + seconds * 1_000, ...change };
    result = computeConditions(input);
    // Nothing changes when called again with its own result.
    expect(computeConditions({ ...input, previous: result.conditions, progressed: false })).toEqual(result);
  }
  return result;
}

function progressing({ conditions }: ConditionResult): Condition | undefined {
  return conditions.find(({ type }) => type === 'Progressing');
}

const complete = { finished: true, allAvailable: true, rolling: false };
/** A pod is not available, and nothing is to be rolled out. */
const crashed = { rolling: false };
const progress = { progressed: true };
const paused = { paused: { by: 'alice' } };
const away = { clockStopped: true };
/** Another leader, or Temporal is back: that many seconds after the start, and some. */
const anew = (seconds: number) => ({ clockFrom: START + seconds * 1_000 + 123 });

describe('the deadline', () => {
  it.each<[string, readonly Moment[], boolean]>([
    ['has not passed a moment before', [[0], [59]], false],
    ['passes without progress', [[0], [60]], true],
    ['counts from the last progress', [[0], [50, progress], [109]], false],
    ['is stuck to until there is progress', [[0], [60], [61]], true],
    ['is over with progress', [[0], [60], [61, progress]], false],
    ['does not count a pause', [[0], [10, paused], [500, paused], [501], [560]], false],
    ['counts from the end of a pause', [[0], [10, paused], [500], [560]], true],
    ['does not pass while Temporal is away', [[0], [10, away], [500, away]], false],
    [
      'does not count the time in which Temporal was away',
      [[0], [10, away], [500, anew(500)], [559, anew(500)]],
      false,
    ],
    ['counts from when Temporal is back', [[0], [10, away], [500, anew(500)], [561, anew(500)]], true],
    ['does not count the time in which nobody led', [[0], [500, anew(500)]], false],
    ['counts from the new leader', [[0], [500, anew(500)], [561, anew(500)]], true],
    ['that had passed before stays so under a new leader', [[0], [60], [500, anew(500)]], true],
    ['that had passed before stays so while Temporal is away', [[0], [60], [61, away]], true],
    ['waits for pods that are at the revision already', [[0], [10, crashed], [60, crashed]], true],
    ['is none for a crash after the rollout', [[0], [10, complete], [20, crashed], [600, crashed]], false],
    [
      'is none for a crash under a pause, or after it',
      [[0], [10, complete], [20, { ...crashed, ...paused }], [30, crashed], [600, crashed]],
      false,
    ],
    [
      'is none for what was taken over finished',
      [
        [0, crashed],
        [600, crashed],
      ],
      false,
    ],
    [
      'of the next rollout counts from its beginning, whatever crashed before',
      [[0], [10, complete], [20, crashed], [600], [659]],
      false,
    ],
    ['of the next rollout passes', [[0], [10, complete], [20, crashed], [600], [660]], true],
  ])('%s', (_, moments, timedOut) => {
    const result = after(...moments);
    expect(result.timedOut).toBe(timedOut);
    expect(progressing(result)?.reason === 'ProgressDeadlineExceeded').toBe(timedOut);
  });

  it('says of a finished rollout that it is, whatever crashes later', () => {
    const result = after([0], [10, complete], [600, crashed]);
    const lastTransitionTime = '2026-01-01T00:00:10Z';
    expect(progressing(result)).toMatchObject({ reason: 'RolloutComplete', lastTransitionTime });
    expect(result.conditions.find(({ type }) => type === 'Ready')).toMatchObject({ status: 'False' });
  });

  it('is announced while its clock runs, so that somebody looks', () => {
    expect(after([0]).deadlineAt).toBe(START + 60_000);
    expect(after([0], [10, away]).deadlineAt).toBeUndefined();
    expect(after([0], [10, away], [500, anew(500)]).deadlineAt).toBe(START + 560_000);
  });
});

it('a stall is never laid to a pin, which holds no pod up', () => {
  const pinned = { code: 'Pinned', message: 'pinned by alice' } as const;
  const said = (...codes: ConditionInput['waiting']) =>
    after([0], [60, { waiting: codes }]).conditions.find(({ type }) => type === 'Stalled')?.message;
  expect(said(pinned)).toBe('no progress for 60 s: pods are being brought to the wanted state');
  expect(said(pinned, { code: 'BudgetUsed', message: 'the budget is used up' })).toContain('budget');
});

it('a finished rollout that leaves pods as they are, as asked, says so', () => {
  const ready = (...waiting: ConditionInput['waiting']) =>
    after([0], [10, { ...complete, waiting }]).conditions.find(({ type }) => type === 'Ready')?.message;
  expect(ready()).toBe('all pods are at the wanted revision and available');
  const message = 'OnDelete: web-0 takes the new revision when it is deleted';
  expect(ready({ code: 'OnDelete', message })).toBe(`all pods are available; ${message}`);
});

describe('a rollout that is over, and a steady state that is not reached', () => {
  const refused = { code: 'WriteRefused', message: 'the apiserver refuses to change web-2' } as const;
  const leaving = { code: 'PodTerminating', message: 'web-2 is terminating' } as const;

  it.each<[string, Partial<ConditionInput>, string]>([
    ['a write is refused', { waiting: [refused] }, 'WriteRefused'],
    ['a pod that is not wanted is still there', { waiting: [leaving] }, 'PodTerminating'],
    ['a pause does not hold it', { waiting: [refused], ...paused }, 'WriteRefused'],
    ['no reason is known', {}, 'Progressing'],
  ])('is not Ready: %s', (_, change, reason) => {
    const result = after([0], [10, complete], [20, { ...complete, settled: false, ...change }]);
    const said = (type: string) => result.conditions.find((one) => one.type === type);
    expect(said('Ready')).toMatchObject({ status: 'False', reason });
    expect(said('Reconciling')).toMatchObject({ status: 'True', reason });
    expect([result.timedOut, progressing(result)?.reason]).toEqual([false, 'RolloutComplete']);
  });
});

describe('a rollout that nobody carries out', () => {
  const blocked = { reason: 'RunTerminated', message: 'run x was terminated' };
  const budget = { code: 'BudgetUsed', message: '1 of 1 unavailable' } as const;
  const broken = { code: 'PodNotReady', message: 'web-2 is not ready' } as const;

  it.each([
    ['what would be written is no reason', [budget], blocked],
    ['a pod that is not ready is one all the same', [budget, broken], { reason: 'PodNotReady' }],
  ])('%s', (_, waiting, expected) => {
    const { conditions } = after([0, { blocked, waiting, next: 'web-1 is next' }]);
    expect(conditions.find(({ type }) => type === 'Reconciling')).toMatchObject(expected);
    expect(conditions.find(({ type }) => type === 'Ready')).toMatchObject(blocked);
  });

  it('each end of a run has its own time, whatever was said before; nothing else moves it', () => {
    const end = (message: string) => ({
      blocked: { reason: 'RunTerminated', message, isEnd: true } as const,
    });
    const fault = { blocked: { reason: 'SelectorEmpty', message: 'it selects nothing' } };
    const since = (...moments: readonly Moment[]) => {
      const stalled = after(...moments).conditions.find(({ type }) => type === 'Stalled');
      return (Date.parse(stalled?.lastTransitionTime ?? '') - START) / 1_000;
    };
    const late: readonly Moment[] = [[0], [60]];
    expect(since(...late)).toBe(60);
    expect(since(...late, [90, fault])).toBe(60);
    expect(since(...late, [90, end('run 1')])).toBe(90);
    expect(since(...late, [90, end('run 1')], [100, end('run 1')])).toBe(90);
    expect(since(...late, [90, end('run 1')], [100], [110, end('run 2')])).toBe(110);
    expect(since(...late, [90, end('run 1')], [91, end('run 2')])).toBe(91);
    const told = after([0, end('run 1')]).conditions.find(({ type }) => type === 'Stalled');
    expect(told).not.toHaveProperty('isEnd');
  });

  it('nobody has said why: what is next, before what waits for that', () => {
    const partition = { code: 'Partition', message: 'web-0 is below the partition' } as const;
    const { conditions } = after([0], [60, { waiting: [partition], next: 'web-1 is next' }]);
    expect(conditions.find(({ type }) => type === 'Stalled')).toMatchObject({
      status: 'True',
      message: 'no progress for 60 s: web-1 is next; the rollout has not done it yet',
    });
  });
});

describe('conditions of a kind that has its own (P16–P20)', () => {
  const words = {
    about: 'api-1',
    begun: { reason: 'NewReplicaSetCreated', message: 'Created new replica set "api-1"' },
    progressing: { reason: 'ReplicaSetUpdated', message: 'ReplicaSet "api-1" is progressing.' },
    complete: {
      reason: 'NewReplicaSetAvailable',
      message: 'ReplicaSet "api-1" has successfully progressed.',
    },
    paused: { reason: 'DeploymentPaused', message: 'Deployment is paused' },
    resumed: { reason: 'DeploymentResumed', message: 'Deployment is resumed' },
  };
  const available = { status: 'True', reason: 'MinimumReplicasAvailable', message: 'enough' } as const;
  const own = { own: { words, others: { Available: available, ReplicaFailure: undefined } } };
  const play = (...moments: readonly Moment[]) =>
    after(...moments.map(([seconds, change]): Moment => [seconds, { ...own, ...change }]));

  it.each<[string, readonly Moment[], string, string]>([
    ['a rollout begins', [[0]], 'True', 'NewReplicaSetCreated'],
    ['it stays so without progress (P18)', [[0], [20]], 'True', 'NewReplicaSetCreated'],
    ['it gets on', [[0], [20, progress]], 'True', 'ReplicaSetUpdated'],
    ['it is through', [[0], [20, complete]], 'True', 'NewReplicaSetAvailable'],
    [
      'a crash after it changes nothing (P19)',
      [[0], [20, complete], [900, crashed]],
      'True',
      'NewReplicaSetAvailable',
    ],
    ['time runs out', [[0], [60]], 'False', 'ProgressDeadlineExceeded'],
    ['it recovers by itself (P19)', [[0], [60], [90, complete]], 'True', 'NewReplicaSetAvailable'],
    ['a pause shows', [[0], [20, paused]], 'Unknown', 'DeploymentPaused'],
    [
      'a pause shows though nothing is to be rolled out',
      [[0, { ...complete, ...paused }]],
      'Unknown',
      'DeploymentPaused',
    ],
    [
      'a pause does not hide that time had run out (P19)',
      [[0], [60], [70, paused]],
      'False',
      'ProgressDeadlineExceeded',
    ],
    ['it goes on after a pause', [[0], [20, paused], [30]], 'Unknown', 'DeploymentResumed'],
    ['it gets on after a pause', [[0], [20, paused], [30], [40, progress]], 'True', 'ReplicaSetUpdated'],
  ])('P17: %s', (_, moments, status, reason) => {
    expect(progressing(play(...moments))).toMatchObject({ status, reason });
  });

  it('P17: a ReplicaSet that cannot be created is said, until it can', () => {
    const refused = { reason: 'ReplicaSetCreateError', message: 'quota' };
    const cannot = { own: { ...own.own, words: { ...words, refused } } };
    expect(progressing(play([0, cannot]))).toMatchObject({ status: 'False', ...refused });
    expect(progressing(play([0], [10, cannot], [20, cannot]))).toMatchObject({ status: 'False', ...refused });
    expect(progressing(play([0, cannot], [10]))).toMatchObject({ status: 'True' });
    expect(progressing(play([0, cannot], [60, cannot]))?.reason).toBe('ProgressDeadlineExceeded');
  });

  it('P17: a ReplicaSet that is made when the rollout has begun is told as made, and its clock begins', () => {
    const going = { reason: 'ReplicaSetUpdated', message: 'Deployment "api" is progressing.' };
    const none = { own: { ...own.own, words: { ...words, about: 'api', begun: going, progressing: going } } };
    expect(progressing(play([0, none]))).toMatchObject(going);
    expect(progressing(play([0, none], [20]))).toMatchObject({
      ...words.begun,
      lastUpdateTime: '2026-01-01T00:00:20Z',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    });
    expect(progressing(play([0, none], [20], [40]))).toMatchObject(words.begun);
    expect(progressing(play([0, none], [20], [70]))?.status).toBe('True');
    expect(progressing(play([0, none], [20], [80]))?.reason).toBe('ProgressDeadlineExceeded');
  });

  it('P18: a ReplicaSet that was found is not told anew, and its clock goes on', () => {
    const found = { reason: 'FoundNewReplicaSet', message: 'Found new replica set "api-1"' };
    const first = { own: { ...own.own, words: { ...words, begun: found } } };
    const later = { own: { ...own.own, words: { ...words, begun: words.progressing } } };
    expect(progressing(play([0, first], [20, later]))).toMatchObject({
      ...found,
      lastUpdateTime: '2026-01-01T00:00:00Z',
    });
  });

  it('P17: a rollover is told as the ReplicaSet that it makes', () => {
    const name = 'Created new replica set "api-2"';
    const begun = { reason: 'NewReplicaSetCreated', message: name };
    const other = { reason: 'ReplicaSetUpdated', message: 'ReplicaSet "api-2" is progressing.' };
    const next = { own: { ...own.own, words: { ...words, about: 'api-2', begun, progressing: other } } };
    expect(progressing(play([0], [20, progress], [30, next]))).toMatchObject(begun);
    expect(progressing(play([0], [20, progress], [30, next], [40, { ...next, ...progress }]))).toMatchObject(
      other,
    );
  });

  describe('a deadline that has passed is of the ReplicaSet whose it was', () => {
    const timedOut = (name: string) => `ReplicaSet "${name}" has timed out progressing`;
    const own1 = { own: { ...own.own, words: { ...words, timedOut: timedOut('api-1') } } };
    const begun = { reason: 'NewReplicaSetCreated', message: 'Created new replica set "api-2"' };
    const second = { ...words, about: 'api-2', begun, timedOut: timedOut('api-2') };
    const fix = { own: { ...own.own, words: second } };
    const none = { own: { ...own.own, words: { ...words, about: 'api', begun: words.progressing } } };
    /** The words of a refusal quote the name of the one that comes next. */
    const refused = [{ code: 'WriteRefused', message: 'replicasets "api-2" is forbidden' }] as const;
    const late: readonly Moment[] = [
      [0, own1],
      [60, { ...own1, waiting: refused }],
    ];

    it('says so as upstream does, and why', () => {
      expect(progressing(play(...late))?.message).toBe(
        'ReplicaSet "api-1" has timed out progressing: no progress for 60 s: replicasets "api-2" is forbidden',
      );
    });

    it.each<[string, readonly Moment[], string]>([
      [
        'made under a pause',
        [
          [70, { ...own1, ...paused }],
          [80, { ...fix, ...paused }],
        ],
        'DeploymentPaused',
      ],
      ['not made because of a pause', [[70, { ...none, ...paused }]], 'DeploymentPaused'],
      ['after a pause', [[70, { ...none, ...paused }], [500], [559, fix]], 'DeploymentResumed'],
      [
        'without a pause',
        [
          [500, fix],
          [559, fix],
        ],
        'NewReplicaSetCreated',
      ],
      [
        'without a pause, before it is made',
        [
          [500, none],
          [501, fix],
          [559, fix],
        ],
        'NewReplicaSetCreated',
      ],
    ])('the next has all of its time: %s', (_, moments, reason) => {
      const result = play(...late, ...moments);
      expect(progressing(result)?.reason).toBe(reason);
      expect(result.timedOut).toBe(false);
      expect(result.conditions.find(({ type }) => type === 'Stalled')?.status).toBe('False');
    });

    it('the next may have no time left in its turn', () => {
      expect(play(...late, [500, fix], [560, fix]).timedOut).toBe(true);
    });

    it('the same stays so, paused or not, and goes on with progress', () => {
      expect(play(...late, [70, { ...own1, ...paused }], [500, own1]).timedOut).toBe(true);
      expect(progressing(play(...late, [70, { ...own1, ...progress }]))).toMatchObject(words.progressing);
    });
  });

  it('P18: progress moves lastUpdateTime, and lastTransitionTime only with the status', () => {
    expect(progressing(play([0], [20, progress]))).toMatchObject({
      lastUpdateTime: '2026-01-01T00:00:20Z',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    });
    expect(progressing(play([0], [20, progress], [80]))).toMatchObject({
      status: 'False',
      lastTransitionTime: '2026-01-01T00:01:20Z',
    });
  });

  it('P17: without a deadline there is no Progressing', () => {
    const { conditions } = play([0], [10, { deadlineSeconds: undefined }]);
    expect(conditions.map(({ type }) => type)).toEqual(['Stalled', 'Reconciling', 'Ready', 'Available']);
  });

  it('P20: a condition of its own goes when it is over; foreign ones stay', () => {
    const failing = { type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate' } as const;
    const foreign = { type: 'Checked', status: 'True' } as const;
    const { conditions } = computeConditions({ ...rolling, ...own, previous: [failing, foreign] });
    expect(conditions.map(({ type }) => type)).not.toContain('ReplicaFailure');
    expect(conditions).toContainEqual(foreign);
    expect(conditions.find(({ type }) => type === 'Available')).toMatchObject(available);
  });
});
