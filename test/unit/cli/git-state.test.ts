import { describe, expect, it } from '@jest/globals';

import {
  commitToCome,
  describeToCome,
  gitTrouble,
  hasEndedBefore,
  isAppliedSince,
  mayStillChange,
  wasRolledOutSince,
} from '../../../cli/git-state.ts';
import { waitingIn } from '../../../cli/temporal-sync.ts';
import type { GitState } from '../../../cli/git-state.ts';

const WEB = { kind: 'StatefulSet', namespace: 'default', name: 'web' } as const;
const PROBLEM = 'RolloutFailed agent.yaml:1@ca198eb3: DaemonSet.fairlead.dev default/agent: no progress.';

function stateOf(change: Partial<GitState>): GitState {
  return { repository: 'shop', commit: 'ca198eb3ff', outcome: 'Failed', problems: [PROBLEM], ...change };
}

describe('a commit that comes over what is written by hand now', () => {
  const applied = (commit: string) => ({
    metadata: { name: 'web', uid: 'u', resourceVersion: '1', annotations: { 'fairlead.dev/commit': commit } },
  });
  const told = (change: Partial<GitState>, commit = 'before') => {
    const found = commitToCome(stateOf(change), applied(commit));
    return found && describeToCome(found);
  };

  it.each<[Partial<GitState>, string]>([
    [
      { outcome: 'Refused' },
      'commit ca198eb3 of shop is not applied (Refused): what it changes of this workload comes over it when it is tried again',
    ],
    [
      { outcome: 'Progressing', underWay: {} },
      'commit ca198eb3 of shop is under way: what it changes of this workload comes over it;',
    ],
    [
      { outcome: 'Refused', suspended: { by: 'ann' } },
      'is not applied (Refused): what it changes of this workload comes over it after `fairlead resume shop`: it is suspended',
    ],
  ])('is one that is tried again, or under way: %j', (change, words) => {
    expect(told(change)).toContain(words);
  });

  it('is not advised to be held where the repository is suspended', () => {
    const suspended = { by: 'ann' };
    expect(told({ outcome: 'Progressing', underWay: {}, suspended })).toMatch(/comes over it$/);
  });

  it('is none that is over, or has applied the workload', () => {
    expect(told({ outcome: 'Succeeded' })).toBeUndefined();
    expect(told({ outcome: 'Progressing' })).toBeUndefined();
    expect(told({ outcome: 'Failed' }, 'ca198eb3ff')).toBeUndefined();
    expect(commitToCome(undefined, applied('before'))).toBeUndefined();
  });
});

