import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { toMessage } from '../../../kubernetes/api-error.ts';
import { KubernetesClient } from '../../../kubernetes/client.ts';
import type { Fence } from '../../../worker/fence.ts';
import { NotLeaderError } from '../../../worker/fence.ts';
import { runLeaderElection } from '../../../worker/leader-election.ts';
import { eventually } from '../../support/eventually.ts';
import { FakeLeaseClock } from '../../support/fake-lease-clock.ts';
import { LeaseServer } from '../../support/lease-server.ts';
import { plainConnection } from '../../support/watch-server.ts';

let server: LeaseServer;
let client: KubernetesClient;
let clock: FakeLeaseClock;
let candidates: Candidate[];

/** One process that takes part; its work runs until its signal aborts. */
class Candidate {
  readonly errors: string[] = [];
  readonly leaders: string[] = [];
  readonly stop = new AbortController();
  fence: Fence | undefined;
  leading = 0;
  terms = 0;
  /** The work goes on after its signal until this resolves. */
  drained: Promise<void> = Promise.resolve();
  endWork: (error?: Error) => void = () => undefined;
  readonly ended: Promise<void>;

  constructor(identity: string) {
    this.ended = runLeaderElection({
      client,
      identity,
      namespace: 'fairlead-system',
      name: 'fairlead-test',
      clock,
      signal: this.stop.signal,
      onError: (error) => this.errors.push(toMessage(error)),
      onLeader: (leader) => this.leaders.push(leader),
      onLeading: (fence, signal) => this.#work(fence, signal),
    });
    candidates.push(this);
  }

  async #work(fence: Fence, signal: AbortSignal): Promise<void> {
    this.fence = fence;
    this.terms += 1;
    this.leading += 1;
    await new Promise<void>((resolve, reject) => {
      signal.addEventListener('abort', () => resolve());
      this.endWork = (error) => {
        if (error === undefined) resolve();
        else reject(error);
      };
    }).finally(() => {
      this.leading -= 1;
    });
    await this.drained;
  }
}

/** Lets `seconds` pass, one by one; after each, everybody has done what there is to do and sleeps again. */
async function pass(seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second += 1) {
    await eventually('everybody sleeps', () => clock.sleeping >= running());
    const before = server.requests;
    clock.advance(1000);
    await eventually('everybody asked the server', () => server.requests >= before + running());
    await eventually('everybody sleeps again', () => clock.sleeping >= running());
  }
}

function running(): number {
  return candidates.filter((candidate) => !candidate.stop.signal.aborted).length;
}

beforeEach(async () => {
  server = await LeaseServer.start();
  client = new KubernetesClient(plainConnection(server.url));
  clock = new FakeLeaseClock();
  candidates = [];
});

afterEach(async () => {
  server.fault = undefined;
  for (const candidate of candidates) candidate.stop.abort();
  await Promise.allSettled(candidates.map((candidate) => candidate.ended));
  client.close();
  await server.stop();
});

async function startLeader(identity = 'one'): Promise<Candidate> {
  const candidate = new Candidate(identity);
  await eventually(`${identity} leads`, () => candidate.leading === 1);
  return candidate;
}

