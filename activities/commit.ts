/** Activities of a commit: check → claim → apply in stages → prune → await rollouts → record. Each may be repeated. */

import { Context } from '@temporalio/activity';

import { applyStage as applyObjects } from '../git/apply-stage.ts';
import { checkCommit as check } from '../git/check.ts';
import { earlierAttempt } from '../git/earlier-attempt.ts';
import { awaitFoundations as awaitUsable } from '../git/foundations.ts';
import {
  commitEvent,
  isBehind,
  occurrenceOf,
  problemLines,
  recordEvent,
  withAttempt,
  withCommit,
} from '../git/commit-report.ts';
import type { CommitContext } from '../git/commit.ts';
import { isGrant } from '../git/heirs.ts';
import { entryKey, groupOf, pruneCandidates } from '../git/inventory-content.ts';
import type { Inventory, InventoryStore } from '../git/inventory.ts';
import type { CommitAttempt, CommitStatus } from '../git/inventory-status.ts';
import { listMetadata } from '../git/listed-metadata.ts';
import type { CommitWords } from '../git/mirror.ts';
import { inventoryEntry } from '../git/prepare.ts';
import type { ProblemList } from '../git/problems.ts';
import { ProblemError, bounded, failedRollouts, mayPassLater } from '../git/problems.ts';
import { ConfigUses, isConfig } from '../git/config-in-use.ts';
import { pruneObjects, pruneOrder } from '../git/prune.ts';
import { withSignal } from '../git/resources.ts';
import { withHolders } from '../git/service-allocations.ts';
import { sourceIdentity } from '../git/source-url.ts';
import { isRefusal, toMessage } from '../kubernetes/api-error.ts';
import { trusted } from '../kubernetes/values.ts';
import type {
  ApplyStageInput,
  ApplyStageResult,
  BegunCommit,
  CheckCommitInput,
  CheckCommitResult,
  ClaimResult,
  CommitReference,
  PruneInput,
  PruneResult,
  RecordCommitInput,
  RecordCommitResult,
  RetryDelays,
} from './commit-types.ts';
import {
  asActivities,
  asWritingActivities,
  attemptClient,
  beat,
  currentAttempt,
  tellAttempts,
} from './attempt.ts';
import type { CommitActivityDependencies } from './commit-access.ts';
import { CommitAccess } from './commit-access.ts';
import { createCommitWaits } from './commit-waits.ts';
import { untilGranted } from './failures.ts';

export type CommitActivities = ReturnType<typeof createCommitActivities>;

/** Part of a step that one activity applies, or of what left the commit that one prunes, milliseconds. */
const SLICE_MS = 6_000;
/** In which lists of its objects must be there, milliseconds: those that are not are read, each for itself. */
const LISTS_MS = 6_000;
/** In which an object that is on its way out must be gone, to be made again: as long as a wave waits. */
const DELETION_LIMIT_MS = 10 * 60_000;
/** In which what a commit has changed must mend what was refused before: an apiserver, or a controller, has to hear of it. */
const MENDED_LIMIT_MS = 15_000;
const PRUNE_SLICE = 200;
/** Share of a step's objects that are to be changed up to which a list of all costs less than a read of each. */
const FEW_CHANGES = 0.5;
const NAME_LIMIT = 50;
const NOTE_LIMIT = 20;

/** The first ones, and how many more there are. */
function firstNotes(notes: readonly string[]): readonly string[] {
  if (notes.length <= NOTE_LIMIT) return notes;
  const shown = notes.slice(0, NOTE_LIMIT - 1);
  return [...shown, `and ${String(notes.length - shown.length)} more of such notes`];
}

