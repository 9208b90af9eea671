/** The whole commit is checked before its first write: nothing of a commit that cannot be applied reaches the cluster. */

import { isAlreadyExists, isNotFound } from '../kubernetes/api-error.ts';
import type { JsonObject, KubernetesObject } from '../planners/objects.ts';
import { asRecord } from '../kubernetes/values.ts';
import { ANNOTATION } from '../planners/names.ts';
import type { CommitContent, CommitContext } from './commit.ts';
import { byPlace, forEachLimited, prepareCommit } from './commit.ts';
import { decide, isUndoConflict } from './decision.ts';
import { entryKey, groupOf, pruneCandidates } from './inventory-content.ts';
import type { InventoryEntry } from './inventory-content.ts';
import { STAGES, stageOf } from './order.ts';
import type { PreparedObject } from './prepare.ts';
import { applyBody, counterpartPath, inventoryEntry, problemOf } from './prepare.ts';
import type { Problem } from './problems.ts';
import { problem } from './problems.ts';
import { fieldConflicts, toProblem } from './refusals.ts';
import { withSignal } from './resources.ts';

/** Requests at a time. */
export const PARALLEL = 8;

export interface CheckResult {
  readonly problems: readonly Problem[];
  /** Objects of each stage of {@link STAGES}. */
  readonly stages: readonly number[];
  /** Objects whose kind or namespace comes with this commit: they are checked again once that is there. */
  readonly deferred: number;
  /** Objects that differ from what was applied last. */
  readonly changes: number;
  /** Objects of the inventory that are not in the commit any more. */
  readonly prunes: number;
  /** Objects of the commit that are not in the inventory yet. */
  readonly unlisted: number;
}

/**
 * Parse errors, unknown kinds, duplicates, other owners, conflicts, permissions, and a strict dry run of every object that
 * would be written: all of it, in one report. `onlyDeferred` checks what an earlier check could not, after the first stage.
 * @throws ApiError when the apiserver cannot be asked (try again); ProblemError when the commit cannot be read
 */
export async function checkCommit(
  context: CommitContext,
  content: CommitContent,
  options: {
    readonly onlyDeferred?: boolean;
    readonly onProgress?: (checked: number, total: number) => void;
  } = {},
): Promise<CheckResult> {
  const problems: Problem[] = [...content.problems];
  if (content.manifests.length === 0 && problems.length === 0) {
    const where = context.repository.path === '' ? 'the repository' : context.repository.path;
    problems.push(problem('NoManifests', `${where} holds no manifests in this commit.`));
  }
  const prepared = await prepareCommit(context, content);
  problems.push(...prepared.problems);
  const duplicates = new Set(prepared.problems.map((item) => `${item.file}:${item.line}`));
  const own = ownNamespaces(prepared.objects);
  const check = new ObjectCheck(context, content, own);
  let checked = 0;
  const todo = prepared.objects.filter(
    (object) => !duplicates.has(`${object.manifest.file}:${object.manifest.line}`),
  );
  await forEachLimited(
    todo,
    PARALLEL,
    async (object) => {
      await check.object(object, options.onlyDeferred === true);
      options.onProgress?.((checked += 1), todo.length);
    },
    context.signal,
  );
  problems.push(...check.problems);
  const entries = (await context.store.read(context.signal))?.entries ?? new Map<string, InventoryEntry>();
  const wanted = prepared.objects.map(inventoryEntry);
  const candidates = context.repository.prune ? pruneCandidates(entries, wanted) : [];
  if (problems.length === 0) problems.push(...(await checkDeletes(context, candidates)));
  const stages = STAGES.map((_, stage) => prepared.objects.filter((object) => object.stage === stage).length);
  return {
    problems: byPlace(problems),
    stages,
    deferred: check.deferred,
    changes: check.changes,
    prunes: candidates.length,
    unlisted: wanted.filter((entry) => !entries.has(entryKey(entry))).length,
  };
}

class ObjectCheck {
  readonly problems: Problem[] = [];
  deferred = 0;
  changes = 0;
  readonly #context: CommitContext;
  readonly #content: CommitContent;
  readonly #ownNamespaces: ReadonlySet<string>;

  constructor(context: CommitContext, content: CommitContent, created: ReadonlySet<string>) {
    this.#context = context;
    this.#content = content;
    this.#ownNamespaces = created;
  }

  async object(object: PreparedObject, onlyDeferred: boolean): Promise<void> {
    if (object.deferred) {
      this.deferred += 1;
      this.changes += 1;
      return;
    }
    if (onlyDeferred && stageOf(object.manifest) === 0) return;
    await this.#attempt(object, async () => await this.#live(object));
  }

