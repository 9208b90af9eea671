/** When the status of a workload is written: three times at once after a quiet time, else coalesced, and within a second whatever its size. */

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { StatusWriter } from '../../../controllers/status-writer.ts';
import { KubernetesClient } from '../../../kubernetes/client.ts';
import { WatchCache } from '../../../kubernetes/watch-cache.ts';
import type { JsonObject } from '../../../planners/objects.ts';
import { observationOf } from '../../support/observations.ts';
import { WatchServer, answer, plainConnection } from '../../support/watch-server.ts';
import { workloadObject } from '../../support/workload-objects.ts';

const { workload, plan } = observationOf({});
const served = { observedGeneration: 2, replicas: 3, readyReplicas: 0 };
const object = workloadObject({ status: served });

let server: WatchServer;
let client: KubernetesClient;
let clock: number;
let writer: StatusWriter;

beforeEach(async () => {
  server = await WatchServer.start();
  server.intercept = (_, response) => {
    answer(response, 200, object);
    return true;
  };
  client = new KubernetesClient(plainConnection(server.url));
  clock = 1_000_000;
  const sources = [{ group: 'fairlead.dev', version: 'v1beta1', resource: 'statefulsets' }];
  writer = new StatusWriter(new WatchCache({ client, sources, onError: () => undefined }), () => clock);
});

afterEach(async () => {
  client.close();
  await server.stop();
});

/** Undefined: written. */
async function write(change: JsonObject, pods: number): Promise<number | undefined> {
  const status = { ...object.status, ...change };
  return await writer.write(client, object, workload, status, {
    progress: { ...plan.progress, desired: pods },
  });
}

describe('the status of a workload', () => {
  it.each([3, 1_000, 5_000, 100_000])(
    'of %d pods is written three times at once after a quiet time, and within 700 ms otherwise',
    async (pods) => {
      for (const readyReplicas of [1, 2, 1]) {
        expect(await write({ readyReplicas }, pods)).toBeUndefined();
        clock += 100;
      }
      const due = (await write({ readyReplicas: 2 }, pods)) ?? 0;
      expect(due).toBeGreaterThanOrEqual(clock + 300);
      expect(due).toBeLessThanOrEqual(clock + 600);
      expect(server.requests).toHaveLength(3);
      clock = due;
      expect(await write({ readyReplicas: 2 }, pods)).toBeUndefined();
      expect(await write({ readyReplicas: 1 }, pods)).toBeGreaterThanOrEqual(due + 400);
      expect(server.requests).toHaveLength(4);
    },
  );

  it('takes what a batch of pods does at the same moment along in one write', async () => {
    expect(await write({ readyReplicas: 1 }, 3)).toBeUndefined();
    clock += 10;
    expect(await write({ readyReplicas: 2 }, 3)).toBe(1_000_100);
    clock += 90;
    expect(await write({ readyReplicas: 3 }, 3)).toBeUndefined();
    expect(server.requests).toHaveLength(2);
  });

  it('waits for its turn where the next batch comes soon, and need not after a quiet time', async () => {
    const inOneGo = async () => {
      const before = server.requests.length;
      for (const readyReplicas of [1, 2, 1]) {
        await write({ readyReplicas }, 3);
        clock += 100;
      }
      return server.requests.length - before;
    };
    expect(await inOneGo()).toBe(3);
    clock += 2_000;
    expect(await inOneGo()).toBe(1);
    clock += 20_000;
    expect(await inOneGo()).toBe(3);
  });

  it('is written when the clock was set back, not when it has caught up', async () => {
    expect(await write({ readyReplicas: 1 }, 3)).toBeUndefined();
    clock -= 300_000;
    expect(await write({ readyReplicas: 2 }, 3)).toBeUndefined();
    expect(await write({ readyReplicas: 3 }, 3)).toBeLessThanOrEqual(clock + 700);
  });

  it('has a zero where client-go tells that from "not known", and no other that was never written', async () => {
    await write({ terminatingReplicas: 0, collisionCount: 0, unavailableReplicas: 0 }, 3);
    expect(JSON.parse(server.requests.at(-1)?.body ?? '')).toMatchObject({
      status: { terminatingReplicas: 0, collisionCount: 0 },
    });
    expect(server.requests.at(-1)?.body).not.toContain('unavailableReplicas');
  });

  it('is written at once where somebody waits for it, and not at all where nothing has changed', async () => {
    await write({ readyReplicas: 1 }, 5_000);
    expect(await write({ readyReplicas: 2 }, 5_000)).toBeDefined();
    expect(await write({ observedGeneration: 3 }, 5_000)).toBeUndefined();
    expect(server.requests).toHaveLength(2);
    for (const observedGeneration of [4, 5, 6, 7]) await write({ observedGeneration }, 5_000);
    expect(server.requests).toHaveLength(6);
    expect(await write({ readyReplicas: 2 }, 5_000)).toBe(clock + 100);
    expect(await write({}, 5_000)).toBeUndefined();
    expect(server.requests).toHaveLength(6);
  });
});
