/**
 * Drift of one repository: its objects are watched, each that may have been changed is compared with the commit that was applied
 * last, what differs is reported, and put back where the repository asks for that. Level-triggered: all of it follows from what the
 * cluster holds; only how often something was put back is remembered.
 */

import type { CommitContent, CommitContext } from '../git/commit.ts';
import { PARALLEL, forEachLimited, isHidden, prepareCommit } from '../git/commit.ts';
import type { Drift } from '../git/drift.ts';
import { describeDrift, lookAtDrift } from '../git/drift.ts';
import type { Due } from '../git/drift-plan.ts';
import { planDrift } from '../git/drift-plan.ts';
import { driftEvents, driftStatus, recordDrift, writeDrift } from '../git/drift-report.ts';
import type { Healings } from '../git/heal-pace.ts';
import { areOver, healedAll } from '../git/heal-pace.ts';
import { entryKey } from '../git/inventory-content.ts';
import type { Problem } from '../git/problems.ts';
import { shortSha } from '../git/problems.ts';
import type { Inventory } from '../git/inventory.ts';
import { InventoryStore, nobodyWroteSince } from '../git/inventory.ts';
import type { DriftedObject } from '../git/inventory-status.ts';
import type { PreparedObject } from '../git/prepare.ts';
import { applyBody, inventoryEntry, namedFields } from '../git/prepare.ts';
import type { TriedFor } from '../git/refused-retry.ts';
import { triedFor } from '../git/refused-retry.ts';
import type { Repository } from '../git/repositories.ts';
import { settingsOf } from '../git/repositories.ts';
import { ApiError, isUnreached } from '../kubernetes/api-error.ts';
import { backoffMs, pause } from '../kubernetes/backoff.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { Discovery } from '../kubernetes/discovery.ts';
import { ownsAll } from '../kubernetes/managed-fields.ts';
import { readSuspended } from '../kubernetes/wish-annotations.ts';
import type { WorkloadApi } from '../kubernetes/workload-api.ts';
import type { DriftFound } from '../workflows/sync-messages.ts';
import { MOST_HEALED } from '../workflows/sync-messages.ts';
import { DriftCollections } from './drift-collections.ts';
import type { MendedRolloutsOptions } from './mended-rollouts.ts';
import { MendedRollouts } from './mended-rollouts.ts';

export interface DriftWatchOptions extends MendedRolloutsOptions {
  /** Guarded by the Lease. */
  readonly client: KubernetesClient;
  readonly workloadApi: WorkloadApi;
  readonly inventoryNamespace: string;
  /** FAIRLEAD_CLUSTER */
  readonly cluster: string;
  /** The manifests of a commit that was applied. */
  readonly read: (repository: Repository, sha: string, signal: AbortSignal) => Promise<CommitContent>;
  /** Has objects put back; rejects when nobody could be told. */
  readonly driftFound: (repository: string, found: DriftFound) => Promise<void>;
  /** Has the newest commit tried again; rejects when nobody could be told. */
  readonly tryAgain: (repository: string, reason: string) => Promise<void>;
  /** Objects that differ, after each look. */
  readonly onDrift: (repository: string, count: number) => void;
  /** Objects that were asked to be put back. */
  readonly onHealed: (repository: string, count: number, reason: string) => void;
  /** A look went all the way. */
  readonly onLooked: (repository: string) => void;
  /** A look failed; it is tried again. */
  readonly onError: (repository: string, error: unknown) => void;
}

/** Changes of so many milliseconds are looked at together. */
const COALESCE_MS = 300;
/** While a commit is being applied. */
const UNDER_WAY_MS = 2_000;
/** What differs is looked at anew: what holds it may have gone without a trace on the object. */
const RECHECK_MS = 60_000;
/** What is not among the watched, or under way, is looked at anew the first time: it may have been made again, without our label. */
const FIRST_RECHECK_MS = 1_000;
/** For so long it is waited for a try of a commit that was asked for. */
const TRY_MS = 30_000;
const FIRST_BACKOFF_MS = 1_000;
const LAST_BACKOFF_MS = 60_000;

