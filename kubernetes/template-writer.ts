/** Who wrote the pod template of a workload last, by what the apiserver keeps of it in `metadata.managedFields`. */

import { isOfObject, readManagedFields } from './managed-fields.ts';
import type { ManagedFields } from './managed-fields.ts';
import { asRecord } from './values.ts';
import { FIELD_MANAGER, UPDATE_FIELD_MANAGER } from '../planners/names.ts';

/** Sync applies, our verbs update, under one name. */
const OWN_MANAGERS: ReadonlySet<unknown> = new Set([FIELD_MANAGER, UPDATE_FIELD_MANAGER]);

/** The template is all that is asked for, and the whole would be half of an object's size. */
const TEMPLATE_ONLY = { 'f:spec': { 'f:template': {} } };

/** The entries of those who own something of `spec.template`, without their other fields; undefined where git applied none of it. */
export function templateEntries(managedFields: unknown): readonly object[] | undefined {
  const writers = writersOf(managedFields);
  return appliedOf(writers) === undefined
    ? undefined
    : writers.map(({ manager, operation, time }) => ({ manager, operation, time, fieldsV1: TEMPLATE_ONLY }));
}

/**
 * The field manager that changed the template after it was applied from git, such as `kubectl-set`; undefined when git's is the
 * newest, was never applied, or was changed by one of our own verbs, which say so themselves. Whole entries and those of
 * {@link templateEntries} are read alike.
 */
export function writerAfterGit(managedFields: unknown): string | undefined {
  const writers = writersOf(managedFields);
  const applied = appliedOf(writers);
  if (applied === undefined) return undefined;
  const [newest] = writers
    .filter((writer) => timeOf(writer) > timeOf(applied))
    .toSorted((a, b) => timeOf(b) - timeOf(a));
  return newest === undefined || OWN_MANAGERS.has(newest.manager) ? undefined : newest.manager;
}

function writersOf(managedFields: unknown): readonly ManagedFields[] {
  return readManagedFields(managedFields).filter(
    (entry) => isOfObject(entry) && asRecord(asRecord(entry.fieldsV1)['f:spec'])['f:template'] !== undefined,
  );
}

function appliedOf(writers: readonly ManagedFields[]): ManagedFields | undefined {
  return writers.find(({ manager, operation }) => manager === FIELD_MANAGER && operation === 'Apply');
}

/** Milliseconds since the epoch; NaN where the entry has none. */
function timeOf({ time }: ManagedFields): number {
  return Date.parse(time ?? '');
}
