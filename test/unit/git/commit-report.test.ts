/** How a commit went, as an Event tells it; lists of Events show the beginning. */

import { describe, expect, it } from '@jest/globals';

import { commitEvent } from '../../../git/commit-report.ts';

const SHA = '0123456789abcdef0123456789abcdef01234567';
const base = { sha: SHA, workflowId: 'w', runId: 'r', applied: 0, unchanged: 0, pruned: 0 } as const;

describe('the Event of a commit', () => {
  it('that was refused begins with the reason, and counts nothing', () => {
    const problems = ['Invalid a.yaml:1@01234567: x', 'Invalid b.yaml:1@01234567: y'];
    const refused = { ...base, outcome: 'Refused', unchanged: 7, problems, problemCount: 2 } as const;
    expect(commitEvent(refused)).toEqual({
      type: 'Warning',
      reason: 'CommitRefused',
      message: `${problems.join('\n')}\ncommit 01234567: refused before its first write`,
    });
  });

  it('that failed begins with the first of many, and says what was done', () => {
    const problems = ['a', 'b', 'c', 'd'];
    const notes = ['it is tried again'];
    const failed = { ...base, outcome: 'Failed', applied: 2, problems, problemCount: 9, notes } as const;
    expect(commitEvent(failed).message).toBe(
      'a\nb\nc\ncommit 01234567: 2 applied (9 problems in all)\nit is tried again',
    );
  });

  it('that went well or was superseded says so in its first line', () => {
    expect(commitEvent({ ...base, outcome: 'Succeeded', applied: 1, unchanged: 2 }).message).toBe(
      'commit 01234567: 1 applied, 2 unchanged',
    );
    expect(commitEvent({ ...base, outcome: 'Succeeded' }).message).toBe('commit 01234567: succeeded');
    const superseded = { ...base, outcome: 'Superseded', applied: 1, supersededBy: 'f'.repeat(40) } as const;
    expect(commitEvent(superseded).message).toBe('commit 01234567: superseded by ffffffff');
  });
});
