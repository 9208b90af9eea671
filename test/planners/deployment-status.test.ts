import { describe, expect, it } from '@jest/globals';

import { DEPLOYMENT_ANNOTATION } from '../../planners/names.ts';
import type { Pod } from '../../planners/objects.ts';
import type { Deployment } from '../../planners/workload.ts';
import { deploymentOf, replicaPodOf, replicaSetOf } from '../support/deployment-fixtures.ts';
import type { ReplicaSetOptions } from '../support/deployment-fixtures.ts';
import { NEW, planOf, rolling } from '../support/deployment-plans.ts';

describe('the end of a rollout, and history (P13, P14)', () => {
  it.each<[string, ReplicaSetOptions, ReplicaSetOptions, boolean]>([
    ['all new and available, no old', { size: 0 }, { size: 4 }, true],
    ['an old one is left', { size: 1 }, { size: 4 }, false],
    ['a pod of an old one is left', { size: 0, replicas: 1 }, { size: 4 }, false],
    ['one is not available', { size: 0 }, { size: 4, available: 3 }, false],
    ['one is too many', { size: 0 }, { size: 4, replicas: 5 }, false],
    ['its controller has not looked', { size: 0 }, { size: 4, observed: false }, false],
  ])('P13: %s', (_, old, fresh, finished) => {
    expect(rolling({}, old, fresh).plan.finished).toBe(finished);
  });

  it('that it was complete is noted on the ReplicaSet, as soon as it is: abort goes back to it', () => {
    const deployment = deploymentOf();
    const set = replicaSetOf(deployment, { size: 4 });
    const { 'fairlead.dev/complete': _, ...annotations } = set.metadata.annotations ?? {};
    const unnoted = { ...set, metadata: { ...set.metadata, annotations } };
    expect(planOf(deployment, [unnoted]).steady.map(({ body }) => body)).toEqual([
      { metadata: { annotations: { 'fairlead.dev/complete': 'true' } } },
    ]);
    const early = { ...unnoted, status: { ...unnoted.status, availableReplicas: 3 } };
    expect(planOf(deployment, [early]).steady).toEqual([]);
  });

  it('a rollout is due when an old one has pods, never because the size or an available pod is missing', () => {
    expect(rolling({}, { size: 1 }, { size: 4 }).plan.needsRollout).toBe(true);
    expect(rolling({ replicas: 9 }, { size: 0 }, { size: 4, available: 1 }).plan.needsRollout).toBe(false);
  });

  const history = (limit: number, overrides: Partial<Deployment>, newest: ReplicaSetOptions) => {
    const deployment = deploymentOf({ image: 'api:5', revisionHistoryLimit: limit, ...overrides });
    const sets = [1, 2, 3, 4].map((number) =>
      replicaSetOf(deployment, {
        image: `api:${String(number)}`,
        name: `old-${String(number)}`,
        revision: number,
        created: `2025-12-0${String(5 - number)}T00:00:00Z`,
        observed: number !== 2,
      }),
    );
    const last = replicaSetOf(deployment, { image: 'api:5', revision: 5, size: 4, ...newest });
    const { steady } = planOf(deployment, [...sets, last]);
    return steady.filter(({ purpose }) => purpose === 'TrimHistory').map(({ name }) => name);
  };

  it('P14: the lowest numbers beyond the limit go; one that may have pods is skipped and not made up for', () => {
    expect(history(2, {}, {})).toEqual(['old-1']);
    expect(history(0, {}, {})).toEqual(['old-1', 'old-3', 'old-4']);
    expect(history(2_147_483_647, {}, {})).toEqual([]);
  });

  it('P14: not in the middle of a rollout; while paused, but for the one that abort goes back to', () => {
    expect(history(0, {}, { available: 3 })).toEqual([]);
    expect(history(0, { paused: {} }, { available: 3 })).toEqual(['old-1', 'old-3']);
  });

  it('P14, P12: one whose pods are still being deleted stays: without it they would not count', () => {
    const deployment = deploymentOf({
      image: 'api:3',
      strategy: 'Recreate',
      revisionHistoryLimit: 0,
      paused: {},
    });
    const done = replicaSetOf(deployment, { name: 'done' });
    const left = replicaSetOf(deployment, { ...NEW, name: 'left', annotations: {} });
    const fresh = replicaSetOf(deployment, { image: 'api:3', revision: 3, created: '2025-12-03T00:00:00Z' });
    const { 'fairlead.dev/complete': _, ...annotations } = left.metadata.annotations ?? {};
    const unfinished = {
      ...left,
      metadata: {
        ...left.metadata,
        annotations: { ...annotations, 'fairlead.dev/attempts': '[{"outcome":"Superseded","endedAt":""}]' },
      },
    };
    const going = [1, 2].map((number) => replicaPodOf(left, number, { terminating: true }));
    const purposes = (pods: readonly Pod[]) =>
      planOf(deployment, [done, unfinished, fresh], pods).steady.map(
        ({ purpose, name }) => `${purpose} ${name}`,
      );
    expect(purposes(going)).toEqual([]);
    expect(purposes([])).toEqual(expect.arrayContaining(['TrimHistory left']));
  });

  it('P14: deletes carry uid and resourceVersion', () => {
    const { plan } = rolling({ revisionHistoryLimit: 0 }, { size: 0 }, { size: 4 });
    expect(plan.steady).toMatchObject([{ verb: 'delete', resource: 'replicasets', resourceVersion: '5' }]);
    expect(plan.steady[0]?.uid).toMatch(/^uid-/);
  });
});

