/** Refusals as the apiserver of 1.36 writes them, without what they quote of objects. */

import { describe, expect, it } from '@jest/globals';

import { withoutQuotedValues } from '../../../kubernetes/quoted-values.ts';
import { responseError } from '../../../kubernetes/response-errors.ts';
import { cpuTime } from '../../support/cpu-time.ts';

const DIFF = `
@@ -96,7 +96,7 @@
    "Command": [
-    "echo PLANTED-OLD"
+    "echo PLANTED-NEW"
     "Env": [
-     "Value": "PLANTED",
`;
const POD = 'spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`';
const TEMPLATE =
  '{"labels":{"job-name":"j"},"Spec":{"Containers":[{"Command":["sh","-c","curl -H \\"tok: PLANTED}: x\\""],"Env":[{"Name":"PW","Value":"PLANTED"}]}]}}';

describe('what a refusal quotes of objects is not told:', () => {
  it.each([
    ['a diff', `Pod "p" is invalid: ${POD}${DIFF}`, `Pod "p" is invalid: ${POD}`],
    [
      'a diff of another form',
      `spec: Forbidden: no\n  core.Spec{\n- \tA: "PLANTED",\n+ \tA: "x",\n  }`,
      undefined,
    ],
    [
      'a mapping',
      `Job.batch "j" is invalid: spec.template: Invalid value: ${TEMPLATE}: field is immutable`,
      'Job.batch "j" is invalid: spec.template: Invalid value: field is immutable',
    ],
    [
      'one among others',
      `[spec.template: Invalid value: ${TEMPLATE}: field is immutable, spec.parallelism: Invalid value: -1: must be positive]`,
      '[spec.template: Invalid value: field is immutable, spec.parallelism: Invalid value: -1: must be positive]',
    ],
    [
      'a list',
      'spec.items: Duplicate value: ["PLANTED"], spec.x: Required value',
      'spec.items: Duplicate value, spec.x: Required value',
    ],
    [
      "Go's own notation",
      'spec: Invalid value: core.PodSpec{Env:[]core.EnvVar{{Name:"PW", Value:"PLAN\\"TED}"}}, X:map[string]string{"a":"PLANTED"}}: no',
      'spec: Invalid value: no',
    ],
    ['what has no end', 'spec: Invalid value: {"a": "PLANTED', 'spec: Invalid value'],
    [
      'a value of another type',
      '.spec.env: expected list, got &value.valueUnstructured{Value:map[a:PLANTED]}',
      '.spec.env: expected list, got a mapping',
    ],
    [
      'one among others of another type',
      'errors:\n  .a: expected string, got &{map[k:{PLANTED}, got &{]}\n  .b: expected list, got &value.valueUnstructured{Value:8080}',
      'errors:\n  .a: expected string, got a mapping\n  .b: expected list, got a number',
    ],
    [
      'a value of another type that has no end',
      '.spec.env: expected list, got &{map[a:PLANTED]}, PLANTED',
      '.spec.env: expected list, got a mapping',
    ],
    [
      'a text of several lines for another type',
      '.spec.args: expected list, got &{{\n  "a": {\n    "b": 1\n  }\n  "token": "PLANTED"\n}}',
      '.spec.args: expected list, got something else',
    ],
    [
      'one among others, with a line like a field',
      'errors:\n  .a: expected map, got &{server {\n}\n  .token: PLANTED\n}\n}\n  .b[name="x"]: field not declared in schema\n  .c: expected list, got &{{\n}\nPLANTED}',
      'errors:\n  .a: expected map, got something else\n  .b[name="x"]: field not declared in schema\n  .c: expected list, got something else',
    ],
    [
      'a text of several lines without an end',
      '.spec.args: expected list, got &{{\n  "a": {\n  }\n  "token": "PLANTED"\n}} no',
      '.spec.args: expected list, got something else',
    ],
    ['a command', 'spec.containers[0].command[1]: Invalid value: "PLANTED": no', undefined],
    ['an environment', 'spec.containers[0].env[0].value: Invalid value: "PLANTED": no', undefined],
    ['an annotation', 'metadata.annotations[a/b]: Invalid value: "PLANTED": no', undefined],
    ['data', 'data[key]: Invalid value: "PLANTED": no', undefined],
    ['an item of a set', 'spec.set[1]: Duplicate value: {"name":"a","password":"PLANTED"}', undefined],
  ])('%s', (_, said, told) => {
    const text = withoutQuotedValues(said);
    expect(text).not.toContain('PLANTED');
    expect(text).toContain(said.slice(0, said.indexOf(':')));
    expect(text).toBe(told ?? text);
  });

  it.each([
    ', got &{',
    '}\n',
    '}\n  .a: ',
    ': e',
    'expected a',
    '{"k":"',
    'Invalid value: {"a`',
    'aInvalid value: 1',
    '`[] ',
    '"',
  ])('however much of a megabyte is %j', (part) => {
    const value = part.repeat(1_000_000 / part.length);
    const said = `.data.a: expected string, got &value.valueUnstructured{Value:map[k:${value}PLANTED]}`;
    const begun = cpuTime();
    const told = [said, `${said} no`, `data: Invalid value: {"k":"${value}PLANTED`, `${value} is:`].filter(
      (message) => withoutQuotedValues(message).includes('PLANTED'),
    );
    expect(told.length).toBe(0);
    expect(cpuTime() - begun).toBeLessThan(2_000);
  });

  it('in causes that are read out of the message', () => {
    const path = { group: 'apps', version: 'v1', resource: 'deployments', namespace: 'ns', name: 'web' };
    const message =
      'failed to create typed patch object (ns/web; apps/v1, Kind=Deployment): .spec.args: expected list, got &{{\n  }\n  PLANTED\n}}';
    const body = { kind: 'Status', code: 500, message };
    const error = responseError({ method: 'PATCH', path, server: '' }, 500, JSON.stringify(body), undefined);
    expect(JSON.stringify([error.message, error.details])).not.toContain('PLANTED');
    expect(error.details?.causes.map(({ field }) => field)).toEqual(['.spec.args']);
  });

  it('in causes, and in a message that is told of them', () => {
    const causes = [
      { field: 'spec', reason: 'FieldValueForbidden', message: `${POD}${DIFF}` },
      {
        field: 'spec.template',
        reason: 'FieldValueInvalid',
        message: `Invalid value: ${TEMPLATE}: immutable`,
      },
      { field: 'spec.args[0]', reason: 'FieldValueInvalid', message: 'Invalid value: "PLANTED": no' },
    ];
    const path = { group: '', version: 'v1', resource: 'pods', namespace: 'ns', name: 'p' };
    const message = `Pod "p" is invalid: [${causes.map((cause) => `${cause.field}: ${cause.message}`).join(', ')}]`;
    const body = { kind: 'Status', code: 422, reason: 'Invalid', message, details: { causes } };
    const error = responseError({ method: 'PATCH', path, server: '' }, 422, JSON.stringify(body), undefined);
    expect(JSON.stringify([error.message, error.details])).not.toContain('PLANTED');
    expect(error.details?.causes.map(({ field }) => field)).toEqual([
      'spec',
      'spec.template',
      'spec.args[0]',
    ]);
    expect(error.details?.causes[1]?.message).toBe('Invalid value: immutable');
  });
});