  async #live(object: PreparedObject): Promise<void> {
    const { client, repository, store, signal } = this.#context;
    const options = withSignal(signal);
    const live = await client.get(object.path, options).catch((error: unknown) => {
      if (isNotFound(error)) return undefined;
      throw error;
    });
    const { manifest } = object;
    const decision = decide({ manifest, live, repository: repository.name, applySetId: store.applySetId });
    switch (decision.do) {
      case 'refuse':
        this.problems.push(problemOf(object, decision.code, decision.message));
        return;
      case 'nothing':
      case 'leave':
        return;
      case 'unpin':
      case 'wait':
        this.changes += 1;
        return;
      case 'apply':
        this.changes += 1;
        if (decision.create) await this.#counterpart(object);
        await this.#dryRun(object, decision.force);
    }
  }

  async #dryRun(object: PreparedObject, force: boolean): Promise<void> {
    const { client, repository, sha, store, signal } = this.#context;
    const body = applyBody(object, { repository: repository.name, sha, applySetId: store.applySetId });
    try {
      await client.patch(object.path, 'apply', body, {
        dryRun: true,
        force,
        fieldValidation: 'Strict',
        ...withSignal(signal),
      });
    } catch (error) {
      const conflicts = fieldConflicts(error);
      if (conflicts !== undefined && isUndoConflict(conflicts)) return;
      if (isNotFound(error) && object.namespace !== undefined && this.#ownNamespaces.has(object.namespace)) {
        this.deferred += 1;
        await this.#probe(object, body);
        return;
      }
      throw error;
    }
  }

  /**
   * The namespace comes with this commit, so the object cannot be tried where it belongs. A dry-run create in `default` still
   * finds what is wrong with the object itself; what depends on the namespace is checked after the first stage.
   */
  async #probe(object: PreparedObject, body: JsonObject): Promise<void> {
    const { client, signal } = this.#context;
    const metadata = { ...asRecord(body['metadata']), namespace: 'default' };
    try {
      await client.create(
        { ...object.path, namespace: 'default', name: undefined },
        { ...body, metadata },
        {
          dryRun: true,
          fieldValidation: 'Strict',
          ...withSignal(signal),
        },
      );
    } catch (error) {
      if (isAlreadyExists(error)) return;
      const found = toProblem(error, object, this.#text(object));
      if (found !== undefined && ['Invalid', 'UnknownField', 'ObjectTooLarge'].includes(found.code))
        this.problems.push(found);
    }
  }

  /** The same workload under the other API is taken over only from this repository: its deletion must be somebody's wish. */
  async #counterpart(object: PreparedObject): Promise<void> {
    const path = counterpartPath(object);
    if (path === undefined) return;
    const { client, repository, signal } = this.#context;
    const live = await client.get(path, withSignal(signal)).catch((error: unknown) => {
      if (isNotFound(error)) return undefined;
      throw error;
    });
    if (live === undefined) return;
    const owner = live.metadata.annotations?.[ANNOTATION.repository];
    if (owner === repository.name) return;
    const resource = `${path.resource}.${path.version}.${path.group}`;
    const who = owner === undefined ? 'is not from this repository' : `is from repository ${owner}`;
    this.problems.push(
      problem(
        'OwnedByOther',
        `the same workload exists as ${path.resource}.${path.group} and ${who}; both would fight for the same pods.`,
        {
          file: object.manifest.file,
          line: object.manifest.line,
          object: object.label,
          next: `To let this repository take it over without restarting a pod: kubectl annotate ${resource} ${object.manifest.name} -n ${object.namespace} --overwrite ${ANNOTATION.repository}=${repository.name}`,
        },
      ),
    );
  }

  async #attempt(object: PreparedObject, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      const found = toProblem(error, object, this.#text(object));
      if (found === undefined) throw error;
      this.problems.push(found);
    }
  }

  #text(object: PreparedObject): string | undefined {
    return this.#content.texts.get(object.manifest.file);
  }
}

/** Asks whether what left the commit may be deleted: better known before the first write than after the last. */
async function checkDeletes(
  context: CommitContext,
  candidates: readonly InventoryEntry[],
): Promise<Problem[]> {
  const problems: Problem[] = [];
  const asked = new Map<string, InventoryEntry>();
  for (const entry of candidates)
    asked.set(`${entry.apiVersion} ${entry.kind} ${entry.namespace ?? ''}`, entry);
  await forEachLimited([...asked.values()], PARALLEL, async (entry) => {
    const group = groupOf(entry.apiVersion);
    const served = await context.discovery.find(entry.apiVersion, entry.kind, withSignal(context.signal));
    if (served === undefined) return;
    const review = await context.client.create<
      { status?: { allowed?: boolean; reason?: string } } & KubernetesObject
    >(
      { group: 'authorization.k8s.io', version: 'v1', resource: 'selfsubjectaccessreviews' },
      {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SelfSubjectAccessReview',
        spec: {
          resourceAttributes: {
            group,
            resource: served.resource,
            verb: 'delete',
            ...(entry.namespace === undefined ? {} : { namespace: entry.namespace }),
          },
        },
      },
      withSignal(context.signal),
    );
    if (review.status?.allowed === true) return;
    const example = `${entry.namespace === undefined ? '' : `${entry.namespace}/`}${entry.name}`;
    problems.push(
      problem(
        'Forbidden',
        `the commit no longer holds ${example}, but ${context.repository.impersonate ?? 'the worker'} may not delete ${served.resource}.`,
        {
          object: `${entry.kind} ${example}`,
          next: 'Grant the permission to delete, or set `prune: false` for the repository.',
        },
      ),
    );
  });
  return problems;
}

function ownNamespaces(objects: readonly PreparedObject[]): ReadonlySet<string> {
  return new Set(
    objects.flatMap(({ manifest }) =>
      manifest.kind === 'Namespace' && manifest.group === '' ? [manifest.name] : [],
    ),
  );
}
