/** Executes the actions of a plan against the apiserver: the only place that writes pods, claims and revisions. */

import {
  ApiError,
  isAlreadyExists,
  isConflict,
  isForbidden,
  isNotFound,
  isNoDryRun,
  isRefusal,
  serverText,
  toMessage,
} from '../kubernetes/api-error.ts';
import type { KubernetesClient, ResourcePath } from '../kubernetes/client.ts';
import { isQuotaRefusal } from '../kubernetes/quota-refusal.ts';
import { isUnresizable } from '../kubernetes/resize-refusal.ts';
import { TakenBackError, assertChanged } from '../kubernetes/taken-back-error.ts';
import { trusted } from '../kubernetes/values.ts';
import type { WatchCache } from '../kubernetes/watch-cache.ts';
import { workloadPath } from '../kubernetes/workload-api.ts';
import { LABEL } from '../planners/names.ts';
import type { JsonObject, KubernetesObject, OwnerReference, Pod } from '../planners/objects.ts';
import type { Action } from '../planners/plan.ts';
import { describeDeletion } from '../planners/pod-reasons.ts';
import { claimsOf } from '../planners/pod-volumes.ts';
import { isPullerOf } from '../planners/pre-pull.ts';
import { targetNodeOf } from '../planners/target-node.ts';
import type { Workload } from '../planners/workload.ts';
import { ACTION_EVENTS } from './action-events.ts';
import type { ActionEvents } from './action-events.ts';
import { pathOf, patchType, preconditions, withPreconditions } from './action-request.ts';
import type { EventRecorder } from './events.ts';
import type { TriedWay, WriteMemory } from './write-memory.ts';
import { MOST_AT_ONCE, SlowStart, widthAfter } from './slow-start.ts';

export interface ExecutorOptions {
  readonly cache: WatchCache;
  readonly events: EventRecorder;
  readonly reports: ActionEvents;
  readonly memory: WriteMemory;
  readonly now: () => number;
  readonly onAction?: (workload: Workload, action: Action, outcome: 'done' | 'refused' | 'stale') => void;
}

export interface ExecutionResult {
  readonly done: readonly Action[];
  /** Refused by the apiserver; each is remembered with its back-off. */
  readonly refused: readonly Action[];
  /** A precondition did not hold: the plan was older than the cluster. Plan again. */
  readonly stale: readonly Action[];
}

type Outcomes = { readonly [outcome in 'done' | 'refused' | 'stale']: Action[] };

/**
 * For so long, milliseconds, pods are taken out of service before the workload's other work has its turn: what was deleted is
 * made again meanwhile, also where the apiserver is slow.
 */
const TURN_MS = 1000;

/** The name of an object to be created is taken by somebody else's: trying again at once would not help. */
class NameTakenError extends Error {
  override name = 'NameTakenError';
  readonly taken: 'stays' | 'leaves';
  /** uid */
  readonly takenBy: string;

  constructor(what: string, found: KubernetesObject, owner: OwnerReference | undefined, { ref }: Workload) {
    const { deletionTimestamp, uid } = found.metadata;
    const isEarlier =
      owner?.kind === ref.kind &&
      owner.name === ref.name &&
      owner.apiVersion === `${ref.group}/${ref.version}`;
    const whose =
      owner === undefined
        ? 'has no owner'
        : `belongs to ${isEarlier ? 'an earlier ' : ''}${owner.kind} ${owner.name}`;
    const fate = deletionTimestamp === undefined ? '' : ` and ${describeDeletion(found)}`;
    super(`the ${what} of that name ${whose}${fate}`);
    this.taken = deletionTimestamp === undefined ? 'stays' : 'leaves';
    this.takenBy = uid;
  }
}

export class Executor {
  readonly #options: ExecutorOptions;
  readonly #widths: SlowStart;

  constructor(options: ExecutorOptions) {
    this.#options = options;
    this.#widths = new SlowStart(options.now);
  }

