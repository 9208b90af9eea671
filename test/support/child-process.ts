/** A TypeScript file run as a process of its own, whose lines of output can be waited for. */

import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

import { eventually } from './eventually.ts';

export class ChildScript {
  readonly lines: string[] = [];
  readonly #process: ChildProcess;

  /** @param file Of a TypeScript file. */
  constructor(file: URL, args: readonly string[]) {
    this.#process = spawn(process.execPath, ['--import', 'tsx', file.pathname, ...args], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    if (this.#process.stdout === null) throw new Error('the child has no output');
    createInterface({ input: this.#process.stdout }).on('line', (line) => this.lines.push(line));
  }

  /** Waits until the line was printed `times` times. */
  async printed(line: string, times: number, deadlineMs: number): Promise<void> {
    await eventually(
      `the process prints '${line}' (it printed ${JSON.stringify(this.lines)})`,
      () => this.count(line) >= times,
      deadlineMs,
    );
  }

  count(line: string): number {
    return this.lines.filter((one) => one === line).length;
  }

  signal(signal: NodeJS.Signals): void {
    this.#process.kill(signal);
  }

  /** SIGKILL if it still runs; resolves when it is gone. */
  async end(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const exit = once(this.#process, 'exit');
    this.#process.kill('SIGKILL');
    await exit;
  }
}
