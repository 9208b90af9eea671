/** What is known of one instance: where it lives, which ports and processes are its own. Kept in `instance.json`. */

import { readFileSync } from 'node:fs';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';

import { stateHome } from '../kubernetes/base-directories.ts';
import { shellWord } from '../kubernetes/shell-word.ts';
import { asRecord, errorCode, trusted } from '../kubernetes/values.ts';
import type { WorkloadApi } from '../kubernetes/workload-api.ts';
import { writePrivateJson } from './private-json.ts';
import { currentPidNamespace, isAlive } from './processes.ts';
import type { ProcessIdentity } from './processes.ts';
import { BINARY_NAMES } from './versions.ts';
import type { BinaryName } from './versions.ts';

/** Each component is one program. */
export const COMPONENT_NAMES = BINARY_NAMES;
export type ComponentName = BinaryName;

export interface InstancePorts {
  readonly etcd: number;
  readonly apiserver: number;
  readonly temporal: number;
  readonly temporalUi: number;
  readonly temporalHttp: number;
  readonly temporalMetrics: number;
}

export interface InstanceRecord {
  readonly name: string;
  /** Random; in the environment of every process of this instance, so that none is ever lost or mistaken. */
  readonly id: string;
  readonly createdAt: string;
  readonly workloadApi: WorkloadApi;
  /** Of apiserver and controller-manager; absent in records of earlier versions. */
  readonly featureGates?: Readonly<Record<string, boolean>>;
  readonly ports: InstancePorts;
  /** Changes with every boot; processes of another boot are gone whatever their pids say. */
  readonly bootId: string;
  /** Of all its processes; absent in records of earlier versions, and where the kernel does not tell. */
  readonly pidNamespace?: string | undefined;
  /** The process that set it up. */
  readonly starter: ProcessIdentity;
  /** True if it stands on its own (`local up`); false if it is of no use without its starter. */
  readonly detached: boolean;
  readonly binaries: Readonly<Record<ComponentName, string>>;
  readonly processes: Readonly<Partial<Record<ComponentName, ProcessIdentity>>>;
  /** True once everything was set up; false means that starting goes on, or was interrupted. */
  readonly complete: boolean;
}

const NAME_PATTERN = /^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$/;

/** @throws Error for names that would not do as the name of a directory everywhere */
export function checkInstanceName(name: string): void {
  if (!NAME_PATTERN.test(name)) {
    throw new Error(
      `instance name ${JSON.stringify(name)} is not valid: lower case letters, digits and "-", at most 40 characters`,
    );
  }
}

/** `$XDG_STATE_HOME/fairlead/local`, by default `~/.local/state/fairlead/local`. */
export function defaultStateDirectory(): string {
  return join(stateHome(process.env), 'local');
}

/** Changes with every boot of the machine; empty where the kernel does not tell. */
export function currentBootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return '';
  }
}

function recordPath(directory: string): string {
  return join(directory, 'instance.json');
}

/** A record that somebody else has written over, or that a disk has lost: which processes are the instance's is not known. */
export class DamagedInstanceError extends Error {}

/**
 * The record of an instance, or undefined if the directory holds none.
 *
 * @throws DamagedInstanceError when it cannot be understood
 */
export async function readInstance(directory: string): Promise<InstanceRecord | undefined> {
  const path = recordPath(directory);
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
  const record = parseRecord(text);
  if (record !== undefined) return record;
  throw new DamagedInstanceError(
    `${path} is damaged, so nobody knows the processes of this instance\n` +
      `  end those that name its directory, and remove it: pkill -KILL -f ${shellWord(`${directory}/`)}; rm -r ${shellWord(directory)}`,
  );
}

function parseRecord(text: string): InstanceRecord | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const { id, name, processes, ports, starter } = asRecord(value);
    const isNamed = typeof id === 'string' && typeof name === 'string';
    const isWhole = isNamed && [processes, ports, starter].every(isObject);
    return isWhole ? trusted<InstanceRecord>(value) : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}

/** Replaces the record at once. */
export async function writeInstance(directory: string, record: InstanceRecord): Promise<void> {
  await writePrivateJson(recordPath(directory), record);
}

/** Names of all instances below a state directory, sorted. */
export async function listInstances(stateDirectory: string): Promise<readonly string[]> {
  try {
    const entries = await readdir(stateDirectory, { withFileTypes: true });
    return entries
      .filter((entry) => entry.isDirectory())
      .map((entry) => entry.name)
      .toSorted();
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return [];
    throw error;
  }
}

/**
 * Whether its processes are of another PID namespace, as those of a container that shares the state directory: from here it cannot be
 * told whether they live.
 */
export function isOutOfSight({ pidNamespace, bootId }: InstanceRecord): boolean {
  return pidNamespace !== undefined && bootId === currentBootId() && pidNamespace !== currentPidNamespace();
}

/** The component's process, if it lives. */
export function livingProcess(record: InstanceRecord, component: ComponentName): ProcessIdentity | undefined {
  const identity = record.processes[component];
  if (identity === undefined || record.bootId !== currentBootId()) return undefined;
  return isAlive(identity) ? identity : undefined;
}

/** Whether the process that set the instance up still lives. */
export function starterLives(record: InstanceRecord): boolean {
  // A record that another version wrote may lack it.
  const starter: ProcessIdentity | undefined = record.starter;
  return record.bootId === currentBootId() && starter !== undefined && isAlive(starter);
}
