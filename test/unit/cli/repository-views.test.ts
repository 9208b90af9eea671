/** The state of a repository, from what the leader saw and what became of its commits. */

import { describe, expect, it } from '@jest/globals';

import { besides, repositoryWhy } from '../../../cli/get-repositories.ts';
import { historyColumns } from '../../../cli/repository-history.ts';
import { overUnrecorded } from '../../../cli/repository-progress.ts';
import { viewRepository } from '../../../cli/repository-views.ts';
import { notesOf, whyLate, whyNotBegun } from '../../../cli/sync-repository.ts';
import { formatTable } from '../../../cli/table.ts';
import { withAttempt } from '../../../git/commit-report.ts';
import type { FollowedRow } from '../../../git/followed-list.ts';
import type { InventoryDraft, InventoryStore } from '../../../git/inventory.ts';
import type { CommitAttempt, CommitStatus, RepositoryStatus } from '../../../git/inventory-status.ts';
import { entryKey, takenBy } from '../../../git/inventory-content.ts';
import { suspendRepository } from '../../../git/suspension.ts';
import { trusted } from '../../../kubernetes/values.ts';
import { SUSPENDED } from '../../../planners/names.ts';
import type { CommitView } from '../../../workflows/sync-messages.ts';

const [OLD, NEW] = ['a'.repeat(40), 'b'.repeat(40)];

const row = (more: Partial<FollowedRow> = {}): FollowedRow => ({
  name: 'shop',
  url: 'https://git.example.com/shop',
  path: 'deploy',
  namespace: 'shop',
  intervalSeconds: 30,
  webhook: true,
  lookedAt: '2026-01-01T00:00:00Z',
  sha: NEW,
  ...more,
});

const commit = (outcome: CommitStatus['outcome'], more: Partial<CommitStatus> = {}): RepositoryStatus => ({
  commit: { sha: NEW, outcome, workflowId: 'w', runId: 'r', ...more },
});

const drift: NonNullable<RepositoryStatus['drift']> = {
  count: 2,
  objects: [
    {
      object: 'ConfigMap shop/a',
      change: 'changed',
      fields: ['data.x'],
      fieldCount: 1,
      by: ['kubectl-edit'],
      since: '2026-01-01T00:00:00Z',
    },
  ],
};

const suspended = (value: string) => ({ [SUSPENDED]: value });

