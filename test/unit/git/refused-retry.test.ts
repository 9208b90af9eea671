/** Whether an object was deleted to make room for what a refused commit wants. */

import { describe, expect, it } from '@jest/globals';

import type { CommitStatus } from '../../../git/inventory-status.ts';
import { triedFor, whyNotMade } from '../../../git/refused-retry.ts';

const SINCE = '2026-01-01T00:00:00Z';
const DRIFT = { object: 'ConfigMap shop/lasting' };
const OWN = 'Invalid a.yaml:1@aaaaaaaa: ConfigMap shop/lasting: data is immutable.';
const OTHER = 'UnknownField b.yaml:1@aaaaaaaa: ConfigMap shop/lasting-too: no such field.';

const refused = (problems: readonly string[], more: Partial<CommitStatus> = {}): CommitStatus => ({
  sha: 'a'.repeat(40),
  outcome: 'Refused',
  workflowId: 'w',
  runId: 'r',
  problems,
  ...more,
});

describe('an object that was deleted while a newer commit is refused', () => {
  const tried = triedFor(refused([OWN, OTHER]), DRIFT, SINCE);

  it.each<[string, CommitStatus | undefined, boolean]>([
    ['is left for the commit that is refused for others alone by now', refused([OTHER]), true],
    ['is put back where the commit is refused for it as before', refused([OWN]), false],
    ['or may be, for not all is told', refused([OTHER], { problemCount: 2 }), false],
    ['or another commit is', refused([OTHER], { sha: 'b'.repeat(40) }), false],
    ['or none is', refused([], { outcome: 'Succeeded' }), false],
    ['or nothing is known', undefined, false],
  ])('%s', (_, commit, isLeft) => {
    expect(whyNotMade(tried, SINCE, commit, DRIFT) !== undefined).toBe(isLeft);
  });

  it('is put back where the commit was never refused for it, and where it was deleted once more', () => {
    const unnamed = triedFor(refused([OTHER]), DRIFT, SINCE);
    expect(whyNotMade(unnamed, SINCE, refused([OTHER]), DRIFT)).toBeUndefined();
    expect(whyNotMade(undefined, SINCE, refused([OTHER]), DRIFT)).toBeUndefined();
    expect(whyNotMade(tried, '2026-01-01T00:01:00Z', refused([OTHER]), DRIFT)).toBeUndefined();
  });
});
