import { describe, expect, it } from '@jest/globals';

import { colorsOf } from '../../../cli/colors.ts';
import { differences } from '../../../git/differences.ts';
import { compareApplied, maskValues } from '../../../git/applied-difference.ts';
import { formatPlan } from '../../../cli/plan.ts';

describe('differences by path', () => {
  it('equal values differ in nothing, whatever the order of keys', () => {
    expect(differences({ a: 1, b: [1] }, { b: [1], a: 1 })).toEqual([]);
  });

  it('containers are compared by name, not by place', () => {
    const before = {
      containers: [
        { name: 'a', image: 'a:1' },
        { name: 'b', image: 'b:1' },
      ],
    };
    const after = {
      containers: [
        { name: 'new', image: 'n:1' },
        { name: 'a', image: 'a:2' },
      ],
    };
    expect(differences(before, after)).toEqual([
      { path: 'containers[a].image', before: 'a:1', after: 'a:2' },
      { path: 'containers[b]', before: { name: 'b', image: 'b:1' } },
      { path: 'containers[new]', after: { name: 'new', image: 'n:1' } },
    ]);
  });

  it('ports without names are compared by number; items of equal names by place', () => {
    expect(
      differences([{ containerPort: 1, protocol: 'TCP' }], [{ containerPort: 1, protocol: 'UDP' }]),
    ).toEqual([{ path: '[1].protocol', before: 'TCP', after: 'UDP' }]);
    expect(
      differences(
        [
          { name: 'x', v: 1 },
          { name: 'x', v: 2 },
        ],
        [{ name: 'x', v: 1 }],
      ),
    ).toEqual([{ path: '[1]', before: { name: 'x', v: 2 } }]);
  });

  it('names with dots and slashes are bracketed', () => {
    expect(differences({ labels: { 'app.example/x': '1' } }, { labels: {} })).toEqual([
      { path: 'labels["app.example/x"]', before: '1' },
    ]);
  });

  it.each(['constructor', 'toString', '__proto__'])('%s is a name like any other', (name) => {
    const named = Object.fromEntries([[name, 'x']]);
    expect(differences({ data: {} }, { data: named })).toEqual([{ path: `data.${name}`, after: 'x' }]);
    expect(differences({ data: named }, { data: {} })).toEqual([{ path: `data.${name}`, before: 'x' }]);
  });
});

describe('Secrets', () => {
  it('values are never shown: equal ones are equal, others told apart', () => {
    const masked = maskValues(
      { same: 'eA==', old: 'b2xk', gone: 'Z29uZQ==' },
      { same: 'eA==', old: 'bmV3', added: 'YQ==' },
    );
    expect(JSON.stringify(masked)).not.toMatch(/eA==|b2xk|bmV3|Z29uZQ|YQ==/);
    expect(differences(masked.before, masked.after)).toEqual([
      { path: 'added', after: '*** (after)' },
      { path: 'gone', before: '*** (before)' },
      { path: 'old', before: '*** (before)', after: '*** (after)' },
    ]);
  });
});

it('annotations of a Secret are masked as its data is, those of anything else are shown', () => {
  const object = (kind: string, note: string) =>
    ({
      apiVersion: 'v1',
      kind,
      metadata: { name: 's', uid: 'u', resourceVersion: '1', annotations: { note, same: 'PLANTED' } },
    }) as const;
  const compared = (kind: string) =>
    compareApplied(
      { manifest: { kind, group: '' } },
      object(kind, 'PLANTED old'),
      object(kind, 'PLANTED new'),
    );
  expect(compared('Secret')).toEqual([
    { path: 'metadata.annotations.note', before: '*** (before)', after: '*** (after)' },
  ]);
  expect(compared('ConfigMap')).toEqual([
    { path: 'metadata.annotations.note', before: 'PLANTED old', after: 'PLANTED new' },
  ]);
});

it.each([
  ['DaemonSet', 'deprecated.daemonset.template.generation'],
  ['Deployment', 'deployment.kubernetes.io/revision'],
])('what the cluster counts of a %s is no difference: %s', (kind, counted) => {
  const object = (number: string) => ({
    apiVersion: 'apps/v1',
    kind,
    metadata: {
      name: 'agent',
      uid: 'u',
      resourceVersion: '1',
      annotations: { [counted]: number, note: number },
    },
  });
  const paths = compareApplied({ manifest: { kind, group: 'apps' } }, object('1'), object('2')).map(
    ({ path }) => path,
  );
  expect(paths).toEqual(['metadata.annotations.note']);
});

describe('a plan as text', () => {
  it('names every change, its paths, the rollout, what is wrong', async () => {
    const text = await formatPlan(
      {
        repository: 'shop',
        url: '/srv/shop',
        sha: '0123456789abcdef0123456789abcdef01234567',
        changes: [
          {
            object: 'StatefulSet.fairlead.dev shop/web',
            action: 'change',
            differences: [
              { path: 'spec.template.spec.containers[main].image', before: 'web:1', after: 'web:2' },
            ],
            rollout: { pods: 3 },
          },
          { object: 'ConfigMap shop/settings', action: 'create', differences: [] },
          { object: 'Service shop/old', action: 'delete', differences: [] },
        ],
        unchanged: 2,
        problems: [{ code: 'UnknownField', message: 'unknown field "x\u001b[2J".', file: 'a.yaml', line: 3 }],
        notes: [],
      },
      colorsOf({ color: false }),
    );
    expect(text).toBe(
      [
        'shop at 01234567',
        '► StatefulSet.fairlead.dev shop/web would be changed',
        '  spec.template.spec.containers[main].image',
        '    - web:1',
        '    + web:2',
        '  → a new revision for 3 pods',
        '► ConfigMap shop/settings would be created',
        '► Service shop/old would be deleted',
        '✗ UnknownField a.yaml:3@01234567: unknown field "x". Correct the name of the field.',
        '1 to create, 1 to change, 1 to delete, 2 unchanged; nothing is applied while there are problems (1)',
        '',
      ].join('\n'),
    );
  });
});
