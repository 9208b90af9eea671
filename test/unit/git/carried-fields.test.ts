import { describe, expect, it } from '@jest/globals';

import {
  carriedFields,
  describeCarried,
  stillCarried,
  withCarried,
  withTheirOwners,
  withoutRefused,
} from '../../../git/carried-fields.ts';
import { ApiError } from '../../../kubernetes/api-error.ts';
import type { ManagedFields } from '../../../kubernetes/managed-fields.ts';
import { asRecord } from '../../../kubernetes/values.ts';
import type { JsonObject, KubernetesObject } from '../../../planners/objects.ts';
import { fc } from '../../support/properties.ts';

/** What a manager owns of a template: nested `fieldsV1` below it. */
const ofTemplate = (below: JsonObject): JsonObject => ({ 'f:spec': { 'f:template': below } });
const ofMain = (below: JsonObject): JsonObject =>
  ofTemplate({ 'f:spec': { 'f:containers': { 'k:{"name":"main"}': below } } });
const ofAnnotation = (name: string): JsonObject =>
  ofTemplate({ 'f:metadata': { 'f:annotations': { '.': {}, [`f:${name}`]: {} } } });

const GIT: ManagedFields = {
  manager: 'fairlead',
  operation: 'Apply',
  apiVersion: 'apps/v1',
  fieldsV1: {
    'f:spec': {
      'f:serviceName': {},
      'f:template': {
        'f:spec': { 'f:containers': { 'k:{"name":"main"}': { '.': {}, 'f:name': {}, 'f:image': {} } } },
      },
    },
  },
};

function update(manager: string, fieldsV1: JsonObject, more: Partial<ManagedFields> = {}): ManagedFields {
  return { manager, operation: 'Update', apiVersion: 'apps/v1', fieldsV1, ...more };
}

function oldObject(spec: JsonObject, owners: readonly ManagedFields[]): KubernetesObject {
  return {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: 'web', uid: 'old', resourceVersion: '1', managedFields: owners },
    spec,
  } as KubernetesObject;
}

const container = (more: JsonObject = {}): JsonObject => ({ name: 'main', image: 'app:1', ...more });
const specOf = (more: JsonObject = {}, template: JsonObject = {}): JsonObject => ({
  serviceName: 'web',
  ...more,
  template: { spec: { containers: [container()] }, ...template },
});
const manifest = (spec: JsonObject = specOf()): JsonObject => ({
  apiVersion: 'fairlead.dev/v1beta1',
  kind: 'StatefulSet',
  metadata: { name: 'web' },
  spec,
});
const annotated = (annotations: JsonObject): JsonObject => specOf({}, { metadata: { annotations } });

const RESTART = { 'kubectl.kubernetes.io/restartedAt': '2026-11-28T06:00:00Z' };
const SCALE = update('kubectl', { 'f:spec': { 'f:replicas': {} } }, { subresource: 'scale' });
const PLANTED = { name: 'COLOR', value: 'blue' };
const SET_ENV = update(
  'kubectl-set',
  ofMain({ 'f:env': { '.': {}, 'k:{"name":"COLOR"}': { '.': {}, 'f:name': {}, 'f:value': {} } } }),
);

