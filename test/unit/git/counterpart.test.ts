/** What is said of a workload that is still there in a move to the other workload API. */

import { describe, expect, it } from '@jest/globals';

import { describeOrphaning } from '../../../git/counterpart.ts';

const OLD = {
  group: 'fairlead.dev',
  version: 'v1beta1',
  resource: 'statefulsets',
  namespace: 'ns',
  name: 'web',
};
const NEXT = { ...OLD, group: 'apps', version: 'v1' };

describe('a workload that is still being orphaned', () => {
  const over = 'its pods go over to statefulsets.apps web when it is gone';
  it.each<[string, readonly string[], string]>([
    ['nothing holds', [], `; ${over}`],
    [
      'a finalizer holds',
      ['x.y/z'],
      `, held by its finalizer x.y/z; ${over}; who has set what holds it takes it off, or, if nobody does any more: kubectl patch statefulsets.fairlead.dev web -n ns --type=json -p '[{"op":"remove","path":"/metadata/finalizers"}]'`,
    ],
    [
      'the garbage collector has not freed the pods of: no command that would delete them',
      ['x.y/z', 'orphan'],
      `, held by its finalizers x.y/z, orphan; ${over}; where that takes longer than a minute: fairlead explain statefulsets.fairlead.dev/web -n ns`,
    ],
  ])('that %s', (_what, finalizers, words) => {
    const live = { metadata: { name: 'web', uid: 'u', resourceVersion: '7', finalizers } };
    expect(describeOrphaning(OLD, live, NEXT)).toBe(
      `statefulsets.fairlead.dev web is still being orphaned${words}`,
    );
  });
});
