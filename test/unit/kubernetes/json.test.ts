import { describe, expect, it } from '@jest/globals';
import { fc } from '../../support/properties.ts';

import { parseJson, stringifyBody, stringifyJson } from '../../../kubernetes/json.ts';
import { trusted } from '../../../kubernetes/values.ts';

describe('JSON with int64 (C10)', () => {
  it('keeps an integer beyond 2^53 as bigint and writes it back', () => {
    const text = '{"revision":3546343826724305832,"small":1,"list":[-9223372036854775808],"text":"x"}';
    const value = trusted<{ revision: bigint }>(parseJson(text));
    expect(value).toEqual({
      revision: 3546343826724305832n,
      small: 1,
      list: [-9223372036854775808n],
      text: 'x',
    });
    expect(stringifyJson({ ...value, revision: value.revision + 1n })).toContain('3546343826724305833');
    expect(stringifyJson(value)).toBe(text);
  });

  it.each([
    ['9007199254740991', 9007199254740991],
    ['9007199254740993', 9007199254740993n],
    [' 9007199254740993', 9007199254740993n],
    ['[ 1 , 9007199254740993 ]', [1, 9007199254740993n]],
    ['1234567890123456.5', 1234567890123456.5],
    ['1e30', 1e30],
    ['{"a":"9007199254740993"}', { a: '9007199254740993' }],
    ['{"sha":"sha256:1234567890123456789"}', { sha: 'sha256:1234567890123456789' }],
  ])('%s', (text, value) => {
    expect(parseJson(text)).toEqual(value);
  });

  it('agrees with JSON.parse and JSON.stringify on everything else', () => {
    const values = [
      fc.string(),
      fc.maxSafeInteger(),
      fc.double({ min: -1e15, max: 1e15 }),
      fc.boolean(),
      fc.constant(null),
    ];
    fc.assert(
      fc.property(fc.object({ values }), (value) => {
        const text = JSON.stringify(value);
        expect(parseJson(text)).toEqual(JSON.parse(text));
        expect(stringifyJson(value)).toBe(text);
      }),
    );
  });

  it('survives a round trip with bigints anywhere', () => {
    const big = fc.bigInt({ min: 2n ** 53n, max: 2n ** 63n });
    fc.assert(
      fc.property(
        fc.object({ values: [big, fc.string(), fc.integer(), fc.boolean(), fc.constant(null)] }),
        (value) => {
          expect(parseJson(stringifyJson(value))).toEqual(value);
        },
      ),
    );
  });

  it('refuses what is no JSON, and values without a JSON form', () => {
    expect(() => parseJson('{"a":1234567890123456789')).toThrow(SyntaxError);
    expect(() => parseJson('<html>')).toThrow(SyntaxError);
    expect(() => stringifyJson(undefined)).toThrow(TypeError);
  });
});

describe('bodies of requests are spelt as Go spells them (C9)', () => {
  it('sorts keys as text at every depth, escapes HTML, keeps int64, leaves out what is undefined', () => {
    const body = {
      spec: { template: { metadata: { labels: { '9': 'b', '10': 'a' } }, $patch: 'replace' } },
      args: ['a && b > c', undefined, 9223372036854775807n],
      absent: undefined,
    };
    expect(stringifyBody(body)).toBe(
      '{"args":["a \\u0026\\u0026 b \\u003e c",null,9223372036854775807],' +
        '"spec":{"template":{"$patch":"replace","metadata":{"labels":{"10":"a","9":"b"}}}}}',
    );
  });

  it('means the same as JSON.stringify', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(JSON.parse(stringifyBody(value))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it('refuses what has no JSON form', () => {
    expect(() => stringifyBody(undefined)).toThrow(TypeError);
  });
});
