/** What the run of a rolling update shows: the query, the markdown in the Temporal UI, the search attributes. */

import { SearchAttributeType, defineSearchAttributeKey } from '@temporalio/common';
import { setCurrentDetails, upsertSearchAttributes } from '@temporalio/workflow';

import type { AdvanceResult, AwaitUpdateResult } from '../activities/rolling-update-types.ts';
import type { ControllerProgress, UpdateProgress, UpdateReason } from '../planners/rolling-update-steps.ts';
import { markdown } from './markdown.ts';
import type { OperatorMessage } from './messages.ts';
import type { RollingUpdateInput, RollingUpdateView } from './rolling-update-messages.ts';
import type { SearchAttributeName } from './search-attributes.ts';

/** Sentences kept of what was written. */
const WRITTEN = 10;

export class RollingUpdateDisplay {
  readonly startedAt: string;
  readonly #input: RollingUpdateInput;
  #steps: number;
  #record: string | undefined;
  #phase = 'Progressing';
  #written: readonly string[] = [];
  #progress: UpdateProgress | undefined;
  #waiting: readonly UpdateReason[] = [];
  #paused: OperatorMessage | undefined;

  constructor(input: RollingUpdateInput, startTime: string) {
    this.#input = input;
    this.startedAt = input.carried?.startedAt ?? startTime;
    this.#steps = input.carried?.steps ?? 0;
    this.#record = input.carried?.record;
  }

  get steps(): number {
    return this.#steps;
  }

  /** Name of the record, as soon as there is one. */
  get record(): string | undefined {
    return this.#record;
  }

  /** What the run is seen to wait for. */
  get shown(): readonly string[] {
    return this.#waiting.map(({ message }) => message);
  }

  updated(result: AdvanceResult | AwaitUpdateResult): void {
    this.#progress = result.progress;
    this.#waiting = result.waiting;
    if (result.record !== undefined && result.record !== this.#record) {
      this.#record = result.record;
      this.#upsert('WorkloadRevision', result.record);
    }
    if ('written' in result) {
      this.#steps += result.written.length;
      this.#written = [...this.#written, ...result.written].slice(-WRITTEN);
    }
    if (this.#paused === undefined) {
      this.#enter(result.progress.phase === 'RollingBack' ? 'RollingBack' : 'Progressing');
    }
    this.#show();
  }

  paused(by: OperatorMessage): void {
    this.#paused = by;
    this.#enter('Paused');
    this.#show();
  }

  resumed(): void {
    this.#paused = undefined;
    this.#enter('Progressing');
    this.#show();
  }

  closed(outcome: string): void {
    this.#paused = undefined;
    this.#waiting = [];
    this.#enter(outcome);
    this.#show();
  }

  /** The execution that follows has another update to roll. */
  goesOn(): void {
    this.#enter('Progressing');
  }

  /** Summary of the next activity that writes. */
  writing(): string {
    return this.#progress === undefined ? `update ${this.#input.name}` : sizes(this.#progress);
  }

  /** Summary of a wait. */
  waitingFor(): string {
    return this.#paused === undefined ? (this.shown[0] ?? 'await the controllers') : 'paused';
  }

  view(): RollingUpdateView {
    return {
      namespace: this.#input.namespace,
      name: this.#input.name,
      startedAt: this.startedAt,
      steps: this.#steps,
      written: this.#written,
      progress: this.#progress,
      waiting: this.#waiting,
      ...(this.#paused !== undefined && { paused: this.#paused }),
    };
  }

  carry(): NonNullable<RollingUpdateInput['carried']> {
    return {
      startedAt: this.startedAt,
      steps: this.#steps,
      ...(this.#record !== undefined && { record: this.#record }),
    };
  }

  #enter(phase: string): void {
    if (this.#phase !== phase) {
      this.#phase = phase;
      this.#upsert('RolloutPhase', phase);
    }
  }

  #upsert(name: SearchAttributeName, value: string): void {
    if (this.#input.searchAttributes.includes(name)) {
      upsertSearchAttributes([{ key: defineSearchAttributeKey(name, SearchAttributeType.KEYWORD), value }]);
    }
  }

  #show(): void {
    const why =
      this.#paused === undefined
        ? ''
        : `Paused${said(this.#paused)}; it goes on by the signal \`resume\` or ` +
          `\`fairlead rollout resume rc/${this.#input.name} -n ${this.#input.namespace}\`.`;
    setCurrentDetails(
      markdown([
        `**${this.#phase}** · ${this.#progress?.phase ?? 'Initialising'} · ${String(this.#steps)} writes`,
        why,
        this.#progress === undefined ? '' : sizes(this.#progress),
        this.#waiting.map(({ code, message }) => `- ${code}: ${message}`).join('\n'),
        this.#written.map((message) => `- ${message}`).join('\n'),
      ]),
    );
  }
}

function sizes({ old, next, desired }: UpdateProgress): string {
  const size = (one: ControllerProgress | undefined) =>
    one === undefined ? [] : [`${one.name} ${String(one.replicas)} (${String(one.available)} available)`];
  return `${[...size(old), ...size(next)].join(', ')}; ${String(desired)} wanted`;
}

function said({ by, reason }: OperatorMessage): string {
  return `${by === undefined ? '' : ` by ${by}`}${reason === undefined ? '' : `: ${reason}`}`;
}