describe('what goes over to the other workload API', () => {
  it.each<[what: string, spec: JsonObject, owner: ManagedFields, wanted: JsonObject]>([
    ['a size that somebody has set', specOf({ replicas: 4 }), SCALE, specOf({ replicas: 4 })],
    [
      'a size and a restart where all owners were cleared',
      { ...annotated(RESTART), replicas: 4 },
      update('other', {}),
      { ...annotated(RESTART), replicas: 4 },
    ],
    ['a size that nobody owns', specOf({ replicas: 4 }), update('other', {}), specOf({ replicas: 4 })],
    [
      'a restart by kubectl',
      annotated(RESTART),
      update('kubectl-rollout', ofAnnotation('kubectl.kubernetes.io/restartedAt')),
      annotated(RESTART),
    ],
    [
      'a restart by Fairlead',
      annotated({ 'fairlead.dev/restarted': '1' }),
      update('fairlead', ofAnnotation('fairlead.dev/restarted')),
      annotated({ 'fairlead.dev/restarted': '1' }),
    ],
    [
      'a partition',
      specOf({ updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 3 } } }),
      update('kubectl-patch', {
        'f:spec': { 'f:updateStrategy': { 'f:rollingUpdate': { 'f:partition': {} } } },
      }),
      specOf({ updateStrategy: { rollingUpdate: { partition: 3 } } }),
    ],
    [
      'what is put into a container of git',
      specOf({}, { spec: { containers: [container({ env: [PLANTED] })] } }),
      SET_ENV,
      specOf({}, { spec: { containers: [container({ env: [PLANTED] })] } }),
    ],
    [
      'a container, where it was in the list',
      specOf({}, { spec: { containers: [{ name: 'proxy', image: 'proxy:1' }, container()] } }),
      update(
        'injector',
        ofTemplate({
          'f:spec': { 'f:containers': { 'k:{"name":"proxy"}': { '.': {}, 'f:name': {}, 'f:image': {} } } },
        }),
      ),
      specOf({}, { spec: { containers: [{ name: 'proxy', image: 'proxy:1' }, container()] } }),
    ],
    [
      'what another applier has put there, though git had it too, and drops it',
      specOf({}, { spec: { hostNetwork: true, containers: [container()] } }),
      { ...update('other', ofTemplate({ 'f:spec': { 'f:hostNetwork': {} } })), operation: 'Apply' },
      specOf({}, { spec: { hostNetwork: true, containers: [container()] } }),
    ],
  ])('%s', (_what, spec, owner, wanted) => {
    const old = oldObject(spec, [GIT, owner]);
    const body = manifest();
    const carried = carriedFields(old, body);
    expect(withCarried(body, carried)).toEqual(manifest(wanted));
    // As it is kept in the inventory.
    const kept = stillCarried(JSON.parse(JSON.stringify(carried)), body, undefined);
    expect(withCarried(body, kept)).toEqual(manifest(wanted));
  });

  const dropped = ofTemplate({ 'f:spec': { 'f:hostNetwork': {} } });
  it.each<[what: string, spec: JsonObject, owners: readonly ManagedFields[], body?: JsonObject]>([
    ['what git names itself', specOf({ replicas: 4 }), [GIT, SCALE], manifest(specOf({ replicas: 2 }))],
    [
      'what git alone has applied, and drops',
      annotated(RESTART),
      [{ ...GIT, fieldsV1: ofAnnotation('kubectl.kubernetes.io/restartedAt') }],
    ],
    [
      'a pause, which goes over as a wish',
      specOf({ paused: true }),
      [GIT, update('kubectl', { 'f:spec': { 'f:paused': {} } })],
    ],
    [
      'a field of ours that apps/v1 lacks',
      specOf({ updateStrategy: { rollingUpdate: { podUpdatePolicy: 'InPlaceOnly' } } }),
      [
        GIT,
        update('kubectl-edit', {
          'f:spec': { 'f:updateStrategy': { 'f:rollingUpdate': { 'f:podUpdatePolicy': {} } } },
        }),
      ],
    ],
    [
      'what an undo has brought back',
      specOf({}, { spec: { hostNetwork: true, containers: [container()] } }),
      [GIT, update('kubectl-rollout', dropped)],
    ],
    [
      'what git drops and people had set to the same',
      specOf({}, { spec: { hostNetwork: true, containers: [container()] } }),
      [{ ...GIT, fieldsV1: dropped }, update('kubectl-edit', dropped)],
    ],
    [
      'a value within a container that git drops',
      specOf({}, { spec: { containers: [{ name: 'old', image: 'old:2' }, container()] } }),
      [
        GIT,
        update(
          'kubectl-set',
          ofTemplate({ 'f:spec': { 'f:containers': { 'k:{"name":"old"}': { 'f:image': {} } } } }),
        ),
      ],
    ],
    [
      'all that a hand-made object was made with',
      specOf({ minReadySeconds: 5 }),
      [update('kubectl-create', { 'f:spec': { 'f:minReadySeconds': {}, 'f:serviceName': {} } })],
    ],
    [
      'the status',
      specOf(),
      [GIT, update('controller', { 'f:status': { 'f:replicas': {} } }, { subresource: 'status' })],
    ],
  ])('not: %s', (_what, spec, owners, body = manifest()) => {
    expect(carriedFields(oldObject(spec, owners), body)).toBeUndefined();
  });

  it('of an object that git has never applied: its size and its restarts', () => {
    const fields = { 'f:spec': { 'f:replicas': {}, 'f:minReadySeconds': {} } };
    const old = oldObject(specOf({ replicas: 4, minReadySeconds: 5 }), [
      update('kubectl-client-side-apply', fields),
    ]);
    expect(withCarried(manifest(), carriedFields(old, manifest()))).toEqual(
      manifest(specOf({ replicas: 4 })),
    );
  });

  it('keeps of other items of a list no more than what tells them apart: their values are not for an inventory', () => {
    const secret = container({ env: [{ name: 'TOKEN', value: 'planted' }, PLANTED] });
    const old = oldObject(specOf({}, { spec: { containers: [secret] } }), [GIT, SET_ENV]);
    const carried = carriedFields(old, manifest());
    expect(JSON.stringify(carried)).not.toContain('planted');
    expect(carried?.spec).toEqual({
      template: { spec: { containers: [{ name: 'main', env: [{ name: 'TOKEN' }, PLANTED] }] } },
    });
  });

  it('is told with who has set it', () => {
    const old = oldObject(
      specOf({ replicas: 4 }, { spec: { containers: [container({ env: [PLANTED] })] } }),
      [GIT, SCALE, SET_ENV],
    );
    const carried = carriedFields(old, manifest());
    expect(carried && describeCarried(carried)).toEqual([
      'spec.replicas ("kubectl")',
      'spec.template.spec.containers[name="main"].env[name="COLOR"] ("kubectl-set")',
    ]);
  });
});

