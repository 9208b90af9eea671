/** What is sent to the apiserver before an update begins, and what of that it has to be asked. */

import { describe, expect, it } from '@jest/globals';

import type { KubernetesClient, ResourcePath } from '../../../kubernetes/client.ts';
import { beginUpdate } from '../../../kubernetes/rolling-update-begin.ts';
import { trusted } from '../../../kubernetes/values.ts';
import { plainController } from '../../../planners/rolling-update-definition.ts';
import type { ControllerManifest } from '../../../planners/rolling-update-record.ts';
import type { SimulatedControllers } from '../../support/simulated-controllers.ts';
import { IMAGE_TEMPLATE } from '../../support/simulated-controllers.ts';
import { KEY, STATE, foo } from '../../support/simulated-update.ts';

interface Created {
  readonly resource: string;
  readonly dryRun: boolean;
  readonly body: { readonly spec?: ControllerManifest['spec']; readonly data?: unknown };
}

interface Patched {
  readonly type: string;
  readonly dryRun: boolean;
  readonly body: { readonly metadata: object; readonly spec: object };
}

const OWNED = { manager: 'kubectl', operation: 'Update', fieldsType: 'FieldsV1', fieldsV1: {} };
const OWNERS = [OWNED, { ...OWNED, subresource: 'status' }];

/** An apiserver that takes everything as it is. */
function serve(world: SimulatedControllers) {
  const created: Created[] = [];
  const patched: Patched[] = [];
  const { controllers, revisions, pods } = world;
  const items: Readonly<Record<string, readonly unknown[]>> = {
    replicationcontrollers: controllers,
    controllerrevisions: revisions,
    pods,
  };
  const client = trusted<KubernetesClient>({
    list: async ({ resource }: ResourcePath) => await Promise.resolve({ items: items[resource] }),
    create: async ({ resource }: ResourcePath, body: Created['body'], { dryRun = false } = {}) => {
      created.push({ resource, dryRun, body });
      return await Promise.resolve({ metadata: { uid: 'made' }, ...body });
    },
    patch: async (_: ResourcePath, type: string, body: Patched['body'], { dryRun = false } = {}) => {
      patched.push({ type, dryRun, body });
      return await Promise.resolve({ metadata: { managedFields: OWNERS } });
    },
  });
  return { client, created, patched };
}

/** As `rolling-update foo -f FILE` with what the file has otherwise. */
async function roll(world: SimulatedControllers, spec: Partial<ControllerManifest['spec']>) {
  const old = world.find('foo');
  if (old === undefined) throw new Error('no foo');
  const plain = plainController(old, 'foo');
  const manifest = { ...plain, spec: { ...plain.spec, ...spec } };
  const { client, created, patched } = serve(world);
  const request = { change: { kind: 'manifest', manifest }, key: KEY } as const;
  const settings = { updatePeriodMs: STATE.updatePeriodMs, pollIntervalMs: STATE.pollIntervalMs };
  const { decision } = await beginUpdate(client, { namespace: 'default', name: 'foo' }, request, settings);
  return { decision, created, patched };
}

describe('what the apiserver tries before anything is written', () => {
  it('has the number of replicas that is asked for', async () => {
    const { created } = await roll(foo(), { replicas: 5, template: IMAGE_TEMPLATE('app:2') });
    expect(created).toMatchObject([
      { resource: 'replicationcontrollers', dryRun: true, body: { spec: { replicas: 5 } } },
      { resource: 'controllerrevisions', dryRun: false },
    ]);
  });

  it('tells who would own which fields had the old one been changed in place: the record keeps that', async () => {
    const world = foo();
    const { created, patched } = await roll(world, { template: IMAGE_TEMPLATE('app:2') });
    const { uid, resourceVersion } = world.find('foo')?.metadata ?? {};
    expect(patched).toMatchObject([
      {
        type: 'merge',
        dryRun: true,
        body: {
          metadata: { uid, resourceVersion },
          spec: { template: { spec: { containers: [{ image: 'app:2' }] } } },
        },
      },
    ]);
    expect(created.at(-1)?.body.data).toMatchObject({ owners: [OWNED] });
  });
});

describe('a file whose pods would be those that are there', () => {
  it.each([
    ['another minReadySeconds', { minReadySeconds: 7 }],
    ['another number of replicas', { replicas: 5 }],
    ['both', { minReadySeconds: 7, replicas: 5 }],
  ])('%s: nothing is written, and what changes it is named', async (_, spec) => {
    const { decision, created } = await roll(foo(), spec);
    expect(decision).toMatchObject({
      do: 'refuse',
      code: 'NoChange',
      message: 'foo: its pods are as the file has them; `kubectl apply` changes what else differs',
    });
    expect(created.filter(({ dryRun }) => !dryRun)).toEqual([]);
  });

  it('another template beside it: it is rolled out', async () => {
    const { decision } = await roll(foo(), { minReadySeconds: 7, template: IMAGE_TEMPLATE('app:2') });
    expect(decision).toMatchObject({
      do: 'begin',
      data: { controller: { spec: { minReadySeconds: 7 } } },
    });
  });
});
