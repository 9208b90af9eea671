import { describe, expect, it } from '@jest/globals';

import type { Container, PodTemplate, TemplateMeta } from '../../planners/objects.ts';
import { qosClass } from '../../planners/resources.ts';
import { diffTemplates } from '../../planners/template-diff.ts';

function template(
  container: Partial<Container>,
  spec: object = {},
  metadata: TemplateMeta = {},
): PodTemplate {
  return { metadata, spec: { containers: [{ name: 'main', image: 'web:1', ...container }], ...spec } };
}

const SIDECAR = { name: 'proxy', image: 'proxy:1', restartPolicy: 'Always' };
const CPU_1 = { resources: { requests: { cpu: '1' } } };

describe('what differs between templates', () => {
  it.each([
    ['nothing', template({}), template({})],
    [
      'defaults written out',
      template({}),
      template({ imagePullPolicy: 'IfNotPresent', resources: {} }, { dnsPolicy: 'ClusterFirst' }),
    ],
    ['spelling of quantities', template(CPU_1), template({ resources: { requests: { cpu: '1000m' } } })],
    [
      'empty lists and nulls',
      template({ env: [], command: null }),
      template({}, { volumes: [] }, { annotations: {} }),
    ],
  ])('S6, A20: %s is no difference', (_, from, to) => {
    expect(diffTemplates(from, to)).toMatchObject({ empty: true, impossible: [] });
  });

  it.each([
    ['web:latest', 'web:2'],
    ['web:2', 'web'],
    ['web:1', 'web:2'],
  ])(
    'A20: from %s to %s is an image and nothing else, though the pull policy follows from the tag',
    (from, to) => {
      const diff = diffTemplates(template({ image: from }), template({ image: to }));
      expect(diff).toMatchObject({
        images: [{ list: 'containers', container: 'main', image: to }],
        impossible: [],
      });
    },
  );

  it('`rollout restart` makes new pods: in place it would restart nothing', () => {
    const restarted = (at: string) =>
      template({}, {}, { annotations: { 'kubectl.kubernetes.io/restartedAt': at } });
    const field = 'metadata.annotations[kubectl.kubernetes.io/restartedAt] (a restart, which replaces pods)';
    expect(diffTemplates(template({}), restarted('1')).impossible).toEqual([field]);
    expect(diffTemplates(restarted('1'), restarted('2')).impossible).toEqual([field]);
    expect(diffTemplates(restarted('1'), template({})).impossible).toEqual([]);
  });

  it('the label `constructor` is taken away, and brought, as any other', () => {
    const labelled = (labels: Readonly<Record<string, string>>) => template({}, {}, { labels });
    const [without, withIt] = [labelled({ app: 'web' }), labelled({ app: 'web', constructor: 'x' })];
    expect(diffTemplates(withIt, without).labels).toEqual({ constructor: null });
    expect(diffTemplates(without, withIt).labels).toEqual({ constructor: 'x' });
  });

  it('A20: a pull policy that does not follow from the tag is a difference', () => {
    const diff = diffTemplates(
      template({ imagePullPolicy: 'Always' }),
      template({ image: 'web:2', imagePullPolicy: 'Never' }),
    );
    expect(diff.impossible).toEqual(['spec.containers[main].imagePullPolicy']);
  });

  it('in-place.md 10: images of native sidecars can be changed, those of init containers cannot', () => {
    const sidecar = (image: string) => template({}, { initContainers: [{ ...SIDECAR, image }] });
    expect(diffTemplates(sidecar('proxy:1'), sidecar('proxy:2'))).toMatchObject({
      images: [{ list: 'initContainers', container: 'proxy', image: 'proxy:2' }],
      impossible: [],
    });
    const init = (image: string) => template({}, { initContainers: [{ name: 'setup', image }] });
    expect(diffTemplates(init('setup:1'), init('setup:2')).impossible).toEqual([
      'spec.initContainers[setup].image',
    ]);
  });

  it('A21: labels and annotations are added, changed and removed', () => {
    const diff = diffTemplates(
      template({}, {}, { labels: { app: 'web', old: '1', kept: 'x' }, annotations: { note: 'a' } }),
      template({}, {}, { labels: { app: 'web', new: '2', kept: 'y' } }),
    );
    expect(diff).toMatchObject({
      labels: { old: null, new: '2', kept: 'y' },
      annotations: { note: null },
      impossible: [],
    });
    expect(diff.labels).not.toHaveProperty('app');
  });

  it('A22: a label that the environment of a container reads cannot change without its restart', () => {
    const env = [{ name: 'TIER', valueFrom: { fieldRef: { fieldPath: "metadata.labels['tier']" } } }];
    const tier = (value: string, image: string) => template({ image, env }, {}, { labels: { tier: value } });
    expect(diffTemplates(tier('a', 'web:1'), tier('b', 'web:1')).impossible).toHaveLength(1);
    expect(diffTemplates(tier('a', 'web:1'), tier('b', 'web:2')).impossible).toEqual([]);
  });

  describe('A22: an amount that the environment of a container reads cannot change without its restart', () => {
    const sized = (memory: string, extra: object = {}, reader: object = {}) =>
      template(
        {},
        {
          containers: [
            {
              name: 'main',
              image: 'web:1',
              resources: { requests: { cpu: '1', memory: '1Gi' }, limits: { memory } },
              ...extra,
            },
            { name: 'side', image: 'side:1', ...reader },
          ],
        },
      );
    const read = (resourceFieldRef: object) => ({
      env: [{ name: 'GOMEMLIMIT', valueFrom: { resourceFieldRef } }],
    });
    const own = read({ resource: 'limits.memory' });
    const policy = (restartPolicy: string) => ({
      ...own,
      resizePolicy: [{ resourceName: 'memory', restartPolicy }],
    });
    const impossibleOf = (one: readonly object[], other: readonly object[] = one) =>
      diffTemplates(sized('1Gi', ...one), sized('2Gi', ...other)).impossible;
    const path = 'spec.containers[main].resources.limits.memory (read by the environment of container';

    it.each([
      ['its own', [own], `${path} main)`],
      [
        'its own, by an empty name',
        [read({ containerName: '', resource: 'limits.memory' })],
        `${path} main)`,
      ],
      ['of another one', [{}, read({ containerName: 'main', resource: 'limits.memory' })], `${path} side)`],
      ['with no restart for it', [policy('NotRequired')], `${path} main)`],
    ])('%s', (_, parts, expected) => {
      expect(impossibleOf(parts)).toEqual([expected]);
    });

    it.each([
      ['another amount', [read({ resource: 'requests.memory' })]],
      ['the amount of another one', [{}, read({ resource: 'limits.memory' })]],
      ['with a restart for it', [policy('RestartContainer')]],
    ])('but %s', (_, parts) => {
      expect(impossibleOf(parts)).toEqual([]);
    });

    it('but with a new image of that container', () => {
      expect(impossibleOf([own], [{ ...own, image: 'web:2' }])).toEqual([]);
      const side = read({ containerName: 'main', resource: 'limits.memory' });
      expect(impossibleOf([{}, side], [{ image: 'web:2' }, side])).toEqual([`${path} side)`]);
    });
  });

  it.each([
    ['env', template({ env: [{ name: 'A', value: 'b' }] }), 'spec.containers[main].env'],
    ['a volume', template({}, { volumes: [{ name: 'v' }] }), 'spec.volumes'],
    [
      'a container more',
      template({}, { containers: [{ name: 'main', image: 'web:1' }, { name: 'b' }] }),
      'spec.containers (added, removed, renamed or reordered)',
    ],
    ['a finalizer', template({}, {}, { finalizers: ['a/b'] }), 'metadata.finalizers'],
    ['a service account', template({}, { serviceAccountName: 'robot' }), 'spec.serviceAccount'],
    [
      'a resize policy',
      template({ resizePolicy: [{ resourceName: 'cpu', restartPolicy: 'NotRequired' }] }),
      'spec.containers[main].resizePolicy',
    ],
    ['resources where there were none', template(CPU_1), 'spec (QoS class BestEffort → Burstable)'],
    [
      'a request of storage',
      template({ resources: { requests: { 'ephemeral-storage': '1Gi' } } }),
      'spec.containers[main].resources',
    ],
    [
      'a claim of a resource',
      template({ resources: { claims: [{ name: 'gpu' }] } }),
      'spec.containers[main].resources',
    ],
  ])('A19: %s cannot be done in place, and the field is named', (_, to, field) => {
    expect(diffTemplates(template({}), to).impossible).toContain(field);
  });

  it('A19: amounts of cpu and memory can be changed while the QoS class stays', () => {
    const amounts = (cpu: string, limit?: string) =>
      template({
        resources: {
          requests: { cpu },
          ...(limit !== undefined && { limits: { cpu: limit, memory: '1Gi' } }),
        },
      });
    expect(diffTemplates(amounts('1'), amounts('2'))).toMatchObject({
      resources: [
        { list: 'containers', container: 'main', resources: { requests: { cpu: '2' } }, restarts: false },
      ],
      impossible: [],
    });
    const guaranteed = template({ resources: { limits: { cpu: '1', memory: '1Gi' } } });
    const burstable = template({
      resources: { requests: { cpu: '500m' }, limits: { cpu: '1', memory: '1Gi' } },
    });
    expect([qosClass(guaranteed.spec), qosClass(burstable.spec), qosClass(template({}).spec)]).toEqual([
      'Guaranteed',
      'Burstable',
      'BestEffort',
    ]);
    expect(diffTemplates(guaranteed, burstable).impossible).toEqual([
      'spec (QoS class Guaranteed → Burstable)',
    ]);
  });

  it('A19: a request that follows from the limit changes with it, so that a Guaranteed pod stays so', () => {
    const limits = (cpu: string) => template({ resources: { limits: { cpu, memory: '1Gi' } } });
    expect(diffTemplates(limits('1'), limits('2'))).toMatchObject({
      resources: [{ resources: { requests: { cpu: '2' }, limits: { cpu: '2' } } }],
      impossible: [],
    });
  });

  it('A19: a limit or a request that was not there is added while the QoS class stays', () => {
    const limited = template({ resources: { requests: { cpu: '1' }, limits: { cpu: '2', memory: '1Gi' } } });
    expect(diffTemplates(template(CPU_1), limited)).toMatchObject({
      resources: [{ resources: { requests: { memory: '1Gi' }, limits: { cpu: '2', memory: '1Gi' } } }],
      impossible: [],
    });
    const guaranteed = template({ resources: { limits: { cpu: '1', memory: '1Gi' } } });
    expect(diffTemplates(template(CPU_1), guaranteed).impossible).toEqual([
      'spec (QoS class Burstable → Guaranteed)',
    ]);
  });

  it.each([
    ['storage', { requests: { 'ephemeral-storage': '1Gi' } }, { requests: { 'ephemeral-storage': '2Gi' } }],
    ['a limit that goes', { requests: { cpu: '1' }, limits: { cpu: '2' } }, { requests: { cpu: '1' } }],
  ])('A19: %s cannot be resized', (_, before, after) => {
    expect(diffTemplates(template({ resources: before }), template({ resources: after })).impossible).toEqual(
      ['spec.containers[main].resources'],
    );
  });

  it('A30: a resize policy can ask for a restart', () => {
    const amount = (cpu: string) =>
      template({
        ...CPU_1,
        resources: { requests: { cpu } },
        resizePolicy: [{ resourceName: 'cpu', restartPolicy: 'RestartContainer' }],
      });
    expect(diffTemplates(amount('1'), amount('2')).resources).toMatchObject([{ restarts: true }]);
  });
});