interface Judged {
  /** What it was judged by. */
  readonly digest: string;
  readonly drift: Drift | undefined;
  readonly at: number;
  /** Since when the digest is that. */
  readonly since: number;
  /** Nothing of it is watched, or it is not to be judged yet and will not tell when it is. */
  readonly isUntold: boolean;
  /** Why it could not be looked at, though it is watched: others go on. */
  readonly trouble?: string;
}

export class DriftWatch {
  readonly #repository: Repository;
  readonly #options: DriftWatchOptions;
  readonly #store: InventoryStore;
  readonly #collections: DriftCollections;
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>;
  /** Of the commit {@link #expectedOf}, by key of the inventory. */
  #expected: ReadonlyMap<string, PreparedObject> = new Map();
  #expectedOf: string | undefined;
  /** Not all of them, or some where they were: so long (milliseconds since the epoch) nobody looks where they are now. */
  #placedUntil: number | undefined;
  readonly #judged = new Map<string, Judged>();
  /** What was reported, by object; undefined: this leader has not looked yet. */
  #known: ReadonlyMap<string, DriftedObject> | undefined;
  readonly #healing = new Map<string, Healings>();
  /** For what a refused commit was tried again, by key. */
  readonly #triedFor = new Map<string, TriedFor>();
  /** The attempt that was refused before the one that was asked for last, and until when (milliseconds since the epoch) that is waited for. */
  #askedAfter: { readonly runId: string; readonly until: number } | undefined;
  readonly #mended: MendedRollouts;
  /** Keys to be judged; `undefined`: all. */
  #dirty: Set<string> | undefined;
  #wake = new AbortController();