  /**
   * Executes the actions stage by stage: adoption, claims, then the others; within a stage in slow-start batches of
   * 1, 2, 4 … (C13), so that a quota or a broken webhook is met by one request, not by a thousand; what went well a moment ago
   * goes on at the width that was reached. Returns when the cache
   * is at least as new as every write. What takes pods out of service ends after a second, the rest of it is in no outcome: plan
   * again. Rejects only where nothing was decided: no leader, cancelled, apiserver away.
   */
  async execute(
    client: KubernetesClient,
    workload: Workload,
    actions: readonly Action[],
  ): Promise<ExecutionResult> {
    const result: Outcomes = { done: [], refused: [], stale: [] };
    try {
      for (const stage of stages(actions)) {
        if (stage.some((action) => action.purpose === 'Adopt') && !(await this.#mayAdopt(client, workload))) {
          result.stale.push(...stage);
          continue;
        }
        const claims = new Set(result.refused.filter(isClaim).map((action) => action.name));
        const runnable = stage.filter((action) => !claimNames(action).some((claim) => claims.has(claim)));
        const stageResult: Outcomes = { done: [], refused: [], stale: [] };
        try {
          await this.#slowStart(client, workload, runnable, stageResult);
        } finally {
          result.done.push(...stageResult.done);
          result.refused.push(...stageResult.refused);
          result.stale.push(...stageResult.stale);
        }
      }
    } finally {
      this.#options.reports.done(workload, result.done);
    }
    return result;
  }

  async #slowStart(
    client: KubernetesClient,
    workload: Workload,
    actions: readonly Action[],
    result: Outcomes,
  ): Promise<void> {
    const kind = kindOf(workload, actions);
    const isPaced = actions.some(takesOut);
    const turnEnds = isPaced ? performance.now() + TURN_MS : Infinity;
    const isOver = () => result.refused.length > 0 || performance.now() > turnEnds;
    let next = 0;
    let limit = this.#widths.first(kind);
    while (next < actions.length && !isOver()) {
      // At full width the rest goes through one window, so that no write waits for the slowest; what is paced is looked at often.
      const window = isPaced ? 2 * limit : limit < MOST_AT_ONCE ? limit : actions.length;
      const end = Math.min(next + window, actions.length);
      let slowest = 0;
      const take = async (): Promise<void> => {
        while (next < end && !isOver()) {
          const action = trusted<Action>(actions[next]);
          next += 1;
          const began = performance.now();
          result[await this.#write(client, workload, action)].push(action);
          slowest = Math.max(slowest, performance.now() - began);
        }
      };
      const settled = await Promise.allSettled(Array.from({ length: limit }, take));
      const failed = settled.find((outcome) => outcome.status === 'rejected');
      if (failed !== undefined) {
        this.#widths.failed(kind);
        throw failed.reason;
      }
      limit = widthAfter(limit, isPaced ? slowest : undefined);
      this.#widths.reached(kind, limit);
    }
    if (result.refused.length > 0) {
      this.#widths.failed(kind);
    }
  }

  async #write(
    client: KubernetesClient,
    workload: Workload,
    action: Action,
  ): Promise<'done' | 'refused' | 'stale'> {
    const { memory, now, onAction } = this.#options;
    let outcome: 'done' | 'refused' | 'stale';
    try {
      outcome = await this.#send(client, workload, action);
      memory.taken(workload.ref.uid, action, outcome, now());
    } catch (error) {
      const isRefused =
        isRefusal(error) ||
        isHeldByBudget(action, error) ||
        error instanceof NameTakenError ||
        error instanceof TakenBackError;
      if (!isRefused) throw error;
      outcome = 'refused';
      const message = describeRefusal(error);
      memory.refused(workload.ref.uid, action, message, now(), {
        unresizable: isUnresizable(error),
        ...(error instanceof NameTakenError && { taken: error.taken, takenBy: error.takenBy }),
      });
      const reason = ACTION_EVENTS[action.purpose].failed;
      if (!isNamespaceTerminating(error)) {
        this.#options.events.record(workload, 'Warning', reason, `${action.message} failed: ${message}`);
      }
    }
    onAction?.(workload, action, outcome);
    return outcome;
  }

