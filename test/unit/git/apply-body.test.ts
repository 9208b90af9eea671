/** What of a manifest is sent. */

import { expect, it } from '@jest/globals';

import { ManifestReader } from '../../../git/manifests.ts';
import type { PreparedObject } from '../../../git/prepare.ts';
import { applyBody } from '../../../git/prepare.ts';
import { trusted } from '../../../kubernetes/values.ts';
import { DEPLOYMENT_ANNOTATION, TEMPLATE_GENERATION } from '../../../planners/names.ts';

const ORIGIN = { repository: 'shop', sha: 'a'.repeat(40), applySetId: 'set' };

it.each([
  ['apps/v1', 'Deployment', DEPLOYMENT_ANNOTATION.revision, undefined],
  ['fairlead.dev/v1beta1', 'Deployment', DEPLOYMENT_ANNOTATION.revision, undefined],
  ['apps/v1', 'DaemonSet', TEMPLATE_GENERATION, undefined],
  ['v1', 'ConfigMap', DEPLOYMENT_ANNOTATION.revision, '7'],
])(
  'the number that the cluster counts, exported with a workload, is not: %s %s',
  (apiVersion, kind, counted, number) => {
    const reader = new ManifestReader();
    const annotations = JSON.stringify({ [counted]: '7', kept: 'yes' });
    const text = `apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata:\n  name: api\n  annotations: ${annotations}\n`;
    for (const _ of reader.read({ path: 'a.yaml', text }));
    const [manifest] = reader.manifests;
    const { metadata } = applyBody(trusted<PreparedObject>({ manifest, namespace: 'shop' }), ORIGIN);
    const sent = trusted<{ annotations: Record<string, string> }>(metadata).annotations;
    expect([sent[counted], sent['kept']]).toEqual([number, 'yes']);
  },
);
