/** Ends instances for good. */

import { readFileSync, readdirSync } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

import { toMessage } from '../kubernetes/api-error.ts';
import { shellWord } from '../kubernetes/shell-word.ts';
import { errorCode } from '../kubernetes/values.ts';
import { INSTANCE_VARIABLE } from './component-process.ts';
import {
  DamagedInstanceError,
  isOutOfSight,
  listInstances,
  livingProcess,
  readInstance,
  starterLives,
} from './instance.ts';
import type { ComponentName, InstanceRecord } from './instance.ts';
import { identifyProcess, stopProcess } from './processes.ts';
import type { ProcessIdentity } from './processes.ts';

/** Clients first; the apiserver before etcd, without which it hangs. */
const ORDER: readonly ComponentName[] = [
  'kwok',
  'kube-scheduler',
  'kube-controller-manager',
  'temporal',
  'kube-apiserver',
  'etcd',
];

/** A directory without a record is somebody's who is just starting, unless it is older than this. */
const STARTING_MS = 60_000;

/** Processes that carry the instance's id in their environment, also those that were never recorded. */
function processesOf(record: InstanceRecord): readonly ProcessIdentity[] {
  if (process.platform !== 'linux') return [];
  const marker = `${INSTANCE_VARIABLE}=${record.id}`;
  const found: ProcessIdentity[] = [];
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    let environment: string;
    try {
      environment = readFileSync(`/proc/${entry}/environ`, 'latin1');
    } catch {
      // Gone in the meantime, or somebody else's.
      continue;
    }
    if (!environment.split('\0').includes(marker)) continue;
    const identity = identifyProcess(Number(entry));
    if (identity !== undefined) found.push(identity);
  }
  return found;
}

/**
 * Kills every process of the instance and removes its directory; nothing to do if there is none. No grace: what they would
 * save is removed a moment later.
 */
export async function removeInstance(directory: string): Promise<void> {
  const record = await readInstance(directory);
  if (record !== undefined) {
    for (const component of ORDER) {
      const identity = livingProcess(record, component);
      if (identity !== undefined) await stopProcess(identity, 0);
    }
    for (const identity of processesOf(record)) await stopProcess(identity, 0);
  }
  await rm(directory, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
}

async function isAbandoned(directory: string): Promise<boolean> {
  const record = await readInstance(directory);
  if (record !== undefined)
    return !isOutOfSight(record) && !starterLives(record) && !(record.detached && record.complete);
  try {
    return Date.now() - (await stat(directory)).mtimeMs > STARTING_MS;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return false;
    throw error;
  }
}

/**
 * Removes instances whose starter died before they stood on their own, or that are of no use without it. What cannot be looked at or
 * removed from here, as another user's, is left alone and reported: it keeps no other from being set up.
 */
export async function removeAbandonedInstances(
  stateDirectory: string,
  report: (line: string) => void = () => undefined,
): Promise<void> {
  for (const name of await listInstances(stateDirectory)) {
    const directory = join(stateDirectory, name);
    try {
      if (await isAbandoned(directory)) await removeInstance(directory);
    } catch (error) {
      report(`instance ${name} is left alone: ${whyLeft(name, error)}`);
    }
  }
}

function whyLeft(name: string, error: unknown): string {
  // It says itself what to do about it.
  if (error instanceof DamagedInstanceError) return error.message;
  return `${toMessage(error)}\n  whoever set it up removes it with: fairlead local down --name ${shellWord(name)}`;
}