/** The activities, bound to this leader. */
export function createCommitActivities(dependencies: CommitActivityDependencies) {
  const { client, now } = dependencies;
  const access = new CommitAccess(dependencies);

  /** Everything that is wrong with the commit, before its first write. */
  async function checkCommit(input: CheckCommitInput): Promise<CheckCommitResult> {
    const context = access.contextOf(input);
    await requireRoles(context);
    const newer = input.isReset === true ? await newerThan(context, input) : undefined;
    if (newer !== undefined) return { ...NOTHING_CHECKED, supersededBy: newer };
    const content = await access.read(context);
    if (!Array.isArray(content)) {
      const {
        problems,
        notes: noted = [],
        lost,
        mended: _,
        ...rest
      } = await check(context, content, {
        onlyDeferred: input.onlyDeferred,
        ...(input.onlyDeferred && {
          patientUntilMs: Context.current().info.scheduledTimestampMs + MENDED_LIMIT_MS,
        }),
        onProgress: (checked, total) => beat({ checked, total }),
      });
      const notes = [...firstNotes(noted), ...(lost === undefined ? [] : [lost])];
      return { ...rest, problems: bounded(problems, input.sha), ...(notes.length > 0 && { notes }) };
    }
    return { ...NOTHING_CHECKED, problems: bounded(content, input.sha) };
  }

  /** Takes the inventory for this run and widens it: what is about to be written is in it before it is written. */
  async function claimInventory(input: BegunCommit): Promise<ClaimResult> {
    const context = access.contextOf(input);
    const { objects } = await access.prepare(context);
    const { entries, run, status } = await access.claim(context, input, objects);
    const isOther = run?.runId !== input.runId && status.commit !== undefined;
    return { entries: entries.size, ...(isOther && { supersededBy: status.commit.sha }) };
  }

  /** Applies a part of a wave of a stage, and learns the uids. Refusals are reported; an apiserver that is away fails the attempt. */
  async function applyStage(input: ApplyStageInput): Promise<ApplyStageResult> {
    const context = access.contextOf(input);
    const content = await access.readOrThrow(context);
    const prepared = await access.prepare(context);
    const inventory = await access.claimed(context, input, prepared.objects);
    if (inventory === undefined) return { ...NOTHING_APPLIED, outcome: 'superseded' };
    const { stage, wave, rank } = input;
    const objects = prepared.objects.filter(
      (object) =>
        object.stage === stage &&
        (wave === undefined || object.wave === wave) &&
        (rank === undefined || object.rank === rank),
    );
    const rest = objects.slice(input.from);
    // What an earlier attempt has done is told by more than a list has.
    const isFirst = Context.current().info.attempt === 1;
    const mayList = isFirst && (input.changes ?? objects.length) <= objects.length * FEW_CHANGES;
    const listed = mayList ? await listMetadata(context, rest, LISTS_MS) : undefined;
    // Lists are no part of its time: a slow one would leave none of it.
    const untilMs = Date.now() + SLICE_MS;
    const slice = await applyObjects(context, rest, {
      texts: content.texts,
      untilMs,
      onProgress: (applied) => beat({ applied: input.from + applied, total: objects.length }),
      patientUntilMs: Context.current().info.scheduledTimestampMs + DELETION_LIMIT_MS,
      menders: {
        objects: prepared.objects,
        untilMs: Context.current().info.scheduledTimestampMs + MENDED_LIMIT_MS,
      },
      before: isFirst ? undefined : earlierAttempt(inventory, input),
      ...(listed !== undefined && { listed }),
    });
    await access.learnUids(context, input, slice.uids);
    const next = input.from + slice.count;
    const { created, changed, unchanged, left, takenBack } = slice;
    const problems = await withHolders(context, slice.problems, {
      objects: prepared.objects,
      left: pruneCandidates(inventory.entries, prepared.objects.map(inventoryEntry)),
    });
    return {
      outcome: 'applied',
      ...(next < objects.length ? { next } : {}),
      created,
      changed,
      unchanged,
      left: left.slice(0, NAME_LIMIT),
      ...(takenBack.length > 0 && { takenBack: takenBack.slice(0, NAME_LIMIT) }),
      problems: bounded(problems, input.sha),
    };
  }

  /**
   * Waits until the CustomResourceDefinitions and Namespaces of the commit can be used, and answers nothing; else which of them
   * cannot, and why. What it waits for is in the heartbeat.
   */
  async function awaitFoundations(input: CommitReference): Promise<ProblemList | undefined> {
    const context = access.contextOf(input);
    const { objects } = await access.prepare(context);
    const problems = await awaitUsable(context, objects, { onWait: beat });
    return problems.length === 0 ? undefined : bounded(problems, input.sha);
  }

  /** Deletes what left the commit and shrinks the inventory. Only called when everything was applied. */
  async function pruneCommit(input: PruneInput): Promise<PruneResult> {
    const context = access.contextOf(input);
    const prepared = await access.prepare(context);
    const inventory = await access.claimed(context, input, prepared.objects);
    if (inventory === undefined)
      return { outcome: 'superseded', deleted: [], deletedTotal: 0, kept: [], problems: NO_PROBLEMS };
    const wanted = prepared.objects.map(inventoryEntry);
    const prunes = context.repository.prune && context.heal === undefined;
    const left = prunes ? pruneOrder(pruneCandidates(inventory.entries, wanted)) : [];
    const candidates = input.isAfterRollouts === true ? left.filter(isConfig) : left;
    const uses = new ConfigUses(context, prepared.objects);
    const part = candidates.slice(input.from, input.from + PRUNE_SLICE);
    // What was deleted leaves the inventory in time: an attempt that is cut off begins anew with all of it.
    const untilMs = Date.now() + SLICE_MS;
    const before = trusted<{ readonly told?: readonly string[] } | undefined>(currentAttempt().detailsBefore);
    const pruned = await pruneObjects(
      context,
      part,
      {
        wanted: new Set(wanted.map((entry) => entryKey(entry))),
        rightsLeave: candidates.slice(input.from).some(({ apiVersion }) => isGrant(groupOf(apiVersion))),
        whyNeeded: async (entry) => await uses.whyNeeded(entry),
      },
      {
        untilMs,
        isRepeated: Context.current().info.attempt > 1,
        told: before?.told ?? [],
        onTold: (told) => tellAttempts({ told: told.slice(0, NOTE_LIMIT) }),
      },
    );
    const dealtWith = input.from + pruned.count;
    // In one write: who is killed after it has counted what is not in the entries any more.
    const counted = inventory.run?.pruned ?? 0;
    const deletedOfRun = counted + pruned.deleted.length;
    await context.store.update(
      (present) => ({
        ...present,
        entries: new Map([...present.entries].filter(([key]) => !pruned.forgotten.has(key))),
        ...(present.run?.runId === input.runId && { run: { ...present.run, pruned: deletedOfRun } }),
      }),
      context.signal,
    );
    await tellHeirs(context, pruned.heirs);
    return {
      outcome: 'pruned',
      deleted: pruned.deleted.slice(0, NAME_LIMIT),
      deletedTotal: deletedOfRun - (input.known ?? counted),
      kept: firstNotes(pruned.kept),
      ...(pruned.inUse.length > 0 && { inUse: firstNotes(pruned.inUse) }),
      ...(dealtWith < candidates.length ? { next: dealtWith - pruned.forgotten.size } : {}),
      problems: bounded(pruned.problems, input.sha),
    };
  }

  /** Repositories that something was let go for, and that were refused for it: their own next try may be minutes away. */
  async function tellHeirs({ repository, others }: CommitContext, heirs: ReadonlySet<string>): Promise<void> {
    for (const heir of heirs) {
      const tried = await others?.lastTried(heir);
      if (tried?.outcome !== 'Refused' && tried?.outcome !== 'Failed') continue;
      const reason = `${repository.name} has let go of what it lacked`;
      await dependencies.tryAgain(heir, { sha: tried.sha, reason });
    }
  }

  /** Last activity of every commit: the inventory's status and an Event. */
  async function recordCommit(input: RecordCommitInput): Promise<RecordCommitResult> {
    const isOver = input.outcome === 'Refused' || input.outcome === 'Failed';
    const tryAgain = isOver && mayPassLater(input.problems);
    const rollouts = failedRollouts(input.problems);
    const again = tryAgain ? [triedAgain(input.retry)] : rollouts.length > 0 ? [TRIED_WHEN_ROLLED_OUT] : [];
    const notes = [...input.notes, ...again];
    const { sha, workflowId, runId, outcome, startedAt, applied, unchanged, pruned } = input;
    // One that was cancelled may belong to a repository that no worker follows any more: that is why.
    const isCutOff = outcome === 'Canceled' || outcome === 'Terminated';
    const context = isCutOff ? access.contextIfFollowed(input) : access.contextOf(input);
    const store = access.store(input);
    const commit = {
      sha,
      workflowId,
      runId,
      outcome,
      startedAt,
      finishedAt: new Date(now()).toISOString(),
      applied,
      unchanged,
      pruned,
      ...problemLines(input.problems, sha),
      ...(rollouts.length > 0 && { failedRollouts: rollouts }),
      ...(notes.length === 0 ? {} : { notes }),
      ...(input.supersededBy === undefined ? {} : { supersededBy: input.supersededBy }),
    };
    dependencies.onRecorded(input.repository, commit);
    const words = await access.describe(input);
    const attempt = attemptOf(input, commit, words);
    const source = context && (await sourceIdentity(context.repository.url));
    // Of such a repository nothing is begun: who has deleted its inventory shall not find it again.
    if (context === undefined && !(await exists(store))) return { mayPassLater: false };
    const inventory = await updateOwn(store, (present) => {
      // A later run has taken over: its state is the one to show. (One that changes nothing never claims the inventory.)
      const isOurs =
        present.run?.runId === runId || !(startedAt < (present.status.commit?.startedAt ?? startedAt));
      const tried = withAttempt(present.status, attempt);
      if (!isOurs || isBehind(present.status, input)) return { ...present, status: tried };
      const status = withCommit(tried, commit);
      if (outcome !== 'Succeeded') return { ...present, status };
      // One that changed nothing has claimed nothing. All is as it wants it now; and an inventory of before sources were kept learns its own.
      const run = present.run?.runId === runId ? present.run : { sha, workflowId, runId };
      return {
        ...present,
        status,
        run,
        source: present.source ?? source,
        cluster: present.cluster ?? store.cluster,
      };
    });
    if (inventory !== undefined) {
      try {
        const occurrence = occurrenceOf(inventory.status, attempt);
        await recordEvent(attemptClient(client), store, inventory, commitEvent(commit), occurrence, now());
      } catch (error) {
        if (!isRefusal(error)) throw error;
        dependencies.onEventLost(input.repository, toMessage(error));
      }
    }
    return { mayPassLater: tryAgain };
  }

  return {
    ...asActivities({ checkCommit, awaitFoundations, ...createCommitWaits(access), recordCommit }),
    ...asWritingActivities({ claimInventory, applyStage, pruneCommit }),
  };
}

