/** Whether a manifest names a field, by the apiserver's own path of it. */

import { describe, expect, it } from '@jest/globals';

import { namesField } from '../../../git/taken-back.ts';

const MANIFEST = {
  metadata: { annotations: { 'example.com/a': 'x' }, finalizers: ['example.com/f'] },
  data: { a: '1', 'a.b': { c: '2' }, gone: null },
  spec: {
    ports: [{ port: 80 }, { port: 81, protocol: 'UDP' }],
    containers: [{ name: 'a"]b', image: 'x', args: ['y'] }],
    plain: [{ deep: 'z' }],
  },
};

describe('a manifest names', () => {
  it.each([
    ['.data', true],
    ['.data.a', true],
    ['.data.a.b.c', true],
    ['.data.ab', false],
    ['.data.gone', false],
    ['.data.other', false],
    ['.metadata.annotations.example.com/a', true],
    ['.metadata.finalizers[="example.com/f"]', true],
    ['.metadata.finalizers[="example.com/g"]', false],
    ['.spec.ports[port=80,protocol="TCP"].port', true],
    ['.spec.ports[port=80,protocol="TCP"].nodePort', false],
    ['.spec.ports[port=81,protocol="TCP"].port', false],
    ['.spec.ports[port=81,protocol="UDP"]', true],
    ['.spec.containers[name="a\\"]b"].image', true],
    ['.spec.containers[name="b"].image', false],
    ['.spec.plain[0].deep', true],
    ['.spec.plain[1].deep', false],
    ['?', false],
  ])('%s: %j', (field, named) => {
    expect(namesField(MANIFEST, field)).toBe(named);
  });
});
