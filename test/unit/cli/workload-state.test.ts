import { describe, expect, it } from '@jest/globals';

import { colorsOf } from '../../../cli/colors.ts';
import { columnsOf } from '../../../cli/get.ts';
import { planWorkload } from '../../../cli/snapshot.ts';
import { formatTable } from '../../../cli/table.ts';
import { isStuck, rollbackSince, stateOfWorkload } from '../../../cli/workload-state.ts';
import { viewWorkload } from '../../../cli/workload-view.ts';
import { templateChange } from '../../../kubernetes/template-change.ts';
import { lookupsOf } from '../../../kubernetes/workload-children.ts';
import type { WorkloadObject } from '../../../kubernetes/workload-edit.ts';
import type { ReasonCode } from '../../../planners/plan.ts';
import type { ObjectOptions } from '../../support/workload-objects.ts';
import { workloadObject } from '../../support/workload-objects.ts';

const PAUSED = {
  'fairlead.dev/paused': JSON.stringify({ by: 'alice', reason: 'db alarm', at: '2026-01-01T00:00:00Z' }),
};
const STALLED = [
  { type: 'Stalled', status: 'True', reason: 'RunFailed', message: 'run failed: no quota' },
  { type: 'Ready', status: 'False', reason: 'RunFailed' },
] as const;
const RECONCILING = [
  { type: 'Ready', status: 'False', reason: 'PodNotReady' },
  { type: 'Reconciling', status: 'True', reason: 'PodNotReady', message: 'web-2 is not ready' },
] as const;

const REVISION_MISSING = { type: 'Reconciling', status: 'True', reason: 'RevisionMissing' } as const;

const TEMPORAL_AWAY = [
  { type: 'Ready', status: 'False', reason: 'TemporalUnreachable' },
  {
    type: 'Reconciling',
    status: 'True',
    reason: 'TemporalUnreachable',
    message: 'Temporal does not answer',
  },
] as const;

describe('the state of a workload', () => {
  it.each<[string, ObjectOptions, string, string]>([
    ['deleted', { deleting: true, annotations: PAUSED }, 'Terminating', 'Deleting'],
    ['stalled, though paused', { conditions: STALLED, annotations: PAUSED }, 'Stalled', 'RunFailed'],
    [
      'stalled in an earlier generation',
      { conditions: STALLED, generation: 3 },
      'Progressing',
      'SpecNotObserved',
    ],
    [
      'observed in an earlier generation, at work on that',
      { conditions: RECONCILING, generation: 3 },
      'Progressing',
      'SpecNotObserved',
    ],
    [
      'without a revision, as Temporal is away',
      { conditions: TEMPORAL_AWAY, generation: 3 },
      'Progressing',
      'TemporalUnreachable',
    ],
    [
      'new, and without a revision',
      { conditions: TEMPORAL_AWAY, status: { observedGeneration: undefined } },
      'Progressing',
      'TemporalUnreachable',
    ],
    [
      'without a revision, as its run was terminated before it made one',
      { conditions: [...STALLED, REVISION_MISSING], generation: 3 },
      'Stalled',
      'RunFailed',
    ],
    [
      'new, and its run was terminated at once',
      { conditions: [...STALLED, REVISION_MISSING], status: { observedGeneration: undefined } },
      'Stalled',
      'RunFailed',
    ],
    ['paused, though not observed', { annotations: PAUSED, generation: 3 }, 'Paused', 'Paused'],
    ['paused by its spec', { spec: { paused: true } }, 'Paused', 'Paused'],
    ['never looked at', { status: { observedGeneration: undefined } }, 'Pending', 'NotObserved'],
    ['Ready by its condition', { conditions: [{ type: 'Ready', status: 'True' }] }, 'Ready', ''],
    [
      'Ready, and not as git has it',
      {
        conditions: [{ type: 'Ready', status: 'True' }],
        annotations: { 'fairlead.dev/pinned': '{"by":"ann","verb":"undo"}' },
      },
      'Ready',
      'Pinned',
    ],
    ['reconciling', { conditions: RECONCILING }, 'Progressing', 'PodNotReady'],
    ['of another controller, done', {}, 'Ready', ''],
    ['of another controller, going on', { status: { updatedReplicas: 1 } }, 'Progressing', 'Progressing'],
  ])('%s', (_, options, state, reason) => {
    expect(stateOfWorkload(workloadObject(options))).toMatchObject({ state, reason });
  });
});

it.each<[string, ObjectOptions, boolean]>([
  ['stalled', { conditions: STALLED }, true],
  [
    'paused by its deadline',
    { annotations: { 'fairlead.dev/paused': '{"by":"progressDeadlineSeconds"}' } },
    true,
  ],
  ['paused by somebody', { annotations: PAUSED }, false],
  ['reconciling', { conditions: RECONCILING }, false],
])('who waits for its end gives up or not: %s', (_, options, stuck) => {
  expect(isStuck(workloadObject(options))).toBe(stuck);
});

function waitsFor(object: WorkloadObject): readonly ReasonCode[] {
  const target = { group: 'fairlead.dev', version: 'v1beta1', kind: 'StatefulSet' } as const;
  const children = lookupsOf({ controllerrevisions: [], pods: [] });
  const names = { namespace: 'default', name: 'web' };
  const { plan } = planWorkload(
    object,
    { ...target, ...names },
    { children, claims: [], nodes: undefined },
    0,
  );
  return plan.waiting.map(({ code }) => code);
}

