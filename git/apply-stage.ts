/** Applies the objects of one stage, a bounded time at once. */

import { ApiError, toMessage } from '../kubernetes/api-error.ts';
import type { KubernetesObject } from '../planners/objects.ts';
import { applyObject } from './apply.ts';
import type { CommitContext } from './commit.ts';
import { PARALLEL } from './commit.ts';
import type { EarlierAttempt } from './earlier-attempt.ts';
import { entryKey } from './inventory-content.ts';
import { isApplied } from './listed-metadata.ts';
import { findMenders, notMendedYet } from './menders.ts';
import type { PreparedObject } from './prepare.ts';
import { inventoryEntry, problemOf } from './prepare.ts';
import type { Problem } from './problems.ts';
import { TRIED_BY_ITSELF } from './problems.ts';
import { BeingDeletedError, NotYetError, retryable, toProblems } from './refusals.ts';
import { getOrUndefined } from '../kubernetes/get-or-undefined.ts';
import type { SourceText } from './source-text.ts';

export interface AppliedSlice {
  /** Objects dealt with, from the front. */
  readonly count: number;
  readonly created: number;
  readonly changed: number;
  readonly unchanged: number;
  /** `label: why`. */
  readonly left: readonly string[];
  /** What was changed in the cluster, and stood in the way: `label: what was taken back from whom`. */
  readonly takenBack: readonly string[];
  readonly problems: readonly Problem[];
  /** By inventory key. */
  readonly uids: ReadonlyMap<string, string>;
}

/**
 * Applies objects in order until all are done or the time is up, one at least. An object that is refused becomes a problem and the others
 * go on; when the apiserver is away, or an old object is not gone yet, the whole slice is to be tried again.
 * @throws ApiError, NotYetError of the first such object, after the others of the slice were tried
 */
export async function applyStage(
  context: CommitContext,
  objects: readonly PreparedObject[],
  options: {
    readonly texts: ReadonlyMap<string, SourceText>;
    /** Milliseconds since the epoch after which no further object is begun. */
    readonly untilMs: number;
    readonly onProgress?: (applied: number) => void;
    /** What an earlier attempt of the same run did with an object that needs no change. @default nothing */
    readonly before?: EarlierAttempt | undefined;
    /**
     * Milliseconds since the epoch after which an object that is still on its way out is a problem of the commit, and nothing waits for
     * it any more. @default never
     */
    readonly patientUntilMs?: number;
    /** What may mend a refusal, in the order in which it is applied, and until when (milliseconds since the epoch) that is waited for. @default nothing */
    readonly menders?: { readonly objects: readonly PreparedObject[]; readonly untilMs: number };
    /** Metadata of those that are there, as {@link listMetadata} reads it: what is applied already is not read again. @default none */
    readonly listed?: ReadonlyMap<PreparedObject, KubernetesObject>;
  },
): Promise<AppliedSlice> {
  const counts = { created: 0, changed: 0, unchanged: 0 };
  const left: string[] = [];
  const takenBack: string[] = [];
  const problems: Problem[] = [];
  const uids = new Map<string, string>();
  const delays: unknown[] = [];
  /** Those that are under way. */
  const writing = new Map<PreparedObject, Promise<void>>();
  let next = 0;

  async function one(object: PreparedObject): Promise<void> {
    const key = entryKey(inventoryEntry(object));
    const known = options.listed?.get(object);
    if (known !== undefined && isApplied(context, object, known)) {
      counts.unchanged += 1;
      uids.set(key, known.metadata.uid);
      return;
    }
    try {
      const applied = await applyObject(context, object);
      if (applied.outcome === 'refused') {
        const { code, message, next: remedy } = applied;
        problems.push({
          ...problemOf(object, code, message),
          ...(remedy !== undefined && { next: remedy }),
        });
        return;
      }
      if (applied.outcome === 'left') left.push(`${object.label}: ${applied.why}`);
      else if (applied.outcome === 'unchanged') counts[options.before?.(key, applied) ?? 'unchanged'] += 1;
      else {
        counts[applied.outcome] += 1;
        if (applied.takenBack !== undefined) takenBack.push(applied.takenBack);
      }
      if (applied.uid !== '') uids.set(key, applied.uid);
    } catch (error) {
      const source = options.texts.get(object.manifest.file);
      const delay = await aboutToBeMended(error, object);
      if (delay !== undefined) {
        delays.push(delay);
        return;
      }
      const live = toProblems(error, object) === undefined ? undefined : await readAgain(object);
      const found = toProblems(error, object, { source, heals: context.repository.heal, live });
      if (found !== undefined) problems.push(...found);
      else if (error instanceof BeingDeletedError && Date.now() >= (options.patientUntilMs ?? Infinity))
        problems.push(stillThere(object, error));
      else if (error instanceof ApiError || error instanceof NotYetError)
        delays.push(retryable(error, object));
      else throw error;
    }
  }

  /** For the advice alone, which does without where it cannot be read. */
  async function readAgain({ path }: PreparedObject): Promise<KubernetesObject | undefined> {
    return await getOrUndefined(context.client, path, context.signal).catch(() => undefined);
  }

  /** By what this commit has written before it. */
  async function aboutToBeMended(error: unknown, object: PreparedObject): Promise<NotYetError | undefined> {
    const { objects: all, untilMs } = options.menders ?? { objects: [], untilMs: 0 };
    if (!(error instanceof ApiError) || Date.now() >= untilMs) return undefined;
    const menders = findMenders(error, object, all);
    // They come before it, and may have been begun a moment ago: nobody waits in a circle.
    await Promise.allSettled(menders.flatMap((mender) => writing.get(mender) ?? []));
    return await notMendedYet(context, object, menders);
  }

  async function worker(): Promise<void> {
    // One at least: what took the time before would take it again, and nothing would ever be applied.
    while (next < objects.length && (next === 0 || Date.now() < options.untilMs)) {
      context.signal?.throwIfAborted();
      const object = objects[next++];
      if (object !== undefined) {
        const write = one(object).finally(() => writing.delete(object));
        writing.set(object, write);
        await write;
      }
      options.onProgress?.(next);
    }
  }

  const results = await Promise.allSettled(Array.from({ length: PARALLEL }, worker));
  for (const result of results) if (result.status === 'rejected') throw result.reason;
  context.signal?.throwIfAborted();
  const delay = delays[0];
  if (delay !== undefined) throw delay instanceof Error ? delay : new Error(toMessage(delay));
  return { count: next, ...counts, left, takenBack, problems, uids };
}

/** It cannot be made again before it is gone, and the others are not to wait for that. */
function stillThere(object: PreparedObject, { message }: BeingDeletedError): Problem {
  const { resource, namespace, name = '' } = object.path;
  const where = namespace === undefined ? '' : ` -n ${namespace}`;
  return {
    ...problemOf(object, 'NotReady', `${message.replace(`${object.label}: `, '')}.`),
    next: `\`kubectl get ${resource} ${name}${where} -o yaml\` shows what holds it; ${TRIED_BY_ITSELF}.`,
  };
}
