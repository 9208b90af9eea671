/** Events are written beside the work; what could not be written must not keep later ones from being written. */

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import type { EventRecorderOptions } from '../../../controllers/events.ts';
import { EventRecorder } from '../../../controllers/events.ts';
import { KubernetesClient } from '../../../kubernetes/client.ts';
import { trusted } from '../../../kubernetes/values.ts';
import { WriteRefusedError } from '../../../kubernetes/write-guard.ts';
import { eventually } from '../../support/eventually.ts';
import { answer, plainConnection, WatchServer } from '../../support/watch-server.ts';
import { setOf } from '../../support/statefulset-fixtures.ts';

const subject = { ref: setOf().ref };

const ALREADY_EXISTS = { kind: 'Status', apiVersion: 'v1', code: 409, reason: 'AlreadyExists' };

let server: WatchServer;
let client: KubernetesClient;
let recorder: EventRecorder;
let lost: string[];
/** Events as the apiserver has them: name → count. */
let stored: Map<string, number>;
let isDown: boolean;
let losesAnswers: boolean;

beforeEach(async () => {
  server = await WatchServer.start();
  stored = new Map();
  isDown = false;
  losesAnswers = false;
  lost = [];
  server.intercept = ({ method, url, body }, response) => {
    const { count, metadata } = trusted<{
      readonly count: number;
      readonly metadata?: { readonly name: string };
    }>(JSON.parse(body));
    const name = metadata?.name ?? url.pathname.split('/').at(-1) ?? '';
    if (isDown) answer(response, 500, {});
    else if (method === 'PATCH' && !stored.has(name)) answer(response, 404, {});
    else if (method === 'POST' && stored.has(name)) answer(response, 409, ALREADY_EXISTS);
    else {
      stored.set(name, count);
      if (losesAnswers) response.destroy();
      else answer(response, 200, {});
    }
    return true;
  };
  client = new KubernetesClient(plainConnection(server.url));
  recorder = new EventRecorder({ client, host: 'test', onLost: (message) => lost.push(message) });
});

afterEach(async () => {
  await recorder.flush();
  client.close();
  await server.stop();
});

function quick(options: Partial<EventRecorderOptions> = {}): EventRecorder {
  const retryMs = { first: 5, last: 20 };
  return new EventRecorder({
    client,
    host: 'test',
    onLost: (message) => lost.push(message),
    retryMs,
    ...options,
  });
}

async function record(): Promise<void> {
  recorder.record(subject, 'Warning', 'RunFailed', 'it failed');
  await recorder.flush();
}

