/** What the table of `rollout history` tells of a revision. */

import { describe, expect, it } from '@jest/globals';

import type { RevisionView } from '../../../cli/rollout-history.ts';
import { printHistory } from '../../../cli/rollout-history.ts';
import type { Attempt } from '../../../kubernetes/attempts.ts';
import { captureIo } from '../../support/cli.ts';

const MADE = { by: 'ann', reason: 'set image: main=web:2' };

function view(attempt: Partial<Attempt>, rest: Partial<RevisionView> = {}): RevisionView {
  const times = { startedAt: '2026-01-01T00:00:00Z', endedAt: '2026-01-01T00:01:00Z' };
  const attempts = [{ runId: 'r', workflowId: 'w', ...times, outcome: 'Succeeded', ...attempt } as const];
  return { revision: 2, name: 'web-b', roles: [], images: ['web:2'], attempts, ...rest };
}

/** The title and the row, cells apart. */
async function shown(revision: RevisionView): Promise<string[][]> {
  const io = captureIo();
  const options = { output: 'table' } as const;
  const subject = {
    workload: 'statefulset/web',
    namespace: 'default',
    revisionKind: 'controllerrevision',
    all: [revision],
  };
  await printHistory({ io, operands: [], options }, subject);
  const [, ...lines] = io.printed.out.trimEnd().split('\n');
  return lines.map((line) => line.split(/ {2,}/));
}

describe('rollout history', () => {
  it('tells why a revision was made, and beside it why its rollout ended', async () => {
    const attempt = { outcome: 'Superseded', ...MADE, endedBecause: 'web has another template now' } as const;
    expect(await shown(view(attempt))).toEqual([
      expect.arrayContaining(['OUTCOME', 'BY', 'ENDED-BECAUSE', 'CHANGE-CAUSE']),
      expect.arrayContaining(['Superseded', 'ann', 'web has another template now', MADE.reason]),
    ]);
    const aborted = { outcome: 'Aborted', ...MADE, endedBy: 'bob', endedBecause: 'broken' } as const;
    expect((await shown(view(aborted)))[1]?.slice(-2)).toEqual(['by bob: broken', MADE.reason]);
  });

  it('has no such column where nothing ended so, or is under way again', async () => {
    expect((await shown(view(MADE)))[0]).not.toContain('ENDED-BECAUSE');
    const again = view({ endedBecause: 'broken' }, { underWay: 'Running', begun: MADE });
    expect((await shown(again))[0]).not.toContain('ENDED-BECAUSE');
  });

  it('shows what an older record has as it is', async () => {
    const [title, row] = await shown(view({ outcome: 'Superseded', reason: 'another template now' }));
    expect(title).not.toContain('ENDED-BECAUSE');
    expect(row?.at(-1)).toBe('another template now');
  });
});
