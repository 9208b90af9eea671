/** What a run shows: the query, the markdown in the Temporal UI, the search attributes. Written on changes, not per pod. */

import { SearchAttributeType, defineSearchAttributeKey } from '@temporalio/common';
import { setCurrentDetails, upsertSearchAttributes } from '@temporalio/workflow';

import type {
  AwaitReadyResult,
  CloseResult,
  CreateRevisionResult,
  PausedBy,
  UpdateBatchResult,
} from '../activities/rollout-types.ts';
import type { Progress, Reason } from '../planners/plan.ts';
import { markdown } from './markdown.ts';
import type { RolloutInput, RolloutPhase, RolloutView } from './messages.ts';
import type { SearchAttributeName } from './search-attributes.ts';

type Step = UpdateBatchResult | AwaitReadyResult;

/** Width of the progress bar in characters. */
const BAR = 24;

export class RolloutDisplay {
  readonly startedAt: string;
  readonly #input: RolloutInput;
  #phase: RolloutPhase = 'Progressing';
  #revision: string | undefined;
  #batches: number;
  #progress: Progress | undefined;
  #waiting: readonly Reason[] = [];
  #paused: PausedBy | undefined;
  #lastPods: readonly string[] = [];
  #closed: CloseResult | undefined;

  constructor(input: RolloutInput, startTime: string) {
    this.#input = input;
    this.#revision = input.carried?.revision;
    this.#batches = input.carried?.batches ?? 0;
    this.startedAt = input.carried?.startedAt ?? startTime;
  }

  get revision(): string | undefined {
    return this.#revision;
  }

  get batches(): number {
    return this.#batches;
  }

  /** What the run is seen to wait for. */
  get shown(): readonly string[] {
    return this.#waiting.map(({ message }) => message);
  }

  created(result: CreateRevisionResult & { readonly outcome: 'ready' }): void {
    this.#revision = result.revision;
    this.#upsert('WorkloadRevision', result.revision);
    this.#show();
  }

  updated(step: Step): void {
    if (step.outcome !== 'superseded') {
      this.#progress = step.progress;
      this.#waiting = step.waiting;
    }
    if (step.outcome === 'written') {
      this.#batches += 1;
      this.#lastPods = step.pods;
    }
    this.#show();
  }

  paused(by: PausedBy): void {
    this.#paused = by;
    this.#waiting = this.#waiting.filter(({ code }) => code !== 'Paused');
    this.#enter('Paused');
  }

  resumed(): void {
    this.#paused = undefined;
    this.#enter('Progressing');
  }

  rollingBack(): void {
    this.#enter('RollingBack');
  }

  closed(result: CloseResult): void {
    this.#closed = result;
    this.#paused = undefined;
    this.#waiting = [];
    this.#enter(result.outcome);
  }

  /** Summary of the wait that follows a batch: names it by its pods. */
  waitingFor(): string {
    const pods = this.#lastPods.length > 0 ? this.#lastPods : (this.#waiting[0]?.pods ?? []);
    if (pods.length === 0) {
      return 'await pods';
    }
    const names = pods.slice(0, 6).join(', ');
    const more = pods.length > 6 ? ` and ${String(pods.length - 6)} more` : '';
    // Nothing was taken out of service yet: others have to be ready first.
    const what = this.#batches === 0 ? 'await pods' : `await batch ${String(this.#batches)}`;
    return `${what}: ${names}${more}`.slice(0, 380);
  }

  view(): RolloutView {
    return {
      workload: this.#input.workload,
      phase: this.#phase,
      revision: this.#revision,
      batches: this.#batches,
      startedAt: this.startedAt,
      progress: this.#progress,
      waiting: this.#waiting,
      ...(this.#paused !== undefined && { paused: this.#paused }),
    };
  }

  carry(): { readonly revision: string; readonly batches: number; readonly startedAt: string } {
    return { revision: this.#revision ?? '', batches: this.#batches, startedAt: this.startedAt };
  }

  #enter(phase: RolloutPhase): void {
    if (this.#phase !== phase) {
      this.#phase = phase;
      this.#upsert('RolloutPhase', phase);
    }
    this.#show();
  }

  #upsert(name: SearchAttributeName, value: string): void {
    if (this.#input.searchAttributes.includes(name)) {
      upsertSearchAttributes([{ key: defineSearchAttributeKey(name, SearchAttributeType.KEYWORD), value }]);
    }
  }

  #show(): void {
    setCurrentDetails(
      markdown([
        `**${this.#phase}** · revision \`${this.#revision ?? '(being created)'}\` · batch ${String(this.#batches)}`,
        this.#why(),
        this.#waiting
          .slice(0, 5)
          .map((reason) => `- ${reason.code}: ${reason.message}`)
          .join('\n'),
        this.#bar(),
      ]),
    );
  }

  /** Who paused or ended it, and why. */
  #why(): string {
    if (this.#paused !== undefined) {
      const { name, namespace, kind } = this.#input.workload;
      const verb = `fairlead rollout resume ${kind.toLowerCase()}/${name} -n ${namespace}`;
      return `Paused${said(this.#paused)}; it goes on by the signal \`resume\` or \`${verb}\`. Below is how it was then.`;
    }
    return this.#closed === undefined ? '' : `${this.#closed.outcome}${said(this.#closed)}`;
  }

  #bar(): string {
    const progress = this.#progress;
    if (progress === undefined) return '';
    const done =
      progress.target === 0 ? BAR : Math.floor((progress.updatedAvailable / progress.target) * BAR);
    return [
      `\`[${'#'.repeat(done)}${'·'.repeat(BAR - done)}]\` ${String(progress.updatedAvailable)} of ${String(progress.target)}`,
      '',
      '| updated | ready | available | unavailable | maxUnavailable |',
      '|---|---|---|---|---|',
      `| ${String(progress.updated)} | ${String(progress.ready)} | ${String(progress.available)} | ` +
        `${String(progress.unavailable)} | ${String(progress.maxUnavailable)} |`,
    ].join('\n');
  }
}

/** ` by ann: leaks memory` */
function said({ by, reason }: PausedBy): string {
  return `${by === undefined ? '' : ` by ${by}`}${reason === undefined ? '' : `: ${reason}`}`;
}
