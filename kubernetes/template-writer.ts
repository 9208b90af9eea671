/** Who wrote the pod template of a workload last, by what the apiserver keeps of it in `metadata.managedFields`. */

import { asRecord } from './values.ts';

/** Sync applies, our verbs update, under one name. */
const OWN_MANAGERS: ReadonlySet<unknown> = new Set(['fairlead', 'fairlead-rolling-update']);

/** The template is all that is asked for, and the whole would be half of an object's size. */
const TEMPLATE_ONLY = { 'f:spec': { 'f:template': {} } };

interface Writer {
  readonly manager: string;
  readonly operation: string;
  /** RFC 3339, seconds. */
  readonly time: string;
}

/** The entries of those who own something of `spec.template`, without their other fields; undefined when there are none. */
export function templateEntries(managedFields: unknown): readonly object[] | undefined {
  const writers = writersOf(managedFields);
  return writers.length === 0 ? undefined : writers.map((writer) => ({ ...writer, fieldsV1: TEMPLATE_ONLY }));
}

/**
 * The field manager that changed the template after it was applied from git, such as `kubectl-set`; undefined when git's is the
 * newest, was never applied, or was changed by one of our own verbs, which say so themselves. Whole entries and those of
 * {@link templateEntries} are read alike.
 */
export function writerAfterGit(managedFields: unknown): string | undefined {
  const writers = writersOf(managedFields);
  const applied = writers.find(({ manager, operation }) => manager === 'fairlead' && operation === 'Apply');
  if (applied === undefined) return undefined;
  const [newest] = writers
    .filter(({ time }) => Date.parse(time) > Date.parse(applied.time))
    .toSorted((a, b) => Date.parse(b.time) - Date.parse(a.time));
  return newest === undefined || OWN_MANAGERS.has(newest.manager) ? undefined : newest.manager;
}

function writersOf(managedFields: unknown): readonly Writer[] {
  const entries: readonly unknown[] = Array.isArray(managedFields) ? managedFields : [];
  return entries.flatMap((entry) => {
    const { manager, operation, time, subresource, fieldsV1 } = asRecord(entry);
    const isOfTemplate = asRecord(asRecord(fieldsV1)['f:spec'])['f:template'] !== undefined;
    if (!isOfTemplate || (subresource !== undefined && subresource !== '')) return [];
    return [{ manager: String(manager), operation: String(operation), time: String(time) }];
  });
}
