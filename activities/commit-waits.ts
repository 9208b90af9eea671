/** What a commit waits for: the rollouts that it began, and between two waves everything of the earlier ones. */

import { Context } from '@temporalio/activity';

import type { AwaitedRollouts, RolloutStates } from '../git/await-rollouts.ts';
import { awaitRollouts as watchRollouts } from '../git/await-rollouts.ts';
import type { CommitContext } from '../git/commit.ts';
import { entryKey } from '../git/inventory-content.ts';
import { STAGES, compareSteps, stagesWithWaves } from '../git/order.ts';
import type { PreparedObject } from '../git/prepare.ts';
import { inventoryEntry, problemOf } from '../git/prepare.ts';
import type { Problem } from '../git/problems.ts';
import { bounded, problem } from '../git/problems.ts';
import { rolloutProblem } from '../git/rolled-out.ts';
import type { RolloutState } from '../git/rollout-state.ts';
import { beat } from './attempt.ts';
import type { CommitAccess } from './commit-access.ts';
import type { AwaitRolloutsInput, AwaitRolloutsResult, AwaitWaveInput } from './commit-types.ts';
import { newsAgainst } from './news.ts';

/** Waiting ends at this share of startToClose; the workflow asks again. */
const PATIENCE_SHARE = 0.7;
const LOOK_MS = 1_000;
/** Between two looks whether the cluster still tells of the run: a read of the inventory. */
const TELL_MS = 15_000;
/** In which an object of a wave that has no rollout of ours must be ready, once something waits for it. */
const WAVE_LIMIT_MS = 10 * 60_000;

/** The activities. */
export function createCommitWaits(access: CommitAccess) {
  /** Waits for the rollouts of the workloads that this commit changed, and in its waves for all that it has written. */
  async function awaitRollouts(input: AwaitRolloutsInput): Promise<AwaitRolloutsResult> {
    const context = access.contextOf(input);
    const { objects } = await access.prepare(context);
    const onWaiting = showing(context, input, objects);
    const entries = (await context.store.read(context.signal))?.entries;
    const wasApplied = (object: PreparedObject) =>
      entries?.get(entryKey(inventoryEntry(object)))?.uid !== undefined;
    const waved = stagesWithWaves(objects);
    const { since } = input;
    const end = since !== undefined && {
      end: { untilMs: since + WAVE_LIMIT_MS, isInWaves: ({ stage }: PreparedObject) => waved.has(stage) },
    };
    const awaited = await watch(context, objects, input, { onWaiting, wasApplied, ...end });
    return toResult(awaited, failuresOf(awaited, objects), input.sha);
  }

  /**
   * Waits until everything of the earlier waves is ready, and what the next objects depend on. Finished with problems: something is not and will not be;
   * the last problem says what is held up by it.
   */
  async function awaitWave(input: AwaitWaveInput): Promise<AwaitRolloutsResult> {
    const context = access.contextOf(input);
    const { objects } = await access.prepare(context);
    const step = objects.filter((object) => compareSteps(object, input) === 0);
    const needed = new Set(step.flatMap(({ dependsOn }) => dependsOn));
    const earlier = objects.filter(
      ({ stage, wave, label }) =>
        (stage === input.stage && wave < input.wave) ||
        input.stages?.includes(stage) === true ||
        needed.has(label),
    );
    const awaited = input.refused
      ? { states: new Map<string, RolloutState>(), isComplete: true, unwell: [] }
      : await watch(context, earlier, input, {
          everything: { untilMs: input.since + WAVE_LIMIT_MS },
          onWaiting: showing(context, input, objects),
        });
    const failures = failuresOf(awaited, objects);
    const result = toResult(awaited, failures, input.sha);
    if (result.outcome === 'waiting' || (failures.length === 0 && !input.refused)) return result;
    const held = objects.filter((object) => compareSteps(object, input) >= 0);
    const isRolledBack = failures.some(({ code }) => code === 'RolledBack');
    const isInWaves = stagesWithWaves(objects).has(input.stage);
    const why = heldWave(input, held, { isRolledBack, isInWaves });
    return { ...result, problems: bounded([...failures, why], input.sha) };
  }

  /** Shows that the run is under way, also where somebody deletes the inventory. Undefined: a run of before that was shown. */
  function showing(
    context: CommitContext,
    input: AwaitRolloutsInput,
    objects: readonly PreparedObject[],
  ): (() => Promise<void>) | undefined {
    const { startedAt } = input;
    if (startedAt === undefined) return undefined;
    return async () => await access.showUnderWay(context, { ...input, startedAt }, objects);
  }

  return { awaitRollouts, awaitWave };
}

