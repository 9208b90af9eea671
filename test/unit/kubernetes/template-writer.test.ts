/** Whether a template is git's or somebody's who changed it on the object: by the apiserver's own books. */

import { describe, expect, it } from '@jest/globals';

import { templateEntries, writerAfterGit } from '../../../kubernetes/template-writer.ts';

const IMAGE = { 'f:spec': { 'f:template': { 'f:spec': { 'f:containers': {} } } } };
const entry = (manager: string, operation: string, seconds: number, fieldsV1: object = IMAGE) => ({
  manager,
  operation,
  apiVersion: 'apps/v1',
  time: new Date(Date.UTC(2026, 0, 1, 0, 0, seconds)).toISOString(),
  fieldsType: 'FieldsV1',
  fieldsV1,
});
const git = entry('fairlead', 'Apply', 10);

describe('who wrote a template after git', () => {
  it.each<[string, unknown, string | undefined]>([
    ['nobody', [git], undefined],
    ['kubectl set image', [git, entry('kubectl-set', 'Update', 20)], 'kubectl-set'],
    [
      'the last of several',
      [entry('kubectl-edit', 'Update', 30), git, entry('kubectl-set', 'Update', 20)],
      'kubectl-edit',
    ],
    ['git again since', [entry('kubectl-set', 'Update', 5), git], undefined],
    ['in the same second: git has the benefit', [git, entry('kubectl-set', 'Update', 10)], undefined],
    ['one of our own verbs, which says so itself', [git, entry('fairlead', 'Update', 20)], undefined],
    ['another field', [git, entry('kubectl', 'Update', 20, { 'f:spec': { 'f:replicas': {} } })], undefined],
    [
      'a subresource',
      [git, { ...entry('kube-controller-manager', 'Update', 20), subresource: 'status' }],
      undefined,
    ],
    ['never applied', [entry('kubectl-set', 'Update', 20)], undefined],
    ['nothing is known', undefined, undefined],
    ['not what the apiserver writes', [null, 'x', { manager: 3 }, git], undefined],
  ])('%s', (_, managedFields, writer) => {
    expect(writerAfterGit(managedFields)).toBe(writer);
    // What the cache keeps tells the same.
    expect(writerAfterGit(templateEntries(managedFields))).toBe(writer);
  });

  it('keeps nothing else of the entries', () => {
    const kept = templateEntries([git, entry('kubectl', 'Update', 20, { 'f:metadata': {} })]);
    expect(kept).toEqual([
      {
        manager: 'fairlead',
        operation: 'Apply',
        time: git.time,
        fieldsV1: { 'f:spec': { 'f:template': {} } },
      },
    ]);
    expect(templateEntries([entry('kubectl', 'Update', 20)])).toBeUndefined();
  });
});
