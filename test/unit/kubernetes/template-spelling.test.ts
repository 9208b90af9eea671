import { expect, it } from '@jest/globals';

import { inSpellingOf } from '../../../kubernetes/template-spelling.ts';
import type { PodTemplate } from '../../../planners/objects.ts';
import { normaliseTemplate } from '../../../planners/template-defaults.ts';

/** As a chart prints it: much that is the same as nothing, amounts in other words, and no defaults. */
function template(image: string, container: object = {}): PodTemplate {
  return {
    metadata: { labels: { app: 'web' }, annotations: {} },
    spec: {
      nodeSelector: {},
      serviceAccountName: '',
      tolerations: [{ key: 'spot', operator: 'Exists', value: '' }],
      volumes: [{ name: 'tmp' }],
      initContainers: [{ name: 'prepare', image: 'prepare:1', stdin: false }],
      containers: [
        {
          name: 'main',
          image,
          tty: false,
          volumeMounts: [{ name: 'tmp', mountPath: '/tmp', readOnly: false }],
          resources: { requests: { cpu: '1000m' }, limits: {} },
          ...container,
        },
      ],
    },
  };
}

it.each([
  ['an image', template('web:0')],
  ['nothing', template('web:1')],
  ['a field that was not there', template('web:0', { args: ['x'] })],
  ['a list of another length', template('web:0', { env: [{ name: 'A', value: '1' }] })],
  ['a label less, an annotation more', { ...template('web:0'), metadata: { annotations: { note: 'a' } } }],
  ['a pull policy that follows from the tag', template('web:latest')],
])('what differs in meaning is written, the rest stays as it is: %s', (_, wanted) => {
  expect(inSpellingOf(template('web:1'), normaliseTemplate(wanted))).toMatchObject({ spec: wanted.spec });
});

it.each([
  ['amounts', template('web:0', { resources: { requests: { cpu: '2' } } })],
  ['a pull policy against the tag', template('web:latest', { imagePullPolicy: 'IfNotPresent' })],
  ['no volume', { ...template('web:0'), spec: { ...template('web:0').spec, volumes: [] } }],
  ['other containers', { spec: { containers: [{ name: 'other', image: 'other:1' }] } }],
])('the meaning is always that of the revision: %s', (_, wanted) => {
  const written = inSpellingOf(template('web:1'), normaliseTemplate(wanted));
  expect(normaliseTemplate(written)).toEqual(normaliseTemplate(wanted));
});

it('what only the present template says goes', () => {
  const present = template('web:1', { command: ['x'], securityContext: { privileged: true } });
  const [container] = inSpellingOf(present, normaliseTemplate(template('web:0'))).spec.containers;
  expect(container).toEqual(template('web:0').spec.containers[0]);
});
