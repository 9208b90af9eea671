/** What is git's of an object, though its owners were cleared, or somebody has changed it and changed it back. */

import { describe, expect, it } from '@jest/globals';

import type { CommitContext } from '../../../git/commit.ts';
import { entryKey } from '../../../git/inventory-content.ts';
import type { PreparedObject } from '../../../git/prepare.ts';
import { droppedFields } from '../../../git/dropped-fields.ts';
import { ownedAsApplied } from '../../../git/restored-owners.ts';
import { ApiError } from '../../../kubernetes/api-error.ts';
import { trusted } from '../../../kubernetes/values.ts';
import { ANNOTATION } from '../../../planners/names.ts';
import type { KubernetesObject } from '../../../planners/objects.ts';

const SHA = 'a'.repeat(40);
const manifest = {
  apiVersion: 'ex.com/v1',
  group: 'ex.com',
  kind: 'Widget',
  name: 'x',
  namespace: 'shop',
  hash: 'h',
  body: { apiVersion: 'ex.com/v1', kind: 'Widget', metadata: { name: 'x' }, spec: { color: 'blue' } },
};
const next = { ...manifest, apiVersion: 'ex.com/v2', hash: 'h2' };
const path = { group: 'ex.com', version: 'v2', resource: 'widgets', namespace: 'shop', name: 'x' };
const object = trusted<PreparedObject>({ manifest: next, path, namespace: 'shop', label: 'Widget shop/x' });
const RESTORED = [{ manager: 'before-first-apply', operation: 'Update' }];

function live(metadata: object = {}, annotations: object = {}): KubernetesObject {
  return trusted<KubernetesObject>({
    metadata: {
      uid: 'u',
      resourceVersion: '7',
      annotations: {
        [ANNOTATION.repository]: 'shop',
        [ANNOTATION.commit]: SHA,
        [ANNOTATION.manifestHash]: 'h',
        ...annotations,
      },
      ...metadata,
    },
    spec: { color: 'blue', size: 1 },
  });
}

/** What is answered of an object, and what was asked for. */
async function restored(present: KubernetesObject, refusal?: ApiError) {
  const asked: unknown[] = [];
  const entry = { apiVersion: 'ex.com/v1', kind: 'Widget', namespace: 'shop', name: 'x', uid: 'u' };
  const patch = async (...request: unknown[]) => {
    asked.push(request);
    if (refusal !== undefined) throw refusal;
    return await Promise.resolve({ metadata: { managedFields: RESTORED }, spec: { color: 'other' } });
  };
  const context = trusted<CommitContext>({
    repository: { name: 'shop', namespace: 'default' },
    sha: 'b'.repeat(40),
    client: { patch },
    store: {
      repository: 'shop',
      applySetId: 'set',
      read: async () => await Promise.resolve({ entries: new Map([[entryKey(entry), entry]]), status: {} }),
    },
    earlier: async (sha: string) =>
      await Promise.resolve(sha === SHA ? { manifests: [manifest] } : undefined),
  });
  const { live: owned, changed } = await ownedAsApplied(context, object, present);
  return { owned, asked, ...(changed !== undefined && { changed }) };
}

describe('the owners of an object that were cleared', () => {
  it('are those that a dry run of what was applied last would leave, by its new version; no value is another', async () => {
    const { owned, asked } = await restored(live());
    expect(owned).toEqual(live({ managedFields: RESTORED }));
    const annotations = expect.objectContaining({
      [ANNOTATION.commit]: SHA,
      [ANNOTATION.manifestHash]: 'h',
    }) as unknown;
    const body = expect.objectContaining({
      apiVersion: 'ex.com/v2',
      metadata: expect.objectContaining({ annotations }) as unknown,
      spec: { color: 'blue' },
    }) as unknown;
    expect(asked).toEqual([[path, 'apply', body, { dryRun: true, fieldValidation: 'Strict' }]]);
  });

  it.each([
    ['that has owners', live({ managedFields: [{ manager: 'fairlead', operation: 'Apply' }] })],
    ['of another repository', live({}, { [ANNOTATION.repository]: 'other' })],
    ['that was made again', live({ uid: 'other' })],
    ['of another manifest', live({}, { [ANNOTATION.manifestHash]: 'other' })],
    ['of a commit that is gone', live({}, { [ANNOTATION.commit]: 'c'.repeat(40) })],
  ])('are not asked for of one %s', async (_, present) => {
    expect(await restored(present)).toEqual({ owned: present, asked: [] });
  });

  it('stay unknown where somebody has changed a value; an apiserver that is away is asked again', async () => {
    const refused = (status: number, reason: string) => {
      const causes = [{ reason: 'FieldManagerConflict', field: '.spec.color', message: 'conflict with "a"' }];
      const request = { method: 'PATCH', path, server: 'https://kubernetes' };
      return new ApiError(request, { status, reason, text: 'no', details: { causes } });
    };
    const { owned } = await restored(live(), refused(409, 'Conflict'));
    expect(owned).toEqual(live());
    const away = refused(503, 'ServiceUnavailable');
    await expect(restored(live(), away)).rejects.toBe(away);
  });
});

describe('what people have set by hand', () => {
  const own = {
    manager: 'fairlead',
    operation: 'Apply',
    fieldsV1: { 'f:spec': { 'f:size': {} } },
  } as const;
  const byHand = (manager: string, ...fields: readonly string[]) => ({
    manager,
    operation: 'Update',
    fieldsV1: { 'f:spec': Object.fromEntries(fields.map((field) => [`f:${field}`, {}])) },
  });

  it('is git’s again where it has the value that git had applied, and theirs where it has another', async () => {
    const kubectl = byHand('kubectl-patch', 'color', 'size');
    const present = live({ managedFields: [own, kubectl] });
    const same = await restored(present);
    expect(same.changed).toEqual({});
    expect(same.asked).toEqual([]);
    expect(droppedFields(same.owned, { spec: { size: 1 } }, same.changed)).toMatchObject({
      taken: [{ label: 'spec.color' }],
      kept: [],
    });
    const other = await restored(trusted({ ...present, spec: { color: 'red', size: 1 } }));
    expect(droppedFields(other.owned, { spec: { size: 1 } }, other.changed)).toMatchObject({
      taken: [],
      kept: [{ label: 'spec.color', managers: ['kubectl-patch'] }],
    });
  });

  it('is looked for only where people have written, and the manifest that was applied last is known', async () => {
    const controller = live({ managedFields: [own, byHand('operator', 'color')] });
    expect(await restored(controller)).toEqual({ owned: controller, asked: [] });
    const managedFields = [own, byHand('kubectl-patch', 'color')];
    const unknown = live({ managedFields }, { [ANNOTATION.manifestHash]: 'other' });
    expect(await restored(unknown)).toEqual({ owned: unknown, asked: [] });
  });
});
