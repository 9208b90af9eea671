/** What is sent to the apiserver before an update begins, and what of that it has to be asked. */

import { describe, expect, it } from '@jest/globals';

import { ApiError } from '../../../kubernetes/api-error.ts';
import type { KubernetesClient, ResourcePath } from '../../../kubernetes/client.ts';
import { beginUpdate } from '../../../kubernetes/rolling-update-begin.ts';
import { trusted } from '../../../kubernetes/values.ts';
import { SHIPPED_ROLLING_UPDATE } from '../../../planners/names.ts';
import type { JsonObject } from '../../../planners/objects.ts';
import { BudgetError } from '../../../planners/rolling-update-scale.ts';
import { plainController } from '../../../planners/rolling-update-definition.ts';
import type { ControllerManifest } from '../../../planners/rolling-update-record.ts';
import type { SimulatedControllers } from '../../support/simulated-controllers.ts';
import { IMAGE_TEMPLATE, merge } from '../../support/simulated-controllers.ts';
import { KEY, STATE, fileOf, foo } from '../../support/simulated-update.ts';

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
  const items = (): Readonly<Record<string, readonly unknown[]>> => ({
    replicationcontrollers: world.controllers,
    controllerrevisions: world.revisions,
    pods: world.pods,
  });
  const client = trusted<KubernetesClient>({
    list: async ({ resource }: ResourcePath) => await Promise.resolve({ items: items()[resource] ?? [] }),
    create: async ({ resource }: ResourcePath, body: Created['body'], { dryRun = false } = {}) => {
      created.push({ resource, dryRun, body });
      if (!dryRun && resource === 'controllerrevisions') store(world, trusted(body));
      return await Promise.resolve({ metadata: { uid: 'made' }, ...body });
    },
    patch: async (
      { name = '' }: ResourcePath,
      type: string,
      body: Patched['body'],
      { dryRun = false } = {},
    ) => {
      patched.push({ type, dryRun, body });
      const spec = merge(world.find(name)?.spec, body.spec);
      return await Promise.resolve({ metadata: { managedFields: OWNERS }, spec });
    },
  });
  return { client, created, patched };
}