/** The last commit tried, if it is another one than that of a run that was reset. */
async function newerThan(
  { store, signal }: CommitContext,
  input: CommitReference,
): Promise<string | undefined> {
  const status = (await store.read(signal))?.status;
  return status !== undefined && isBehind(status, input) ? status.commit?.sha : undefined;
}

/** Of a commit that is over. */
function attemptOf(
  { outcome, asked, startedAt, notes }: RecordCommitInput,
  commit: CommitStatus & { readonly finishedAt: string },
  words: CommitWords | undefined,
): CommitAttempt {
  const { sha, runId, finishedAt, problems, problemCount, supersededBy } = commit;
  const { applied, unchanged, pruned } = commit;
  return {
    sha,
    outcome,
    ...words,
    ...(asked?.by !== undefined && { askedBy: asked.by }),
    ...(asked?.reason !== undefined && { reason: asked.reason }),
    startedAt,
    finishedAt,
    ...(applied !== undefined && { applied }),
    ...(unchanged !== undefined && { unchanged }),
    ...(pruned !== undefined && { pruned }),
    ...(problems?.[0] !== undefined && { problem: problems[0], problemCount }),
    // That it is tried again is of no use when it has been.
    ...(notes.length > 0 && { notes }),
    ...(supersededBy !== undefined && { supersededBy }),
    runId,
  };
}

