import { describe, expect, it } from '@jest/globals';

import { gitTrouble, wasRolledOutSince } from '../../../cli/git-state.ts';
import type { GitState } from '../../../cli/git-state.ts';

const WEB = { kind: 'StatefulSet', namespace: 'default', name: 'web' } as const;
const PROBLEM = 'RolloutFailed agent.yaml:1@ca198eb3: DaemonSet.fairlead.dev default/agent: no progress.';

function stateOf(change: Partial<GitState>): GitState {
  return { repository: 'shop', commit: 'ca198eb3ff', outcome: 'Failed', problems: [PROBLEM], ...change };
}

describe('what is wrong with git, for one workload', () => {
  it('a commit that failed for another workload is none of its business', () => {
    expect(gitTrouble(stateOf({}), WEB, false)).toBeUndefined();
    expect(gitTrouble(stateOf({}), { ...WEB, kind: 'DaemonSet', name: 'agent' }, false)?.text).toBe(
      `commit ca198eb3 of shop failed: ${PROBLEM.slice(0, -1)}`,
    );
    expect(gitTrouble(stateOf({}), { ...WEB, kind: 'DaemonSet', name: 'age' }, false)).toBeUndefined();
  });

  it('a commit that was refused is: nothing of it was applied', () => {
    expect(gitTrouble(stateOf({ outcome: 'Refused' }), WEB, false)?.text).toContain(
      'commit ca198eb3 of shop was refused as a whole, for another object: RolloutFailed agent.yaml',
    );
    const agent = { ...WEB, kind: 'DaemonSet', name: 'agent' } as const;
    expect(gitTrouble(stateOf({ outcome: 'Refused' }), agent, true)?.text).toContain('was refused: ');
  });

  it('a failure that was answered by going back is told as a pin, not again', () => {
    const agent = { ...WEB, kind: 'DaemonSet', name: 'agent' } as const;
    expect(gitTrouble(stateOf({}), agent, true)).toBeUndefined();
  });

  it('a failure that was answered by another try is over for the manifest of that commit alone', () => {
    const of = (commit: string) => ({
      metadata: {
        name: 'web',
        uid: 'u',
        resourceVersion: '1',
        annotations: { 'fairlead.dev/commit': commit },
      },
    });
    expect(wasRolledOutSince(stateOf({}), of('ca198eb3ff'))).toBe(true);
    expect(wasRolledOutSince(stateOf({}), of('0123456789'))).toBe(false);
    expect(wasRolledOutSince(undefined, of('ca198eb3ff'))).toBe(false);
  });

  it('a repository that cannot be read comes first', () => {
    const unreadable = { problem: 'RepositoryNotFound: gone.', since: '2026-01-01T00:00:00Z' };
    expect(gitTrouble(stateOf({ outcome: 'Succeeded', unreadable }), WEB, false)).toEqual({
      text: 'repository shop cannot be read since 2026-01-01T00:00:00Z: RepositoryNotFound: gone',
      next: 'mend what it names; the worker looks again by itself',
    });
    expect(gitTrouble(stateOf({ outcome: 'Succeeded' }), WEB, false)).toBeUndefined();
    expect(gitTrouble(undefined, WEB, false)).toBeUndefined();
  });
});