describe('leader election', () => {
  it('takes a free Lease at once and renews it each second', async () => {
    const one = await startLeader();
    expect(server.lease?.spec).toEqual({
      holderIdentity: 'one',
      leaseDurationSeconds: 6,
      acquireTime: '2026-01-01T00:00:00.000000Z',
      renewTime: '2026-01-01T00:00:00.000000Z',
      leaseTransitions: 0,
    });
    await pass(30);
    expect(server.writes).toBe(31);
    expect(server.lease?.spec?.renewTime).toBe('2026-01-01T00:00:30.000000Z');
    expect(() => one.fence?.assertLeader()).not.toThrow();
    expect(one.leaders).toEqual(['one']);
    expect(one.errors).toEqual([]);
  });

  it('a second candidate waits as long as the first renews, and takes over 6 s after it saw the last renewal', async () => {
    await startLeader();
    const two = new Candidate('two');
    await pass(10);
    expect(two.leading).toBe(0);
    server.change({ holderIdentity: 'dead' });
    const seen = clock.now().monotonic;
    candidates.shift()?.stop.abort();
    await pass(6);
    expect(two.leading).toBe(0);
    await pass(1);
    await eventually('two leads', () => two.leading === 1);
    expect(clock.now().monotonic - seen).toBe(7000);
    expect(server.lease?.spec).toMatchObject({ holderIdentity: 'two', leaseTransitions: 1 });
    expect(two.leaders).toEqual(['one', 'dead', 'two']);
  });

  it('gives the Lease back when it stops, so that the next takes over at its next try', async () => {
    const one = await startLeader();
    const two = new Candidate('two');
    await pass(1);
    one.stop.abort();
    await one.ended;
    expect(server.lease?.spec?.holderIdentity).toBe('');
    await pass(1);
    await eventually('two leads', () => two.leading === 1);
    expect(server.lease?.spec?.leaseTransitions).toBe(1);
  });

  it('gives the Lease back also when it does not know the answer to its last renewal', async () => {
    const one = await startLeader();
    server.fault = 'lose-answer';
    await pass(1);
    expect(one.errors).toHaveLength(1);
    one.stop.abort();
    await one.ended;
    expect(server.lease?.spec?.holderIdentity).toBe('');
  });

  it('gives the Lease back also when it stops while a renewal is under way', async () => {
    const one = await startLeader();
    server.fault = 'hold';
    clock.advance(1000);
    await eventually('the renewal is under way', () => server.held.length === 1);
    one.stop.abort();
    await eventually('the work has ended', () => one.leading === 0);
    server.fault = undefined;
    server.held.shift()?.();
    await one.ended;
    expect(server.lease?.spec?.holderIdentity).toBe('');
    expect(one.errors).toEqual([]);
  });

  it('does not give back what another holds by then', async () => {
    const one = await startLeader();
    server.change({ holderIdentity: 'two' });
    one.stop.abort();
    await one.ended;
    expect(server.lease?.spec?.holderIdentity).toBe('two');
  });

  it('keeps and renews the Lease until its work has drained', async () => {
    const one = await startLeader();
    let drain = (): void => undefined;
    one.drained = new Promise((resolve) => {
      drain = resolve;
    });
    one.stop.abort();
    await eventually('the work was told', () => one.leading === 0);
    const before = server.writes;
    clock.advance(1000);
    await eventually('the Lease is renewed', () => server.writes > before);
    expect(() => one.fence?.assertLeader()).not.toThrow();
    drain();
    await one.ended;
    expect(server.lease?.spec?.holderIdentity).toBe('');
    expect(() => one.fence?.assertLeader()).toThrow('the work of the leader has ended');
  });

  it('may write until 4 s after the last good renewal, tries each second, then stops its work', async () => {
    const one = await startLeader();
    server.fault = 'refuse';
    await pass(3);
    expect(one.errors).toHaveLength(3);
    expect(one.errors[0]).toContain('Lease fairlead-system/fairlead-test: PUT');
    expect(one.leading).toBe(1);
    expect(() => one.fence?.assertLeader()).not.toThrow();
    const { fence } = one;
    clock.advance(1000);
    expect(() => fence?.assertLeader()).toThrow(NotLeaderError);
    await eventually('the work was told', () => one.leading === 0);
  });

  it('leads on when a try in between succeeds', async () => {
    const one = await startLeader();
    for (let round = 0; round < 3; round += 1) {
      server.fault = 'refuse';
      await pass(2);
      server.fault = undefined;
      await pass(1);
    }
    expect(one.errors).toHaveLength(6);
    expect(one.terms).toBe(1);
    expect(one.fence?.remainingMs()).toBe(4000);
  });

  it('is not kept waiting by writes that take all connections', async () => {
    const one = await startLeader();
    const pods = { group: '', version: 'v1', resource: 'pods', namespace: 'default' };
    const { signal } = one.stop;
    const writes = Array.from({ length: 150 }, async () => await client.create(pods, {}, { signal }));
    const ends = Promise.allSettled(writes);
    await pass(10);
    expect(one.errors).toEqual([]);
    expect([one.terms, one.leading]).toEqual([1, 1]);
    one.stop.abort();
    await ends;
  });

  it('a frozen and woken leader writes nothing, and takes part again', async () => {
    const one = await startLeader();
    const { fence } = one;
    await eventually('it sleeps', () => clock.sleeping === 1);
    clock.suspend(60_000);
    expect(() => fence?.assertLeader()).toThrow(NotLeaderError);
    const before = server.writes;
    clock.advance(1000);
    await eventually('a second term', () => one.terms === 2);
    expect(server.writes).toBe(before + 1);
    expect(() => fence?.assertLeader()).toThrow(NotLeaderError);
    expect(() => one.fence?.assertLeader()).not.toThrow();
    expect(server.lease?.spec?.leaseTransitions).toBe(0);
  });

  it('work that ends on the closed fence of a freeze, before the renewal wakes, does not end the election', async () => {
    const one = await startLeader();
    await eventually('it sleeps', () => clock.sleeping === 1);
    clock.suspend(60_000);
    expect(() => one.fence?.assertLeader()).toThrow(NotLeaderError);
    one.endWork();
    await eventually('a second term', () => one.terms === 2);
    expect(() => one.fence?.assertLeader()).not.toThrow();
  });

  it('a renewal that is answered after a freeze does not count', async () => {
    const one = await startLeader();
    const { fence } = one;
    server.fault = 'hold';
    await eventually('it sleeps', () => clock.sleeping === 1);
    clock.advance(1000);
    await eventually('the renewal is under way', () => server.held.length === 1);
    clock.suspend(10_000);
    server.fault = undefined;
    server.held[0]?.();
    await eventually('a second term', () => one.terms === 2);
    expect(() => fence?.assertLeader()).toThrow('it was not renewed in time, or this process was suspended');
  });

  it('stops at once when another holds the Lease', async () => {
    const one = await startLeader();
    server.change({ holderIdentity: 'thief' });
    await pass(1);
    expect(one.leading).toBe(0);
    expect(() => one.fence?.assertLeader()).toThrow('thief holds it');
  });

  it.each([
    ['an annotation by somebody else', () => server.change({})],
    ['a renewal whose answer was lost', () => (server.fault = 'lose-answer')],
  ])('leads on after %s', async (_what, disturb) => {
    const one = await startLeader();
    disturb();
    await pass(3);
    expect(one.terms).toBe(1);
    expect(one.leading).toBe(1);
    expect(one.fence?.remainingMs()).toBe(4000);
  });

  it('does not take part again before its work has ended', async () => {
    const one = await startLeader();
    let drain = (): void => undefined;
    one.drained = new Promise((resolve) => {
      drain = resolve;
    });
    await eventually('it sleeps', () => clock.sleeping === 1);
    clock.suspend(60_000);
    const before = server.requests;
    clock.advance(1000);
    await eventually('the work was told', () => one.leading === 0);
    clock.advance(10_000);
    await new Promise(setImmediate);
    expect(server.requests).toBe(before);
    drain();
    await eventually('a second term', () => one.terms === 2);
  });

  it('ends with its work: released, and rejected with its error', async () => {
    const one = await startLeader();
    one.endWork();
    await one.ended;
    expect(server.lease?.spec?.holderIdentity).toBe('');
    const two = await startLeader('two');
    two.endWork(new Error('broken'));
    await expect(two.ended).rejects.toThrow('broken');
    expect(server.lease?.spec?.holderIdentity).toBe('');
  });

  it('two that start at once: one leads', async () => {
    const all = ['one', 'two', 'three'].map((identity) => new Candidate(identity));
    await eventually('one leads', () => all.some((candidate) => candidate.leading === 1));
    await pass(5);
    expect(all.filter((candidate) => candidate.leading === 1)).toHaveLength(1);
  });
});
