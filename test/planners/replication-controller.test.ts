/** What the managed fields of a ReplicationController tell of who has written it. */

import { describe, expect, it } from '@jest/globals';

import { UPDATE_FIELD_MANAGER } from '../../planners/names.ts';
import type { ReplicationController } from '../../planners/replication-controller.ts';
import { templateEditors } from '../../planners/replication-controller.ts';

const MADE = '2026-01-01T00:00:00Z';
const LATER = '2026-01-01T00:00:05Z';

function written(...entries: readonly (readonly [manager: string, time: string])[]): ReplicationController {
  const fieldsV1 = { 'f:spec': { 'f:template': { 'f:spec': {} } } };
  const managedFields = entries.map(([manager, time]) => ({ manager, time, fieldsV1 }));
  return {
    apiVersion: 'v1',
    kind: 'ReplicationController',
    metadata: { name: 'foo', uid: 'u', resourceVersion: '1', creationTimestamp: MADE, managedFields },
    spec: {},
  };
}

describe('who has edited a template', () => {
  it.each([
    [
      'whoever wrote it later than the one that made it',
      [
        ['kubectl-create', MADE],
        ['kubectl-set', LATER],
      ],
      ['kubectl-set'],
    ],
    ['the one that made it, where nobody else wrote it', [['kubectl-create', MADE]], ['kubectl-create']],
    ['the one that made it and wrote it again', [['kubectl', LATER]], ['kubectl']],
    [
      'no rolling update',
      [
        [UPDATE_FIELD_MANAGER, LATER],
        ['kubectl', MADE],
      ],
      ['kubectl'],
    ],
    ['nobody', [[UPDATE_FIELD_MANAGER, LATER]], []],
  ] as const)('is %s', (_, entries, editors) => {
    expect(templateEditors(written(...entries))).toEqual(editors);
  });

  it('is not known without managed fields', () => {
    const { metadata, ...others } = written();
    const { managedFields: _, ...bare } = metadata;
    expect(templateEditors({ ...others, metadata: bare })).toBeUndefined();
  });
});
