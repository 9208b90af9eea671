/** Who owns which field, as the apiserver writes it down. */

import { describe, expect, it } from '@jest/globals';

import type { ManagedFields } from '../../../kubernetes/managed-fields.ts';
import {
  appliedFields,
  fieldsDigest,
  handedOver,
  isAsApplied,
  lastManager,
  ownsAll,
} from '../../../kubernetes/managed-fields.ts';
import type { KubernetesObject } from '../../../planners/objects.ts';

describe('what was applied is still owned', () => {
  const containers = { spec: { containers: [{ name: 'app', image: 'x' }] } };
  const item = (fields: object) => ({ 'f:spec': { 'f:containers': { 'k:{"name":"app"}': fields } } });

  it.each<[string, unknown, unknown, boolean]>([
    ['a field', { data: { a: '1' } }, { 'f:data': { 'f:a': {} } }, true],
    ['a field of several', { data: { a: '1', b: '2' } }, { 'f:data': { 'f:b': {} } }, false],
    ['nothing is owned', { data: { a: '1' } }, undefined, false],
    ['a whole mapping', { selector: { app: 'x' } }, { 'f:selector': {} }, true],
    ['a whole list', { args: ['a', 'b'] }, { 'f:args': {} }, true],
    ['an empty mapping', { emptyDir: {} }, { 'f:emptyDir': {} }, true],
    ['null, which means nothing', { data: { a: null } }, { 'f:data': { '.': {} } }, true],
    ['an item by its name', containers, item({ '.': {}, 'f:name': {}, 'f:image': {} }), true],
    ['an item whose image was taken', containers, item({ '.': {}, 'f:name': {} }), false],
    ['an item that is gone', containers, { 'f:spec': { 'f:containers': {} } }, true],
    [
      'another item',
      containers,
      { 'f:spec': { 'f:containers': { 'k:{"name":"other"}': { 'f:name': {} } } } },
      false,
    ],
    [
      'a key that has its default',
      { ports: [{ port: 80 }] },
      { 'f:ports': { 'k:{"port":80,"protocol":"TCP"}': { '.': {}, 'f:port': {} } } },
      true,
    ],
    ['a member of a set', { finalizers: ['x'] }, { 'f:finalizers': { 'v:"x"': {} } }, true],
    ['a member that is gone', { finalizers: ['x', 'y'] }, { 'f:finalizers': { 'v:"x"': {} } }, false],
    ['a mapping whose members were taken', { labels: { a: 'b' } }, { 'f:labels': { '.': {} } }, false],
  ])('%s', (_name, applied, owned, expected) => {
    expect(ownsAll(applied, owned)).toBe(expected);
  });
});

describe('what was applied is as it was left', () => {
  const ports = (...list: readonly object[]) => ({ ports: list });
  const http = { name: 'http', port: 80 };
  const ownsHttp = {
    'f:ports': { 'k:{"port":80,"protocol":"TCP"}': { '.': {}, 'f:name': {}, 'f:port': {} } },
  };

  it.each<[string, unknown, unknown, unknown, boolean]>([
    ['a field', { data: { a: '1' } }, { data: { a: '1' } }, { 'f:data': { 'f:a': {} } }, true],
    [
      'and what others have',
      { data: { a: '1' } },
      { data: { a: '1', b: '2' } },
      { 'f:data': { 'f:a': {} } },
      true,
    ],
    ['another value', { data: { a: '1' } }, { data: { a: '2' } }, { 'f:data': { 'f:a': {} } }, false],
    [
      'taken from us',
      { data: { a: '1', b: '2' } },
      { data: { a: '1', b: '2' } },
      { 'f:data': { 'f:b': {} } },
      false,
    ],
    [
      'more is ours',
      { data: { a: '1' } },
      { data: { a: '1', b: '2' } },
      { 'f:data': { 'f:a': {}, 'f:b': {} } },
      false,
    ],
    [
      'more is ours, called as what every object has',
      { data: { a: '1' } },
      { data: { a: '1', constructor: '2' } },
      { 'f:data': { 'f:a': {}, 'f:constructor': {} } },
      false,
    ],
    [
      'more in a whole',
      { selector: { a: 'x' } },
      { selector: { a: 'x', b: 'y' } },
      { 'f:selector': {} },
      false,
    ],
    ['a whole', { args: ['a', 'b'] }, { args: ['a', 'b'] }, { 'f:args': {} }, true],
    ['other words', { cpu: '1000m' }, { cpu: '1' }, { 'f:cpu': {} }, false],
    ['null', { data: { a: null } }, { data: {} }, { 'f:data': { '.': {} } }, false],
    ['nothing is owned', { data: { a: '1' } }, { data: { a: '1' } }, undefined, false],
    ['an item with a default', ports(http), ports({ ...http, protocol: 'TCP' }), ownsHttp, true],
    [
      'an item of others beside',
      ports(http),
      ports({ ...http, protocol: 'TCP' }, { name: 'x', port: 81 }),
      ownsHttp,
      false,
    ],
    ['an item of ours beside', ports(), ports(http), ownsHttp, false],
    ['an item that has changed', ports(http), ports({ ...http, name: 'web' }), ownsHttp, false],
    ['a set', { finalizers: ['x'] }, { finalizers: ['x'] }, { 'f:finalizers': { 'v:"x"': {} } }, true],
    [
      'a set with more',
      { finalizers: ['x'] },
      { finalizers: ['x', 'y'] },
      { 'f:finalizers': { 'v:"x"': {} } },
      false,
    ],
  ])('%s', (_name, wanted, live, owned, expected) => {
    expect(isAsApplied(wanted, live, owned)).toBe(expected);
  });
});

