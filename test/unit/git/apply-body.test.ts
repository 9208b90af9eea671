/** What of a manifest is sent. */

import { expect, it } from '@jest/globals';

import { ManifestReader } from '../../../git/manifests.ts';
import type { PreparedObject } from '../../../git/prepare.ts';
import { applyBody } from '../../../git/prepare.ts';
import { trusted } from '../../../kubernetes/values.ts';
import { DEPLOYMENT_ANNOTATION } from '../../../planners/names.ts';

const ORIGIN = { repository: 'shop', sha: 'a'.repeat(40), applySetId: 'set' };

it.each([
  ['apps/v1', 'Deployment', undefined],
  ['fairlead.dev/v1beta1', 'Deployment', undefined],
  ['v1', 'ConfigMap', '7'],
])(
  'the number of a revision that was exported with a Deployment is not: %s %s',
  (apiVersion, kind, number) => {
    const reader = new ManifestReader();
    const annotations = JSON.stringify({ [DEPLOYMENT_ANNOTATION.revision]: '7', kept: 'yes' });
    const text = `apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata:\n  name: api\n  annotations: ${annotations}\n`;
    for (const _ of reader.read({ path: 'a.yaml', text }));
    const [manifest] = reader.manifests;
    const { metadata } = applyBody(trusted<PreparedObject>({ manifest, namespace: 'shop' }), ORIGIN);
    const sent = trusted<{ annotations: Record<string, string> }>(metadata).annotations;
    expect([sent[DEPLOYMENT_ANNOTATION.revision], sent['kept']]).toEqual([number, 'yes']);
  },
);