describe('what helps stays:', () => {
  it.each([
    'spec.ports[1].name: Duplicate value: "http"',
    'spec.replicas: Invalid value: -1: must be greater than or equal to 0',
    'spec.selector: Invalid value: {}: empty selector is invalid for daemonset',
    'spec.containers[1]: Duplicate value: {"name":"a"}',
    'spec.containers[0].image: Invalid value: " a": must not have leading or trailing whitespace',
    'spec.restartPolicy: Unsupported value: "Never": supported values: "Always"',
    'spec.labels: Invalid value: `selector` does not match template `labels`',
    'spec.resources.limits: Invalid value: cpu: must be a standard resource type',
    'metadata.annotations: Invalid value: "a/b/c": not an annotation key',
    'metadata.annotations[fairlead.dev/node-selector]: Invalid value: "disk=-": must be labels of nodes',
    'nodeSelector: Invalid value: "disk=ssd,canary"=true: must be labels of nodes',
    '<nil>: Invalid value: null: some validation rules were not checked',
    'failed to create typed patch object (ns/web; apps/v1, Kind=Deployment): errors:\n  .spec.x: field not declared in schema\n  .spec.y: field not declared in schema',
  ])('%s', (said) => {
    expect(withoutQuotedValues(said)).toBe(said);
  });
});
