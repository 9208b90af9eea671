/** What git drops of an object that others own too: taken out, or told. */

import { describe, expect, it } from '@jest/globals';

import { droppedFields, inTheWay, testsOf, withoutTaken } from '../../../git/dropped-fields.ts';
import { ApiError } from '../../../kubernetes/api-error.ts';
import type { JsonObject, KubernetesObject } from '../../../planners/objects.ts';

interface Entry {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly fieldsV1: JsonObject;
  readonly subresource?: string;
}

const git = (fieldsV1: JsonObject): Entry => ({ manager: 'fairlead', operation: 'Apply', fieldsV1 });
const by = (manager: string, fieldsV1: JsonObject, operation: Entry['operation'] = 'Update'): Entry => ({
  manager,
  operation,
  fieldsV1,
});
const KUBECTL = 'kubectl-client-side-apply';
const DATA = { 'f:data': { 'f:a': {}, 'f:b': {} } };

function object(content: JsonObject, ...managedFields: readonly Entry[]): KubernetesObject {
  return { metadata: { name: 'x', uid: 'u', managedFields }, ...content } as unknown as KubernetesObject;
}

/** Labels of what is taken, and of what is kept with its managers. */
function told(live: KubernetesObject, body: JsonObject) {
  const { taken, kept } = droppedFields(live, body);
  return {
    taken: taken.map(({ label }) => label),
    kept: kept.map(({ label, managers }) => `${label} ${managers.join()}`),
  };
}

describe('a field that git drops', () => {
  const content = { data: { a: '1', b: '2' } };
  const body = { data: { a: '1' } };

  it.each<[string, readonly Entry[], object]>([
    ['is nobody else’s: the apply takes it out', [git(DATA)], { taken: [], kept: [] }],
    ['was applied by hand before', [git(DATA), by(KUBECTL, DATA)], { taken: ['data.b'], kept: [] }],
    ['was written by kubectl', [git(DATA), by('kubectl', DATA)], { taken: ['data.b'], kept: [] }],
    ['is a controller’s too', [git(DATA), by('operator', DATA)], { taken: [], kept: ['data.b operator'] }],
    [
      'is applied by another tool, and by hand',
      [git(DATA), by(KUBECTL, DATA), by('helm', DATA, 'Apply')],
      { taken: [], kept: [`data.b ${KUBECTL},helm`] },
    ],
    [
      'is applied server-side by hand: whoever does that owns it',
      [git(DATA), by('kubectl', DATA, 'Apply')],
      { taken: [], kept: ['data.b kubectl'] },
    ],
    ['was never git’s', [git({ 'f:data': { 'f:a': {} } }), by(KUBECTL, DATA)], { taken: [], kept: [] }],
    ['is a status', [git(DATA), { ...by(KUBECTL, DATA), subresource: 'status' }], { taken: [], kept: [] }],
  ])('%s', (_, managedFields, expected) => {
    expect(told(object(content, ...managedFields), body)).toEqual(expected);
  });

  it('is a whole mapping, of which somebody has more: git’s part of it', () => {
    const owned = { 'f:data': { '.': {}, 'f:a': {} } };
    const live = object(content, git(owned), by(KUBECTL, { 'f:data': { '.': {}, 'f:a': {}, 'f:b': {} } }));
    expect(told(live, {})).toEqual({ taken: ['data.a'], kept: [] });
  });

  const item = (name: string, ...fields: readonly string[]) => ({
    [`k:{"name":"${name}"}`]: Object.fromEntries([['.', {}], ...fields.map((field) => [`f:${field}`, {}])]),
  });
  const containers = [
    { name: 'main', image: 'a' },
    { name: 'side', image: 'b', tty: true },
  ];

  it('is an item of a list, or one that somebody has put more into', () => {
    const own = {
      'f:spec': { 'f:containers': { ...item('main', 'name', 'image'), ...item('side', 'name', 'image') } },
    };
    const more = { 'f:spec': { 'f:containers': item('side', 'name', 'image', 'tty') } };
    const without = { spec: { containers: [{ name: 'main', image: 'a' }] } };
    const live = (theirs: JsonObject) => object({ spec: { containers } }, git(own), by(KUBECTL, theirs));
    expect(told(live(own), without)).toEqual({ taken: ['spec.containers[name="side"]'], kept: [] });
    expect(told(live(more), without)).toEqual({
      taken: [],
      kept: [`spec.containers[name="side"] ${KUBECTL}`],
    });
    expect(withoutTaken(droppedFields(live(own), without), live(own))).toMatchObject({
      spec: { containers: [{ name: 'main', image: 'a' }] },
    });
  });

  describe('is an item of which somebody has set a value', () => {
    const value = { 'f:spec': { 'f:containers': { 'k:{"name":"side"}': { 'f:image': {} } } } };
    const own = {
      'f:spec': { 'f:containers': { ...item('main', 'name', 'image'), ...item('side', 'name') } },
    };
    const live = object({ spec: { containers } }, git(own), by('injector', value));

    it('goes with the apply, and nothing is told', () => {
      expect(told(live, { spec: { containers: [{ name: 'main', image: 'a' }] } })).toEqual({
        taken: [],
        kept: [],
      });
    });

    it('goes with its whole list: the apply would leave one that is null', () => {
      expect(told(live, { spec: {} })).toEqual({ taken: ['spec.containers'], kept: [] });
    });
  });

  it('is taken out by a command that tests where it is', () => {
    const place = {
      path: ['f:spec', 'f:ports', 'k:{"port":80,"protocol":"TCP"}', 'f:tags', 'v:"a"'],
      pointer: '/spec/ports/1/tags/0',
    };
    expect(testsOf(place)).toEqual([
      { op: 'test', path: '/spec/ports/1/port', value: 80 },
      { op: 'test', path: '/spec/ports/1/protocol', value: 'TCP' },
      { op: 'test', path: '/spec/ports/1/tags/0', value: 'a' },
    ]);
  });

  it('is the size, which an autoscaler is to set: it is left to who has it', () => {
    const own = { 'f:spec': { 'f:replicas': {}, 'f:paused': {} } };
    const live = object({ spec: { replicas: 3, paused: true } }, git(own), by(KUBECTL, own));
    expect(told(live, { spec: {} })).toEqual({ taken: ['spec.paused'], kept: [] });
  });

  it('is one of a set, and a field with dots and slashes in its name', () => {
    const own = {
      'f:metadata': {
        'f:annotations': { 'f:example.com/a~b': {} },
        'f:finalizers': { 'v:"example.com/f"': {} },
      },
    };
    const metadata = { annotations: { 'example.com/a~b': 'x' }, finalizers: ['example.com/f', 'other'] };
    const live = object({}, git(own), by('kubectl-edit', own));
    const whole = { ...live, metadata: { ...live.metadata, ...metadata } };
    const { taken } = droppedFields(whole, { metadata: { annotations: {}, finalizers: ['other'] } });
    expect(taken.map(({ label, pointer }) => [label, pointer])).toEqual([
      ['metadata.annotations.example.com/a~b', '/metadata/annotations/example.com~1a~0b'],
      ['metadata.finalizers["example.com/f"]', '/metadata/finalizers/0'],
    ]);
    expect(withoutTaken(droppedFields(whole, { metadata: { finalizers: ['other'] } }), whole)).toMatchObject({
      metadata: { finalizers: ['other'] },
    });
  });
});

