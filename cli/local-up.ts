/** `fairlead local up`. */

import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import type { Command } from 'commander';

import { toMessage } from '../kubernetes/api-error.ts';
import { shellAlias } from '../kubernetes/shell-word.ts';
import { parseWorkloadApi } from '../kubernetes/workload-api.ts';
import type { WorkloadApi } from '../kubernetes/workload-api.ts';
import { resumeControlPlane, startControlPlane } from '../local/control-plane.ts';
import { defaultStateDirectory, readInstance, starterLives } from '../local/instance.ts';
import type { InstanceRecord } from '../local/instance.ts';
import { packageRoot } from '../local/package-root.ts';
import { removeInstance } from '../local/removal.ts';
import { CliError, EXIT } from './exit-codes.ts';
import {
  addressLines,
  checkInSight,
  describeInstance,
  localOptions,
  nameFlag,
  printer,
} from './local-verbs.ts';
import type { LocalOptions } from './local-verbs.ts';

/** An apiserver that was told to end waits a minute for its clients; milliseconds. */
const SILENT_MS = 90_000;
const SILENT_LOOK_MS = 250;

function wantedApi({ workloadApi }: LocalOptions): WorkloadApi | undefined {
  const text = workloadApi ?? process.env['FAIRLEAD_WORKLOAD_API'];
  if (text === undefined || text === '') return undefined;
  try {
    return parseWorkloadApi(text);
  } catch (error) {
    throw new CliError(toMessage(error), EXIT.usage, { cause: error });
  }
}

function checkSame(
  record: InstanceRecord,
  { name, nodes }: LocalOptions,
  api: WorkloadApi | undefined,
): void {
  if (api !== undefined && api !== record.workloadApi) {
    throw new CliError(
      `instance ${name} was set up for ${record.workloadApi}, not ${api}\n` +
        `  remove it first:       fairlead local down${nameFlag(name)}\n` +
        `  or start another one:  fairlead local up --workload-api ${api} --name another`,
      EXIT.usage,
    );
  }
  if (nodes !== undefined) {
    throw new CliError(
      `instance ${name} exists: --nodes is for new ones; remove it with: fairlead local down${nameFlag(name)}`,
      EXIT.usage,
    );
  }
}

/** Ctrl-C gives up, and leaves nothing of a new instance. */
function interruption(): { readonly signal: AbortSignal; readonly done: () => void } {
  const controller = new AbortController();
  const abort = () => {
    controller.abort(new Error('interrupted'));
  };
  process.once('SIGINT', abort);
  process.once('SIGTERM', abort);
  return {
    signal: controller.signal,
    done: () => {
      process.off('SIGINT', abort);
      process.off('SIGTERM', abort);
    },
  };
}

/** Starts a new instance, or what does not run of the one that is there. */
export async function runLocalUp(command: Command): Promise<void> {
  const options = localOptions(command);
  const { out, err } = printer(command);
  const { name } = options;
  const api = wantedApi(options);
  const directory = join(defaultStateDirectory(), name);
  const report = (line: string) => {
    err(`${line}\n`);
  };
  const present = await readInstance(directory);
  if (present !== undefined) checkInSight(present, directory);
  const started = performance.now();
  if (present?.complete === true) {
    checkSame(present, options, api);
    await awaitSilent(present, directory, report);
    if (!describeInstance(present, directory).running) await resumeControlPlane(name, report);
  } else {
    if (present !== undefined && starterLives(present)) {
      throw new CliError(`instance ${name} is being set up by process ${present.starter.pid}; wait for it`);
    }
    // What an interrupted start left.
    if (present !== undefined) await removeInstance(directory);
    const { signal, done } = interruption();
    try {
      const controlPlane = await startControlPlane({
        name,
        detached: true,
        report,
        signal,
        ...(options.nodes === undefined ? {} : { nodes: options.nodes }),
        ...(api === undefined ? {} : { workloadApi: api }),
      });
      controlPlane.client.close();
    } finally {
      done();
    }
  }
  const record = await readInstance(directory);
  if (record === undefined) throw new CliError(`instance ${name} was removed while it started`);
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  out(
    `instance ${name} is up (${seconds} s)\n${addressLines(describeInstance(record, directory))}` +
      `next:\n${aliasLine()}  eval "$(fairlead local env${nameFlag(name)})"\n  fairlead check\n  fairlead local down${nameFlag(name)}\n`,
  );
}

/** Until what takes no connections does, or has ended: an apiserver that was told to end takes its time. @throws CliError where it does neither */
async function awaitSilent(
  record: InstanceRecord,
  directory: string,
  report: (line: string) => void,
): Promise<void> {
  const silent = () => describeInstance(record, directory).components.find((one) => one.silent);
  const until = performance.now() + SILENT_MS;
  for (let said = false; ; said = true) {
    const one = silent();
    if (one === undefined) return;
    const what = `${one.name} (process ${String(one.pid)}) takes no connections`;
    if (!said) report(`${what}: waiting until it does, or has ended`);
    if (performance.now() > until)
      throw new CliError(
        `${what}, and does not end; its log: ${one.log}\n  end it: kill -9 ${String(one.pid)}, then again: fairlead local up${nameFlag(record.name)}`,
      );
    await delay(SILENT_LOOK_MS);
  }
}

/** For those who run it out of a checkout (`npx`, `node dist/…`): the commands below it are then commands. */
function aliasLine(): string {
  const directories = (process.env['PATH'] ?? '').split(delimiter);
  const isCommand = directories.some(
    (directory) => !directory.includes('node_modules') && existsSync(join(directory, 'fairlead')),
  );
  const main = join(packageRoot(), 'dist', 'cli', 'main.js');
  return isCommand ? '' : `  ${shellAlias('fairlead', ['node', main])}\n`;
}