describe('what is wrong with git, for one workload', () => {
  it('a commit that failed for another workload is none of its business', () => {
    expect(gitTrouble(stateOf({}), WEB, false)).toBeUndefined();
    expect(gitTrouble(stateOf({}), { ...WEB, kind: 'DaemonSet', name: 'agent' }, false)?.text).toBe(
      `commit ca198eb3 of shop failed: ${PROBLEM.slice(0, -1)}`,
    );
    expect(gitTrouble(stateOf({}), { ...WEB, kind: 'DaemonSet', name: 'age' }, false)).toBeUndefined();
  });

  it.each([
    ['Failed', 'failed'],
    ['Canceled', 'was canceled'],
    ['Terminated', 'was terminated'],
  ] as const)('a commit whose run ended %s as such is, and sync tries it again', (outcome, words) => {
    const git = stateOf({ outcome, problems: [], ended: 'Checking: this run belongs to another cluster.' });
    expect(gitTrouble(git, WEB, false)).toEqual({
      text: `commit ca198eb3 of shop ${words}: Checking: this run belongs to another cluster`,
      next: 'fairlead sync shop',
    });
  });

  it('a run that ended is of interest where it has neither named a problem nor applied the workload', () => {
    const of = (outcome: GitState['outcome'], applied: string, problems: readonly string[] = []) =>
      hasEndedBefore(
        { sha: 'ca198eb3ff', outcome, problems },
        { name: 'web', uid: 'u', resourceVersion: '1', annotations: { 'fairlead.dev/commit': applied } },
      );
    expect(of('Failed', 'before')).toBe(true);
    expect(of('Canceled', 'before')).toBe(true);
    expect(of('Failed', 'ca198eb3ff')).toBe(false);
    expect(of('Failed', 'before', [PROBLEM])).toBe(false);
    expect(of('Progressing', 'before')).toBe(false);
    expect(of('Refused', 'before')).toBe(false);
  });

  it('a commit that was refused is: nothing of it was applied', () => {
    expect(gitTrouble(stateOf({ outcome: 'Refused' }), WEB, false)?.text).toContain(
      'commit ca198eb3 of shop was refused as a whole, for another object: RolloutFailed agent.yaml',
    );
    const agent = { ...WEB, kind: 'DaemonSet', name: 'agent' } as const;
    expect(gitTrouble(stateOf({ outcome: 'Refused' }), agent, true)?.text).toContain('was refused: ');
    // Of a file that cannot be read nobody knows whose it is.
    const problems = ['YamlSyntax web.yaml:3@ca198eb3: bad indentation: of a mapping. Correct the YAML.'];
    expect(gitTrouble(stateOf({ outcome: 'Refused', problems }), WEB, false)?.text).toContain(
      'was refused as a whole: YamlSyntax web.yaml',
    );
  });

  it('counts all problems of a commit that was refused, of which a part is kept', () => {
    const refused = stateOf({ outcome: 'Refused', problems: [PROBLEM, PROBLEM], problemCount: 21 });
    expect(gitTrouble(refused, WEB, false)?.text).toMatch(/ \(and 20 more\)$/);
    const { problemCount: _, ...all } = refused;
    expect(gitTrouble(all, WEB, false)?.text).toMatch(/ \(and 1 more\)$/);
  });

  it('a repository that is suspended without a commit that waits is none', () => {
    const suspended = { by: 'ann' };
    expect(gitTrouble(stateOf({ outcome: 'Succeeded', problems: [], suspended }), WEB, true)).toBeUndefined();
  });

  it('a newer commit of a repository that is suspended waits for whoever has done that', () => {
    const suspended = { by: 'ann', reason: 'audit', waits: '3d69497a00' };
    expect(gitTrouble(stateOf({ outcome: 'Succeeded', problems: [], suspended }), WEB, true)).toEqual({
      text: 'commit 3d69497a of shop waits: the repository is suspended by ann: audit',
      next: 'fairlead resume shop',
    });
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

  it('drift is over when the commit that is under way has written the object since, to the second of the apiserver', () => {
    const since = '2026-01-02T03:04:05.700Z';
    const of = (time: string, manager = 'fairlead') => ({
      name: 'web',
      uid: 'u',
      resourceVersion: '1',
      managedFields: [{ manager, operation: 'Apply', time, fieldsV1: {} }],
    });
    expect(isAppliedSince({ since }, 'Progressing', of('2026-01-02T03:04:05Z'))).toBe(true);
    expect(isAppliedSince({ since }, 'Progressing', of('2026-01-02T03:04:04Z'))).toBe(false);
    expect(isAppliedSince({ since }, 'Progressing', of('2026-01-02T03:05:00Z', 'kubectl'))).toBe(false);
    expect(isAppliedSince({ since }, 'Progressing', { name: 'web', uid: 'u', resourceVersion: '1' })).toBe(
      false,
    );
    // What is seen after its end is drift again.
    expect(isAppliedSince({ since }, 'Succeeded', of('2026-01-02T03:04:05Z'))).toBe(false);
  });

  it('a commit that waits for an earlier wave says for what, and one of which nobody can say where it is that it is under way', () => {
    const held = { stage: 'workloads', wave: 1, text: 'before wave 1 of workloads' };
    const waiting = ['StatefulSet.fairlead.dev default/w1: w1-2: ImagePullBackOff.'];
    const of = (underWay: NonNullable<GitState['underWay']>) =>
      gitTrouble(stateOf({ outcome: 'Progressing', problems: [], underWay }), WEB, true)?.text;
    expect(of({ phase: 'AwaitingWave', held, waiting })).toBe(
      'commit ca198eb3 of shop waits before wave 1 of workloads for StatefulSet.fairlead.dev default/w1: w1-2: ImagePullBackOff; ' +
        'what it changes here, if anything, comes later',
    );
    expect(of({ phase: 'AwaitingWave', waiting: [] })).toBe(
      'commit ca198eb3 of shop waits; what it changes here, if anything, comes later',
    );
    expect(of({})).toContain('commit ca198eb3 of shop is under way; ');
    expect(gitTrouble(stateOf({ outcome: 'Progressing', problems: [] }), WEB, true)).toBeUndefined();
  });

  it('heartbeats of a wait name what is not done', () => {
    expect(waitingIn([['ds a/x: done', 'sts a/w: 1 of 2'], undefined, 'x', [7]])).toEqual([
      'sts a/w: 1 of 2',
    ]);
  });

  it('a commit may still change what is of a wave that it has not come to', () => {
    const of = (wave?: string) => ({
      metadata: {
        name: 'web',
        uid: 'u',
        resourceVersion: '1',
        annotations: { ...(wave !== undefined && { 'fairlead.dev/wave': wave }) },
      },
    });
    const before = (stage: string, wave: number) => ({
      phase: 'AwaitingWave' as const,
      held: { stage, wave, text: '' },
    });
    expect(mayStillChange(before('workloads', 1), of('1'))).toBe(true);
    expect(mayStillChange(before('workloads', 1), of('2'))).toBe(true);
    expect(mayStillChange(before('workloads', 1), of())).toBe(false);
    expect(mayStillChange(before('configuration', 7), of())).toBe(true);
    expect(mayStillChange(before('the rest', 1), of('2'))).toBe(false);
    expect(mayStillChange({ phase: 'AwaitingWave' }, of())).toBe(true);
    expect(mayStillChange({ phase: 'Applying' }, of())).toBe(true);
    expect(mayStillChange({ phase: 'AwaitingRollouts' }, of('1'))).toBe(false);
    expect(mayStillChange(undefined, of())).toBe(true);
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