async function watch(
  context: CommitContext,
  objects: readonly PreparedObject[],
  { shown }: AwaitRolloutsInput,
  {
    onWaiting,
    ...what
  }: Pick<Parameters<typeof watchRollouts>[2], 'everything' | 'end' | 'wasApplied'> & {
    /** When something has been waited for a moment, and now and again after that; nothing hangs on it. */
    readonly onWaiting?: (() => Promise<void>) | undefined;
  },
): Promise<AwaitedRollouts> {
  const { startToCloseTimeoutMs } = Context.current().info;
  const isNews = newsAgainst(shown);
  const news = new AbortController();
  let latest: RolloutStates = new Map();
  let told: Promise<void> | undefined;
  let toldAt = 0;
  const looking = setInterval(() => {
    const lines = linesOf(latest);
    if (isNews(lines)) news.abort();
    if (lines.length === 0) return;
    if (Date.now() - toldAt < TELL_MS) return;
    // What could not be written is written at the next look.
    const isOver = (at: number) => () => {
      told = undefined;
      toldAt = at;
    };
    told ??= onWaiting?.().then(isOver(Date.now()), isOver(0));
  }, LOOK_MS);
  try {
    return await watchRollouts(context, objects, {
      patienceMs: startToCloseTimeoutMs * PATIENCE_SHARE,
      stop: news.signal,
      ...what,
      onChange: (present) => {
        latest = present;
        beat(
          [...present]
            .slice(0, 20)
            .map(([label, state]) => `${label}: ${state.state === 'Done' ? 'done' : state.message}`),
        );
      },
    });
  } finally {
    clearInterval(looking);
    // Its end is written after it.
    await told;
  }
}

/** Of what was awaited, what has failed. */
function failuresOf({ states }: AwaitedRollouts, objects: readonly PreparedObject[]): readonly Problem[] {
  return [...states].flatMap(([label, state]) =>
    state.state === 'Failed'
      ? [
          rolloutProblem(
            label,
            state,
            objects.find((item) => item.label === label),
          ),
        ]
      : [],
  );
}

function toResult(
  { states, isComplete, unwell }: AwaitedRollouts,
  failures: readonly Problem[],
  sha: string,
): AwaitRolloutsResult {
  const waiting = linesOf(states);
  return {
    outcome: waiting.length > 0 || !isComplete ? 'waiting' : 'finished',
    done: [...states.values()].filter(({ state }) => state === 'Done').length,
    total: states.size,
    waiting,
    unwell: unwell.slice(0, 20),
    problems: bounded(failures, sha),
  };
}

/** What was not applied because an earlier wave is not ready, at the place of its first object. */
function heldWave(
  { stage, wave, rank, stages = [], refused }: AwaitWaveInput,
  held: readonly PreparedObject[],
  { isRolledBack, isInWaves }: { readonly isRolledBack: boolean; readonly isInWaves: boolean },
): Problem {
  const name = (STAGES[stage] ?? '').toLowerCase();
  const objects = held.length === 1 ? 'one object was' : `${held.length} objects were`;
  const isDependency = rank !== undefined && rank > 0;
  const notReady = isDependency ? 'what it depends on is not ready' : 'an earlier wave is not ready';
  const why = refused ? 'something before it could not be applied' : notReady;
  const what = stages.length > 0 && !isInWaves ? `the stage of the ${name}` : `wave ${wave} of the ${name}`;
  const message = `${what}, and with it all that comes later, was held up: ${why}. ${objects} not applied.`;
  const [first] = held;
  const found = first === undefined ? problem('WaveHeld', message) : problemOf(first, 'WaveHeld', message);
  // An operator has rejected the manifest: trying it again would change nothing.
  return isRolledBack
    ? { ...found, next: 'Correct the manifest that was rolled back: the next commit goes on from there.' }
    : found;
}

/** What is under way; at most 20 lines. */
function linesOf(states: RolloutStates): readonly string[] {
  return [...states]
    .flatMap(([label, state]) => (state.state === 'InProgress' ? [`${label}: ${state.message}`] : []))
    .slice(0, 20);
}
