/** Makes a repository's source visible in the cluster: in the inventory's status and as an Event, only when it changes. */

import type { KubernetesClient } from '../kubernetes/client.ts';
import { recordEvent } from './commit-report.ts';
import { InventoryStore } from './inventory.ts';
import type { Problem } from './problems.ts';
import { ProblemError, formatProblem } from './problems.ts';

export interface SourceReporterOptions {
  readonly client: KubernetesClient;
  readonly inventoryNamespace: string;
  /** FAIRLEAD_CLUSTER: nothing is reported into an inventory of the workers of another. */
  readonly cluster: string;
  readonly now: () => number;
}

/** What the poller saw: a commit, or why there is none. */
export type SourceState = { readonly sha: string } | { readonly problem: Problem };

export class SourceReporter {
  readonly #options: SourceReporterOptions;
  /** What was reported last by this process, by repository. */
  readonly #reported = new Map<string, string>();

  constructor(options: SourceReporterOptions) {
    this.#options = options;
  }

  /**
   * Reports a state that differs from the last one. A repository that was never applied and is sound leaves no trace: its
   * first commit makes the inventory.
   * @throws ApiError; ProblemError InventoryForeign, once for each state: there is nowhere to report it to
   */
  async report(repository: string, state: SourceState): Promise<void> {
    const text = 'problem' in state ? formatProblem(state.problem) : '';
    if (this.#reported.get(repository) === text) return;
    const { client, inventoryNamespace, cluster, now } = this.#options;
    const store = new InventoryStore(client, inventoryNamespace, repository, cluster);
    const since = new Date(now()).toISOString();
    const before = await store.read().catch((error: unknown) => {
      if (error instanceof ProblemError) this.#reported.set(repository, text);
      throw error;
    });
    const known = before?.status.source;
    const isSame = known === undefined ? text === '' : known.problem === text || (known.ok && text === '');
    if (!isSame) {
      const source = text === '' ? { ok: true, since } : { ok: false, problem: text, since };
      const inventory = await store.update((present) => ({
        ...present,
        status: { ...present.status, source },
      }));
      const event =
        text === ''
          ? ({ type: 'Normal', reason: 'SourceReady', message: 'the repository can be read again' } as const)
          : ({ type: 'Warning', reason: 'SourceFailed', message: text } as const);
      if (inventory !== undefined)
        await recordEvent(client, store, inventory, event, { identity: `${text} ${since}` }, now());
    }
    this.#reported.set(repository, text);
  }
}
