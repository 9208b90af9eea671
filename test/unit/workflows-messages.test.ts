/** Signals come from anybody, with anything in them. */

import { describe, expect, it } from '@jest/globals';
import {
  ActivityFailure,
  ApplicationFailure,
  ChildWorkflowFailure,
  RetryState,
  TimeoutFailure,
} from '@temporalio/common';

import { describeEnd } from '../../workflows/commit-end.ts';
import { readOperatorMessage } from '../../workflows/messages.ts';
import { NewsQueue } from '../../workflows/news-queue.ts';
import { readDriftFound, readReason, readSeenCommit, readSha } from '../../workflows/sync-messages.ts';
import { whyUntold } from '../../workflows/why-untold.ts';

const SHA = '0123456789abcdef0123456789abcdef01234567';

describe('the payload of a signal', () => {
  it.each<[unknown, object]>([
    [undefined, {}],
    [null, {}],
    [5, {}],
    ['', {}],
    [[], {}],
    [{}, {}],
    ['disk alarm', { reason: 'disk alarm' }],
    [
      { by: 'ada', reason: 'disk alarm', onObject: true, more: 1 },
      { by: 'ada', reason: 'disk alarm', onObject: true },
    ],
    [{ by: 5, reason: ['x'], onObject: 'yes' }, {}],
    [{ by: null, reason: 'x' }, { reason: 'x' }],
    [{ by: 'a'.repeat(1_000) }, { by: 'a'.repeat(80) }],
    ['x'.repeat(1_000), { reason: 'x'.repeat(500) }],
  ])('%j', (payload, message) => {
    expect(readOperatorMessage(payload)).toEqual(message);
  });

  it.each<[unknown, object | undefined]>([
    [{ sha: SHA }, { sha: SHA }],
    [
      { sha: SHA, settings: 'abc' },
      { sha: SHA, settings: 'abc' },
    ],
    [{ sha: SHA, settings: 5, suspended: null }, { sha: SHA }],
    [
      { sha: SHA, suspended: { by: 'ada', reason: 'x', at: '2026-01-01T00:00:00Z', more: 1 } },
      { sha: SHA, suspended: { by: 'ada', reason: 'x', at: '2026-01-01T00:00:00Z' } },
    ],
    [
      { sha: SHA, searchAttributes: ['GitCommit', 'nobody knows', 5] },
      { sha: SHA, searchAttributes: ['GitCommit'] },
    ],
    [{ sha: SHA, searchAttributes: 'GitCommit' }, { sha: SHA }],
    // Somebody's annotation may hold anything: it is suspended all the same.
    [
      { sha: SHA, suspended: { by: 5, at: [] } },
      { sha: SHA, suspended: {} },
    ],
    [
      { sha: SHA, notify: ['slack', 5, 'github'] },
      { sha: SHA, notify: ['slack', 'github'] },
    ],
    [{ sha: SHA, notify: 'slack' }, { sha: SHA }],
    [
      { sha: SHA, unrecorded: true },
      { sha: SHA, unrecorded: true },
    ],
    [{ sha: SHA, unrecorded: 'yes' }, { sha: SHA }],
    [{ suspended: {} }, undefined],
    ['x', undefined],
  ])('commit seen %j', (payload, seen) => {
    expect(readSeenCommit(payload)).toEqual(seen);
  });

  it.each<[unknown, object | undefined]>([
    [
      { sha: SHA, objects: ['/ConfigMap/a/b', 5], reason: 'x', more: 1 },
      { sha: SHA, objects: ['/ConfigMap/a/b'], reason: 'x' },
    ],
    [
      { sha: SHA, objects: ['/ConfigMap/a/b'], reason: 5 },
      { sha: SHA, objects: ['/ConfigMap/a/b'], reason: 'drift' },
    ],
    [{ sha: SHA, objects: [] }, undefined],
    [{ sha: SHA, objects: 'x' }, undefined],
    [{ sha: SHA, objects: ['x'.repeat(1_000)] }, undefined],
    [{ objects: ['/ConfigMap/a/b'] }, undefined],
    [undefined, undefined],
  ])('drift found %j', (payload, found) => {
    expect(readDriftFound(payload)).toEqual(found);
  });

  it.each<[unknown, string | undefined]>([
    [{ sha: SHA }, SHA],
    [{ sha: 'main' }, undefined],
    [{ sha: 5 }, undefined],
    [SHA, undefined],
    [null, undefined],
    [undefined, undefined],
  ])('sha of %j', (payload, sha) => {
    expect(readSha(payload)).toBe(sha);
  });

  it.each<[unknown, string]>([
    [{ reason: 'its entry was removed' }, 'its entry was removed'],
    [{ reason: 'x'.repeat(1_000) }, 'x'.repeat(500)],
    [{ reason: 5 }, 'no worker follows the repository any more'],
    [undefined, 'no worker follows the repository any more'],
  ])('reason of %j', (payload, reason) => {
    expect(readReason(payload)).toBe(reason);
  });
});

