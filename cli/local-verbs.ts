/** `fairlead local down`, `status` and `env`. */

import { join } from 'node:path';

import type { Command } from 'commander';

import { toMessage } from '../kubernetes/api-error.ts';
import { shellWord } from '../kubernetes/shell-word.ts';
import { removeEmptyParents } from '../local/claimed-directory.ts';
import { tailOfLog } from '../local/component-process.ts';
import {
  COMPONENT_NAMES,
  checkInstanceName,
  defaultStateDirectory,
  isOutOfSight,
  listInstances,
  livingProcess,
  readInstance,
  starterLives,
} from '../local/instance.ts';
import type { ComponentName, InstanceRecord } from '../local/instance.ts';
import { instanceLayout } from '../local/layout.ts';
import { listensOn } from '../local/processes.ts';
import { removeInstance } from '../local/removal.ts';
import { CliError, EXIT } from './exit-codes.ts';
import type { GlobalOptions } from './io.ts';
import type { Document } from './structured.ts';
import { CLI_API_VERSION, printStructured } from './structured.ts';

export interface LocalOptions {
  readonly name: string;
  readonly nodes?: number;
  readonly workloadApi?: string;
  readonly output: GlobalOptions['output'];
}

interface ComponentStatus {
  readonly name: ComponentName;
  readonly running: boolean;
  readonly pid?: number;
  /** Of one that lives, and serves a port: it takes no connections, because it has just begun, or is ending. */
  readonly silent?: true;
  readonly log: string;
}

export interface InstanceStatus {
  readonly name: string;
  readonly directory: string;
  readonly running: boolean;
  readonly workloadApi: string;
  readonly kubeconfig: string;
  readonly temporalAddress: string;
  readonly temporalUiAddress: string;
  readonly components: readonly ComponentStatus[];
}

interface LocalInstanceDocument extends Document, InstanceStatus {
  readonly kind: 'LocalInstance';
}

/** Options of the verb and of the program; checks the name. */
export function localOptions(command: Command): LocalOptions {
  const options = command.optsWithGlobals<LocalOptions>();
  try {
    checkInstanceName(options.name);
  } catch (error) {
    throw new CliError(toMessage(error), EXIT.usage, { cause: error });
  }
  return options;
}

/** Prints by the program's own ways, which tests and pipes replace. */
export function printer(command: Command): {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
} {
  const output = command.configureOutput();
  return {
    out: (text) => output.writeOut?.(text),
    err: (text) => output.writeErr?.(text),
  };
}

/** For error messages: how to name the instance in a command. */
export function nameFlag(name: string): string {
  return name === 'default' ? '' : ` --name ${name}`;
}

/** What is known of an instance without asking its servers. */
export function describeInstance(record: InstanceRecord, directory: string): InstanceStatus {
  const layout = instanceLayout(directory);
  const components = COMPONENT_NAMES.map((name): ComponentStatus => {
    const process = livingProcess(record, name);
    const log = layout.log(name);
    if (process === undefined) return { name, running: false, log };
    const port = portOf(record, name);
    const isSilent = port !== undefined && !listensOn(process.pid, port);
    return { name, running: true, pid: process.pid, ...(isSilent && { silent: true }), log };
  });
  return {
    name: record.name,
    directory,
    running: record.complete && components.every(({ running, silent }) => running && silent !== true),
    workloadApi: record.workloadApi,
    kubeconfig: layout.kubeconfig,
    temporalAddress: `127.0.0.1:${record.ports.temporal}`,
    temporalUiAddress: `http://127.0.0.1:${record.ports.temporalUi}`,
    components,
  };
}

function portOf({ ports }: InstanceRecord, name: ComponentName): number | undefined {
  if (name === 'etcd') return ports.etcd;
  if (name === 'kube-apiserver') return ports.apiserver;
  return name === 'temporal' ? ports.temporal : undefined;
}

/** @throws CliError for an instance of another PID namespace: what is done about it here would be done in the dark */
export function checkInSight(record: InstanceRecord, directory: string): void {
  if (!isOutOfSight(record)) return;
  throw new CliError(
    `instance ${record.name} was set up in another PID namespace (${record.pidNamespace ?? ''}, as of a container), whose processes cannot be seen from here\n` +
      `  run the command there; where that is gone for good: rm -r ${shellWord(directory)}`,
  );
}

