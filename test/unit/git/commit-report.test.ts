/** How a commit went, as an Event tells it; lists of Events show the beginning. */

import { describe, expect, it } from '@jest/globals';

import {
  commitEvent,
  occurrenceOf,
  recordEvent,
  withAttempt,
  withCommit,
} from '../../../git/commit-report.ts';
import type { CommitAttempt, RepositoryStatus } from '../../../git/inventory-status.ts';
import { InventoryStore } from '../../../git/inventory.ts';
import { answer } from '../../support/watch-server.ts';
import { useWatchServer } from '../../support/watch-server-ground.ts';

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

it('what is kept of an attempt says where it was cut', () => {
  const long = 'x'.repeat(1_000);
  const attempt = { sha: SHA, outcome: 'Failed', startedAt: '', finishedAt: '', runId: 'r' } as const;
  const { history } = withAttempt({}, { ...attempt, problem: long, notes: [long] });
  const cut = `${'x'.repeat(299)}…`;
  expect(history).toMatchObject([{ problem: cut, notes: [cut] }]);
});

describe('an Event on the inventory', () => {
  const ground = useWatchServer();
  const refused = (run: number): CommitAttempt => ({
    sha: SHA,
    outcome: 'Refused',
    startedAt: `2026-01-01T00:0${String(run)}:00Z`,
    finishedAt: `2026-01-01T00:0${String(run)}:01Z`,
    problem: 'Invalid a.yaml:1@01234567: x',
    runId: `run-${String(run)}`,
  });

  /** Records it; answers what became of the Events of before, by name. */
  async function record(events: Map<string, object>, status: RepositoryStatus, attempt: CommitAttempt) {
    ground.server.intercept = ({ method, url, body }, response) => {
      const sent = JSON.parse(body) as { readonly metadata?: { readonly name: string } };
      const name = method === 'POST' ? (sent.metadata?.name ?? '') : (url.pathname.split('/').at(-1) ?? '');
      const before = events.get(name);
      if (method === 'POST' && before !== undefined)
        answer(response, 409, { kind: 'Status', code: 409, reason: 'AlreadyExists' });
      else {
        events.set(name, { ...before, ...sent });
        answer(response, 200, { ...before, ...sent, metadata: { name } });
      }
      return true;
    };
    const store = new InventoryStore(ground.client, 'system', 'shop');
    const event = commitEvent({ ...base, ...attempt, problems: ['x'], applied: 0 });
    const now = Date.parse(attempt.finishedAt);
    await recordEvent(ground.client, store, { uid: 'u' }, event, occurrenceOf(status, attempt), now);
  }

  it('of tries that are refused alike in a row is one, with their count; recorded again it stays', async () => {
    const events = new Map<string, object>();
    let status: RepositoryStatus = {};
    for (const run of [1, 2, 3]) {
      status = withAttempt(status, refused(run));
      await record(events, status, refused(run));
      await record(events, status, refused(run));
      expect([...events.values()]).toEqual([expect.objectContaining({ count: run })]);
    }
    expect([...events.values()]).toEqual([
      expect.objectContaining({
        reason: 'CommitRefused',
        count: 3,
        firstTimestamp: '2026-01-01T00:01:01Z',
        lastTimestamp: '2026-01-01T00:03:01Z',
      }),
    ]);
    const other = { ...refused(4), problem: 'Invalid b.yaml:1@01234567: y' };
    await record(events, withAttempt(status, other), other);
    expect(events.size).toBe(2);
  });
});

it('what was kept of a move outlives commits that fail, and ends with one that succeeds', () => {
  const moving = { wishes: { web: { a: 'b' } }, fields: { web: { spec: { replicas: 4 }, owners: [] } } };
  const commit = { sha: 's', workflowId: 'w', runId: 'r' } as const;
  expect(withCommit(moving, { ...commit, outcome: 'Failed' })).toMatchObject(moving);
  const succeeded = withCommit(moving, { ...commit, outcome: 'Succeeded', finishedAt: 'now' });
  expect(Object.keys(succeeded)).toEqual(['commit', 'lastSucceeded']);
});
