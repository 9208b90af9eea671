/** The whole commit is checked before its first write: nothing of a commit that cannot be applied reaches the cluster. */

import { isForbidden, isNotFound } from '../kubernetes/api-error.ts';
import { checkDeletes } from './check-deletes.ts';
import type { OnTried } from './check-object.ts';
import { ObjectCheck } from './check-object.ts';
import { listMetadata } from './listed-metadata.ts';
import type { CommitContent, CommitContext } from './commit.ts';
import { PARALLEL, byPlace, forEachLimited, prepareCommit } from './commit.ts';
import { checkNames } from './definition-names.ts';
import { chooseHeir } from './heirs.ts';
import { entryKey, groupOf, pruneCandidates } from './inventory-content.ts';
import type { InventoryEntry } from './inventory-content.ts';
import type { Inventory, InventoryStore } from './inventory.ts';
import { APPLYSET, foreignSource } from './inventory.ts';
import { checkVersions } from './lost-versions.ts';
import type { ApplyStep } from './order.ts';
import { STAGES, applySteps } from './order.ts';
import { CHECK_WAIT_MS } from './other-commits.ts';
import type { PreparedObject } from './prepare.ts';
import { inventoryEntry } from './prepare.ts';
import type { Problem } from './problems.ts';
import { ProblemError, problem } from './problems.ts';
import { findIfReached, withSignal } from './resources.ts';
import { withHolders } from './service-allocations.ts';
import { sourceIdentity } from './source-url.ts';

export interface CheckResult {
  readonly problems: readonly Problem[];
  /** Objects of each stage of {@link STAGES}. */
  readonly stages: readonly number[];
  /** What is applied together, in order. */
  readonly steps: readonly ApplyStep[];
  /** Objects whose kind or namespace comes with this commit, or what mends their refusal: they are checked again once that is there. */
  readonly deferred: number;
  /** Of those that would be refused until then, by label: the label of what mends that. */
  readonly mended: ReadonlyMap<string, string>;
  /** Objects that differ from what was applied last. */
  readonly changes: number;
  /** Objects of the inventory that are not in the commit any more. */
  readonly prunes: number;
  /** Objects of the commit that are not in the inventory yet. */
  readonly unlisted: number;
  /**
   * Of a run that puts objects back: keys of those that cannot be, which are not counted above. Absent: all can, or something is wrong
   * that is not about single objects.
   */
  readonly refused?: readonly string[];
  /** What is worth knowing of objects and no failure. Absent: nothing. */
  readonly notes?: readonly string[];
  /** What is to be known where the inventory seems to have been deleted. */
  readonly lost?: string;
}

/**
 * Parse errors, unknown kinds, duplicates, other owners, conflicts, permissions, and a strict dry run of every object that
 * would be written: all of it, in one report. `onlyDeferred` checks what an earlier check could not, after the first stage.
 * @throws NotYetError, ApiError when the apiserver cannot be asked (try again); ProblemError when the commit cannot be read
 */
export async function checkCommit(
  context: CommitContext,
  content: CommitContent,
  options: {
    readonly onlyDeferred?: boolean;
    /** Milliseconds since the epoch until which it is waited for what this commit has just written to be known. @default not at all */
    readonly patientUntilMs?: number;
    readonly onProgress?: (checked: number, total: number) => void;
    /** What is told of an object whose dry run found nothing wrong. */
    readonly onTried?: OnTried;
  } = {},
): Promise<CheckResult> {
  const problems: Problem[] = [...content.problems];
  if (content.manifests.length === 0 && problems.length === 0) {
    const where = context.repository.path === '' ? 'the repository' : context.repository.path;
    problems.push(problem('NoManifests', `${where} holds no manifests in this commit.`));
  }
  await requireReady(context);
  const prepared = await prepareCommit(context, content);
  problems.push(...prepared.problems);
  const duplicates = new Set(prepared.problems.map((item) => `${item.file}:${item.line}`));
  const own = ownNamespaces(prepared.objects);
  const todo = prepared.objects.filter(
    (object) => !duplicates.has(`${object.manifest.file}:${object.manifest.line}`),
  );
  const listed = await listMetadata(context, todo);
  const check = new ObjectCheck(context, content, own, listed, options.onTried);
  let checked = 0;
  await forEachLimited(
    todo,
    PARALLEL,
    async (object) => {
      await check.object(object, options.onlyDeferred === true);
      options.onProgress?.((checked += 1), todo.length);
    },
    context.signal,
  );
  await check.settle(prepared.objects, options.patientUntilMs ?? 0);
  problems.push(...check.problems);
  // What is a definition's own: names, and versions that objects need.
  problems.push(...(await checkNames(context, content, todo, check.changes)));
  problems.push(...(await checkVersions(context, content, todo, check.changes)));
  const entries = (await readInventory(context, problems))?.entries ?? new Map<string, InventoryEntry>();
  const wanted = prepared.objects.map(inventoryEntry);
  const prunes = context.repository.prune && context.heal === undefined;
  const left = pruneCandidates(entries, wanted);
  const candidates = prunes ? left : [];
  if (problems.length === 0)
    problems.push(...(await checkDeletes(context, await deleted(context, candidates))));
  const refused = context.heal === undefined ? [] : refusedAlone(prepared.objects, problems);
  const rest = prepared.objects.filter((object) => !refused.includes(object));
  const isLost = prunes && entries.size === 0 && !todo.every((object) => check.changes.has(object));
  return {
    problems: byPlace(await withHolders(context, problems, { objects: prepared.objects, left })),
    stages: STAGES.map((_, stage) => rest.filter((object) => object.stage === stage).length),
    steps: applySteps(rest, (object) => check.changes.has(object)),
    deferred: check.deferred,
    mended: new Map([...check.mended].map(([object, mender]) => [object.label, mender.label])),
    changes: rest.filter((object) => check.changes.has(object)).length,
    prunes: candidates.length,
    unlisted: wanted.filter((entry) => !entries.has(entryKey(entry))).length,
    ...(refused.length > 0 && { refused: refused.map((object) => entryKey(inventoryEntry(object))) }),
    ...(check.notes.length > 0 && { notes: check.notes.toSorted() }),
    ...(isLost && problems.length === 0 && { lost: describeLost(context.store) }),
  };
}