describe('the state of a repository', () => {
  it.each<[string, Parameters<typeof viewRepository>[1], Parameters<typeof viewRepository>[2], object]>([
    [
      'never looked at',
      { ...row(), sha: undefined },
      undefined,
      { state: 'Pending', message: 'not looked at yet' },
    ],
    [
      'not followed, with what it came from',
      undefined,
      { status: commit('Succeeded'), source: 'https://git.example.com/shop' },
      { state: 'NotFollowed', url: 'https://git.example.com/shop' },
    ],
    [
      'not followed, and a receiver that could not be told so',
      undefined,
      {
        status: {
          ...commit('Canceled'),
          receivers: { github: { problem: 'github: no answer', since: '2026-01-01T00:00:00Z' } },
        },
      },
      {
        state: 'NotFollowed',
        message: 'no worker follows it; what it applied is left as it is; github: no answer',
      },
    ],
    [
      'cancelled, which has no problem',
      row(),
      { status: commit('Canceled', { notes: ['by ada'] }) },
      { state: 'Canceled', message: 'by ada' },
    ],
    ['never applied', row(), undefined, { state: 'Pending', message: 'bbbbbbbb is next' }],
    [
      'whose next commit cannot be read yet',
      row({ unread: { sha: NEW, problem: 'SourceTimeout: too slow.' } }),
      undefined,
      { state: 'Pending', message: 'bbbbbbbb is next, but cannot be read yet: SourceTimeout: too slow.' },
    ],
    [
      'of which an earlier commit could not be read',
      row({ unread: { sha: OLD, problem: 'SourceTimeout: too slow.' } }),
      undefined,
      { state: 'Pending', message: 'bbbbbbbb is next' },
    ],
    ['applied', row(), { status: commit('Succeeded') }, { state: 'Synced', message: '' }],
    [
      'applied, with something to say',
      row(),
      {
        status: {
          ...commit('Succeeded', { notes: ['web is pinned', 'api too'] }),
          drift: { count: 0, objects: [], unwatched: ['Secret: forbidden'] },
        },
      },
      { state: 'Synced', message: 'web is pinned; api too; drift is not seen of all: Secret: forbidden' },
    ],
    [
      'changed in the cluster',
      row(),
      { status: { ...commit('Succeeded', { notes: ['web is pinned'] }), drift } },
      {
        state: 'Drifted',
        message: '2 objects drifted: ConfigMap shop/a: data.x changed by "kubectl-edit"',
        drift,
      },
    ],
    [
      'changed in the cluster, and failed',
      row(),
      { status: { ...commit('Failed', { problems: ['x'] }), drift } },
      {
        state: 'Failed',
        message: 'x; 2 objects drifted: ConfigMap shop/a: data.x changed by "kubectl-edit"',
      },
    ],
    [
      'changed in the cluster, and not to be put back: no path is known, but why',
      row(),
      {
        status: {
          ...commit('Succeeded'),
          drift: {
            count: 1,
            objects: drift.objects.map((one) => ({
              ...one,
              fields: [],
              fieldCount: 0,
              held: 'its manifest would be refused now: may not patch.',
            })),
          },
        },
      },
      {
        state: 'Drifted',
        message:
          'one object drifted: ConfigMap shop/a: changed by "kubectl-edit"; it stays: its manifest would be refused now: may not patch.',
      },
    ],
    [
      'taken by another owner, which is said once',
      row(),
      {
        status: {
          ...commit('Succeeded'),
          drift: {
            count: 1,
            objects: drift.objects.map((one) => ({ ...one, change: 'taken', held: 'repository b has it.' })),
          },
        },
      },
      { state: 'Drifted', message: 'one object drifted: ConfigMap shop/a: repository b has it.' },
    ],
    [
      'not to be watched',
      row(),
      {
        status: {
          ...commit('Succeeded'),
          drift: { count: 0, objects: [], unwatched: ['Secret: forbidden'] },
        },
      },
      { state: 'Synced', message: 'drift is not seen of all: Secret: forbidden' },
    ],
    [
      'applied, and whether it was changed cannot be seen',
      row({ driftProblem: 'CommitGone: it is gone.' }),
      { status: commit('Succeeded', { notes: ['web is pinned'] }) },
      {
        state: 'Synced',
        message: 'web is pinned; drift cannot be looked at: CommitGone: it is gone.',
        driftProblem: 'CommitGone: it is gone.',
      },
    ],
    [
      'applied, and a receiver was given up, beside one that has left the entry',
      row({ receivers: ['slack'] }),
      {
        status: {
          ...commit('Succeeded', { notes: ['web is pinned'] }),
          receivers: {
            slack: { problem: 'slack answered with status 404', since: '2026-01-01T00:00:00Z' },
            webhook: { problem: 'gone', since: '2026-01-01T00:00:00Z' },
          },
        },
      },
      {
        state: 'Synced',
        message: 'web is pinned; slack answered with status 404',
        receivers: { slack: { problem: 'slack answered with status 404', since: '2026-01-01T00:00:00Z' } },
      },
    ],
    [
      'behind',
      row(),
      { status: commit('Succeeded', { sha: OLD }) },
      { state: 'Pending', message: 'bbbbbbbb is next' },
    ],
    [
      'behind what failed: that is over',
      row(),
      { status: commit('Failed', { sha: OLD, problems: ['x'] }) },
      { state: 'Pending', message: 'bbbbbbbb is next' },
    ],
    [
      'refused',
      row(),
      { status: commit('Refused', { problems: ['Forbidden a.yaml:1: no.', 'more'], problemCount: 7 }) },
      { state: 'Refused', message: 'Forbidden a.yaml:1: no. (7 problems in all)' },
    ],
    ['under way', row(), { status: commit('Progressing') }, { state: 'Progressing' }],
    [
      'unreadable, whatever was applied',
      row({ problem: 'RepositoryNotFound: gone.' }),
      { status: commit('Succeeded') },
      { state: 'Unreadable', message: 'RepositoryNotFound: gone.' },
    ],
    ['with a ConfigMap of somebody else', row(), { problem: 'InventoryForeign' }, { state: 'Unreadable' }],
    [
      'with an inventory that is damaged',
      row({ problem: 'RepositoryNotFound: gone.' }),
      { problem: 'it cannot be read: mend it', isDamaged: true },
      { state: 'InventoryUnreadable', message: 'it cannot be read: mend it' },
    ],
    [
      'followed by nobody, with an inventory that is damaged',
      undefined,
      { problem: 'it cannot be read: mend it', isDamaged: true },
      { state: 'NotFollowed', message: 'no worker follows it; it cannot be read: mend it' },
    ],
    [
      'suspended',
      row(),
      { status: commit('Failed'), annotations: suspended('{"by":"ada","reason":"alarm"}') },
      { state: 'Suspended', message: 'suspended by ada: alarm', suspended: { by: 'ada', reason: 'alarm' } },
    ],
    [
      'suspended in the middle of a commit, which goes on',
      row(),
      { status: commit('Progressing'), annotations: suspended('{"by":"ada"}') },
      {
        state: 'Suspended',
        message: 'suspended by ada; bbbbbbbb, which is under way, goes to its end',
      },
    ],
    [
      'suspended by hand',
      row(),
      { status: {}, annotations: suspended('true') },
      { state: 'Suspended', message: 'suspended' },
    ],
    ['not suspended by hand', row(), { status: {}, annotations: suspended('false') }, { state: 'Pending' }],
    ['followed by nobody any more', undefined, { status: commit('Succeeded') }, { state: 'NotFollowed' }],
  ])('%s', (_what, followed, inventory, expected) => {
    expect(viewRepository('shop', followed, inventory)).toMatchObject(expected);
  });
});

