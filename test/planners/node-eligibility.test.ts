import { describe, expect, it } from '@jest/globals';

import { eligibilityOf, tolerationsOf } from '../../planners/node-eligibility.ts';
import type { Node, PodTemplate } from '../../planners/objects.ts';
import { nodeOf } from '../support/daemonset-fixtures.ts';
import { templateOf } from '../support/statefulset-fixtures.ts';

const RUN = { shouldRun: true, shouldContinue: true };
const STAY = { shouldRun: false, shouldContinue: true };
const NO = { shouldRun: false, shouldContinue: false };

type Spec = Partial<PodTemplate['spec']>;

const affinity = (...terms: readonly object[]): Spec => ({
  affinity: {
    nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms } },
  },
});
const expression = (key: string, operator: string, ...values: readonly string[]): object => ({
  matchExpressions: [{ key, operator, values }],
});
const node: Node = nodeOf('node-a', { labels: { zone: 'a', size: '8' } });
const tainted = (effect: string, key = 'dedicated', value = 'gpu'): Node =>
  nodeOf('node-a', { taints: [{ key, value, effect }] });

describe('on which nodes a daemon runs (D1)', () => {
  it.each<[string, Spec, Node, object]>([
    ['nothing asked for', {}, node, RUN],
    ['its own nodeName', { nodeName: 'node-a' }, node, RUN],
    ["another node's name", { nodeName: 'node-b' }, node, NO],
    ['a nodeSelector that holds', { nodeSelector: { zone: 'a' } }, node, RUN],
    ['a nodeSelector that does not', { nodeSelector: { zone: 'a', disk: 'ssd' } }, node, NO],
    ['In', affinity(expression('zone', 'In', 'a', 'b')), node, RUN],
    ['In of an absent label', affinity(expression('disk', 'In', 'ssd')), node, NO],
    ['NotIn of an absent label', affinity(expression('disk', 'NotIn', 'ssd')), node, RUN],
    ['NotIn', affinity(expression('zone', 'NotIn', 'a')), node, NO],
    ['Exists', affinity(expression('zone', 'Exists')), node, RUN],
    ['DoesNotExist', affinity(expression('zone', 'DoesNotExist')), node, NO],
    ['Gt', affinity(expression('size', 'Gt', '7')), node, RUN],
    ['Gt of what is no number', affinity(expression('zone', 'Gt', '7')), node, NO],
    ['Lt', affinity(expression('size', 'Lt', '8')), node, NO],
    ['one term of two', affinity(expression('zone', 'In', 'b'), expression('zone', 'In', 'a')), node, RUN],
    ['a term that asks for nothing', affinity({}), node, NO],
    ['no terms', affinity(), node, NO],
    [
      'a field',
      affinity({ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['node-a'] }] }),
      node,
      RUN,
    ],
    ['an operator that nobody knows', affinity(expression('zone', 'Near', 'a')), node, NO],
    ['a NoSchedule taint', {}, tainted('NoSchedule'), STAY],
    ['a NoExecute taint', {}, tainted('NoExecute'), NO],
    ['a PreferNoSchedule taint', {}, tainted('PreferNoSchedule'), RUN],
    [
      'a taint that is tolerated',
      { tolerations: [{ key: 'dedicated', value: 'gpu' }] },
      tainted('NoExecute'),
      RUN,
    ],
    [
      'another value tolerated',
      { tolerations: [{ key: 'dedicated', value: 'cpu' }] },
      tainted('NoSchedule'),
      STAY,
    ],
    ['everything tolerated', { tolerations: [{ operator: 'Exists' }] }, tainted('NoExecute'), RUN],
    ['a cordoned node', {}, tainted('NoSchedule', 'node.kubernetes.io/unschedulable', ''), RUN],
    ['a node that is not ready', {}, tainted('NoExecute', 'node.kubernetes.io/not-ready', ''), RUN],
    ['no network', {}, tainted('NoSchedule', 'node.kubernetes.io/network-unavailable', ''), STAY],
    [
      'no network needed',
      { hostNetwork: true },
      tainted('NoSchedule', 'node.kubernetes.io/network-unavailable', ''),
      RUN,
    ],
  ])('%s', (_, spec, on, expected) => {
    expect(eligibilityOf(templateOf('agent:1', spec))(on)).toEqual(expected);
  });

  it('D2: the tolerations of daemons are added once', () => {
    const own = { key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute' };
    expect(tolerationsOf(templateOf('agent:1', { tolerations: [own] }))).toHaveLength(6);
    expect(tolerationsOf(templateOf('agent:1', { hostNetwork: true }))).toHaveLength(7);
  });
});