describe('what a receiver has not been told', () => {
  type Outcome = 'Pending' | 'Succeeded';
  const news = (sha: string, outcome: Outcome) => ({ sha, outcome, delivery: `${sha} ${outcome}` });
  const both = (queue: NewsQueue, sha: string) => {
    queue.add(news(sha, 'Pending'));
    queue.add(news(sha, 'Succeeded'));
  };
  const kept = (queue: NewsQueue) => queue.untold.news.map(({ delivery }) => delivery);

  it('stays in order, and keeps the time of its first try', () => {
    const queue = new NewsQueue();
    both(queue, 'a');
    expect(queue.begin(5)).toEqual({ ...news('a', 'Pending'), since: 5 });
    const later = new NewsQueue(queue.untold);
    expect(later.begin(9)).toEqual({ ...news('a', 'Pending'), since: 5 });
    later.told();
    expect(later.begin(9)).toEqual({ ...news('a', 'Succeeded'), since: 9 });
    later.told();
    expect(later.begin(9)).toBeUndefined();
    expect(later.isEmpty).toBe(true);
  });

  it('is bounded: beginnings whose end is known go first, the newest state never, and the next one says how many', () => {
    const queue = new NewsQueue();
    both(queue, 'a');
    queue.begin(1);
    for (const sha of ['b', 'c', 'd', 'e', 'f']) both(queue, sha);
    expect(queue.length).toBe(11);
    expect(kept(queue).slice(0, 4)).toEqual(['a Pending', 'a Succeeded', 'b Succeeded', 'c Pending']);
    expect(queue.untold.news[2]).toMatchObject({ missed: 1 });
    for (const sha of 'ghijklmnopqrst') both(queue, sha);
    expect(queue.length).toBe(11);
    expect(kept(queue)[0]).toBe('a Pending');
    expect(kept(queue).slice(-1)).toEqual(['t Succeeded']);
    const missed = queue.untold.news.reduce((sum, one) => sum + (one.missed ?? 0), 0);
    expect(missed).toBe(40 - 11);
  });

  it('counts what was given up, also where nothing comes after it yet', () => {
    const queue = new NewsQueue();
    queue.add(news('a', 'Pending'));
    queue.begin(1);
    queue.givenUp();
    expect(queue.isEmpty).toBe(false);
    const later = new NewsQueue(queue.untold);
    later.add(news('a', 'Succeeded'));
    expect(later.begin(1)).toMatchObject({ outcome: 'Succeeded', missed: 1 });
    later.add(news('b', 'Pending'));
    later.givenUp();
    expect(later.begin(1)).toMatchObject({ sha: 'b', missed: 2 });
  });
});

describe('why a receiver was not told', () => {
  const who = 'slack of repository shop';
  const of = (cause: Error) =>
    whyUntold(
      who,
      new ActivityFailure('Activity task failed', 'notifyReceiver', '1', RetryState.TIMEOUT, '', cause),
    );
  const late = () => new TimeoutFailure('activity ScheduleToClose timeout', undefined, 'SCHEDULE_TO_CLOSE');

  it('is what the last try said', () => {
    const said = `${who} answered with status 404`;
    expect(of(ApplicationFailure.nonRetryable(said))).toBe(said);
    const cause = ApplicationFailure.create({ message: `${who} answered with status 503` });
    const timeout = Object.assign(late(), { cause });
    expect(of(timeout)).toBe(`${who} answered with status 503, and time was up in the next try`);
  });

  it('names the receiver also where no try has said anything', () => {
    expect(of(late())).toMatch(
      /^slack of repository shop cannot be told: time was up .*\(is a worker there .* does the receiver answer/,
    );
    expect(whyUntold(who, 'x')).toBe(`${who} cannot be told: no answer`);
  });
});

it('a commit that has ended with a step of its says what that was, and what to do', () => {
  const why = ApplicationFailure.nonRetryable('PUT configmaps system/fairlead-shop: TooLarge');
  const step = new ActivityFailure('Activity task failed', 'recordCommit', '1', RetryState.TIMEOUT, '', why);
  const run = { workflowId: 'w', runId: 'r' };
  const ended = new ChildWorkflowFailure('c', run, 'commit', RetryState.TIMEOUT, step);
  expect(describeEnd(ended, false)).toMatchObject({
    outcome: 'Failed',
    message: `a step of it has failed: ${why.message}; \`fairlead sync\` tries it again`,
  });
});