describe('status and conditions (P15–P20)', () => {
  it('P15: sums of what the ReplicaSets say; a zero is absent', () => {
    const { plan } = rolling({ generation: 3 }, { size: 3, ready: 2 }, { size: 2, available: 1 });
    expect(plan.status).toEqual({
      observedGeneration: 3,
      replicas: 5,
      updatedReplicas: 2,
      readyReplicas: 4,
      availableReplicas: 3,
      unavailableReplicas: 2,
      labelSelector: 'app=web',
    });
    const none = planOf(deploymentOf({ replicas: 0 }), []).status;
    expect(none).toEqual({ observedGeneration: 1, terminatingReplicas: 0, labelSelector: 'app=web' });
  });

  it('P15: terminating ones are told only if every ReplicaSet tells them', () => {
    const told = rolling({}, { size: 1, terminating: 2 }, { size: 3, terminating: 1 });
    expect(told.plan.status.terminatingReplicas).toBe(3);
    const untold = rolling({}, { size: 1, terminating: 2 }, { size: 3 });
    expect(untold.plan.status.terminatingReplicas).toBeUndefined();
  });

  it.each([
    ['3 of 4, one may be missing', 3, 'True', 'MinimumReplicasAvailable'],
    ['2 of 4', 2, 'False', 'MinimumReplicasUnavailable'],
  ])('P16: Available: %s', (_, available, status, reason) => {
    const { plan } = rolling({}, { size: 0 }, { size: 4, available });
    expect(plan.conditions?.others['Available']).toMatchObject({ status, reason });
  });

  it('P16: Available: with Recreate none may be missing, though all are taken away', () => {
    const told = (available: number) =>
      rolling({ strategy: 'Recreate' }, { size: 0 }, { size: 4, available }).plan.conditions?.others[
        'Available'
      ];
    expect([told(0)?.status, told(3)?.status, told(4)?.status]).toEqual(['False', 'False', 'True']);
  });

  it('P20: ReplicaFailure comes from the new ReplicaSet, else from any, and goes with it', () => {
    const conditions = [
      { type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate', message: 'quota' },
    ] as const;
    const { plan } = rolling({}, { size: 2, conditions }, { size: 2 });
    expect(plan.conditions?.others['ReplicaFailure']).toEqual({
      status: 'True',
      reason: 'FailedCreate',
      message: 'quota',
    });
    expect(plan.waiting.map(({ code }) => code)).toContain('CreateRefused');
    const { others } = rolling({}, { size: 2 }, { size: 2 }).plan.conditions ?? {};
    expect(Object.keys(others ?? {})).toContain('ReplicaFailure');
    expect(others?.['ReplicaFailure']).toBeUndefined();
  });

  it('P17: the words of Progressing name the ReplicaSet', () => {
    const { plan, fresh } = rolling({}, { size: 4 }, { size: 0 });
    const { name } = fresh.metadata;
    expect(plan.conditions?.words).toMatchObject({
      begun: { reason: 'NewReplicaSetCreated', message: `Created new replica set "${name}"` },
      complete: {
        reason: 'NewReplicaSetAvailable',
        message: `ReplicaSet "${name}" has successfully progressed.`,
      },
    });
    const history = { [DEPLOYMENT_ANNOTATION.revisionHistory]: '1' };
    const back = rolling({}, { size: 4 }, { size: 0, annotations: history }).plan.conditions?.words.begun;
    expect(back?.reason).toBe('FoundNewReplicaSet');
  });
});

it('an amount that cannot be read is said, and the default is used', () => {
  const { plan, batch } = rolling({ maxSurge: 'many', replicas: 4 }, { size: 4 }, { size: 0 });
  expect(batch).toEqual(['new 0→1', 'old 4→3 charged']);
  expect(plan.waiting.map(({ code }) => code)).toContain('InvalidField');
});
