import { expect, it } from '@jest/globals';

import { gatedField } from '../../../git/gated-fields.ts';

const FIELD = 'spec.updateStrategy.rollingUpdate.maxUnavailable';
const ANNOTATION = 'fairlead.dev/max-unavailable';

function set(apiVersion: string, rollingUpdate: object, annotations?: object, kind = 'StatefulSet') {
  return {
    apiVersion,
    kind,
    metadata: { name: 'web', annotations },
    spec: { updateStrategy: { rollingUpdate } },
  };
}

it.each([
  ['dropped', 'apps/v1', { maxUnavailable: 3 }, {}, undefined, { field: FIELD, annotation: ANNOTATION }],
  ['taken (the gate is on)', 'apps/v1', { maxUnavailable: 3 }, { maxUnavailable: 3 }, undefined, undefined],
  ['not there', 'apps/v1', { partition: 1 }, { partition: 1 }, undefined, undefined],
  ['said by the annotation too', 'apps/v1', { maxUnavailable: 3 }, {}, { [ANNOTATION]: '3' }, undefined],
  ['of our own kind', 'fairlead.dev/v1beta1', { maxUnavailable: 3 }, {}, undefined, undefined],
])('S14: maxUnavailable of a StatefulSet that is %s', (_, apiVersion, written, taken, annotations, found) => {
  expect(gatedField(set(apiVersion, written, annotations), set(apiVersion, taken))).toEqual(found);
});

it('a kind that has none', () => {
  const written = set('apps/v1', { maxUnavailable: 3 }, undefined, 'DaemonSet');
  expect(gatedField(written, set('apps/v1', {}, undefined, 'DaemonSet'))).toBeUndefined();
});