describe('after the new object was made', () => {
  const old = oldObject(specOf({ replicas: 4 }, { spec: { containers: [container({ env: [PLANTED] })] } }), [
    GIT,
    SCALE,
    SET_ENV,
  ]);
  const carried = carriedFields(old, manifest());
  const all = withCarried(manifest(), carried);
  const applied: ManagedFields = {
    ...GIT,
    apiVersion: 'fairlead.dev/v1beta1',
    fieldsV1: {
      'f:spec': {
        'f:replicas': {},
        'f:serviceName': {},
        'f:template': {
          'f:spec': {
            'f:containers': {
              'k:{"name":"main"}': {
                '.': {},
                'f:name': {},
                'f:image': {},
                'f:env': { 'k:{"name":"COLOR"}': { '.': {}, 'f:name': {}, 'f:value': {} } },
              },
            },
          },
        },
      },
    },
  };
  const created = (others: readonly ManagedFields[] = []) =>
    ({
      ...all,
      metadata: { name: 'web', uid: 'new', resourceVersion: '1', managedFields: [applied, ...others] },
    }) as unknown as KubernetesObject;

  it('each field is of whoever had set it, under the new API, and git owns what it names', () => {
    if (carried === undefined) throw new Error('nothing is carried');
    const [git, ...theirs] = withTheirOwners(created(), manifest(), carried);
    expect(git?.fieldsV1).toEqual(GIT.fieldsV1);
    expect(theirs).toEqual([
      { ...SCALE, apiVersion: 'fairlead.dev/v1beta1' },
      {
        ...update(
          'kubectl-set',
          ofMain({ 'f:env': { 'k:{"name":"COLOR"}': { '.': {}, 'f:name': {}, 'f:value': {} } } }),
        ),
        apiVersion: 'fairlead.dev/v1beta1',
      },
    ]);
  });

  it('who has an entry already gets them in it', () => {
    if (carried === undefined) throw new Error('nothing is carried');
    const present = {
      ...SCALE,
      apiVersion: 'fairlead.dev/v1beta1',
      fieldsV1: { 'f:spec': { 'f:minReadySeconds': {} } },
    };
    const [, scale, ...others] = withTheirOwners(created([present]), manifest(), carried);
    expect(scale?.fieldsV1).toEqual({ 'f:spec': { 'f:minReadySeconds': {}, 'f:replicas': {} } });
    expect(others).toHaveLength(1);
  });

  const sizeAfter = (live: KubernetesObject) =>
    asRecord(withCarried(manifest(), stillCarried(carried, manifest(), live))['spec'])['replicas'];

  it('an attempt that comes after a crash leaves what somebody has set since', () => {
    expect(sizeAfter(created())).toBe(4);
    expect(sizeAfter(created([{ ...SCALE, manager: 'autoscaler' }]))).toBeUndefined();
    const scaled = created();
    expect(
      sizeAfter({
        ...scaled,
        spec: { ...asRecord(asRecord(scaled)['spec']), replicas: 6 },
      } as KubernetesObject),
    ).toBe(6);
  });

  it("a size of nobody is nobody's again", () => {
    const nobodys = carriedFields(oldObject(specOf({ replicas: 4 }), [GIT]), manifest());
    if (nobodys === undefined) throw new Error('nothing is carried');
    expect(withTheirOwners(created(), manifest(), nobodys)).toHaveLength(1);
    expect(describeCarried(nobodys)).toEqual(['spec.replicas']);
  });

  it('and what a newer commit names', () => {
    const newer = manifest(specOf({ replicas: 2 }));
    expect(asRecord(withCarried(newer, stillCarried(carried, newer, undefined))['spec'])['replicas']).toBe(2);
  });
});