  async #send(client: KubernetesClient, workload: Workload, action: Action): Promise<'done' | 'stale'> {
    const { cache } = this.#options;
    const path = pathOf(workload, action);
    try {
      switch (action.verb) {
        case 'create': {
          if (action.subresource !== undefined) {
            await client.create(path, action.body);
            // The answer tells nothing of the pod: without this look it would be evicted again until the watch has told.
            await this.#refresh(client, action, path);
            return 'done';
          }
          const { name: _, ...collection } = path;
          cache.observeWrite(action.resource, await client.create(collection, action.body));
          return 'done';
        }
        case 'patch':
          if (action.rehearsal !== undefined) await rehearse(client, path, action, action.rehearsal);
          if (action.trial !== undefined) await this.#try(client, workload, action, action.trial);
          await this.#patch(client, action, path);
          return 'done';
        case 'delete':
          if (action.successor !== undefined)
            await this.#trySuccessor(client, workload, action, action.successor);
          cache.observeDelete(action.resource, await client.delete(path, preconditions(action)), {
            namespace: path.namespace,
            name: action.name,
          });
          return 'done';
      }
    } catch (error) {
      if (action.verb === 'create' && isAlreadyExists(error)) {
        return await this.#isOurs(client, workload, action, path);
      }
      if ((action.verb !== 'create' || action.subresource !== undefined) && isNotFound(error)) {
        // Gone already: that is what a delete or an eviction wanted; a patch has nothing left to do.
        await cache.awaitGone(action.resource, {
          namespace: path.namespace,
          name: action.name,
          uid: action.uid,
        });
        return action.verb === 'patch' ? 'stale' : 'done';
      }
      if (isConflict(error)) {
        await this.#refresh(client, action, path);
        return 'stale';
      }
      throw error;
    }
  }

  /** @throws TakenBackError as well: the planner asks for no patch of an object that is as it wants it */
  async #patch(client: KubernetesClient, action: Action, path: ResourcePath): Promise<void> {
    const { cache } = this.#options;
    const before =
      action.resourceVersion ??
      cache.get(action.resource, path.namespace, action.name)?.metadata.resourceVersion;
    const patched = await client.patch(path, patchType(action), withPreconditions(action));
    cache.observeWrite(action.resource, patched);
    assertChanged(path, before, patched);
  }

  /** Tries the patch that is to follow an action, without effect, unless it was taken for another pod; rejects as that would. */
  async #try(client: KubernetesClient, workload: Workload, action: Action, trial: JsonObject): Promise<void> {
    const path = { ...pathOf(workload, action), subresource: undefined };
    const body = withPreconditions({ ...action, body: trial });
    await this.#once(workload, action, 'patch', async () => {
      await client.patch(path, patchType(action), body, { dryRun: true });
    });
  }

  /**
   * The same of the pod that is to come in the place of one that is deleted. That its name is taken still, that a quota counts the pod which
   * goes, and that the namespace ends says nothing of it.
   */
  async #trySuccessor(
    client: KubernetesClient,
    workload: Workload,
    action: Action,
    successor: JsonObject,
  ): Promise<void> {
    const { name: _, ...collection } = pathOf(workload, action);
    await this.#once(workload, action, 'create', async () => {
      try {
        await client.create(collection, successor, { dryRun: true });
      } catch (error) {
        const saysNothing = isAlreadyExists(error) || isNamespaceTerminating(error) || isQuotaRefusal(error);
        if (!saysNothing) throw beforehand(error);
      }
    });
  }

  /** For the first pod of a revision alone: none differs in what the apiserver judges, or in that nothing can be tried. */
  async #once(
    { ref: { uid } }: Workload,
    { revision }: Action,
    way: TriedWay,
    attempt: () => Promise<void>,
  ): Promise<void> {
    const { memory } = this.#options;
    if (memory.isTried(uid, revision, way)) return;
    await triedIfPossible(attempt);
    memory.tried(uid, revision, way);
  }

  /** The plan was older than the cluster: the next one must not be, even if the watch lags (C14). */
  async #refresh(client: KubernetesClient, action: Action, path: ResourcePath): Promise<void> {
    const { cache } = this.#options;
    try {
      cache.observeWrite(action.resource, await client.get({ ...path, subresource: undefined }));
    } catch (error) {
      if (!isNotFound(error)) throw error;
      const { namespace } = path;
      await cache.awaitGone(action.resource, { namespace, name: action.name, uid: action.uid });
    }
  }

  /** AlreadyExists counts as ours only for our uid as controller, that revision and node, not terminating (design "Once"). */
  async #isOurs(
    client: KubernetesClient,
    workload: Workload,
    action: Action,
    path: ResourcePath,
  ): Promise<'done' | 'stale'> {
    const found = await client.get(path);
    const wanted = trusted<KubernetesObject>(action.body);
    const controller = found.metadata.ownerReferences?.find((owner) => owner.controller === true);
    const claim = action.resource === 'persistentvolumeclaims';
    const sameRevision =
      found.metadata.labels?.[LABEL.revisionHash] === wanted.metadata.labels?.[LABEL.revisionHash];
    const samePlace = action.place === undefined || targetNodeOf(trusted<Pod>(found)) === action.place;
    const ours = claim || (controller?.uid === workload.ref.uid && sameRevision && samePlace);
    this.#options.cache.observeWrite(action.resource, found);
    if (controller !== undefined && controller.uid !== workload.ref.uid && !claim) {
      throw new NameTakenError(action.resource === 'pods' ? 'pod' : 'object', found, controller, workload);
    }
    // What pulls has no controller: a plan that is newer would not know of another's, either.
    if (action.purpose === 'PrePull' && !isPullerOf(workload, trusted<Pod>(found))) {
      throw new NameTakenError('pod', found, found.metadata.ownerReferences?.[0], workload);
    }
    return ours && found.metadata.deletionTimestamp === undefined ? 'done' : 'stale';
  }

  /** C4: before the first adoption one uncached GET of the owner; refused if gone, another uid, or being deleted. */
  async #mayAdopt(client: KubernetesClient, workload: Workload): Promise<boolean> {
    try {
      const owner = await client.get(workloadPath(workload.ref));
      return owner.metadata.uid === workload.ref.uid && owner.metadata.deletionTimestamp === undefined;
    } catch (error) {
      if (isNotFound(error)) {
        return false;
      }
      throw error;
    }
  }
}