async function requireInstance(
  name: string,
): Promise<{ readonly record: InstanceRecord; readonly directory: string }> {
  const state = defaultStateDirectory();
  const directory = join(state, name);
  const record = await readInstance(directory);
  if (record === undefined) {
    const others = await listInstances(state);
    const hint = others.length === 0 ? '' : `\n  there is: ${others.join(', ')} (choose with --name)`;
    throw new CliError(
      `there is no instance ${name} in ${state}${hint}\n  start it with: fairlead local up${nameFlag(name)}`,
    );
  }
  if (!record.complete) checkInSight(record, directory);
  if (!record.complete && starterLives(record)) {
    throw new CliError(`instance ${name} is still being set up by process ${record.starter.pid}`);
  }
  return { record, directory };
}

/** Stops and removes an instance, and what was made for it alone; nothing to do is no failure. */
export async function runLocalDown(command: Command): Promise<void> {
  const { name } = localOptions(command);
  const { out } = printer(command);
  const state = defaultStateDirectory();
  const directory = join(state, name);
  const record = await readInstance(directory);
  if (record !== undefined) checkInSight(record, directory);
  // Also without a record: a crash just after the directory was made leaves it empty.
  await removeInstance(directory);
  await removeEmptyParents(state);
  out(
    record === undefined
      ? `instance ${name} does not exist: nothing to do\n`
      : `instance ${name} is stopped and removed\n`,
  );
}

/** Prints where everything is and what runs; the end of the log of what does not. */
export async function runLocalStatus(command: Command): Promise<void> {
  const options = localOptions(command);
  const { name, output } = options;
  const { out } = printer(command);
  const { record, directory } = await requireInstance(name);
  checkInSight(record, directory);
  const status = describeInstance(record, directory);
  const document: LocalInstanceDocument = { apiVersion: CLI_API_VERSION, kind: 'LocalInstance', ...status };
  if (!(await printStructured({ out }, options, document))) {
    out(output === 'name' ? `${status.name}\n` : statusText(status));
  }
  if (!status.running) {
    throw new CliError(
      `not everything of instance ${name} runs\n  start the rest with: fairlead local up${nameFlag(name)}`,
    );
  }
}

/** Addresses, a line each. */
export function addressLines(status: InstanceStatus): string {
  return [
    `  kubeconfig    ${status.kubeconfig}`,
    `  Temporal      ${status.temporalAddress}`,
    `  Temporal UI   ${status.temporalUiAddress}`,
    `  workload API  ${status.workloadApi}`,
    `  logs          ${instanceLayout(status.directory).logs}`,
    '',
  ].join('\n');
}

function statusText(status: InstanceStatus): string {
  const lines = status.components.map(({ name, running, pid, silent, log }) => {
    if (silent === true)
      return `  ✗ ${name} (process ${pid}) takes no connections: it has just begun, or is ending\n`;
    if (running) return `  ✔ ${name} (process ${pid})\n`;
    const tail = tailOfLog(log)
      .map((line) => `      | ${line}\n`)
      .join('');
    if (tail === '') return `  ✗ ${name} does not run; it has written nothing into ${log}\n`;
    return `  ✗ ${name} does not run; the end of ${log}:\n${tail}`;
  });
  return `instance ${status.name}\n${addressLines(status)}${lines.join('')}`;
}

/** Prints `export` lines for a POSIX shell. */
export async function runLocalEnv(command: Command): Promise<void> {
  const { name } = localOptions(command);
  const { record, directory } = await requireInstance(name);
  const status = describeInstance(record, directory);
  const variables = {
    KUBECONFIG: status.kubeconfig,
    TEMPORAL_ADDRESS: status.temporalAddress,
    FAIRLEAD_WORKLOAD_API: status.workloadApi,
  };
  printer(command).out(
    Object.entries(variables)
      .map(([key, value]) => `export ${key}=${shellWord(value)}\n`)
      .join(''),
  );
}
