import { describe, expect, it } from '@jest/globals';

import type { Attempt } from '../../../kubernetes/attempts.ts';
import { readAttempts, upsertAttempt, whyEnded } from '../../../kubernetes/attempts.ts';

function attempt(runId: string, rest: Partial<Attempt> = {}): Attempt {
  return { runId, workflowId: 'w', startedAt: '2026-01-01T00:00:00Z', outcome: 'Failed', ...rest };
}

function stored(text: string): Parameters<typeof readAttempts>[0] {
  return {
    metadata: {
      name: 'web-a',
      uid: 'u',
      resourceVersion: '1',
      annotations: { 'fairlead.dev/attempts': text },
    },
  };
}

describe('attempts', () => {
  it('the last ten are kept', () => {
    let attempts: readonly Attempt[] = [];
    for (let run = 1; run <= 12; run += 1) attempts = upsertAttempt(attempts, attempt(`run-${String(run)}`));
    expect(attempts.map((one) => one.runId)).toEqual(
      [3, 4, 5, 6, 7, 8, 9, 10, 11, 12].map((run) => `run-${String(run)}`),
    );
  });

  it('a run is recorded once, in its place, and keeps what the later record does not say', () => {
    const before = [attempt('a', { commit: 'abc' }), attempt('b')];
    expect(upsertAttempt(before, attempt('a', { outcome: 'Aborted', by: 'alice' }))).toEqual([
      attempt('a', { commit: 'abc', outcome: 'Aborted', by: 'alice' }),
      attempt('b'),
    ]);
  });

  it('a long reason is cut, so that the annotation stays small', () => {
    expect(upsertAttempt([], attempt('a', { reason: 'x'.repeat(9_999) }))[0]?.reason).toHaveLength(500);
  });

  it('why it ended: older records have it as their reason', () => {
    const ends = { endedBy: 'alice', endedBecause: 'broken' };
    expect(whyEnded(attempt('a', { reason: 'set image', ...ends }))).toBe('broken');
    expect(whyEnded(attempt('a', { reason: 'set image', endedBy: 'alice' }))).toBeUndefined();
    expect(whyEnded(attempt('a', { by: 'alice', reason: 'broken' }))).toBe('broken');
    expect(readAttempts(stored(JSON.stringify([attempt('a', ends)])))).toEqual([attempt('a', ends)]);
  });

  it('what is not an attempt is left out', () => {
    expect(readAttempts(stored('not JSON'))).toEqual([]);
    expect(readAttempts(stored('{"runId":"a"}'))).toEqual([]);
    const list = [attempt('a'), null, 'x', { ...attempt('b'), outcome: 'Won' }, { ...attempt('c'), by: 1 }];
    expect(readAttempts(stored(JSON.stringify(list)))).toEqual([attempt('a')]);
  });
});
