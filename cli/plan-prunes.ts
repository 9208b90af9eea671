/** What a commit would prune: the verdict of sync on each object that has left it, without the deletion. */

import { isUnreached } from '../kubernetes/api-error.ts';
import { parseApiVersion } from '../kubernetes/discovery.ts';
import type { CommitContext } from '../git/commit.ts';
import { isGrant } from '../git/heirs.ts';
import { entryKey, groupOf, pruneCandidates } from '../git/inventory-content.ts';
import type { InventoryEntry } from '../git/inventory-content.ts';
import { describeLeft } from '../git/left-children.ts';
import { objectLabel } from '../git/manifests.ts';
import type { PreparedObject } from '../git/prepare.ts';
import { counterpartPath, inventoryEntry } from '../git/prepare.ts';
import type { PruneSetting } from '../git/prune-containers.ts';
import { judgeWithContent } from '../git/prune-containers.ts';
import { objectPath } from '../git/resources.ts';
import { getOrUndefined } from '../kubernetes/get-or-undefined.ts';
import type { PlannedChange } from './planned-change.ts';

/** @throws ApiError when the apiserver cannot be asked */
export async function planPrunes(
  context: CommitContext,
  objects: readonly PreparedObject[],
): Promise<readonly PlannedChange[]> {
  const entries = (await context.store.read())?.entries ?? new Map<string, InventoryEntry>();
  const changes: PlannedChange[] = [];
  const old = new Set(objects.flatMap((object) => labelOfCounterpart(object) ?? []));
  const wanted = objects.map(inventoryEntry);
  const keys = new Set(wanted.map((entry) => entryKey(entry)));
  const candidates = pruneCandidates(entries, wanted);
  const setting = {
    wanted: keys,
    rightsLeave: candidates.some(({ apiVersion }) => isGrant(groupOf(apiVersion))),
  };
  for (const entry of candidates) {
    const { group } = parseApiVersion(entry.apiVersion);
    const object = objectLabel({ ...entry, group });
    // Told where it goes to.
    if (old.has(object)) continue;
    const change = await planPrune(context, entry, object, setting).catch((error: unknown) => {
      if (isUnreached(error)) return keep(object, `it cannot be deleted now: ${error.message}`);
      throw error;
    });
    if (change !== undefined) changes.push(change);
  }
  return changes;
}

/** Undefined: there is nothing to do. @throws ApiError */
async function planPrune(
  context: CommitContext,
  entry: InventoryEntry,
  object: string,
  setting: PruneSetting,
): Promise<PlannedChange | undefined> {
  const { group, version } = parseApiVersion(entry.apiVersion);
  const served = await context.discovery.find(entry.apiVersion, entry.kind);
  if (served === undefined) return undefined;
  const path = objectPath(served, { group, version, namespace: entry.namespace, name: entry.name });
  const live = await getOrUndefined(context.client, path);
  const judged = await judgeWithContent(context, entry, path, live, setting);
  switch (judged.verdict) {
    case 'delete': {
      const left = live && (await describeLeft(context, entry, live));
      const reasons = [
        ...(judged.refused === undefined ? [] : [`not handed over: ${judged.refused}`]),
        ...(left === undefined ? [] : [`it ${left}`]),
      ];
      const why = reasons.length === 0 ? {} : { why: reasons.join('; ') };
      return { object, action: 'delete', ...why, differences: [] };
    }
    case 'forget':
      return judged.stays === true ? keep(object, judged.why) : undefined;
    case 'keep':
    case 'detach':
    case 'handOver':
      return { object, action: judged.verdict, why: judged.why, differences: [] };
  }
}

function keep(object: string, why: string): PlannedChange {
  return { object, action: 'keep', why, differences: [] };
}

function labelOfCounterpart(object: PreparedObject): string | undefined {
  const path = counterpartPath(object);
  return (
    path &&
    objectLabel({
      kind: object.manifest.kind,
      group: path.group,
      namespace: path.namespace,
      name: path.name ?? '',
    })
  );
}
