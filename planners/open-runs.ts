/** Which runs are open in Temporal. Loads none of its libraries: verbs ask as well. */

/**
 * Whether a run of this status, in Temporal's word, is open: one that is paused keeps its workflow id, and what it is told, a cancellation
 * too, until it is unpaused.
 */
export function isOpenRun(status: string): boolean {
  return status === 'RUNNING' || status === 'PAUSED';
}

const CLOSED = ['Completed', 'Failed', 'Canceled', 'Terminated', 'ContinuedAsNew', 'TimedOut'];

/**
 * The same of all runs, for a visibility query. Servers before 1.30 know no pause, and refuse a query that names one; older ones with SQL
 * visibility find nothing where a query asks for runs without a CloseTime.
 */
export const OPEN_RUNS = `ExecutionStatus NOT IN (${CLOSED.map((status) => `'${status}'`).join(', ')})`;
