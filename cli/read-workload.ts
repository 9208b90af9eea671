/** Reads one workload, and says what else there is when it does not exist. */

import { ApiError, isNotFound } from '../kubernetes/api-error.ts';
import { WORKLOAD_APIS, groupVersion, workloadPath } from '../kubernetes/workload-api.ts';
import type { WorkloadObject, WorkloadTarget } from '../kubernetes/workload-edit.ts';
import { CliError, EXIT } from './exit-codes.ts';
import { commitToMake } from './git-state.ts';
import type { Session } from './session.ts';
import { REQUEST_TIMEOUT_MS } from './session.ts';

/**
 * The workload as served.
 * @throws CliError when it does not exist, naming it and, if there is one, its namesake in the other workload API
 * @throws ApiError for everything else, also where the kind is not served
 */
export async function readWorkload(session: Session, target: WorkloadTarget): Promise<WorkloadObject> {
  try {
    return await session.client.get<WorkloadObject>(workloadPath(target), { timeoutMs: REQUEST_TIMEOUT_MS });
  } catch (error) {
    if (!isNotFound(error) || error.details?.name === undefined) throw error;
    throw await notFound(session, target, error);
  }
}

/** There is no such workload. */
export class WorkloadNotFound extends CliError {
  override name = 'WorkloadNotFound';
  /** Its namesake in the other workload API exists: that is meant, rather than one that is still to come. */
  readonly hasNamesake: boolean;

  constructor(message: string, hasNamesake: boolean, options: ErrorOptions) {
    super(message, EXIT.failed, { ...options, code: 'NotFound' });
    this.hasNamesake = hasNamesake;
  }
}

/** What to say of a workload that does not exist. */
export async function notFound(
  session: Session,
  target: WorkloadTarget,
  cause: unknown,
): Promise<WorkloadNotFound> {
  const what = `${target.kind.toLowerCase()}.${target.group}/${target.name}`;
  const other = WORKLOAD_APIS.find((api) => groupVersion(api).group !== target.group);
  const hasNamesake = other !== undefined && (await exists(session, { ...target, ...groupVersion(other) }));
  const hint = hasNamesake
    ? `there is ${target.kind.toLowerCase()}.${groupVersion(other).group}/${target.name}: name it so, or use --workload-api ${other}`
    : await whyMissing(session, target);
  const message = `${what} not found in namespace ${target.namespace}\n  ${hint}`;
  return new WorkloadNotFound(message, hasNamesake, { cause });
}

/** It may be still to come, behind an earlier wave. */
async function whyMissing(session: Session, target: WorkloadTarget): Promise<string> {
  const coming = await commitToMake(session, target);
  return coming === undefined
    ? '`fairlead get -A` shows what there is; choose a namespace with -n'
    : `${coming.text}\n  ${coming.next}`;
}

async function exists(session: Session, target: WorkloadTarget): Promise<boolean> {
  try {
    await session.client.get(workloadPath(target), { timeoutMs: REQUEST_TIMEOUT_MS });
    return true;
  } catch (error) {
    // Only a hint depends on it: forbidden, not served and not found all mean that there is none to point at.
    if (error instanceof ApiError && error.status !== 0) return false;
    throw error;
  }
}
