/** A pause is on the object: where, for each kind and API, and what ends it. */

import { describe, expect, it } from '@jest/globals';

import { pauseEdit } from '../../../kubernetes/wish-edits.ts';
import { hasEndedPause, readPaused } from '../../../kubernetes/wish-annotations.ts';
import type { WorkloadTarget } from '../../../kubernetes/workload-edit.ts';
import { workloadObject } from '../../support/workload-objects.ts';

const NOW = Date.parse('2026-01-01T00:00:00Z');
const WISH = { by: 'alice', reason: 'disk alarm', at: '2026-01-01T00:00:00.000Z' };
const KEY = 'fairlead.dev/paused';
const NOTE = JSON.stringify({ ...WISH, field: 'spec.paused' });

const target = (group: string, kind: WorkloadTarget['kind']): WorkloadTarget => ({
  group,
  version: group === 'apps' ? 'v1' : 'v1beta1',
  kind,
  namespace: 'default',
  name: 'web',
});

describe('`rollout pause` writes', () => {
  it.each([
    ['fairlead.dev', 'StatefulSet'],
    ['fairlead.dev', 'DaemonSet'],
    ['fairlead.dev', 'Deployment'],
    ['apps', 'StatefulSet'],
    ['apps', 'DaemonSet'],
  ] as const)('the annotation alone on a %s %s', (group, kind) => {
    const { operations } = pauseEdit(
      workloadObject({ annotations: {} }),
      target(group, kind),
      { by: 'alice', reason: 'disk alarm' },
      NOW,
    );
    expect(operations).toEqual([
      { op: 'add', path: '/metadata/annotations/fairlead.dev~1paused', value: JSON.stringify(WISH) },
    ]);
  });

  it('also the field on a native Deployment, so that kubectl sees the pause and can end it', () => {
    const { operations } = pauseEdit(
      workloadObject({ annotations: {} }),
      target('apps', 'Deployment'),
      { by: 'alice', reason: 'disk alarm' },
      NOW,
    );
    expect(operations).toEqual([
      { op: 'add', path: '/metadata/annotations/fairlead.dev~1paused', value: NOTE },
      { op: 'add', path: '/spec/paused', value: true },
    ]);
  });
});

describe('a workload is paused', () => {
  it.each([
    ['by the annotation alone, with or without a field', JSON.stringify(WISH), undefined, WISH],
    ['by an annotation that says no more than true', 'true', undefined, {}],
    ['by the field alone', undefined, true, { reason: 'spec.paused is true' }],
    ['by both: the annotation tells by whom', NOTE, true, WISH],
    ['not by a note whose field was taken back', NOTE, false, undefined],
    ['not by a note whose field is gone', NOTE, undefined, undefined],
    ['not by an annotation that says false', 'false', undefined, undefined],
  ])('%s', (_what, annotation, field, paused) => {
    const annotations = annotation === undefined ? {} : { [KEY]: annotation };
    expect(readPaused(annotations, field)).toEqual(paused);
  });

  it.each([
    [NOTE, false, true],
    [NOTE, undefined, true],
    [NOTE, true, false],
    [JSON.stringify(WISH), false, false],
    ['true', undefined, false],
    ['false', false, false],
  ])('%s with spec.paused %s: left over %s', (annotation, field, left) => {
    expect(hasEndedPause({ [KEY]: annotation }, field)).toBe(left);
  });
});
