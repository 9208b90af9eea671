/** What `plan` says of workloads that nobody would keep. */

import { describe, expect, it } from '@jest/globals';

import type { LeaseState } from '../../../cli/lease.ts';
import { unkept } from '../../../cli/plan.ts';
import type { PlannedChange } from '../../../cli/planned-change.ts';

const by = (workloadApi: string, namespaces?: readonly string[]): LeaseState => ({
  state: 'held',
  holder: 'w',
  keeps: { workloadApi, namespaces },
});
const change = (object: string, action: PlannedChange['action'] = 'move') => ({
  object,
  action,
  differences: [],
});
const NAME = 'fairlead-system/fairlead-default';

describe('a plan that moves a workload to the API that the leader does not keep', () => {
  it('says that nobody will roll it', () => {
    const changes = [change('Deployment.fairlead.dev shop/api'), change('ConfigMap shop/settings', 'create')];
    expect(unkept({ changes }, by('apps/v1'), NAME)).toEqual([
      `Deployment.fairlead.dev shop/api: the worker that holds the Lease ${NAME} keeps the workloads of apps/v1, not those of ` +
        'fairlead.dev/v1beta1: nobody rolls or heals its pods before another worker does (with a --cluster of its own)',
    ]);
  });

  it('says so of a namespace as well', () => {
    const changes = [change('Deployment.fairlead.dev shop/api')];
    expect(unkept({ changes }, by('fairlead.dev/v1beta1', ['web']), NAME)[0]).toContain(
      'not those of namespace shop',
    );
  });

  it.each<[string, PlannedChange, LeaseState]>([
    ['it is kept', change('Deployment.fairlead.dev shop/api'), by('fairlead.dev/v1beta1')],
    ['apps/v1, which somebody keeps', change('Deployment.apps shop/api'), by('fairlead.dev/v1beta1')],
    [
      'its namespace is kept',
      change('Deployment.fairlead.dev shop/api'),
      by('fairlead.dev/v1beta1', ['shop']),
    ],
    ['it goes', change('Deployment.fairlead.dev shop/api', 'delete'), by('apps/v1')],
    [
      'the leader is not known',
      change('Deployment.fairlead.dev shop/api'),
      { state: 'unknown', message: '' },
    ],
  ])('nothing where %s', (_, one, lease) => {
    expect(unkept({ changes: [one] }, lease, NAME)).toEqual([]);
  });
});
