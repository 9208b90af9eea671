/** What a commit would prune: the verdict of sync on each object that has left it, without the deletion. */

import { parseApiVersion } from '../kubernetes/discovery.ts';
import type { CommitContext } from '../git/commit.ts';
import { isGrant } from '../git/heirs.ts';
import { entryKey, groupOf, pruneCandidates } from '../git/inventory-content.ts';
import type { InventoryEntry } from '../git/inventory-content.ts';
import { objectLabel } from '../git/manifests.ts';
import type { PreparedObject } from '../git/prepare.ts';
import { counterpartPath, inventoryEntry } from '../git/prepare.ts';
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
    const { group, version } = parseApiVersion(entry.apiVersion);
    // Told where it goes to.
    if (old.has(objectLabel({ ...entry, group }))) continue;
    const served = await context.discovery.find(entry.apiVersion, entry.kind);
    if (served === undefined) continue;
    const path = objectPath(served, { group, version, namespace: entry.namespace, name: entry.name });
    const live = await getOrUndefined(context.client, path);
    const verdict = await judgeWithContent(context, entry, path, live, setting);
    const object = objectLabel({ ...entry, group });
    if (verdict.verdict === 'delete') {
      const why = verdict.refused === undefined ? {} : { why: `not handed over: ${verdict.refused}` };
      changes.push({ object, action: 'delete', ...why, differences: [] });
    }
    if (verdict.verdict === 'forget' && verdict.stays === true)
      changes.push({ object, action: 'keep', why: verdict.why, differences: [] });
    if (verdict.verdict === 'keep' || verdict.verdict === 'detach' || verdict.verdict === 'handOver')
      changes.push({ object, action: verdict.verdict, why: verdict.why, differences: [] });
  }
  return changes;
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