it('of which an earlier leader could read nothing says what that one saw', () => {
  const since = '2026-01-01T00:00:00Z';
  const source = { ok: false, problem: 'SourceTimeout: Too slow.', since };
  const { lookedAt: _, ...never } = row();
  const followed = { ...never, sha: undefined };
  expect(viewRepository('shop', followed, { status: { source } })).toMatchObject({
    state: 'Pending',
    message: `not looked at yet by this worker; the one before could not read it since ${since}: SourceTimeout: Too slow.`,
  });
  const readAgain = { ok: true, since };
  expect(viewRepository('shop', followed, { status: { source: readAgain } }).message).toBe(
    'not looked at yet',
  );
});

it.each<[Parameters<typeof whyLate>[0], string]>([
  [{ state: 'Pending', message: 'not looked at yet' }, 'no worker has looked at the repository yet'],
  [{ state: 'Synced', message: '', lookedAt: '2026-01-01T00:00:00Z' }, 'the look has not come back'],
  [
    { state: 'Unreadable', message: 'SourceTimeout: Too slow.', lookedAt: '2026-01-01T00:00:00Z' },
    'the look has not come back; the one before said: SourceTimeout: Too slow.',
  ],
])('a look that takes too long, of %j', (view, told) => {
  expect(whyLate(view)).toBe(told);
});

it('who suspends a repository in the middle of a commit is told that it goes on', async () => {
  const suspend = async (status: RepositoryStatus) => {
    const present = { entries: new Map(), status };
    const store = {
      repository: 'shop',
      update: async (change: (from: InventoryDraft) => unknown) => void change(present),
    };
    return (await suspendRepository(trusted<InventoryStore>(store), { by: 'ada' }, 0)).message;
  };
  expect(await suspend(commit('Progressing'))).toBe(
    'repository shop suspended; bbbbbbbb, which is under way, goes to its end',
  );
  expect(await suspend(commit('Succeeded'))).toBe('repository shop suspended');
});

it('notes are those of this end of the commit', () => {
  const status = commit('Succeeded', { notes: ['web is pinned'] });
  expect(notesOf(status, { sha: NEW, outcome: 'Succeeded' })).toEqual(['web is pinned']);
  expect(notesOf(status, { sha: OLD, outcome: 'Succeeded' })).toEqual([]);
  expect(notesOf(status, { sha: NEW, outcome: 'Canceled' })).toEqual([]);
  expect(notesOf(undefined, { sha: NEW, outcome: 'Succeeded' })).toEqual([]);
});