describe('a template that an undo has brought back', () => {
  const variable = (name: string) => ({ [`k:{"name":"${name}"}`]: { '.': {}, 'f:name': {}, 'f:value': {} } });
  const template = (...names: readonly string[]): JsonObject => ({
    'f:spec': {
      'f:template': {
        'f:spec': {
          'f:containers': {
            'k:{"name":"main"}': {
              '.': {},
              'f:name': {},
              'f:env': Object.assign({}, ...names.map(variable)),
            },
          },
        },
      },
    },
  });
  const env = ['BAR', 'FOO'].map((name) => ({ name, value: '1' }));
  const spec = (variables: readonly object[], annotations?: JsonObject) => ({
    spec: {
      template: {
        metadata: annotations === undefined ? {} : { annotations },
        spec: { containers: [{ name: 'main', env: variables }] },
      },
    },
  });
  const body = spec(env.slice(0, 1));

  it.each<[string, Entry, object]>([
    [
      'is git’s to take out, with what git never applied since',
      by('fairlead', template('FOO')),
      { taken: ['spec.template.spec.containers[name="main"].env[name="FOO"]'], kept: [] },
    ],
    [
      'also where kubectl did it',
      by('kubectl-rollout', template('FOO')),
      { taken: ['spec.template.spec.containers[name="main"].env[name="FOO"]'], kept: [] },
    ],
    ['is no one else’s: an injector keeps its own', by('injector', template('FOO')), { taken: [], kept: [] }],
  ])('%s', (_, entry, expected) => {
    expect(told(object(spec(env), git(template('BAR')), entry), body)).toEqual(expected);
  });

  it.each([
    ['Deployment', ['metadata.annotations.note']],
    ['StatefulSet', []],
  ])('has brought annotations back as well, those of a %s', (kind, taken) => {
    const annotations = {
      note: 'x',
      'fairlead.dev/changed': '{}',
      'deployment.kubernetes.io/revision': '1',
      'example.com/own': 'x',
    };
    const fields = (...keys: readonly string[]): JsonObject => ({
      'f:metadata': { 'f:annotations': Object.fromEntries(keys.map((key) => [`f:${key}`, {}])) },
    });
    const whole = object(
      { kind },
      git(template('BAR')),
      by('fairlead', fields('note', 'fairlead.dev/changed', 'deployment.kubernetes.io/revision')),
      by('operator', fields('example.com/own')),
    );
    const live = { ...whole, metadata: { ...whole.metadata, annotations } };
    expect(told(live, { metadata: { annotations: {} } })).toEqual({ taken, kept: [] });
  });

  it('goes as a whole where git has nothing of it: half of it would be none', () => {
    const volumes = (inner: object): JsonObject => ({
      'f:spec': { 'f:template': { 'f:spec': { 'f:volumes': { 'k:{"name":"c"}': inner } } } },
    });
    const config = { 'f:configMap': { 'f:name': {} } };
    const live = object(
      { spec: { template: { spec: { volumes: [{ name: 'c', configMap: { name: 'a' } }] } } } },
      git(volumes({ '.': {}, 'f:name': {}, 'f:configMap': {} })),
      by('fairlead', volumes(config)),
    );
    expect(told(live, { spec: { template: { spec: {} } } })).toEqual({
      taken: ['spec.template.spec.volumes'],
      kept: [],
    });
  });

  it('is what a dry run may refuse, for it takes half of a list', () => {
    let message = 'no';
    const refused = (...fields: readonly string[]) =>
      new ApiError(
        { method: 'PATCH', path: '/x', server: 'http://test' },
        {
          status: 422,
          reason: 'Invalid',
          text: 'invalid',
          details: { causes: fields.map((field) => ({ field, message })) },
        },
      );
    const isBlocked = (error: unknown, those: Parameters<typeof inTheWay>[1]) =>
      inTheWay(error, those).length > 0;
    const fieldsOf = (...labels: readonly string[]) =>
      labels.map((label) => ({ label, path: [], pointer: '', managers: [] }));
    const label = 'spec.template.spec.volumes';
    const dropped = fieldsOf(label);
    const ask = (...fields: readonly string[]) => isBlocked(refused(...fields), dropped);
    expect([ask(label, '<nil>'), ask(`${label}.name`), ask(`${label}[0].name`)]).toEqual([true, true, true]);
    const others = [[], ['<nil>'], [''], [label, 'spec.replicas'], [`${label}2`]];
    expect(others.map((fields) => ask(...fields))).toEqual(others.map(() => false));
    const container = 'spec.template.spec.containers[name="main"]';
    const at = 'spec.template.spec.containers[0]';
    const beside = `${at}.readinessProbe.tcpSocket`;
    const probe = fieldsOf(`${container}.readinessProbe.httpGet`);
    expect(isBlocked(refused(`${at}.readinessProbe.httpGet.port`), probe)).toBe(true);
    expect(isBlocked(refused(beside), probe)).toBe(false);
    message = 'Forbidden: may not specify more than 1 handler type';
    expect(isBlocked(refused(beside), probe)).toBe(true);
    expect(isBlocked(refused(`${at}.livenessProbe.tcpSocket`), probe)).toBe(false);
    const value = fieldsOf(`${container}.env[name="a[0].b"].value`);
    expect(isBlocked(refused(`${at}.env[1].valueFrom`), value)).toBe(true);
    // What is not in the way is nobody's to take.
    expect(inTheWay(refused(beside), [...value, ...probe, ...dropped])).toEqual(probe);
    expect(isBlocked(new Error('no'), dropped)).toBe(false);
  });

  it('keeps when it was restarted: without it every pod would be replaced once more', () => {
    const restart = { 'kubectl.kubernetes.io/restartedAt': 'now', 'fairlead.dev/restarted': '{}' };
    const annotations = (all: JsonObject): JsonObject => ({
      'f:spec': {
        'f:template': {
          'f:metadata': {
            'f:annotations': Object.fromEntries(
              ['.', ...Object.keys(all).map((key) => `f:${key}`)].map((key) => [key, {}]),
            ),
          },
        },
      },
    });
    const restarted = by('fairlead', annotations(restart));
    const undone = by('fairlead', annotations({ ...restart, note: 'x' }));
    expect(told(object(spec(env, restart), git(template('BAR', 'FOO')), restarted), spec(env))).toEqual({
      taken: [],
      kept: [],
    });
    expect(
      told(object(spec(env, { ...restart, note: 'x' }), git(template('BAR', 'FOO')), undone), spec(env)),
    ).toEqual({ taken: ['spec.template.metadata.annotations.note'], kept: [] });
  });
});