function store(
  world: SimulatedControllers,
  body: JsonObject & { readonly metadata: { readonly name: string } },
) {
  const about = { resource: 'controllerrevisions', purpose: 'Record', message: '' } as const;
  world.apply({ ...about, verb: 'create', name: body.metadata.name, body });
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

describe('a template that is too large for its record', () => {
  it('is refused with the size and why; nothing is begun', async () => {
    const world = foo();
    const { client } = serve(world);
    const request = { method: 'POST', path: 'x', server: 's' };
    const failure = { status: 500, reason: 'InternalError', text: 'etcdserver: request is too large' };
    const create = client.create.bind(client);
    const etcd = Object.assign(client, {
      create: async (path: ResourcePath, body: object, options: { dryRun?: boolean } = {}) => {
        if (options.dryRun !== true) throw new ApiError(request, failure);
        return await create(path, body, options);
      },
    });
    const asked = { change: { kind: 'image', image: 'app:2' }, key: KEY } as const;
    const settings = { updatePeriodMs: STATE.updatePeriodMs, pollIntervalMs: STATE.pollIntervalMs };
    const { decision } = await beginUpdate(etcd, { namespace: 'default', name: 'foo' }, asked, settings);
    expect(decision).toEqual({
      do: 'refuse',
      code: 'TooLarge',
      message: expect.stringMatching(
        /^the record of the update of foo would have \d+ kB, more than etcd takes: /,
      ),
    });
  });
});

describe('what the apiserver tries before anything is written', () => {
  it('is asked again where the status of the controller was written meanwhile', async () => {
    const { client } = serve(foo());
    const patch = client.patch.bind(client);
    let conflicts = 2;
    const busy = Object.assign(client, {
      patch: async (path: ResourcePath, type: 'merge', body: object) => {
        conflicts -= 1;
        if (conflicts >= 0)
          throw new ApiError(
            { method: 'PATCH', path: 'x', server: 's' },
            { status: 409, reason: 'Conflict', text: 'modified' },
          );
        return await patch(path, type, body, { dryRun: true });
      },
    });
    const asked = { change: { kind: 'image', image: 'app:2' }, key: KEY } as const;
    const settings = { updatePeriodMs: STATE.updatePeriodMs, pollIntervalMs: STATE.pollIntervalMs };
    const { decision } = await beginUpdate(busy, { namespace: 'default', name: 'foo' }, asked, settings);
    expect([decision.do, conflicts]).toEqual(['begin', -1]);
  });

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

describe('an update without a record', () => {
  /** kubectl began it. */
  const begun = () => {
    const world = foo();
    const labels = { app: 'foo', deployment: 'b' };
    world.controller(
      'foo-b',
      { replicas: 1, selector: labels, template: IMAGE_TEMPLATE('app:2', labels) },
      { [SHIPPED_ROLLING_UPDATE.sourceId]: 'foo:uid-1', [SHIPPED_ROLLING_UPDATE.desiredReplicas]: '3' },
    );
    return world;
  };
  const reference = { namespace: 'default', name: 'foo' };
  const request = { change: { kind: 'none' }, key: KEY } as const;
  const asked = { surge: 3, updatePeriodMs: 5_000, pollIntervalMs: 200, begun: { by: 'ann' } };

  it('gets one with what is asked for by whom it is attached to; by the next one it is only attached to', async () => {
    const world = begun();
    const { client, created } = serve(world);
    const attached = await beginUpdate(client, reference, request, asked);
    expect(attached).toMatchObject({
      decision: { do: 'attach' },
      next: 'foo-b',
      view: { record: { to: 'foo-b', state: { ...asked, unavailable: 0, phase: 'Rolling', desired: 3 } } },
    });
    expect(attached.record).toBe(world.revisions[0]?.metadata.uid);
    const again = await beginUpdate(client, reference, request, { ...asked, surge: 5 });
    expect(again.view.state).toMatchObject(asked);
    expect(created).toHaveLength(1);
  });

  it('gets none of a dry run, and none with a budget that is none', async () => {
    const { client, created } = serve(begun());
    await beginUpdate(client, reference, request, asked, { dryRun: true });
    await expect(beginUpdate(client, reference, request, { ...asked, surge: 0 })).rejects.toThrow(
      BudgetError,
    );
    expect(created).toEqual([]);
  });

  const byFile = async (world: SimulatedControllers, image: string) => {
    const { client, created, patched } = serve(world);
    const file = fileOf('foo-b', { app: 'foo', deployment: 'b' });
    const template = IMAGE_TEMPLATE(image, { app: 'foo', deployment: 'b' });
    const manifest = { ...file.manifest, spec: { ...file.manifest.spec, template } };
    const typed = { change: { ...file, manifest }, newName: 'foo-b', key: KEY };
    const { decision } = await beginUpdate(client, { ...reference, next: 'foo-b' }, typed, asked);
    return { decision, created, patched };
  };

  it('is attached to by the file that it rolls out: what the record that is made of it says is compared', async () => {
    const { decision, created, patched } = await byFile(begun(), 'app:2');
    expect(decision).toEqual({ do: 'attach' });
    expect(created).toMatchObject([{ resource: 'controllerrevisions' }]);
    expect(patched.every(({ dryRun }) => dryRun)).toBe(true);
  });

  it('is another one than another file asks for, and gets no record by that', async () => {
    const { decision, created, patched } = await byFile(begun(), 'app:3');
    expect(decision).toEqual({
      do: 'refuse',
      code: 'OtherChange',
      message:
        'an update of foo to foo-b is in progress, and it is another one: it has another spec.template.spec.containers[main].image',
    });
    expect(created).toEqual([]);
    expect(patched).toMatchObject([
      { dryRun: true, body: { spec: { template: { spec: { containers: [{ image: 'app:3' }] } } } } },
    ]);
  });

  it('is compared with what webhooks make of the file', async () => {
    const world = begun();
    const { client } = serve(world);
    const mirrored = IMAGE_TEMPLATE('mirror/app:2', { app: 'foo', deployment: 'b' });
    world.edit('foo-b', (one) => ({ ...one, spec: { ...one.spec, template: mirrored } }));
    const admitted = Object.assign(client, {
      patch: async () =>
        await Promise.resolve({ spec: { ...world.find('foo-b')?.spec, template: mirrored } }),
    });
    const typed = { change: fileOf('foo-b', { app: 'foo', deployment: 'b' }), newName: 'foo-b', key: KEY };
    const { decision } = await beginUpdate(admitted, { ...reference, next: 'foo-b' }, typed, asked);
    expect(decision).toEqual({ do: 'attach' });
  });
});