describe('why, in the list of repositories', () => {
  it.each<[RepositoryStatus, string]>([
    [commit('Succeeded'), '-'],
    [commit('Succeeded', { notes: ['web is pinned'] }), '(one note: -o wide)'],
    [
      {
        ...commit('Succeeded', { notes: ['a', 'b'] }),
        receivers: { slack: { problem: 'slack: no answer', since: '2026-01-01T00:00:00Z' } },
        drift: { count: 0, objects: [], unwatched: ['Secret: forbidden'] },
      },
      '(slack is not told, 2 notes, drift is not seen of all: -o wide)',
    ],
  ])('one that is well says only that there is more to know: %#', (status, cell) => {
    expect(besides(viewRepository('shop', row({ receivers: ['slack'] }), { status }))).toBe(cell);
  });

  it('one that is well, as far as can be seen', () => {
    const view = viewRepository('shop', row({ driftProblem: 'x' }), { status: commit('Succeeded') });
    expect(besides(view)).toBe('(drift cannot be looked at: -o wide)');
  });

  it('one whose last branch was deleted had something before', () => {
    const empty = row({ problem: 'UnbornBranch: it is empty.' });
    const lastSucceeded = { sha: OLD, at: '2026-01-01T00:00:00Z' };
    const status = { ...commit('Succeeded'), lastSucceeded };
    expect(viewRepository('shop', empty, { status }).message).toBe(
      'UnbornBranch: it is empty. It had aaaaaaaa before; what that has applied stays.',
    );
    expect(viewRepository('shop', empty, undefined).message).toBe('UnbornBranch: it is empty.');
  });

  it('one whose objects are all of another by now, as after a rename, may go', () => {
    const entry = (name: string, uid?: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', name, uid });
    const of = (...entries: ReturnType<typeof entry>[]) =>
      new Map(entries.map((one) => [entryKey(one), one] as const));
    const old = of(entry('a', '1'), entry('b', '2'));
    expect(takenBy(old, new Map([['new', of(entry('a', '1'), entry('b', '2'), entry('c', '3'))]]))).toEqual({
      by: ['new'],
      left: [],
    });
    const both = new Map([
      ['z', of(entry('a', '1'))],
      ['y', of(entry('b', '2'))],
    ]);
    expect(takenBy(old, both)).toEqual({ by: ['y', 'z'], left: [] });
    // Made again by somebody else, about to be applied, in none of them.
    const lacksB = { by: ['new'], left: [entry('b', '2')] };
    expect(takenBy(old, new Map([['new', of(entry('a', '1'), entry('b', '9'))]]))).toEqual(lacksB);
    expect(takenBy(old, new Map([['new', of(entry('a', '1'), entry('b'))]]))).toEqual(lacksB);
    expect(takenBy(old, new Map([['new', of(entry('a', '1'))]]))).toEqual(lacksB);
    const taken = { by: ['new'], toClear: 'kubectl delete configmap fairlead-shop -n fairlead-system' };
    expect(viewRepository('shop', undefined, { status: commit('Succeeded') }, { taken }).message).toBe(
      'no worker follows it; new has all that is left of what it applied, and this row goes with its inventory: kubectl delete configmap fairlead-shop -n fairlead-system',
    );
  });

  it('one that is followed here under a name that others have objects by is refused, and shows nothing of theirs', () => {
    const entries = new Map([['key', { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'shop', name: 'a' }]]);
    const status = { ...commit('Succeeded'), lastSucceeded: { sha: NEW, at: '2026-01-01T00:00:00Z' } };
    const theirs = { entries, cluster: 'prod', status, annotations: suspended('{"by":"ada"}') };
    const {
      state,
      message,
      applied,
      suspended: held,
    } = viewRepository('shop', row(), theirs, { cluster: 'test' });
    expect({ state, message, applied, held }).toEqual({
      state: 'Refused',
      message:
        'InventoryOfOther: the workers with FAIRLEAD_CLUSTER=prod apply a repository of this name; give one of the two a `name` of its own (`fairlead sync shop` says how to take it over)',
      applied: undefined,
      held: undefined,
    });
    // One that has nothing is free for whoever comes next.
    const free = { ...theirs, entries: new Map(), annotations: {} };
    expect(viewRepository('shop', row(), free, { cluster: 'test' }).state).toBe('Synced');
  });

  it('one that workers of another FAIRLEAD_CLUSTER apply is said to be theirs', () => {
    const status = commit('Succeeded', { workflowId: `commit/prod/shop/${OLD}` });
    expect(viewRepository('shop', undefined, { status }, { cluster: 'default' }).message).toBe(
      'it is of the workers with FAIRLEAD_CLUSTER=prod: --cluster prod shows it',
    );
    expect(viewRepository('shop', undefined, { status }, { cluster: 'prod' }).message).toMatch(/^no worker/);
    // What others have tried and was refused makes it no other's.
    const run = { sha: OLD, workflowId: `commit/default/shop/${OLD}`, runId: 'r' };
    expect(viewRepository('shop', undefined, { status, run }, { cluster: 'default' }).message).toMatch(
      /^no worker/,
    );
  });

  it.each([
    ['', '-'],
    ['bbbbbbbb is next', 'bbbbbbbb is next'],
    ['SourceTimeout: Too slow.', 'SourceTimeout: Too slow.'],
    [
      'Forbidden deploy/a b.yaml:12@bbbbbbbb: Deployment.apps shop/web: may not patch. Grant it.',
      'Forbidden: may not patch. Grant it. (Deployment.apps shop/web, deploy/a b.yaml:12@bbbbbbbb)',
    ],
    ['NoManifests commit bbbbbbbb: Nothing there.', 'NoManifests: Nothing there. (commit bbbbbbbb)'],
    [
      'RolloutFailed: StatefulSet.fairlead.dev shop/db: pods fail.',
      'RolloutFailed: pods fail. (StatefulSet.fairlead.dev shop/db)',
    ],
  ])('%j begins with what is wrong', (message, cell) => {
    expect(repositoryWhy(message, false)).toBe(cell);
    expect(repositoryWhy(message, true)).toBe(message === '' ? '-' : message);
  });

  it('is cut, and told in full with -o wide', () => {
    const long = `Forbidden a.yaml:1@bbbbbbbb: Role.rbac.authorization.k8s.io shop/x: ${'y'.repeat(300)}`;
    expect(repositoryWhy(long, false)).toBe(`Forbidden: ${'y'.repeat(88)}…`);
    expect(repositoryWhy(long, true)).toBe(long);
  });
});

describe('the history of a repository', () => {
  const attempt = (number: number, more: Partial<CommitAttempt> = {}): CommitAttempt => ({
    sha: OLD,
    outcome: 'Succeeded',
    startedAt: `2026-01-01T00:00:0${String(number % 10)}Z`,
    finishedAt: '2026-01-01T00:01:00Z',
    applied: number,
    unchanged: 0,
    pruned: 0,
    runId: `run-${String(number)}`,
    ...more,
  });

  it('keeps the last fifty, and an attempt that is recorded again once', () => {
    let status: RepositoryStatus = { lastSucceeded: { sha: OLD, at: '' } };
    for (let number = 0; number < 60; number += 1) status = withAttempt(status, attempt(number));
    status = withAttempt(status, attempt(59, { outcome: 'Failed', notes: ['1', '2', '3', '4'] }));
    expect(status.history).toHaveLength(50);
    expect(status.history?.[0]?.applied).toBe(10);
    expect(status.history?.at(-1)).toMatchObject({
      runId: 'run-59',
      outcome: 'Failed',
      notes: ['1', '2', '3'],
    });
    expect(status.lastSucceeded).toEqual({ sha: OLD, at: '' });
  });

  it('what is put back pushes out what was put back before, and no commit', () => {
    let status: RepositoryStatus = withAttempt({}, attempt(0));
    for (let number = 1; number < 60; number += 1)
      status = withAttempt(status, attempt(number, { askedBy: 'fairlead', reason: `x${String(number)}` }));
    expect(status.history?.map(({ applied }) => applied)).toEqual([
      0, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59,
    ]);
  });

  const refused = (number: number, more: Partial<CommitAttempt> = {}): CommitAttempt =>
    attempt(number, { outcome: 'Refused', problem: 'Forbidden: no', problemCount: 1, applied: 0, ...more });

  it.each<[string, CommitAttempt, CommitAttempt, number]>([
    ['the same refusal', refused(1), refused(2), 1],
    ['the same failure', refused(1, { outcome: 'Failed' }), refused(2, { outcome: 'Failed' }), 1],
    ['other notes', refused(1, { notes: ['x'] }), refused(2), 1],
    [
      'of a long problem',
      refused(1, { problem: 'x'.repeat(900) }),
      refused(2, { problem: 'x'.repeat(900) }),
      1,
    ],
    ['another commit', refused(1), refused(2, { sha: NEW }), 2],
    ['another problem', refused(1), refused(2, { problem: 'Invalid: b' }), 2],
    ['more problems', refused(1), refused(2, { problemCount: 2 }), 2],
    ['another outcome', refused(1), refused(2, { outcome: 'Failed' }), 2],
    ['that has applied something', refused(1, { applied: 3 }), refused(2), 2],
    ['that somebody asked for', refused(1), refused(2, { askedBy: 'ada' }), 2],
    ['that went well', attempt(1, { applied: 0 }), attempt(2, { applied: 0 }), 2],
  ])('counts equal tries in a row: %s', (_what, first, second, rows) => {
    const { history } = withAttempt(withAttempt({}, first), second);
    expect(history).toHaveLength(rows);
    expect(history?.at(-1)?.runId).toBe('run-2');
    expect(history?.at(-1)?.tries).toBe(rows === 1 ? 2 : undefined);
  });

  it('a permission that is missing for hours leaves the earlier commits there', () => {
    let status = withAttempt({}, attempt(0));
    for (let number = 1; number <= 200; number += 1) status = withAttempt(status, refused(number));
    // Recorded again: the activity was retried.
    status = withAttempt(status, refused(200, { finishedAt: '2026-01-01T00:02:00Z' }));
    expect(status.history).toMatchObject([
      { runId: 'run-0' },
      {
        tries: 200,
        startedAt: refused(1).startedAt,
        lastStartedAt: refused(200).startedAt,
        runId: 'run-200',
      },
    ]);
    status = withAttempt(withAttempt(status, attempt(201)), refused(202));
    expect(status.history?.map(({ tries }) => tries)).toEqual([undefined, 200, undefined, undefined]);
  });

  it('is a table: problems cut, equal tries counted', () => {
    const { history = [] } = withAttempt(
      withAttempt({}, refused(1, { problem: 'x'.repeat(300) })),
      refused(2, { problem: 'x'.repeat(300) }),
    );
    const now = Date.parse('2026-01-01T00:02:00Z');
    const [, line = ''] = formatTable(historyColumns(now, false), history).split('\n');
    expect(line).toMatch(/^aaaaaaaa +<unknown> +Refused ×2 +58s +60s .* x{99}…$/);
    expect(formatTable(historyColumns(now, true), history)).toContain('x'.repeat(300));
  });

  it('counts nothing of a try that nobody has counted', () => {
    const { applied: _, unchanged: __, pruned: ___, ...uncounted } = attempt(1, { outcome: 'Terminated' });
    const now = Date.parse('2026-01-01T00:02:00Z');
    const [, line = ''] = formatTable(historyColumns(now, false), [uncounted]).split('\n');
    expect(line).toMatch(/ Terminated +\S+ +\S+ +- +- /);
  });

  it('fits into a ConfigMap whatever went wrong', () => {
    const { history } = withAttempt({}, attempt(1, { problem: 'x'.repeat(10_000), problemCount: 3 }));
    expect(history?.[0]?.problem).toHaveLength(300);
  });
});

describe('a commit that waits for Temporal', () => {
  const troubles = { temporal: 'Temporal at 127.0.0.1:7233 does not answer' };

  it('says so, begun or not', () => {
    expect(viewRepository('shop', row(), undefined, troubles).message).toBe(
      'bbbbbbbb is next; Temporal at 127.0.0.1:7233 does not answer',
    );
    const begun = { status: commit('Progressing') };
    expect(viewRepository('shop', row(), begun, troubles).message).toBe(
      'bbbbbbbb is under way; Temporal at 127.0.0.1:7233 does not answer',
    );
    const over = { status: commit('Succeeded') };
    expect(viewRepository('shop', row(), over, troubles).message).toBe('');
  });
});

describe('a commit whose run is over, which is not recorded', () => {
  it('is not under way, and is tried again by a sync', () => {
    const view = viewRepository('shop', row(), { status: commit('Progressing') });
    expect(overUnrecorded(view, 'Failed')).toMatchObject({
      state: 'Failed',
      message:
        'the run of bbbbbbbb has ended (Failed), which is not recorded; `fairlead sync shop` tries it again',
    });
  });

  it('leaves it to the next one', () => {
    const view = viewRepository('shop', row(), { status: commit('Progressing', { sha: OLD }) });
    expect(overUnrecorded(view, 'Terminated')).toMatchObject({
      state: 'Pending',
      message: 'the run of aaaaaaaa has ended (Terminated), which is not recorded, bbbbbbbb is next',
    });
  });
});

describe('a commit that has not begun', () => {
  const at = (phase: CommitView['phase'], waiting: readonly string[]) =>
    whyNotBegun(OLD, trusted<CommitView>({ phase, applied: 1, unchanged: 0, pruned: 0, waiting }));
  const begins = 'it begins when the run of aaaaaaaa has ended';

  it('says what keeps the run before it from ending', () => {
    expect(at('Superseded', ['PUT configmaps: Forbidden'])).toBe(
      `${begins}; Superseded, 1 applied: PUT configmaps: Forbidden`,
    );
  });

  it('says no more where that only has to be told', () => {
    expect(at('Superseded', [])).toBe(begins);
    expect(at('AwaitingRollouts', ['web is not ready'])).toBe(begins);
    expect(whyNotBegun(OLD, undefined)).toBe(begins);
  });
});
