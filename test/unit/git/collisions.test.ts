/** What others have put beside a manifest's own, by the refusals of apiserver 1.36 and by its `managedFields`. */

import { describe, expect, it } from '@jest/globals';

import { blamed, collisions, suspects } from '../../../git/collisions.ts';
import { responseError } from '../../../kubernetes/response-errors.ts';
import type { JsonObject, KubernetesObject } from '../../../planners/objects.ts';

const path = { group: '', version: 'v1', resource: 'services', namespace: 'ns', name: 'web' };

function refusal(...causes: readonly { field?: string; message: string }[]) {
  const status = { kind: 'Status', code: 422, reason: 'Invalid', message: 'no', details: { causes } };
  return responseError({ method: 'PATCH', path, server: '' }, 422, JSON.stringify(status), undefined);
}

function object(spec: object, owned: JsonObject, manager = 'kubectl-patch'): KubernetesObject {
  const managedFields = [{ manager, operation: 'Update', fieldsV1: { 'f:spec': owned } }];
  return { metadata: { name: 'web', uid: 'u', resourceVersion: '1', managedFields }, spec } as never;
}

const item = (port: number) => `k:{"port":${port},"protocol":"TCP"}`;
const PORTS = {
  ports: [
    { name: 'http', port: 81, protocol: 'TCP' },
    { name: 'mine', port: 95, protocol: 'TCP' },
  ],
};
const OWNED = { 'f:ports': { [item(81)]: { 'f:name': {} }, [item(95)]: { 'f:name': {} } } };
const BODY = { spec: { ports: [{ name: 'http', port: 80 }] } };
const DUPLICATE = { field: 'spec.ports[1].name', message: 'Duplicate value: "http"' };
const labels = (found: readonly { label: string }[]) => found.map(({ label }) => label);

describe('of a list', () => {
  it('the item of the same name, and no other of theirs', () => {
    const found = collisions(refusal(DUPLICATE), BODY, object(PORTS, OWNED));
    expect(found).toMatchObject([
      {
        label: 'spec.ports[port=81,protocol="TCP"]',
        path: ['f:spec', 'f:ports', item(81)],
        pointer: '/spec/ports/0',
        managers: ['kubectl-patch'],
      },
    ]);
  });

  it('where the manifest has one item without a name: theirs, since one of several needs one', () => {
    const body = { spec: { ports: [{ port: 80 }] } };
    const required = { field: 'spec.ports[0].name', message: 'Required value' };
    expect(labels(collisions(refusal(required), body, object(PORTS, OWNED)))).toHaveLength(2);
    const two = { spec: { ports: [{ port: 80 }, { port: 90 }] } };
    expect(collisions(refusal(required), two, object(PORTS, OWNED))).toEqual([]);
  });

  it('in our own words, of a workload', () => {
    const said =
      "ValidatingAdmissionPolicy 'fairlead-x' with binding 'fairlead-x' denied request: spec.containers[0].ports: Duplicate value: two ports have the same name";
    const live = { containers: [{ name: 'main', ports: PORTS.ports }] };
    const body = { spec: { containers: [{ name: 'main', ports: BODY.spec.ports }] } };
    const owned = { 'f:containers': { 'k:{"name":"main"}': OWNED } };
    expect(labels(collisions(refusal({ message: said }), body, object(live, owned)))).toEqual([
      'spec.containers[name="main"].ports[port=81,protocol="TCP"]',
    ]);
  });
});

describe('of one that may have one kind alone', () => {
  const live = { volumes: [{ name: 'v', emptyDir: {}, hostPath: { path: '/x' } }], replicas: 5 };
  const owned = { 'f:volumes': { 'k:{"name":"v"}': { 'f:hostPath': {} } }, 'f:replicas': {} };
  const body = { spec: { volumes: [{ name: 'v', emptyDir: {} }] } };
  const many = 'Forbidden: may not specify more than 1 volume type';

  it.each(['spec.volumes[0].hostPath', 'spec.volumes[0].emptyDir', 'spec.volumes[0]'])('%s', (field) => {
    expect(labels(collisions(refusal({ field, message: many }), body, object(live, owned)))).toEqual([
      'spec.volumes[name="v"].hostPath',
    ]);
  });
});

it('what is not found because of that is no reason of its own', () => {
  const missing = { field: 'spec.mounts[0].name', message: 'Not found: "v"' };
  expect(collisions(refusal(DUPLICATE, missing), BODY, object(PORTS, OWNED))).toHaveLength(1);
  expect(collisions(refusal(missing), BODY, object(PORTS, OWNED))).toEqual([]);
});

describe('nothing is taken out', () => {
  const live = object(PORTS, OWNED);
  it.each<[string, Parameters<typeof collisions>]>([
    [
      'where something else is wrong as well',
      [refusal(DUPLICATE, { field: 'spec.type', message: 'Unsupported value: "x"' }), BODY, live],
    ],
    ['that the manifest names', [refusal(DUPLICATE), { spec: PORTS }, live]],
    ['of an object that is not there', [refusal(DUPLICATE), BODY, undefined]],
    ['that is ours', [refusal(DUPLICATE), BODY, object(PORTS, {})]],
    [
      'for another list',
      [refusal({ field: 'spec.others[1].name', message: 'Duplicate value: "http"' }), BODY, live],
    ],
    [
      'for a value that is no good in itself',
      [refusal({ field: 'spec.ports[1].name', message: 'Invalid value: "http": no' }), BODY, live],
    ],
    ['for another error', [new Error('no'), BODY, live]],
  ])('%s', (_, given) => {
    expect(collisions(...given)).toEqual([]);
  });
});

it('what may be why, and cannot be told, is named with a command', () => {
  const error = refusal({
    field: 'spec.strategy.rollingUpdate',
    message: "Forbidden: may not be specified when strategy `type` is 'Recreate'",
  });
  const live = object(
    { strategy: { type: 'Recreate' }, replicas: 3 },
    {
      'f:strategy': { 'f:type': {} },
      'f:replicas': {},
    },
  );
  const body = { spec: { strategy: { rollingUpdate: { maxSurge: 2 } } } };
  expect(collisions(error, body, live)).toEqual([]);
  const foreign = suspects(error, body, live);
  const found = { code: 'Invalid', message: 'No.', file: 'a.yaml', line: 3 } as const;
  expect(blamed(found, { path, label: 'Service ns/web' }, foreign)).toEqual({
    ...found,
    message: 'No. Beside it, in the cluster: "kubectl-patch" owns spec.strategy.type.',
    object: 'Service ns/web',
    next: `If the manifest is right, take out what was put beside it: kubectl patch services web -n ns --type=json -p '[{"op":"remove","path":"/spec/strategy/type"}]' (the commit is tried again by itself).`,
  });
});
