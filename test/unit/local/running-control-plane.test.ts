/** A control plane whose record the disk had no room for once. */

import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, expect, it } from '@jest/globals';

import { trusted } from '../../../kubernetes/values.ts';
import { currentBootId, readInstance, writeInstance } from '../../../local/instance.ts';
import type { InstanceRecord } from '../../../local/instance.ts';
import { identifyProcess } from '../../../local/processes.ts';
import { RunningControlPlane } from '../../../local/running-control-plane.ts';

type Options = ConstructorParameters<typeof RunningControlPlane>[0];

let state: string;
let directory: string;
let controlPlane: RunningControlPlane;

beforeEach(async () => {
  state = await mkdtemp(join(tmpdir(), 'fairlead-control-plane-'));
  directory = join(state, 'x');
  await mkdir(directory);
  const record = trusted<InstanceRecord>({
    name: 'x',
    id: 'x',
    bootId: currentBootId(),
    starter: identifyProcess(process.pid),
    detached: true,
    complete: false,
    ports: {},
    processes: {},
  });
  await writeInstance(directory, record);
  const client = { close: () => undefined };
  controlPlane = new RunningControlPlane(trusted<Options>({ record, directory, client }));
});
afterEach(async () => {
  await rm(state, { recursive: true, force: true });
});

/** What cannot be written as JSON stands for a full disk. */
async function fail(): Promise<void> {
  const unwritable = trusted<Partial<InstanceRecord>>({ processes: { etcd: 1n } });
  await expect(controlPlane.update(unwritable)).rejects.toThrow('BigInt');
}

it('writes it with the next change', async () => {
  await fail();
  await controlPlane.update({ processes: {}, complete: true });
  expect(await readInstance(directory)).toMatchObject({ complete: true });
  await controlPlane.close();
});

it('is taken down all the same', async () => {
  await fail();
  await controlPlane.down();
  expect(existsSync(directory)).toBe(false);
});