async function exists(store: InventoryStore): Promise<boolean> {
  try {
    return (await store.read()) !== undefined;
  } catch (error) {
    if (error instanceof ProblemError && error.problem.code === 'InventoryForeign') return false;
    throw error;
  }
}

/** Where the ConfigMap is somebody else's, the run itself and the log are the only places that tell of its outcome. */
async function updateOwn(
  store: InventoryStore,
  change: Parameters<InventoryStore['update']>[0],
): Promise<Inventory | undefined> {
  try {
    return await store.update(change, currentAttempt().cancelled);
  } catch (error) {
    if (error instanceof ProblemError && error.problem.code === 'InventoryForeign') return undefined;
    throw error;
  }
}

function triedAgain(retry: RetryDelays | undefined): string {
  if (retry === undefined) return 'it is tried again by itself';
  const [first, longest] = [retry.firstMs, retry.longestMs].map((ms) => `${Math.round(ms / 1000)} s`);
  return `it is tried again by itself, after ${first} at first, every ${longest} in the end`;
}

const TRIED_WHEN_ROLLED_OUT = 'it is tried again by itself when what failed has been rolled out';
const NO_PROBLEMS = { total: 0, first: [], lines: [] } as const;
const NOTHING_CHECKED = {
  problems: NO_PROBLEMS,
  stages: [],
  steps: [],
  deferred: 0,
  changes: 0,
  prunes: 0,
  unlisted: 0,
} as const;
const NOTHING_APPLIED = { created: 0, changed: 0, unchanged: 0, left: [], problems: NO_PROBLEMS } as const;

/**
 * An apiserver that is just starting refuses everybody everything until it has read the roles, whether it is ready included: this the
 * worker may always do, and a commit is not to be refused for it. @throws ApiError; as {@link untilGranted}
 */
async function requireRoles({ worker, signal }: CommitContext): Promise<void> {
  const system = { group: '', version: 'v1', resource: 'namespaces', name: 'kube-system' };
  await untilGranted(async () => await worker.get(system, { metadataOnly: true, ...withSignal(signal) }));
}