describe('a refusal', () => {
  const old = oldObject(specOf({ replicas: 4, updateStrategy: { rollingUpdate: { partition: 3 } } }), [
    GIT,
    SCALE,
    update('kubectl-patch', {
      'f:spec': { 'f:updateStrategy': { 'f:rollingUpdate': { 'f:partition': {} } } },
    }),
  ]);
  const carried = carriedFields(old, manifest());
  const refusal = (field: string) =>
    new ApiError(
      { method: 'PATCH', path: '/x', server: 'http://test' },
      {
        status: 422,
        reason: 'Invalid',
        text: 'invalid',
        details: { causes: [{ field, message: 'refused' }] },
      },
    );

  it.each([
    ['spec.updateStrategy.rollingUpdate.partition', { replicas: 4 }],
    ['spec.updateStrategy.rollingUpdate', { replicas: 4 }],
    ['spec.replicas', { updateStrategy: { rollingUpdate: { partition: 3 } } }],
  ])('of %s leaves that behind', (field, spec) => {
    if (carried === undefined) throw new Error('nothing is carried');
    expect(withoutRefused(refusal(field), carried)?.left?.spec).toEqual(spec);
  });

  it.each([
    ['of the manifest', refusal('spec.serviceName')],
    ['of the whole', refusal('spec')],
    ['that is none', new Error('connection reset')],
  ])('%s is not about them', (_what, error) => {
    if (carried === undefined) throw new Error('nothing is carried');
    expect(withoutRefused(error, carried)).toBeUndefined();
  });
});

it('whatever others have set: the new object has all values of the old one that git leaves, and git its own', () => {
  const name = fc.constantFrom('a', 'b', 'c', 'd', 'e');
  const items = fc.uniqueArray(fc.record({ name, value: fc.string({ maxLength: 3 }) }), {
    selector: (one) => one.name,
  });
  fc.assert(
    fc.property(items, fc.uniqueArray(name), (env, gits) => {
      const theirs = env.filter((one) => !gits.includes(one.name));
      const entry = update(
        'kubectl-set',
        ofMain({
          'f:env': Object.fromEntries(
            theirs.map((one) => [`k:{"name":"${one.name}"}`, { '.': {}, 'f:name': {}, 'f:value': {} }]),
          ),
        }),
      );
      const old = oldObject(specOf({}, { spec: { containers: [container({ env })] } }), [GIT, entry]);
      const named = env.filter((one) => gits.includes(one.name)).map((one) => ({ ...one, value: 'git' }));
      const body = manifest(specOf({}, { spec: { containers: [container({ env: named })] } }));
      const result = withCarried(body, carriedFields(old, body));
      // Of all of them, in the order of before.
      const wanted = env.map((one) => (gits.includes(one.name) ? { ...one, value: 'git' } : one));
      expect(result).toEqual(manifest(specOf({}, { spec: { containers: [container({ env: wanted })] } })));
    }),
  );
});
