import { describe, expect, it } from '@jest/globals';

import {
  isAlreadyExists,
  isConflict,
  isForbidden,
  isGone,
  isInvalid,
  isNotFound,
  isTransient,
} from '../../../kubernetes/api-error.ts';
import { byCause, responseError, transportError } from '../../../kubernetes/response-errors.ts';

const PATCH = {
  method: 'PATCH',
  path: { group: 'apps', version: 'v1', resource: 'statefulsets', namespace: 'prod', name: 'web' },
  server: 'https://server',
};
const SECRET = {
  ...PATCH,
  path: { group: '', version: 'v1', resource: 'secrets', namespace: 'prod', name: 's' },
};

function status(code: number, reason: string | undefined, message = 'words', details?: object): string {
  return JSON.stringify({
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    code,
    reason,
    message,
    details,
  });
}

describe('ApiError', () => {
  it("names method, object and the server's reason", () => {
    const error = responseError(
      PATCH,
      409,
      status(409, 'Conflict', 'the object has been modified'),
      undefined,
    );
    expect(error.message).toBe('PATCH statefulsets.apps prod/web: Conflict: the object has been modified');
    expect(error).toMatchObject({ status: 409, reason: 'Conflict', method: 'PATCH', path: PATCH.path });
  });

  it('keeps causes by field', () => {
    const causes = [{ field: 'spec.replicas', reason: 'FieldValueInvalid', message: 'must be greater' }];
    const error = responseError(
      PATCH,
      422,
      status(422, 'Invalid', 'bad', { kind: 'StatefulSet', name: 'web', causes }),
      undefined,
    );
    expect(error.details).toEqual({ kind: 'StatefulSet', name: 'web', causes });
  });

  it('never quotes a Secret', () => {
    const causes = [{ field: 'data[a]', reason: 'FieldValueInvalid', message: 'Invalid value: "hunter2"' }];
    const body = status(422, 'Invalid', 'Invalid value: "hunter2"', { name: 's', causes });
    for (const request of [SECRET, { ...SECRET, path: '/api/v1/namespaces/prod/secrets/s?a=b' }]) {
      const error = responseError(request, 422, body, undefined);
      expect(JSON.stringify([error, error.message, error.stack])).not.toContain('hunter2');
      expect(error.message).toContain('data[a] (FieldValueInvalid)');
    }
    expect(responseError(SECRET, 500, 'hunter2', undefined).message).not.toContain('hunter2');
  });

  it.each([
    ['.spec: field not declared in schema', '.spec: field not declared in schema'],
    [
      'errors:\n  .stringData.port: expected string, got &value.valueUnstructured{Value:hunter2}\n  .dataa: field not declared in schema',
      '.stringData.port: expected string, got something else, .dataa: field not declared in schema',
    ],
    ['.my_field: field not declared in schema', '.my_field: field not declared in schema'],
    ['.x-my-field: field not declared in schema', '.x-my-field: field not declared in schema'],
    ['.immutable: expected boolean, got &{hunter2}', '.immutable: expected boolean, got something else'],
    ['.immutable: expected boolean, got &{true}', '.immutable: expected boolean, got a string'],
    // What is no name may be a value.
    ['.hunter2/x: field not declared in schema', 'withheld'],
    ['.stringData.hunter 2: expected string, got &{a}', 'withheld'],
    ['.data: odd words about hunter2', 'withheld'],
    [
      'errors:\n  .data.a: expected string, got &{map[a:x\n  .hunter2: y]}\n  .spec: field not declared in schema',
      '.data.a: expected string, got a mapping, .spec: field not declared in schema',
    ],
  ])('tells names of fields of a Secret, of which the schema knows nothing: %j', (said, told) => {
    const message = `failed to create typed patch object (prod/s; /v1, Kind=Secret): ${said}`;
    const error = responseError(SECRET, 500, status(500, undefined, message), undefined);
    expect(error.message).toContain(told);
    expect(JSON.stringify([error, error.message, error.stack])).not.toContain('hunter2');
  });

  it('tells unknown fields of a Secret that is created', () => {
    const message =
      'Secret in version "v1" cannot be handled as a Secret: strict decoding error: unknown field "dataa", unknown field "spec"';
    const error = responseError(SECRET, 400, status(400, 'BadRequest', message), undefined);
    expect(byCause(error).map((one) => one.message)).toEqual([
      'PATCH secrets prod/s: BadRequest: dataa: field not declared in schema',
      'PATCH secrets prod/s: BadRequest: spec: field not declared in schema',
    ]);
  });

  it.each([
    ['fairlead-deployments.apps', 2],
    ['other', 1],
  ])(
    'tells what our own admission policies say of several fields field by field: policy %s',
    (policy, count) => {
      const said = [
        'spec.a.maxSurge: Invalid value: "5x%": must be a number; with a percentage from 1% to 100%',
        'spec.template.spec.containers[0].image: Required value: name: one',
      ];
      const message = `ValidatingAdmissionPolicy '${policy}' with binding 'all' denied request: ${said.join('; ')}`;
      const request = { method: 'PATCH', path: { ...SECRET.path, group: 'apps', resource: 'deployments' } };
      const body = status(422, 'Invalid', `deployments.apps "x" is forbidden: ${message}`, {
        causes: [{ message }],
      });
      const found = byCause(responseError({ ...SECRET, ...request }, 422, body, undefined));
      expect(found).toHaveLength(count);
      // That of others is one text, whatever is in it.
      const texts = found.map((one) => one.message.replace(/^.*?: Invalid: /, ''));
      expect(texts.join('; ')).toContain(said.join('; '));
    },
  );

  it.each([
    [
      [
        [
          '<nil>',
          'Invalid value: "": Checked value must be of type integer with format int32 in spec.replicas',
        ],
        ['.spec.replicas', 'Invalid value: 3000000000: should be less than or equal to 2147483647'],
      ],
      ['.spec.replicas: Invalid value: 3000000000: should be less than or equal to 2147483647'],
    ],
    [
      [
        ['spec.replicas', 'Invalid value: -2: spec.replicas in body should be greater than or equal to 0'],
        ['.spec.replicas', 'Invalid value: -2: should be a non-negative integer'],
      ],
      ['spec.replicas: Invalid value: -2: spec.replicas in body should be greater than or equal to 0'],
    ],
  ])('of one mistake that two checks see tells one thing', (told, expected) => {
    const causes = told.map(([field, message]) => ({ field, reason: 'FieldValueInvalid', message }));
    const all = told.map((words) => words.join(': ')).join(', ');
    const error = responseError(PATCH, 422, status(422, 'Invalid', all, { causes }), undefined);
    expect(byCause(error).map((one) => one.message)).toEqual(
      expected.map((text) => `PATCH statefulsets.apps prod/web: Invalid: ${text}`),
    );
  });

  it('names who owns a field of a Secret', () => {
    const causes = [
      { field: '.data.a', reason: 'FieldManagerConflict', message: 'conflict with "kubectl-edit" using v1' },
    ];
    const error = responseError(SECRET, 409, status(409, 'Conflict', 'hunter2', { causes }), undefined);
    expect(error.details?.causes).toEqual(causes);
    expect(error.message).not.toContain('hunter2');
  });

  it('says which permission for Secrets is missing', () => {
    const message =
      'secrets "hunter2" is forbidden: User "system:serviceaccount:prod:sync" cannot patch resource "secrets" in API group "" in the namespace "prod"';
    const error = responseError(SECRET, 403, status(403, 'Forbidden', message), undefined);
    expect(error.message).toBe(
      "PATCH secrets prod/s: Forbidden: the permission to patch secrets in the namespace prod is missing; the server's message is withheld, it may quote the Secret",
    );
    const other = responseError(SECRET, 403, status(403, 'Forbidden', 'quota hunter2'), undefined);
    expect(other.message).not.toMatch(/hunter2|permission/);
  });

  it.each([
    [404, 'namespaces "prod" not found', 'namespaces "prod" not found'],
    [
      403,
      'secrets "hunter2" is forbidden: exceeded quota: few, requested: count/secrets=1,secrets=1, used: secrets=2, limited: secrets=2',
      'exceeded quota: few, requested: count/secrets=1,secrets=1, used: secrets=2, limited: secrets=2',
    ],
    [
      403,
      'secrets "hunter2" is forbidden: unable to create new content in namespace prod because it is being terminated',
      'unable to create new content in namespace prod because it is being terminated',
    ],
    [
      400,
      'admission webhook "keys.example.com" denied the request: hunter2 is too short',
      'admission webhook "keys.example.com" denied the request: the server\'s message is withheld, it may quote the Secret',
    ],
    [
      403,
      "secrets \"s\" is forbidden: ValidatingAdmissionPolicy 'long-keys' with binding 'all' denied request: hunter2 is too short",
      "ValidatingAdmissionPolicy 'long-keys' with binding 'all' denied request: the server's message is withheld, it may quote the Secret",
    ],
  ])('of a refused Secret tells what quotes nothing: %i %s', (code, said, told) => {
    const error = responseError(SECRET, code, status(code, 'Words', said), undefined);
    expect(error.message).toBe(`PATCH secrets prod/s: Words: ${told}`);
  });

  it.each([
    'namespaces "hunter2" not found',
    'namespaces "prod" not found hunter2',
    'namespaces "prod" not found\nhunter2',
    'secrets "s" is forbidden: exceeded quota: few, requested: secrets=hunter2, used: secrets=2, limited: secrets=2',
    'secrets "s" is forbidden: exceeded quota: few, requested: secrets=1, used: secrets=2, limited: secrets=2, hunter2',
    'secrets "s" is forbidden: unable to create new content in namespace hunter2 because it is being terminated',
    'Invalid value: "admission webhook "hunter2" denied the request: x"',
    'admission webhook "hunter2 of mine" denied the request: x',
  ])('of a Secret tells nothing that is only like it: %j', (said) => {
    const error = responseError(SECRET, 403, status(403, 'Words', said), undefined);
    expect(error.message).toBe(
      "PATCH secrets prod/s: Words: the server's message is withheld, it may quote the Secret",
    );
  });

  it('hands over Retry-After from the header or the body', () => {
    expect(responseError(PATCH, 429, status(429, 'TooManyRequests'), '7').retryAfterSeconds).toBe(7);
    const body = status(503, 'ServiceUnavailable', 'words', { retryAfterSeconds: 3 });
    expect(responseError(PATCH, 503, body, undefined).retryAfterSeconds).toBe(3);
    expect(
      responseError(PATCH, 503, status(503, undefined), 'Wed, 21 Oct 2026').retryAfterSeconds,
    ).toBeUndefined();
  });

  it('quotes a proxy that answers in its own words, shortened', () => {
    const error = responseError(PATCH, 502, `<html>${'x'.repeat(1000)}`, undefined);
    expect(error.message).toMatch(/^PATCH statefulsets.apps prod\/web: HTTP 502: <html>x+$/);
    expect(error.message.length).toBeLessThan(400);
  });

  it.each([
    [404, 'NotFound', [isNotFound]],
    [409, 'Conflict', [isConflict]],
    [409, 'AlreadyExists', [isAlreadyExists]],
    [410, 'Expired', [isGone]],
    [422, 'Invalid', [isInvalid]],
    [400, 'BadRequest', [isInvalid]],
    [403, 'Forbidden', [isForbidden]],
    [429, 'TooManyRequests', [isTransient]],
    [500, 'InternalError', [isTransient]],
    [504, 'Timeout', [isTransient]],
  ])(
    '%i %s is one thing and nothing else',
    (code, reason, kinds: readonly ((error: unknown) => boolean)[]) => {
      const error = responseError(PATCH, code, status(code, reason), undefined);
      const all = [isNotFound, isConflict, isAlreadyExists, isGone, isInvalid, isForbidden, isTransient];
      expect(all.filter((kind) => kind(error))).toEqual(kinds);
      expect(all.filter((kind) => kind(new Error('other')))).toEqual([]);
    },
  );

  it('an apply against the schema comes as a plain 500 and is not transient', () => {
    const error = responseError(
      PATCH,
      500,
      status(500, undefined, 'failed to create typed patch object (x): .a: no'),
      undefined,
    );
    expect(isTransient(error)).toBe(false);
    expect(isInvalid(error)).toBe(true);
  });

  it('a patch with the uid of another object is a conflict, as a delete with it', () => {
    const causes = [{ field: 'metadata.uid', reason: 'FieldValueInvalid', message: 'field is immutable' }];
    const error = responseError(
      PATCH,
      422,
      status(422, 'Invalid', 'field is immutable', { causes }),
      undefined,
    );
    expect(isConflict(error)).toBe(true);
    expect(isInvalid(error)).toBe(false);
  });

  it('no answer is transient', () => {
    expect(isTransient(transportError(PATCH, 'Network', 'connect ECONNREFUSED'))).toBe(true);
  });
});