  /** Looks until {@link stop}. */
  constructor(repository: Repository, options: DriftWatchOptions) {
    this.#repository = repository;
    this.#options = options;
    this.#mended = new MendedRollouts(options);
    const { client, inventoryNamespace, cluster } = options;
    this.#store = new InventoryStore(client, inventoryNamespace, repository.name, cluster);
    this.#collections = new DriftCollections({
      client: this.#client(),
      applySetId: this.#store.applySetId,
      onChange: (group, kind, { metadata: { namespace, name } }) =>
        this.#changed(entryKey({ apiVersion: `${group}/`, kind, namespace, name })),
      onProgress: () => this.lookAtAll(),
      onGone: () => (this.#placedUntil ??= this.#options.now()),
    });
    this.#running = this.#run();
  }

  /** A commit has ended, or a collection has been listed. */
  lookAtAll(): void {
    this.#dirty = undefined;
    this.#wake.abort();
  }

  /** What somebody else insists on is put back at the next look, however often it was: a person has asked for that. */
  healNow(): void {
    this.#healing.clear();
    this.lookAtAll();
  }

  /** Resolves when the last write is over. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#collections.stop();
    await this.#running;
  }

  #changed(key: string): void {
    const object = this.#expected.get(key);
    if (object === undefined) return;
    const isSame = this.#judged.get(key)?.digest === this.#digestOf(object);
    if (!isSame) this.#dirty?.add(key);
    if (!isSame || this.#mended.isAwaited(object)) this.#wake.abort();
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    let failures = 0;
    while (!signal.aborted) {
      this.#wake = new AbortController();
      let nextMs: number;
      try {
        nextMs = await this.#look();
        failures = 0;
        this.#options.onLooked(this.#repository.name);
      } catch (error) {
        if (signal.aborted) return;
        failures += 1;
        this.#dirty = undefined;
        this.#options.onError(this.#repository.name, error);
        nextMs = backoffMs(failures, FIRST_BACKOFF_MS, LAST_BACKOFF_MS);
      }
      const least = Math.min(nextMs, COALESCE_MS);
      await pause(failures > 0 ? nextMs : least, signal);
      if (failures === 0) await pause(nextMs - least, signal, this.#wake.signal);
    }
  }

  /** Milliseconds after which it is to be looked at again, if nothing changes before. */
  async #look(): Promise<number> {
    const { signal } = this.#stopping;
    const inventory = await this.#store.read(signal);
    const commit = inventory?.status.commit;
    if (inventory === undefined || commit === undefined) return RECHECK_MS;
    // Its objects are theirs, whatever a commit of ours would want of them.
    if (this.#store.ownerElsewhere(inventory) !== undefined) return RECHECK_MS;
    if (commit.outcome === 'Progressing') {
      this.#dirty = undefined;
      return UNDER_WAY_MS;
    }
    const succeeded = inventory.status.lastSucceeded?.sha;
    // Whatever became of putting something back later.
    const sha = succeeded === commit.sha ? commit.sha : inventory.run?.sha;
    if (sha === undefined) return RECHECK_MS;
    // One that was refused before its first write has left all as the one before it wanted it.
    const isWhole = nobodyWroteSince(inventory);
    const isApplied = isWhole || (succeeded === sha && (commit.sha === sha || commit.outcome === 'Refused'));
    const context = this.#contextOf(sha, signal);
    await this.#expect(context, inventory);
    const dirty = this.#dirty;
    this.#dirty = new Set();
    const keys = [...this.#expected.keys()].filter((key) => this.#mustJudge(key, dirty));
    await forEachLimited(
      keys,
      PARALLEL,
      async (key) => await this.#judge(key, context, inventory, isApplied),
      signal,
    );
    const nextMs = await this.#report(inventory, sha, { isApplied, isWhole });
    return Math.min(nextMs, await this.#mended.look(context, inventory, this.#expected.values()));
  }

  #mustJudge(key: string, dirty: ReadonlySet<string> | undefined): boolean {
    if (dirty === undefined || dirty.has(key)) return true;
    const judged = this.#judged.get(key);
    return judged !== undefined && this.#options.now() >= recheckAt(judged);
  }

  /** Reads what the commit wants, when it is another one, and watches that. */
  async #expect(context: CommitContext, { entries }: Inventory): Promise<void> {
    const { read } = this.#options;
    const mayHaveMoved = this.#placedUntil !== undefined && this.#options.now() >= this.#placedUntil;
    const isAnother = this.#expectedOf !== context.sha;
    if (isAnother || mayHaveMoved) {
      const content = await read(this.#repository, context.sha, this.#stopping.signal);
      const { objects, problems } = await prepareCommit(context, content);
      const served = objects.filter(({ deferred }) => !deferred);
      // What is served nowhere now stays where it was: it is missing there.
      this.#expected = new Map([
        ...(isAnother ? [] : this.#expected),
        ...served.map((object) => [entryKey(inventoryEntry(object)), object] as const),
      ]);
      this.#expectedOf = context.sha;
      // What belongs to an API that is away, or to a definition that is, is found when that is back.
      const isWhole = served.length === objects.length && !problems.some(isUnserved);
      this.#placedUntil = isWhole ? undefined : this.#options.now() + RECHECK_MS;
      this.#dirty = undefined;
    }
    if (this.#dirty !== undefined) return;
    for (const key of this.#judged.keys()) if (!this.#expected.has(key)) this.#judged.delete(key);
    this.#collections.follow(
      [...this.#expected].flatMap(([key, object]) => (entries.has(key) ? [object] : [])),
    );
  }

  async #judge(
    key: string,
    context: CommitContext,
    { entries }: Inventory,
    isApplied: boolean,
  ): Promise<void> {
    const object = this.#expected.get(key);
    const found = object && this.#collections.find(object);
    // What never had a uid was never applied.
    const isMissing = found === 'absent' && entries.get(key)?.uid === undefined;
    if (object === undefined || found === undefined || isMissing || !entries.has(key)) {
      this.#judged.delete(key);
      return;
    }
    const digest = this.#digestOf(object) ?? '';
    const { now } = this.#options;
    const before = this.#judged.get(key);
    const known = before?.digest === digest ? before : undefined;
    if (known !== undefined && now() < recheckAt(known)) return;
    const isOurs =
      found !== 'absent' &&
      found.metadata.deletionTimestamp === undefined &&
      this.#ownsAll(context, object, found.owned);
    const seen = isOurs ? undefined : await lookOrTrouble(context, object, isApplied);
    const trouble = seen instanceof ApiError ? `${object.label}: ${seen.message}` : undefined;
    const isUnderWay = seen === 'under way';
    const at = now();
    this.#judged.set(key, {
      digest,
      // Until it is over, or can be looked at, what was known before is no better known.
      drift: isUnderWay || seen instanceof ApiError ? before?.drift : seen,
      at,
      since: known?.since ?? at,
      isUntold: isUnderWay || trouble !== undefined || found === 'absent',
      ...(trouble !== undefined && { trouble }),
    });
  }

  #ownsAll(context: CommitContext, object: PreparedObject, owned: string | undefined): boolean {
    if (owned === undefined) return false;
    const { repository, sha } = context;
    const body = applyBody(object, { repository: repository.name, sha, applySetId: this.#store.applySetId });
    return ownsAll(namedFields(body), JSON.parse(owned));
  }

  #digestOf(object: PreparedObject): string | undefined {
    const found = this.#collections.find(object);
    return found && `${object.manifest.hash} ${found === 'absent' ? found : found.digest}`;
  }

  /** Tells what is new, and has put back what may be. */
  async #report(
    inventory: Inventory,
    sha: string,
    { isApplied, isWhole }: { readonly isApplied: boolean; readonly isWhole: boolean },
  ): Promise<number> {
    const { client, now, onDrift } = this.#options;
    const at = now();
    const before = this.#known ?? knownOf(inventory);
    const heals = this.#repository.heal === true;
    const heldAll = heals ? whyHeld(inventory, isApplied) : undefined;
    const { drifted, due, fights, nextMs } = planDrift({
      drifts: this.#differing(at),
      known: before,
      healing: this.#healing,
      triedFor: this.#triedFor,
      commit: inventory.status.commit,
      mayHeal: heals && heldAll === undefined,
      now: at,
    });
    const drifts = new Map(drifted);
    for (const [key, object] of this.#expected) {
      const known = before.get(object.label);
      // What cannot be looked at (yet) is as it was.
      const isUnseen = !this.#judged.has(key) && this.#collections.find(object) === undefined;
      if (known !== undefined && isUnseen) drifts.set(object.label, known);
    }
    const troubles = [...this.#judged.values()].flatMap(({ trouble }) => trouble ?? []);
    const status = driftStatus(drifts, [...this.#collections.unwatched, ...troubles], heldAll);
    if (!(await writeDrift(this.#store, inventory, status))) {
      this.#dirty = undefined;
      return UNDER_WAY_MS;
    }
    onDrift(this.#repository.name, drifts.size);
    const events = [...driftEvents(before, drifts, new Date(at).toISOString()), ...fights];
    await recordDrift(client, this.#store, inventory, events, at);
    this.#known = drifts;
    if (!(await this.#tryRefused(inventory, due))) await this.#heal(sha, due, isWhole);
    if (due.length > 0) return UNDER_WAY_MS;
    let next = Math.min(RECHECK_MS, nextMs);
    for (const judged of this.#judged.values()) next = Math.min(next, Math.max(0, recheckAt(judged) - at));
    return next;
  }

  /** What differs, by key. What does not any more has nothing left to be remembered. */
  #differing(now: number): ReadonlyMap<string, Drift> {
    const drifts = new Map<string, Drift>();
    for (const [key, { drift }] of this.#judged) {
      if (drift !== undefined) {
        drifts.set(key, drift);
        continue;
      }
      const past = this.#healing.get(key);
      if (past !== undefined && areOver(past, now)) this.#healing.delete(key);
      this.#triedFor.delete(key);
    }
    return drifts;
  }

  /**
   * What a newer commit was refused for may have been deleted so that it can be made anew: the commit is tried once more, before anything
   * is put back as it was. Whether that is so, or is still awaited: no object is waited for twice.
   */
  async #tryRefused({ status: { commit } }: Inventory, due: readonly Due[]): Promise<boolean> {
    if (commit?.outcome !== 'Refused') return false;
    const { now, tryAgain } = this.#options;
    // The sync is busy with it, and puts nothing back meanwhile.
    if (this.#askedAfter?.runId === commit.runId && now() < this.#askedAfter.until) return true;
    const gone = due.filter(
      ({ key, drift, since }) => drift.change === 'deleted' && this.#triedFor.get(key)?.since !== since,
    );
    const [first] = gone;
    if (first === undefined) return false;
    await tryAgain(this.#repository.name, reasonOf(gone, first.drift));
    this.#askedAfter = { runId: commit.runId, until: now() + TRY_MS };
    for (const { key, since, drift } of gone) this.#triedFor.set(key, triedFor(commit, drift, since));
    this.#dirty = undefined;
    return true;
  }

  async #heal(sha: string, due: readonly Due[], isWhole: boolean): Promise<void> {
    const { driftFound, now, onHealed } = this.#options;
    const part = due.slice(0, MOST_HEALED);
    const [first] = part;
    if (first === undefined) return;
    const reason = reasonOf(part, first.drift);
    const { name } = this.#repository;
    const wholeWith = isWhole ? { wholeWith: settingsOf(this.#repository) } : {};
    await driftFound(name, { sha, objects: part.map(({ key }) => key), reason, ...wholeWith });
    for (const { key, drift } of part)
      this.#healing.set(key, healedAll(this.#healing.get(key), drift.by, now()));
    onHealed(name, part.length, reason);
    // Until it has been put back, and seen.
    this.#dirty = undefined;
  }

  #client(): KubernetesClient {
    const { impersonate } = this.#repository;
    const { client } = this.#options;
    return impersonate === undefined ? client : client.impersonating(impersonate);
  }

  #contextOf(sha: string, signal: AbortSignal): CommitContext {
    const { client, workloadApi } = this.#options;
    return {
      repository: this.#repository,
      sha,
      client: this.#client(),
      worker: client,
      discovery: new Discovery(client),
      store: this.#store,
      workloadApi,
      isFollowed: () => true,
      startRollingUpdate: async () => await Promise.reject(new Error('a look at drift starts nothing')),
      inTurn: async (_object, section) => await section(),
      signal,
    };
  }
}

/**
 * When it is looked at anew, in milliseconds since the epoch: what tells nobody of its changes soon, then ever less often. Never what
 * does not differ and is watched.
 */
function recheckAt({ drift, at, since, isUntold }: Judged): number {
  if (isUntold) return at + Math.min(Math.max(at - since, FIRST_RECHECK_MS), RECHECK_MS);
  return drift === undefined ? Number.POSITIVE_INFINITY : at + RECHECK_MS;
}

/** Whether the kind of an object that was applied once is served nowhere now. */
function isUnserved(problem: Problem): boolean {
  return isHidden(problem) || problem.code === 'UnknownKind';
}

/** As {@link lookAtDrift}; of an object that alone cannot be looked at, why. @throws ApiError when the apiserver cannot be asked */
async function lookOrTrouble(
  ...look: Parameters<typeof lookAtDrift>
): Promise<Awaited<ReturnType<typeof lookAtDrift>> | ApiError> {
  try {
    return await lookAtDrift(...look);
  } catch (error) {
    if (isUnreached(error)) return error;
    throw error;
  }
}

/** Whom it is done for, in one line. */
function reasonOf(due: readonly Due[], first: Drift): string {
  return `${describeDrift(first)}${due.length > 1 ? `, and ${due.length - 1} more` : ''}`;
}

/** Why nothing of the repository is put back now, although it heals. */
function whyHeld({ annotations, status }: Inventory, isApplied: boolean): string | undefined {
  if (readSuspended(annotations) !== undefined) return 'the repository is suspended';
  if (isApplied) return undefined;
  const { sha = '', outcome = '' } = status.commit ?? {};
  return `commit ${shortSha(sha)} is ${outcome}, and may have been applied in part`;
}

/** What an earlier leader has reported. */
function knownOf({ status }: Inventory): ReadonlyMap<string, DriftedObject> {
  return new Map((status.drift?.objects ?? []).map((drift) => [drift.object, drift]));
}
