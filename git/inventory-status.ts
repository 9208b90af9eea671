/** What the inventory of a repository tells beside its objects: the last look, the commits that were tried, the drift. */

import { z } from 'zod';

import { trusted } from '../kubernetes/values.ts';
import type { CarriedFields } from './carried-fields.ts';
import type { Drift } from './drift.ts';

/** The commit workflow that may write; another run that finds itself replaced here stops (fencing). */
export interface CommitRun {
  readonly sha: string;
  readonly workflowId: string;
  readonly runId: string;
  /** Objects that it has deleted, of those that have left the entries. */
  readonly pruned?: number | undefined;
}

/** Last known state of a repository, for `get repositories` and for people who look at the ConfigMap. */
export interface RepositoryStatus {
  /** Looking at the source. */
  readonly source?: {
    readonly ok: boolean;
    readonly sha?: string | undefined;
    readonly problem?: string | undefined;
    readonly since: string;
  };
  /** The last commit tried. */
  readonly commit?: CommitStatus;
  /** The last commit that went all the way. */
  readonly lastSucceeded?: { readonly sha: string; readonly at: string };
  /** The last attempts, oldest first. */
  readonly history?: readonly CommitAttempt[];
  /** What is not as the last commit wants it. Absent: nothing is known to differ. */
  readonly drift?: DriftStatus;
  /** Those who could not be told of commits, by their id. Absent: all were told. */
  readonly receivers?: Readonly<Record<string, ReceiverTrouble>>;
  /** Operators' annotations of workloads on their way from one workload API to the other, by object. */
  readonly wishes?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** What others have set of the same workloads, by object. */
  readonly fields?: Readonly<Record<string, CarriedFields>>;
}

/** Objects that were changed in the cluster after they were applied. */
export interface DriftStatus {
  readonly count: number;
  /** The first ones. */
  readonly objects: readonly DriftedObject[];
  /** What cannot be watched, and why. */
  readonly unwatched?: readonly string[];
}

/** Drift that is known. Times are RFC 3339. */
export interface DriftedObject extends Drift {
  readonly since: string;
  /** When it is put back again, if it was before. */
  readonly putBackAt?: string | undefined;
}

/** Why a receiver was given up. */
export interface ReceiverTrouble {
  readonly problem: string;
  /** RFC 3339: the first time since it was told something last. */
  readonly since: string;
}

export interface CommitStatus {
  readonly sha: string;
  readonly outcome:
    'Progressing' | 'Succeeded' | 'Refused' | 'Failed' | 'Superseded' | 'Canceled' | 'Terminated';
  readonly workflowId: string;
  readonly runId: string;
  readonly startedAt?: string | undefined;
  readonly finishedAt?: string | undefined;
  readonly applied?: number | undefined;
  readonly unchanged?: number | undefined;
  readonly pruned?: number | undefined;
  /** Formatted, bounded. */
  readonly problems?: readonly string[] | undefined;
  readonly problemCount?: number | undefined;
  /** Objects whose rollouts failed, by label: when all of them have ended well, the commit is tried again. */
  readonly failedRollouts?: readonly string[] | undefined;
  /** What is worth knowing and no failure. */
  readonly notes?: readonly string[] | undefined;
  /** The newer commit that cancelled this one. */
  readonly supersededBy?: string | undefined;
}

/** Who has asked for what nobody has asked for: that something is put back, or tried again as it is gone. */
export const HEALER = 'fairlead';

