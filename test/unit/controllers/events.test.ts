/** Events are written beside the work; what could not be written must not keep later ones from being written. */

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { EventRecorder } from '../../../controllers/events.ts';
import { KubernetesClient } from '../../../kubernetes/client.ts';
import { trusted } from '../../../kubernetes/values.ts';
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