/** Of an inventory that lists nothing though objects are as the repository has applied them: it was deleted. */
function describeLost({ applySetId }: Pick<InventoryStore, 'applySetId'>): string {
  return `its inventory was deleted and is made anew: what left git before that is not known to it and stays, with the label ${APPLYSET.partOf}=${applySetId}`;
}

/** The objects that the problems are about; none where one is about something else. */
function refusedAlone(
  objects: readonly PreparedObject[],
  problems: readonly Problem[],
): readonly PreparedObject[] {
  const labels = new Set(problems.map(({ object }) => object));
  const found = objects.filter(({ label }) => labels.has(label));
  return new Set(found.map(({ label }) => label)).size === labels.size ? found : [];
}

/** Those that no other repository wants and may have: what is handed over need not be deleted. @throws ApiError */
async function deleted(
  context: CommitContext,
  candidates: readonly InventoryEntry[],
): Promise<readonly InventoryEntry[]> {
  const { others, discovery, signal } = context;
  if (others === undefined || candidates.length === 0) return candidates;
  const { by } = await others.wanted(CHECK_WAIT_MS);
  const handedOver = new Set<InventoryEntry>();
  await forEachLimited(
    candidates,
    PARALLEL,
    async (entry) => {
      const claims = by.get(entryKey(entry));
      if (claims === undefined) return;
      const { apiVersion, kind, namespace, name } = entry;
      const served = await findIfReached(discovery, apiVersion, kind, withSignal(signal));
      if (served === undefined) return;
      const object = { group: groupOf(apiVersion), resource: served.resource, namespace, name };
      if ((await chooseHeir(context, object, claims)).heir !== undefined) handedOver.add(entry);
    },
    signal,
  );
  return candidates.filter((entry) => !handedOver.has(entry));
}

/** The inventory; one that is not this repository's to use becomes a problem. @throws ApiError; Error when its content is damaged */
async function readInventory(context: CommitContext, problems: Problem[]): Promise<Inventory | undefined> {
  try {
    const inventory = await context.store.read(context.signal);
    const source = await sourceIdentity(context.repository.url);
    const foreign = foreignSource(inventory, source, context.store);
    if (foreign === undefined) return inventory;
    problems.push(foreign);
    return undefined;
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error;
    problems.push(error.problem);
    return undefined;
  }
}

/** An apiserver that is just starting denies kinds and permissions that it will know in a moment. @throws ApiError */
async function requireReady(context: CommitContext): Promise<void> {
  try {
    await context.client.request<unknown>({ method: 'GET', path: '/readyz', ...withSignal(context.signal) });
  } catch (error) {
    // Accounts that may not ask are the rule in some clusters, and no reason to stop.
    if (!isForbidden(error) && !isNotFound(error)) throw error;
  }
}

function ownNamespaces(objects: readonly PreparedObject[]): ReadonlySet<string> {
  return new Set(
    objects.flatMap(({ manifest }) =>
      manifest.kind === 'Namespace' && manifest.group === '' ? [manifest.name] : [],
    ),
  );
}
