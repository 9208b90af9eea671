/** Everything that the steps of the demo act on and look at. */

import { isNotFound } from '../kubernetes/api-error.ts';
import { pause } from '../kubernetes/backoff.ts';
import { shellWord } from '../kubernetes/shell-word.ts';
import { trusted } from '../kubernetes/values.ts';
import type { ControlPlane } from '../local/control-plane.ts';
import type { KubernetesObject } from '../planners/objects.ts';
import { NAMESPACE } from './accounts.ts';
import type { Environment } from './cli-process.ts';
import { runCommand } from './cli-process.ts';
import { imageOf, webManifests } from './manifests.ts';
import type { Observer } from './observer.ts';
import type { RolloutRuns } from './rollout-runs.ts';
import type { Screen } from './screen.ts';
import type { Commit, ThrowAwayRepository } from './throw-away-repository.ts';

export interface StageParts {
  readonly screen: Screen;
  readonly controlPlane: ControlPlane;
  readonly repository: ThrowAwayRepository;
  readonly observer: Observer;
  readonly runs: RolloutRuns;
  /** What the operator's shell has. */
  readonly operator: Environment;
  /** Aborts when the demo cannot go on, with the reason: interrupted, or a server or the worker has ended. */
  readonly signal: AbortSignal;
}

export interface CommitExtras {
  readonly greeting?: string;
  readonly readyDelay?: string;
  /** Content by name. */
  readonly files?: Readonly<Record<string, string>>;
}

export class Stage {
  readonly screen: Screen;
  readonly controlPlane: ControlPlane;
  readonly repository: ThrowAwayRepository;
  readonly observer: Observer;
  readonly runs: RolloutRuns;
  readonly signal: AbortSignal;
  readonly #operator: Environment;

  constructor({ screen, controlPlane, repository, observer, runs, operator, signal }: StageParts) {
    this.screen = screen;
    this.controlPlane = controlPlane;
    this.repository = repository;
    this.observer = observer;
    this.runs = runs;
    this.signal = signal;
    this.#operator = operator;
  }

  /** Commits the three manifests of `web` with this image, and says so. `files` are committed with them. */
  async commit(
    tag: string,
    message: string,
    { greeting = 'hello', readyDelay = '1s', files = {} }: CommitExtras = {},
  ): Promise<Commit> {
    const web = webManifests({ image: imageOf(tag), greeting, readyDelay });
    return await this.commitFiles({ ...web, ...files }, message);
  }

  /** Commits these files, and says so. */
  async commitFiles(files: Readonly<Record<string, string>>, message: string): Promise<Commit> {
    const { screen, repository } = this;
    const commit = await repository.commit(files, message);
    screen.say(`${screen.colors.bold('  $ git commit')}  ${commit.sha.slice(0, 8)} ${message}`);
    return commit;
  }

  /** Runs a command line as the operator, shows it and what it printed. Rejects unless it ends with exit code 0. */
  async fairlead(...words: readonly string[]): Promise<string> {
    return await this.fairleadUntil(() => true, 0, ...words);
  }

  /**
   * The same, run again until its output is as `isEnough` wants it, for so many milliseconds; only the last output is shown, and
   * returned, whether it was enough or not.
   */
  async fairleadUntil(
    isEnough: (output: string) => boolean,
    timeoutMs: number,
    ...words: readonly string[]
  ): Promise<string> {
    const { screen } = this;
    screen.say(screen.colors.bold(`  $ fairlead ${words.map(shellWord).join(' ')}`));
    const end = Date.now() + timeoutMs;
    for (;;) {
      const { code, out, err } = await runCommand(words, this.#operator, this.signal);
      const isLast = code !== 0 || isEnough(out) || Date.now() >= end;
      if (isLast) screen.quote(`${out}${err}`);
      if (code !== 0) {
        const said = err.trim() === '' ? out.trim() : err.trim();
        throw new Error(`fairlead ${words.join(' ')} ended with exit code ${String(code)}: ${said}`);
      }
      if (isLast) return out;
    }
  }

  /** An object of the core group as the apiserver has it now; undefined if there is none. */
  async read<T extends KubernetesObject>(resource: string, name: string): Promise<T | undefined> {
    try {
      const path = { group: '', version: 'v1', resource, namespace: NAMESPACE, name };
      return await this.controlPlane.client.get<T>(path);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** Lets time pass. Rejects with the reason why the demo ends. */
  async hold(milliseconds: number): Promise<void> {
    await pause(milliseconds, this.signal);
    if (this.signal.aborted) throw trusted<Error>(this.signal.reason);
  }
}
