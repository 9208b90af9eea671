/** What the Temporal UI and the query show of a commit: phase, counts, why it waits, what is wrong. */

import { SearchAttributeType, defineSearchAttributeKey } from '@temporalio/common';
import { setCurrentDetails, upsertSearchAttributes } from '@temporalio/workflow';

import type {
  ApplyStageResult,
  AwaitRolloutsResult,
  CheckCommitResult,
  CommitOutcome,
  PruneResult,
} from '../activities/commit-types.ts';
import type { Problem, ProblemList } from '../git/problems.ts';
import { cutOff } from './commit-end.ts';
import { markdown } from './markdown.ts';
import type { CommitInput, CommitPhase, CommitView, HeldWave } from './sync-messages.ts';

/** Problems kept; histories and the failure's message are bounded. */
const PROBLEM_LIMIT = 20;

export class CommitDisplay {
  readonly #input: CommitInput;
  readonly #objects: { applied: number; unchanged: number; pruned: number } = {
    applied: 0,
    unchanged: 0,
    pruned: 0,
  };
  readonly #left: string[] = [];
  #unwell: readonly string[] = [];
  #failure: string | undefined;
  #supersededBy: string | undefined;
  readonly #first: Problem[] = [];
  /** The same ones, each with its place and what to do. */
  readonly #lines: string[] = [];
  #inUse: readonly string[] = [];
  #total = 0;
  #phase: CommitPhase | CommitOutcome = 'Checking';
  #waiting: readonly string[] = [];
  #rollouts = { done: 0, total: 0 };
  #stages: readonly number[] = [];
  #stage = 0;
  #isWriting = false;
  /** Which wave is held up by the wait. */
  #held: HeldWave | undefined;

  constructor(input: CommitInput) {
    this.#input = input;
    this.#show();
  }

  get counts(): { readonly applied: number; readonly unchanged: number; readonly pruned: number } {
    return this.#objects;
  }

  get rollouts(): number {
    return this.#rollouts.total;
  }

  get problems(): ProblemList {
    return { total: this.#total, first: this.#first, lines: this.#lines };
  }

  /** What the commit is seen to wait for. */
  get waiting(): readonly string[] {
    return this.#waiting;
  }

  /** What is worth knowing and no failure. A workload that is not well is named once. */
  get notes(): readonly string[] {
    const named = new Set(this.#unwell.map((note) => note.split(': ')[0]));
    const failure = this.#failure === undefined ? [] : [this.#failure];
    return [
      ...failure,
      ...this.#unwell,
      ...[...new Set([...this.#left, ...this.#inUse])].filter((note) => !named.has(note.split(': ')[0])),
    ].slice(0, 20);
  }

  /** Objects that left the commit, and that its workloads need until they are rolled out. */
  get inUse(): number {
    return this.#inUse.length;
  }

  /** They are looked at again. */
  forgetInUse(): void {
    this.#inUse = [];
  }

  /** The commit is about to be cancelled because no worker follows its repository any more. */
  unfollowed(reason: string): void {
    this.#failure = reason;
    this.#show();
  }

  /** Nothing in git or in the commit was the reason: by hand, if no other was told. */
  cancelled(): void {
    this.#failure ??= cutOff(this.#input.repository, 'it was cancelled');
  }

  /** The commit ends because a step of its failed, which is no problem of one object. */
  failed(message: string): void {
    this.#failure = `${this.#phase}: ${message}`.slice(0, 1_000);
  }

  enter(phase: CommitPhase): void {
    this.#phase = phase;
    this.#held = undefined;
    this.#waiting = [];
    this.#show();
  }

  /** The wait for what is before a wave; `isWhole`: before a whole stage. */
  enterWave(stage: string, wave: number, isWhole: boolean): void {
    this.#phase = 'AwaitingWave';
    const text = isWhole ? `before ${stage}` : `before wave ${wave} of ${stage}`;
    this.#held = { stage, wave, text };
    this.#waiting = [];
    this.#show();
  }

  checked(result: CheckCommitResult): void {
    this.#stages = result.stages;
    this.#left.push(...(result.notes ?? []));
    this.#add(result.problems);
    // Counted one by one as soon as anything is written, be it the list of what may be pruned. What is refused was not looked at for that.
    if (result.changes === 0 && !this.#isWriting && result.problems.total === 0)
      this.#objects.unchanged = result.stages.reduce((sum, count) => sum + count, 0);
    this.#show();
  }

  applied(stage: number, result: ApplyStageResult): void {
    this.#stage = stage;
    if (!this.#isWriting) this.#objects.unchanged = 0;
    this.#isWriting = true;
    this.#objects.applied += result.created + result.changed;
    this.#objects.unchanged += result.unchanged;
    this.#left.push(...(result.takenBack ?? []), ...result.left);
    this.#add(result.problems);
    this.#show();
  }

  /** Of what later stages stand on. */
  unusable(problems: ProblemList): void {
    this.#add(problems);
    this.#show();
  }

  pruned(result: PruneResult): void {
    this.#objects.pruned += result.deletedTotal;
    this.#left.push(...result.kept);
    this.#inUse = [...this.#inUse, ...(result.inUse ?? [])];
    this.#add(result.problems);
    this.#show();
  }

  awaited(result: AwaitRolloutsResult): void {
    this.#rollouts = { done: result.done, total: result.total };
    this.#waiting = result.waiting;
    this.#unwell = result.unwell;
    // An answer in between names the same failures again.
    if (result.outcome === 'finished') this.#add(result.problems);
    this.#show();
  }

  closed(outcome: CommitOutcome, supersededBy?: string): void {
    this.#phase = outcome;
    this.#supersededBy = supersededBy;
    this.#held = undefined;
    this.#waiting = [];
    if (this.#input.searchAttributes.includes('RolloutPhase')) {
      upsertSearchAttributes([
        { key: defineSearchAttributeKey('RolloutPhase', SearchAttributeType.KEYWORD), value: outcome },
      ]);
    }
    this.#show();
  }

  view(): CommitView {
    return {
      repository: this.#input.repository,
      clusterUid: this.#input.clusterUid,
      sha: this.#input.sha,
      phase: this.#phase,
      ...this.#objects,
      ...(this.#held !== undefined && { held: this.#held }),
      waiting: this.#waiting,
      notes: this.notes,
      problems: this.#lines,
    };
  }

  #add(list: ProblemList): void {
    this.#total += list.total;
    const added = list.first.slice(0, PROBLEM_LIMIT - this.#first.length);
    this.#first.push(...added);
    this.#lines.push(...added.map((item, index) => list.lines?.[index] ?? lineOf(item)));
  }

  #show(): void {
    const { applied, unchanged, pruned } = this.#objects;
    const all = this.#stages.reduce((sum, count) => sum + count, 0);
    const by = this.#supersededBy === undefined ? '' : ` by \`${this.#supersededBy.slice(0, 8)}\``;
    const notes = [...this.#lines.slice(0, 10), ...this.notes.slice(0, 5), ...this.#waiting.slice(0, 5)];
    setCurrentDetails(
      markdown([
        `**${this.#phase}**${by} · \`${this.#input.repository}\` at \`${this.#input.sha.slice(0, 8)}\``,
        notes.map((note) => `- ${note}`).join('\n'),
        this.#phase === 'Applying'
          ? `stage ${this.#stage + 1} of ${this.#stages.length}`
          : (this.#held?.text ?? ''),
        [
          '| objects | applied | unchanged | pruned | rollouts | problems |',
          '|---|---|---|---|---|---|',
          `| ${all} | ${applied} | ${unchanged} | ${pruned} | ${this.#rollouts.done} of ${this.#rollouts.total} | ${this.#total} |`,
        ].join('\n'),
      ]),
    );
  }
}

/** Of a list that was recorded before there were lines. */
function lineOf(item: Problem): string {
  const place =
    item.file === undefined ? '' : ` ${item.file}${item.line === undefined ? '' : `:${item.line}`}`;
  return `${item.code}${place}${item.object === undefined ? '' : ` ${item.object}`}: ${item.message}${item.next === undefined ? '' : ` ${item.next}`}`;
}
