import { describe, expect, it } from '@jest/globals';

import { rolloutSentence } from '../../../cli/rollout-sentences.ts';
import type { ObjectOptions } from '../../support/workload-objects.ts';
import { workloadObject } from '../../support/workload-objects.ts';

function sentence(options: ObjectOptions): string {
  const { sentence: text, done } = rolloutSentence('StatefulSet', workloadObject(options));
  return `${done ? 'done' : 'waits'}: ${text}`;
}

describe("kubectl's sentences of `rollout status` for a StatefulSet", () => {
  it('the spec has not been observed', () => {
    const expected = 'waits: Waiting for statefulset spec update to be observed...';
    expect(sentence({ generation: 3 })).toBe(expected);
    expect(sentence({ status: { observedGeneration: undefined } })).toBe(expected);
  });

  it('pods are not ready', () => {
    expect(sentence({ status: { readyReplicas: 1 } })).toBe('waits: Waiting for 2 pods to be ready...');
    expect(sentence({ status: { readyReplicas: undefined } })).toBe(
      'waits: Waiting for 3 pods to be ready...',
    );
  });

  it('one replica is the default', () => {
    const options = { spec: { replicas: undefined }, status: { readyReplicas: 0 } };
    expect(sentence(options)).toBe('waits: Waiting for 1 pods to be ready...');
  });

  it('pods are not updated', () => {
    expect(sentence({ status: { updatedReplicas: 1 } })).toBe(
      'waits: Waiting for partitioned roll out to finish: 1 out of 3 new pods have been updated...',
    );
  });

  it('a partition lowers what is waited for', () => {
    const spec = { updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 2 } } };
    expect(sentence({ spec, status: { updatedReplicas: 1 } })).toBe(
      'done: partitioned roll out complete: 1 new pods have been updated...',
    );
  });

  it('without rollingUpdate the revisions decide', () => {
    const spec = { updateStrategy: undefined };
    expect(sentence({ spec, status: { updateRevision: 'web-b', updatedReplicas: 2 } })).toBe(
      'waits: waiting for statefulset rolling update to complete 2 pods at revision web-b...',
    );
    expect(sentence({ spec })).toBe('done: statefulset rolling update complete 3 pods at revision web-a...');
  });

  it('the counters are complete, and the last pod is still being resized', () => {
    const atWork = [{ type: 'Reconciling', status: 'True', reason: 'PodNotReady' }] as const;
    expect(sentence({ conditions: atWork })).toBe(
      'waits: Waiting for stateful set "web" rollout to finish: its last pods are being updated...',
    );
    const atRest = [{ type: 'Reconciling', status: 'False', reason: 'Reconciled' }] as const;
    expect(sentence({ conditions: atRest })).toMatch(/^done: /);
  });

  it('the counters are complete, and the controller has more to do', () => {
    const atWork = { type: 'Reconciling', status: 'True', reason: 'WriteRefused' } as const;
    const through = { type: 'Progressing', status: 'True', reason: 'RolloutComplete' } as const;
    const conditions = [through, atWork];
    expect(sentence({ conditions, spec: { replicas: 1 } })).toBe(
      'waits: Waiting for stateful set "web" rollout to finish: 2 pods are pending termination...',
    );
    expect(sentence({ conditions })).toBe(
      'waits: Waiting for stateful set "web" rollout to finish: its pods are updated, and the controller has more to do...',
    );
  });

  it('OnDelete has nothing to wait for', () => {
    const spec = { updateStrategy: { type: 'OnDelete' } };
    expect(() => sentence({ spec })).toThrow(
      'rollout status is only available for RollingUpdate strategy type',
    );
  });
});

describe("kubectl's sentences of `rollout status` for a Deployment", () => {
  const counts = { observedGeneration: 2, replicas: 3, updatedReplicas: 3, availableReplicas: 3 };
  const atWork = { type: 'Reconciling', status: 'True', reason: 'WriteRefused' };
  const late = { type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded' };
  it.each<[string, object, string]>([
    [
      'not observed',
      { observedGeneration: 1 },
      'waits: Waiting for deployment spec update to be observed...',
    ],
    [
      'out of time',
      { updatedReplicas: 1, conditions: [late] },
      'fails: deployment "web" exceeded its progress deadline',
    ],
    [
      'not updated',
      { updatedReplicas: 1 },
      'waits: Waiting for deployment "web" rollout to finish: 1 out of 3 new replicas have been updated...',
    ],
    [
      'none updated',
      { updatedReplicas: undefined },
      'waits: Waiting for deployment "web" rollout to finish: 0 out of 3 new replicas have been updated...',
    ],
    [
      'old ones left',
      { replicas: 5 },
      'waits: Waiting for deployment "web" rollout to finish: 2 old replicas are pending termination...',
    ],
    [
      'not available',
      { availableReplicas: 2 },
      'waits: Waiting for deployment "web" rollout to finish: 2 of 3 updated replicas are available...',
    ],
    [
      'pods that may not be deleted',
      { replicas: 5, updatedReplicas: 5, availableReplicas: 5, conditions: [atWork] },
      'waits: Waiting for deployment "web" rollout to finish: 2 pods are pending termination...',
    ],
    ['done', {}, 'done: deployment "web" successfully rolled out'],
  ])('%s', (_, status, expected) => {
    const object = { ...workloadObject(), status: { ...counts, ...status } };
    const { sentence: said, done, failed } = rolloutSentence('Deployment', object);
    expect(`${failed === true ? 'fails' : done ? 'done' : 'waits'}: ${said}`).toBe(expected);
  });
});

describe('the sentences of `rollout status` for a DaemonSet', () => {
  const counts = { desiredNumberScheduled: 3, updatedNumberScheduled: 1, numberAvailable: 3 };
  const said = (options: ObjectOptions) => rolloutSentence('DaemonSet', workloadObject(options));

  it("kubectl's, while nodes are to be updated", () => {
    expect(said({ status: counts })).toEqual({
      done: false,
      sentence: 'Waiting for daemon set "web" rollout to finish: 1 out of 3 new pods have been updated...',
    });
  });

  it('a canary by the labels of nodes is through when the controller says so', () => {
    const conditions = [{ type: 'Progressing', status: 'True', reason: 'RolloutComplete' }] as const;
    expect(said({ status: counts, conditions })).toEqual({
      done: true,
      sentence: 'daemon set "web" is rolled out to the nodes that its strategy selects: 1 of 3 pods are new',
    });
    expect(said({ status: { ...counts, numberAvailable: 2 }, conditions }).done).toBe(false);
  });
});