function stages(actions: readonly Action[]): readonly Action[][] {
  const adoption: Action[] = [];
  const claims: Action[] = [];
  const creates: Action[] = [];
  const others: Action[] = [];
  for (const action of actions) {
    if (action.purpose === 'Adopt') {
      adoption.push(action);
    } else if (isClaim(action)) {
      claims.push(action);
    } else if (action.verb === 'create') {
      creates.push(action);
    } else {
      others.push(action);
    }
  }
  return [adoption, claims, creates, others].filter((stage) => stage.length > 0);
}

/** The rollout takes a pod out of service; everything else is what pods wait for, and is never held back. */
function takesOut({ purpose, charged }: Action): boolean {
  return purpose === 'Recreate' || charged === true;
}

/** Writes of a kind go through the same admission. */
function kindOf({ ref }: Workload, [first]: readonly Action[]): string {
  return first === undefined ? '' : `${ref.uid} ${first.verb} ${first.resource}/${first.subresource ?? ''}`;
}

function isClaim(action: Action): boolean {
  return action.resource === 'persistentvolumeclaims';
}

/** Claims that a pod to be created mounts. */
function claimNames(action: Action): readonly string[] {
  if (action.verb !== 'create' || action.resource !== 'pods' || action.subresource !== undefined) {
    return [];
  }
  return claimsOf(trusted<Pod>(action.body));
}

/** Tries the resize that is to follow an action, without effect; rejects as the action itself would. */
async function rehearse(
  client: KubernetesClient,
  path: ResourcePath,
  action: Action,
  rehearsal: JsonObject,
): Promise<void> {
  const body = withPreconditions({ ...action, body: rehearsal });
  await triedIfPossible(async () => {
    await client.patch({ ...path, subresource: 'resize' }, patchType(action), body, { dryRun: true });
  });
}

/** Where a webhook allows no dry run, the write itself has to tell. */
async function triedIfPossible(attempt: () => Promise<void>): Promise<void> {
  try {
    await attempt();
  } catch (error) {
    if (!isNoDryRun(error)) throw error;
  }
}

/** A refusal, told as one of a pod that is to come; anything else as it is. */
function beforehand(error: unknown): unknown {
  if (!(error instanceof ApiError) || !isRefusal(error)) return error;
  const { method, path, status, reason, details } = error;
  const text = `the pod that is to come in its place would be refused: ${serverText(error)}`;
  return new ApiError({ method, path, server: '' }, { status, reason, text, details });
}

/** 429 of an eviction is the answer of a PodDisruptionBudget, not of an apiserver that has too much to do. */
function isHeldByBudget({ subresource }: Action, error: unknown): error is ApiError {
  return (
    subresource === 'eviction' &&
    error instanceof ApiError &&
    error.status === 429 &&
    (error.details?.causes.some(({ reason }) => reason === 'DisruptionBudget') ?? false)
  );
}

/** With the causes that the message of a refused eviction leaves out: which PodDisruptionBudget, and how it stands. */
function describeRefusal(error: unknown): string {
  const causes = error instanceof ApiError && error.status === 429 ? (error.details?.causes ?? []) : [];
  return [toMessage(error), ...causes.flatMap(({ message }) => message ?? [])].join(' ');
}

function isNamespaceTerminating(error: unknown): boolean {
  return isForbidden(error) && toMessage(error).includes('being terminated');
}
