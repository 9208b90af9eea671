/** Which runs are open in Temporal. Loads none of its libraries: verbs ask as well. */

/**
 * Whether a run of this status, in Temporal's word, is open: one that is paused keeps its workflow id, and what it is told, a cancellation
 * too, until it is unpaused.
 */
export function isOpenRun(status: string): boolean {
  return status === 'RUNNING' || status === 'PAUSED';
}

/** The same of all runs, for a visibility query: servers before 1.30 know no pause, and refuse a query that names one. */
export const OPEN_RUNS = 'CloseTime IS NULL';