describe('a deadline has rolled it back', () => {
  const at = '2026-01-01T00:00:00.000Z';
  const web1 = workloadObject();
  const back = (rejected: string | undefined) => ({
    'fairlead.dev/pinned': JSON.stringify({ verb: 'deadline', at, ...(rejected && { rejected }) }),
    ...templateChange(web1, web1.spec.template, 'deadline', {}, Date.parse(at)),
  });
  const ready = [{ type: 'Ready', status: 'True' }] as const;
  const web2 = {
    template: { ...web1.spec.template, spec: { containers: [{ name: 'main', image: 'web:2' }] } },
  };
  const later = templateChange(web1, web1.spec.template, 'restart', {}, Date.parse(at) + 1);

  it.each<[string, ObjectOptions, boolean, string]>([
    ['the present template', { annotations: back(undefined) }, true, 'Pinned'],
    ['… and its manifest is in git', { annotations: back('hash') }, true, 'Pinned'],
    [
      '… by hand, without a time',
      { annotations: { 'fairlead.dev/pinned': '{"verb":"deadline"}' } },
      true,
      'Pinned',
    ],
    ['before another template came', { annotations: back(undefined), spec: web2 }, false, ''],
    ['before a verb changed it', { annotations: { ...back(undefined), ...later } }, false, ''],
    // Git is still left alone.
    [
      'before another template came over that of git',
      { annotations: back('hash'), spec: web2 },
      false,
      'Pinned',
    ],
  ])('%s', (_, options, isBack, reason) => {
    const object = workloadObject({ ...options, conditions: ready });
    expect(rollbackSince(object, object) !== undefined).toBe(isBack);
    expect(stateOfWorkload(object)).toMatchObject({ state: 'Ready', reason });
    expect(waitsFor(object).includes('Pinned')).toBe(reason === 'Pinned');
  });

  it.each(['abort', 'undo'])('%s counts for whom it was not there when he began to wait', (verb) => {
    const pinned = (time: string) => ({
      'fairlead.dev/pinned': JSON.stringify({ verb, at: time, by: 'ann' }),
      ...templateChange(web1, web1.spec.template, verb, {}, Date.parse(time)),
    });
    const earlier = '2025-12-31T00:00:00.000Z';
    const [before, now] = [earlier, at].map((time) => workloadObject({ annotations: pinned(time) }));
    const isBack = (begun = web1, object = web1) => rollbackSince(begun, object)?.by;
    expect([isBack(web1, now), isBack(before, now), isBack(now, now), isBack(now, web1)]).toEqual([
      'ann',
      'ann',
      undefined,
      undefined,
    ]);
    // Another template has come since.
    const again = workloadObject({ annotations: pinned(at), spec: web2 });
    expect(isBack(web1, again)).toBeUndefined();
  });

  it('git is only spoken of where a manifest was rejected', () => {
    const messageOf = (rejected: string | undefined) =>
      stateOfWorkload(workloadObject({ annotations: back(rejected), conditions: ready })).message;
    expect(messageOf(undefined)).toBe('pinned');
    expect(messageOf('hash')).toBe('pinned; the manifest in git is not applied until it changes');
  });
});

describe('get', () => {
  const now = Date.parse('2026-01-01T00:03:12Z');
  const plain = colorsOf({ color: false });
  const views = [
    workloadObject({ annotations: { ...PAUSED, 'fairlead.dev/commit': '0123456789abcdef' } }),
    workloadObject({ conditions: RECONCILING, status: { updatedReplicas: 1, updateRevision: 'web-b' } }),
    workloadObject({ conditions: STALLED }),
  ].map((object) => viewWorkload(object, 'StatefulSet', 'fairlead.dev/v1beta1'));

  it('the table', () => {
    expect(formatTable(columnsOf(now, plain, false, false), views)).toBe(
      [
        'NAME              DESIRED   READY   UPDATED   AVAILABLE   REVISION   STATE         REASON               AGE     COMMIT',
        'statefulset/web   3         3       3         3           a          Paused        by alice: db alarm   3m12s   01234567',
        'statefulset/web   3         3       1         3           b          Progressing   PodNotReady          3m12s   <none>',
        'statefulset/web   3         3       3         3           a          Stalled       RunFailed            3m12s   <none>',
        '',
      ].join('\n'),
    );
  });

  it('wide and all namespaces', () => {
    const [view] = views.map((one) => ({ ...one, podsByRevision: { 'web-a': 2, 'web-b': 1 } }));
    const [header, row] = formatTable(
      columnsOf(now, plain, true, true),
      view === undefined ? [] : [view],
    ).split('\n');
    expect(header).toMatch(/^NAMESPACE {3}NAME .* COMMIT {5}PODS {6}IMAGES$/);
    expect(row).toMatch(/^default {5}statefulset\/web .* 01234567 {3}a:2,b:1 {3}web:1$/);
  });

  it('the shape of JSON (stable)', () => {
    expect(views[1]).toEqual({
      workloadApi: 'fairlead.dev/v1beta1',
      workloadKind: 'StatefulSet',
      namespace: 'default',
      name: 'web',
      uid: 'set-uid',
      state: 'Progressing',
      reason: 'PodNotReady',
      message: 'web-2 is not ready',
      desired: 3,
      ready: 3,
      updated: 1,
      available: 3,
      generation: 2,
      observedGeneration: 2,
      currentRevision: 'web-a',
      updateRevision: 'web-b',
      images: ['web:1'],
      createdAt: '2026-01-01T00:00:00Z',
    });
    expect(views[0]).toMatchObject({
      paused: { by: 'alice', reason: 'db alarm', at: '2026-01-01T00:00:00Z' },
      commit: '0123456789abcdef',
    });
  });
});