describe('events', () => {
  it('that are equal are counted', async () => {
    await record();
    await record();
    expect([...stored.values()]).toEqual([2]);
  });

  it('are written again after the first could not be', async () => {
    isDown = true;
    await record();
    isDown = false;
    await record();
    expect([...stored.values()]).toEqual([2]);
    expect(lost).toHaveLength(1);
  });

  it('are not written twice when the answer to the first write was lost', async () => {
    losesAnswers = true;
    await record();
    losesAnswers = false;
    await record();
    expect([...stored.values()]).toEqual([2]);
  });

  it('are written again after somebody has deleted the first', async () => {
    await record();
    stored.clear();
    await record();
    expect([...stored.values()]).toEqual([2]);
  });

  it.each([
    ['before the write was done', false],
    ['before its answer came', true],
  ])('are written again when the connection is cut %s, once and in order', async (_, isDone) => {
    const answered = server.intercept;
    let cuts = 3;
    const written: string[] = [];
    const all = new Promise<void>((resolve) => {
      server.intercept = (request, response) => {
        if (cuts > 0) {
          cuts -= 1;
          losesAnswers = isDone;
          if (isDone) answered?.(request, response);
          else response.destroy();
          return true;
        }
        losesAnswers = false;
        const { message } = trusted<{ readonly message?: string }>(JSON.parse(request.body));
        if (message !== undefined) written.push(message);
        answered?.(request, response);
        if (stored.size === 2) resolve();
        return true;
      };
    });
    const patient = quick();
    patient.record(subject, 'Warning', 'RunFailed', 'first');
    patient.record(subject, 'Normal', 'RolloutStarted', 'second');
    await all;
    await patient.flush();
    expect([...stored.values()]).toEqual([1, 1]);
    expect(written).toEqual(['first', 'second']);
    expect(lost).toEqual([]);
  });

  it('are given up after two minutes, and at once where they are refused or may not be written', async () => {
    let now = 0;
    isDown = true;
    const gone = new Promise<void>((resolve) => {
      const patient = quick({
        now: () => now,
        onLost: (message) => {
          lost.push(message);
          if (lost.length === 2) resolve();
        },
      });
      const seen = server.intercept;
      server.intercept = (request, response) => {
        now += 50_000;
        return seen?.(request, response) ?? false;
      };
      patient.record(subject, 'Warning', 'RunFailed', 'first');
      patient.record(subject, 'Normal', 'RolloutStarted', 'second');
    });
    await gone;
    // Three for the first; the second is as old by then.
    expect(server.requests.filter(({ method }) => method === 'POST')).toHaveLength(4);

    const guarded = client.withWriteGuard(() => {
      throw new WriteRefusedError('this replica does not lead');
    });
    const refused = new Promise<string>((resolve) => {
      quick({ client: guarded, onLost: resolve }).record(subject, 'Warning', 'RunFailed', 'first');
    });
    expect(await refused).toBe('this replica does not lead');
  });

  it('of one namespace whose webhook is away hold up no others, and are given up though equal ones come', async () => {
    const message =
      'Internal error occurred: failed calling webhook "audit.example.com": failed to call webhook: Post "https://audit.x.svc:443/": dial tcp 10.0.0.1:443: connect: connection refused';
    const next = server.intercept;
    server.intercept = (request, response) => {
      if (!request.url.pathname.includes('/namespaces/held/')) return next?.(request, response) ?? false;
      answer(response, 500, { kind: 'Status', code: 500, reason: 'InternalError', message });
      return true;
    };
    let now = 0;
    const patient = quick({ now: () => now });
    const held = { ref: { ...subject.ref, namespace: 'held', uid: 'held' } };
    patient.record(held, 'Warning', 'RunFailed', 'it failed');
    patient.record(subject, 'Warning', 'RunFailed', 'it failed');
    await eventually('the other is written', () => stored.size === 1);
    for (; now <= 150_000; now += 30_000) {
      patient.record(held, 'Warning', 'RunFailed', 'it failed');
      const asked = server.requests.length;
      await eventually('it is tried again', () => server.requests.length > asked);
    }
    expect(lost[0]).toContain('failed calling webhook');
    await patient.flush();
  });

  it('of one namespace whose webhook hangs come before no others, though equal ones come while they are tried', async () => {
    const message =
      'Internal error occurred: failed calling webhook "audit.example.com": failed to call webhook: Post "https://audit.x.svc:443/": context deadline exceeded';
    const patient = quick();
    const held = { ref: { ...subject.ref, namespace: 'held', uid: 'held' } };
    const tell = (text: string) => patient.record(held, 'Warning', 'RunFailed', text);
    const next = server.intercept;
    let tries = 0;
    let triesBefore: number | undefined;
    server.intercept = (request, response) => {
      if (!request.url.pathname.includes('/namespaces/held/')) {
        triesBefore ??= tries;
        return next?.(request, response) ?? false;
      }
      tries += 1;
      tell(tries % 2 === 0 ? 'it failed' : 'it failed as well');
      if (tries === 12) patient.record(subject, 'Warning', 'RunFailed', 'it failed');
      answer(response, 500, { kind: 'Status', code: 500, reason: 'InternalError', message });
      return true;
    };
    tell('it failed');
    tell('it failed as well');
    await eventually('the other is written', () => stored.size === 1);
    server.intercept = next;
    await patient.flush();
    expect(triesBefore).toBe(12);
  });

  it('that found the queue full are written when they come again', async () => {
    for (let index = 0; index < 1_002; index += 1) {
      recorder.record(subject, 'Normal', 'RolloutStarted', `busy ${String(index)}`);
    }
    recorder.record(subject, 'Warning', 'RunFailed', 'it failed');
    await recorder.flush();
    expect(lost.length).toBeGreaterThan(0);
    const before = stored.size;
    await record();
    expect(stored.size).toBe(before + 1);
  });
});