describe('the managers of an object', () => {
  const object = (entries: readonly ManagedFields[], generation = 1): KubernetesObject => ({
    metadata: {
      name: 'x',
      uid: 'u',
      resourceVersion: '1',
      generation,
      managedFields: entries,
    },
  });
  const applied: ManagedFields = {
    manager: 'fairlead',
    operation: 'Apply',
    time: '2026-01-01T00:00:00Z',
    fieldsV1: { 'f:data': {} },
  };
  const updated = (more: Partial<ManagedFields>): ManagedFields => ({
    ...applied,
    operation: 'Update',
    ...more,
  });

  it('our own verbs are told apart from what we apply', () => {
    expect(appliedFields(object([updated({ fieldsV1: { 'f:spec': {} } }), applied]), 'fairlead')).toEqual({
      'f:data': {},
    });
    expect(appliedFields(object([updated({})]), 'fairlead')).toBeUndefined();
    expect(appliedFields(object([{ ...applied, subresource: 'scale' }]), 'fairlead')).toBeUndefined();
  });

  it('the last one that wrote, but for the status', () => {
    const entries = [
      applied,
      updated({ manager: 'kubectl-edit', time: '2026-01-02T00:00:00Z' }),
      updated({ manager: 'helm', time: '2026-01-03T00:00:00Z' }),
      updated({ manager: 'kubelet', subresource: 'status', time: '2026-01-04T00:00:00Z' }),
    ];
    expect(lastManager(object(entries), 'fairlead')).toBe('helm');
    expect(lastManager(object([applied]), 'fairlead')).toBeUndefined();
  });

  it('a status changes no digest, everything else does', () => {
    const before = fieldsDigest(object([applied]));
    expect(fieldsDigest(object([applied, updated({ subresource: 'status' })]))).toBe(before);
    expect(fieldsDigest(object([applied, updated({ manager: 'kubectl-edit' })]))).not.toBe(before);
    expect(fieldsDigest(object([applied], 2))).not.toBe(before);
  });

  it('of a kind without generation its digest tells two changes of one second apart', () => {
    const at = (resourceVersion: string): KubernetesObject => ({
      metadata: { name: 'x', uid: 'u', resourceVersion, managedFields: [applied] },
    });
    expect(fieldsDigest(at('2'))).not.toBe(fieldsDigest(at('1')));
  });
});

it('hands fields over: everybody else loses them, empty entries go, the status stays', () => {
  const ports = (fields: object) => ({ 'f:spec': { 'f:ports': fields } });
  const theirs = { 'k:{"port":81}': { '.': {}, 'f:name': {} } };
  const object = {
    metadata: {
      name: 'web',
      uid: 'u',
      resourceVersion: '1',
      managedFields: [
        { manager: 'fairlead', operation: 'Apply', time: 't', fieldsV1: { 'f:spec': { 'f:selector': {} } } },
        {
          manager: 'kubectl-patch',
          operation: 'Update',
          fieldsV1: ports({ ...theirs, 'k:{"port":95}': {} }),
        },
        {
          manager: 'other',
          operation: 'Update',
          fieldsV1: ports({ 'k:{"port":81}': { 'f:targetPort': {} } }),
        },
        { manager: 'other', operation: 'Update', subresource: 'status', fieldsV1: { 'f:status': {} } },
      ],
    },
  } as unknown as KubernetesObject;
  const path = ['f:spec', 'f:ports', 'k:{"port":81}'];
  expect(handedOver(object, 'fairlead', 'v1', [path])).toEqual([
    { manager: 'kubectl-patch', operation: 'Update', fieldsV1: ports({ 'k:{"port":95}': {} }) },
    { manager: 'other', operation: 'Update', subresource: 'status', fieldsV1: { 'f:status': {} } },
    {
      manager: 'fairlead',
      operation: 'Apply',
      time: 't',
      fieldsV1: {
        'f:spec': {
          'f:selector': {},
          'f:ports': { 'k:{"port":81}': { '.': {}, 'f:name': {}, 'f:targetPort': {} } },
        },
      },
    },
  ]);
});