/** What became of a commit, for `fairlead history`. */
export interface CommitAttempt {
  readonly sha: string;
  readonly outcome: Exclude<CommitStatus['outcome'], 'Progressing'>;
  /** Of the commit in git; absent when it could not be read any more. */
  readonly author?: string | undefined;
  /** First line of its message. */
  readonly subject?: string | undefined;
  /** Who asked for it to be tried (again), and why. */
  readonly askedBy?: string | undefined;
  readonly reason?: string | undefined;
  /** RFC 3339; of a row of several equal tries the first start and the last end. */
  readonly startedAt: string;
  readonly finishedAt: string;
  /** How many tries in a row ended like this; absent: one. */
  readonly tries?: number | undefined;
  /** RFC 3339: the start of the last of several. */
  readonly lastStartedAt?: string | undefined;
  /** Absent, like the other counts: it is not known what was done. */
  readonly applied?: number | undefined;
  readonly unchanged?: number | undefined;
  readonly pruned?: number | undefined;
  /** The first one, formatted, and how many there are. */
  readonly problem?: string | undefined;
  readonly problemCount?: number | undefined;
  /** What is worth knowing and no failure: the first ones. */
  readonly notes?: readonly string[] | undefined;
  readonly supersededBy?: string | undefined;
  /** Of the last try. */
  readonly runId: string;
  /** Of the first of several. */
  readonly firstRunId?: string | undefined;
}

const text = z.string();
const texts = z.array(z.string());
const count = z.number().optional();
const counts = { applied: count, unchanged: count, pruned: count, problemCount: count } as const;

/** What nobody can do without; another version may have written more, or less. */
const STATUS = z.looseObject({
  source: z
    .looseObject({ ok: z.boolean(), sha: text.optional(), problem: text.optional(), since: text })
    .optional(),
  commit: z
    .looseObject({
      sha: text,
      outcome: text,
      workflowId: text.optional(),
      runId: text,
      startedAt: text.optional(),
      finishedAt: text.optional(),
      problems: texts.optional(),
      failedRollouts: texts.optional(),
      notes: texts.optional(),
      supersededBy: text.optional(),
      ...counts,
    })
    .optional(),
  lastSucceeded: z.looseObject({ sha: text, at: text }).optional(),
  history: z
    .array(
      z.looseObject({
        sha: text,
        outcome: text,
        author: text.optional(),
        subject: text.optional(),
        askedBy: text.optional(),
        reason: text.optional(),
        startedAt: text,
        finishedAt: text,
        tries: count,
        lastStartedAt: text.optional(),
        firstRunId: text.optional(),
        problem: text.optional(),
        notes: texts.optional(),
        supersededBy: text.optional(),
        runId: text,
        ...counts,
      }),
    )
    .optional(),
  drift: z
    .looseObject({
      count: z.number(),
      objects: z.array(
        z.looseObject({
          object: text,
          change: text,
          fields: texts,
          fieldCount: count,
          by: texts,
          held: text.optional(),
          since: text.optional(),
          putBackAt: text.optional(),
        }),
      ),
      unwatched: texts.optional(),
    })
    .optional(),
  receivers: z.record(text, z.looseObject({ problem: text, since: text })).optional(),
  wishes: z.record(text, z.record(text, text)).optional(),
  fields: z
    .record(
      text,
      z.looseObject({
        spec: z.record(text, z.unknown()),
        owners: z.array(z.looseObject({ fieldsV1: z.record(text, z.unknown()).optional() })),
      }),
    )
    .optional(),
});

const RUN = z.looseObject({ sha: text, workflowId: text, runId: text, pruned: count });

/** The status as its key of the ConfigMap holds it. @throws Error naming what is wrong in it: anybody may have written it */
export function readStatus(json: string): RepositoryStatus {
  return trusted<RepositoryStatus>(read(STATUS, json));
}

/** As {@link readStatus}, the run that has claimed the inventory. @throws Error naming what is wrong in it */
export function readRun(json: string): CommitRun {
  return trusted<CommitRun>(read(RUN, json));
}

function read(schema: typeof STATUS | typeof RUN, json: string): object {
  const { success, data, error } = schema.safeParse(JSON.parse(json));
  if (success) return data;
  const [issue] = error.issues;
  const where = (issue?.path ?? []).map(String).join('.');
  throw new Error(`${where === '' ? '' : `${where}: `}${issue?.message ?? error.message}`);
}
