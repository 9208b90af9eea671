/** The apiserver's refusals as problems: with the place, and without the values. */

import { describe, expect, it } from '@jest/globals';

import type { JsonObject, KubernetesObject } from '../../planners/objects.ts';
import type { PreparedObject } from '../../git/prepare.ts';
import { formatProblem, mayPassLater } from '../../git/problems.ts';
import { toProblems } from '../../git/refusals.ts';
import { SourceText } from '../../git/source-text.ts';
import { responseError } from '../../kubernetes/response-errors.ts';
import { trusted } from '../../kubernetes/values.ts';
import { cpuTime } from '../support/cpu-time.ts';

const TEXT = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    spec:
      containers:
      - name: main
        env:
        - name: PIN
          value: 8472910355
        - name: WORD
          value: hunter2
`;

const path = { group: 'apps', version: 'v1', resource: 'deployments', namespace: 'ns', name: 'web' };
const body: JsonObject = {
  env: [
    { name: 'PIN', value: 8472910355 },
    { name: 'WORD', value: 'hunter2' },
    { name: 'LONGER_WORD', value: 'my_hunter2_9f8a' },
    { name: 'SLIP=correct horse' },
  ],
};
const object: PreparedObject = {
  manifest: {
    apiVersion: 'apps/v1',
    group: 'apps',
    version: 'v1',
    kind: 'Deployment',
    name: 'web',
    body,
    file: 'web.yaml',
    line: 1,
    wave: 0,
    hash: '',
  },
  namespace: 'ns',
  path,
  label: 'Deployment.apps ns/web',
  stage: 3,
  wave: 0,
  rank: 0,
  dependsOn: [],
  deferred: false,
};

function refusal(message: string, code = 500, of = object, text = TEXT): string {
  const status = { kind: 'Status', status: 'Failure', code, message };
  const error = responseError(
    { method: 'PATCH', path, server: 'https://kubernetes' },
    code,
    JSON.stringify(status),
    undefined,
  );
  const found = toProblems(error, of, { source: new SourceText(text) }) ?? [];
  return found.map((item) => formatProblem(item)).join('\n');
}

/** What is told of a refusal where an object is there. */
function advice(
  of: PreparedObject,
  status: {
    readonly code: number;
    readonly reason: string;
    readonly message: string;
    readonly details?: object;
  },
  live?: object,
  text = TEXT,
): string {
  const request = { method: 'PATCH', path: of.path, server: 'https://kubernetes' };
  const answered = JSON.stringify({ kind: 'Status', status: 'Failure', ...status });
  const error = responseError(request, status.code, answered, undefined);
  const setting = { source: new SourceText(text), live: trusted<KubernetesObject | undefined>(live) };
  return (toProblems(error, of, setting) ?? []).map((item) => formatProblem(item)).join('\n');
}

const PATCH = 'failed to create typed patch object (ns/web; apps/v1, Kind=Deployment): ';
const PIN = '.spec.template.spec.containers[name="main"].env[name="PIN"].value';

it('a version that a CustomResourceDefinition has no more does not come back by itself', () => {
  expect(refusal('request to convert CR to an invalid group/version: apps/v1beta2')).toBe(
    'VersionInUse web.yaml:1: Deployment.apps ns/web: the CustomResourceDefinition deployments.apps has no version v1beta2 any more, ' +
      'but metadata.managedFields of the object still names it, and the apiserver applies nothing to it. ' +
      'Put v1beta2 back into spec.versions of the CustomResourceDefinition deployments.apps (the commit that does may have the object under another version), ' +
      'and take it out by a later commit, when the object is applied.',
  );
});

describe('what is forbidden', () => {
  const head = 'deployments.apps "web" is forbidden: ';

  it.each([
    [
      head +
        'User "system:serviceaccount:ns:deployer" cannot patch resource "deployments" in API group "apps" in the namespace "ns"',
      'Grant the permission (`kubectl create rolebinding …`), or remove the object from the commit.',
    ],
    [
      head + 'user "ada" (groups=["a"]) is attempting to grant RBAC permissions not currently held',
      'Grant the permission (`kubectl create rolebinding …`), or remove the object from the commit.',
    ],
    [
      head +
        'exceeded quota: few, requested: count/deployments.apps=1, used: count/deployments.apps=2, limited: count/deployments.apps=2',
      'Ask for less, delete what is not needed, or have the quota raised (`kubectl describe resourcequota few -n ns`); the commit is tried again by itself.',
    ],
    [
      head + 'failed quota: compute: must specify limits.cpu for: main',
      'Say how much each container asks for, as the quota compute wants it, or give the namespace a LimitRange with defaults.',
    ],
    [
      head + 'violates PodSecurity "restricted:latest": runAsNonRoot != true',
      'Correct what it names in the pod, or have the label pod-security.kubernetes.io/enforce of namespace ns changed.',
    ],
    [
      'admission webhook "images.example.com" denied the request: no latest',
      'Do as the admission webhook images.example.com says, or have it changed.',
    ],
    [
      head + "ValidatingAdmissionPolicy 'no-latest' with binding 'all' denied request: no latest",
      'Do as ValidatingAdmissionPolicy no-latest says, or have it changed.',
    ],
    [
      head + 'maximum memory usage per Container is 1Gi, but limit is 2Gi',
      'Keep to what the LimitRange allows, or have it changed (`kubectl describe limitrange -n ns`).',
    ],
  ])('%s', (message, next) => {
    const told = advice(object, { code: 403, reason: 'Forbidden', message });
    expect(told).toMatch(/^Forbidden web\.yaml:1: /);
    expect(told.endsWith(`. ${next}`)).toBe(true);
  });
});

describe('a value that the apiserver quotes', () => {
  it.each([
    ['expected string, got &value.valueUnstructured{Value:8472910355}', 'expected string, got a number'],
    ['expected string, got &value.valueUnstructured{Value:8.472910355e+09}', 'expected string, got a number'],
    ['expected string, got &value.valueUnstructured{Value:true}', 'expected string, got a boolean'],
    ['expected list, got &{hunter2}', 'expected list, got something else'],
    ['expected list, got &{map[a:x}y b:z]}', 'expected list, got a mapping'],
    ['expected map, got &{[hunter2]}', 'expected map, got a list'],
  ])('%s', (said, told) => {
    expect(refusal(`${PATCH}${PIN}: ${said}`)).toContain(
      `Invalid web.yaml:11: Deployment.apps ns/web: ${PIN}: ${told}.`,
    );
  });

  it('of several, each with its line', () => {
    const message = `${PATCH}errors:\n  ${PIN}: expected string, got &value.valueUnstructured{Value:8472910355}\n  .spec.x: expected list, got &{12345}`;
    expect(refusal(message).split('\n')).toEqual([
      `Invalid web.yaml:11: Deployment.apps ns/web: ${PIN}: expected string, got a number. Quote the value.`,
      'Invalid web.yaml:4: Deployment.apps ns/web: .spec.x: expected list, got a number. Correct the field.',
    ]);
  });

  it('of several fields that nobody knows, each with its line', () => {
    const message =
      'Deployment in version "v1" cannot be handled as a Deployment: strict decoding error: unknown field "spec.bar", unknown field "spec.template.spec.containers[0].env"';
    expect(refusal(message, 400).split('\n')).toEqual([
      'UnknownField web.yaml:4: Deployment.apps ns/web: unknown field "spec.bar". Correct the name of the field.',
      'UnknownField web.yaml:9: Deployment.apps ns/web: unknown field "spec.template.spec.containers[0].env". Correct the name of the field.',
    ]);
  });

  it.each([
    [
      'a number where text is wanted',
      `${PIN}: expected string, got &value.valueUnstructured{Value:8472}`,
      'Quote the value.',
    ],
    [
      'matchLabels where labels of nodes are wanted',
      '.spec.updateStrategy.rollingUpdate.nodeSelector.matchLabels: expected string, got &value.valueUnstructured{Value:map[disk:ssd]}',
      'Write the labels of the nodes themselves: nodeSelector: {disk: ssd}.',
    ],
  ])('says what to do: %s', (_, said, next) => {
    expect(refusal(`${PATCH}${said}`)).toContain(next);
  });

  it('finds a key that YAML reads as a boolean, and says so', () => {
    const text = TEXT.replace('  template:', '  n: x\n  template:');
    const of = (message: string, status: number) => refusal(message, status, object, text);
    expect(of(`${PATCH}.spec.false: expected numeric (int or float), got a string`, 500)).toMatch(
      /^Invalid web\.yaml:5: .*\.spec\.false: expected numeric .* Quote the key: a key y, n, yes, no, on or off is read as false\.$/,
    );
    expect(of('strict decoding error: unknown field "spec.false"', 400)).toMatch(
      /^UnknownField web\.yaml:5: .* Quote the key: a key y, n, /,
    );
    expect(of(`${PATCH}.spec.falsehood: expected map, got &{x}`, 500)).not.toContain('Quote the key');
  });

  it('names a policy that is not ours', () => {
    const denied = (policy: string) =>
      refusal(
        `Deployment.apps "web" is forbidden: ValidatingAdmissionPolicy '${policy}' with binding 'all' denied request: not today`,
        422,
      );
    expect(denied('no-deployments')).toBe(
      "Invalid web.yaml:1: Deployment.apps ns/web: ValidatingAdmissionPolicy 'no-deployments' with binding 'all' denied request: not today. Do as ValidatingAdmissionPolicy no-deployments says, or have it changed.",
    );
    expect(denied('fairlead-deployments.apps')).toBe(
      'Invalid web.yaml:1: Deployment.apps ns/web: not today. Correct the field.',
    );
  });

  it('of a field that lasts says how to have another one', () => {
    const message = 'Deployment.apps "web" is invalid: spec.selector: Invalid value: {}: field is immutable';
    expect(refusal(message.replace('selector', 'other'), 422)).toContain(
      'Go back to what it was, or give the object another name; or delete it, and `fairlead sync` makes it anew: kubectl delete deployments.apps web -n ns --cascade=orphan.',
    );
    const { manifest } = object;
    const claim = { ...object, manifest: { ...manifest, group: '', kind: 'PersistentVolumeClaim' } };
    const said = refusal(
      message.replace('field is immutable', 'spec is immutable after creation'),
      422,
      claim,
    );
    expect(said).toContain('give the object another name.');
    expect(said).not.toContain('kubectl delete');
  });

  it.each([
    ['PriorityClass', 'value: Forbidden: may not be changed in an update.'],
    ['RoleBinding', 'roleRef: Invalid value: {"Name":"edit"}: cannot change roleRef'],
    ['Service', 'spec.clusterIPs[0]: Invalid value: ["None"]: may not change once set'],
    ['VolumeAttributesClass', 'parameters: Forbidden: updates to parameters are forbidden.'],
    ['Pod', 'spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`'],
    ['Pod', 'spec.containers: Forbidden: pod updates may not add or remove containers'],
    [
      'Pod',
      'spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds',
    ],
    [
      'Pod',
      "spec.schedulingGates[0].name: Forbidden: only deletion is allowed, but found new scheduling gate 'a'",
    ],
    ['ResourceClaim', 'spec.x: Invalid value: null: field cannot be modified once set'],
  ])('of a field that a living %s keeps in other words says so too: %s', (kind, said) => {
    const of: PreparedObject = {
      ...object,
      manifest: { ...object.manifest, apiVersion: 'v1', group: '', kind, name: 'x' },
      path: { ...path, group: '', resource: 'things', name: 'x' },
    };
    const status = { code: 422, reason: 'Invalid', message: `${kind} "x" is invalid: ${said}` };
    expect(advice(of, status, {})).toMatch(
      /Go back to what it was, or give the object another name; or delete it, and `fairlead sync` makes it anew: kubectl delete things x -n ns\.$/,
    );
    // Nothing keeps a field of what is not there.
    expect(advice(of, status)).toMatch(/Correct the field\.$/);
    const volume = { ...of, manifest: { ...of.manifest, kind: 'PersistentVolume' } };
    expect(advice(volume, status, {})).toMatch(/or give the object another name\.$/);
  });

  it('of a selector, by which no pod would be adopted again, deletes the pods too', () => {
    const spec = { selector: { matchLabels: { app: 'new' } } };
    const kind = 'StatefulSet';
    const set = { ...object, manifest: { ...object.manifest, kind, body: { spec } } };
    const forbidden =
      'spec: Forbidden: updates to statefulset spec for fields other than these are forbidden';
    const told = (of: PreparedObject, text: string, there?: object) =>
      advice(of, { code: 422, reason: 'Invalid', message: `x "web" is invalid: ${text}` }, there);
    const app = (name: string, more: object = {}) => ({
      spec: { selector: { matchLabels: { app: name } }, ...more },
    });
    const withPods =
      'or delete it with its pods, which another selector would never adopt, and `fairlead sync` makes all of them anew: kubectl delete deployments.apps web -n ns.';
    expect(told(object, 'spec.selector: Invalid value: {}: field is immutable')).toContain(withPods);
    expect(told(set, forbidden, app('old'))).toContain(withPods);
    expect(told(set, forbidden, app('new'))).toMatch(
      /web -n ns --cascade=orphan \(its pods keep the volumes that they have until they are made anew, too\)\.$/,
    );
    // Its claims would go as well.
    const deletes = { persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Delete' } };
    expect(told(set, forbidden, app('old', deletes))).toMatch(/or give the object another name\.$/);
  });

  it('of a Secret that is immutable says so, and nothing else', () => {
    const secret: PreparedObject = {
      ...object,
      manifest: { ...object.manifest, apiVersion: 'v1', group: '', kind: 'Secret', name: 's' },
      path: { ...path, group: '', resource: 'secrets', name: 's' },
      label: 'Secret ns/s',
    };
    const told = (field: string, said: string): string => {
      const causes = [{ field, reason: 'FieldValueForbidden', message: said }];
      const status = { kind: 'Status', reason: 'Invalid', message: `hunter2 ${said}`, details: { causes } };
      const request = { method: 'PATCH', path: secret.path, server: 'https://kubernetes' } as const;
      const error = responseError(request, 422, JSON.stringify(status), undefined);
      return (toProblems(error, secret) ?? []).map((item) => formatProblem(item)).join('\n');
    };
    expect(told('data', 'Forbidden: field is immutable when `immutable` is set')).toBe(
      'Invalid web.yaml:1: Secret ns/s: data: field is immutable when `immutable` is set. Go back to what it was, or give the object another name; or delete it, and `fairlead sync` makes it anew: kubectl delete secrets s -n ns.',
    );
    const quoting = told('data', 'Invalid value: "hunter2": field is immutable');
    expect(quoting).toContain('data: field is immutable. Go back');
    expect(quoting).not.toContain('hunter2');
    expect(told('data[a]', 'hunter2: field is immutable')).toContain('withheld');
    expect(told('data', 'field is immutable, hunter2')).toMatch(/withheld.* Correct the field\.$/);
  });

  it.each([
    [
      404,
      'namespaces "ns" not found',
      'NamespaceNotFound web.yaml:1: Secret ns/s: namespaces "ns" not found. Create the namespace, or add it to the commit.',
    ],
    [
      403,
      'secrets "s" is forbidden: exceeded quota: few, requested: secrets=1, used: secrets=2, limited: secrets=2',
      'Forbidden web.yaml:1: Secret ns/s: exceeded quota: few, requested: secrets=1, used: secrets=2, limited: secrets=2. Ask for less, delete what is not needed, or have the quota raised (`kubectl describe resourcequota few -n ns`); the commit is tried again by itself.',
    ],
    [
      403,
      'admission webhook "keys.example.com" denied the request: hunter2',
      'Forbidden web.yaml:1: Secret ns/s: admission webhook "keys.example.com" denied the request: the server\'s message is withheld, it may quote the Secret. Do as the admission webhook keys.example.com says, or have it changed.',
    ],
    [
      422,
      "secrets \"s\" is forbidden: ValidatingAdmissionPolicy 'long-keys' with binding 'all' denied request: hunter2",
      "Invalid web.yaml:1: Secret ns/s: ValidatingAdmissionPolicy 'long-keys' with binding 'all' denied request: the server's message is withheld, it may quote the Secret. Do as ValidatingAdmissionPolicy long-keys says, or have it changed.",
    ],
  ])('of a Secret says what stands in the way, and what to do about that: %i %s', (code, said, told) => {
    const { manifest } = object;
    const of = { ...path, group: '', resource: 'secrets', name: 's' };
    const secret = {
      ...object,
      path: of,
      label: 'Secret ns/s',
      manifest: { ...manifest, group: '', kind: 'Secret', name: 's', body: { stringData: { a: 'hunter2' } } },
    };
    const status = { kind: 'Status', status: 'Failure', reason: 'Forbidden', code, message: said };
    const request = { method: 'PATCH', path: of, server: 'https://kubernetes' } as const;
    const error = responseError(request, code, JSON.stringify(status), undefined);
    const problems = (toProblems(error, secret) ?? []).map((item) => formatProblem(item));
    expect(problems).toEqual([told]);
  });

  it('of what has no namespace names the binding that can grant it', () => {
    const { namespace: _, ...rest } = path;
    const everywhere = { ...object, namespace: undefined, path: { ...rest, resource: 'namespaces' } };
    expect(refusal('namespaces "evil" is forbidden', 403, everywhere)).toContain(
      'Grant the permission (`kubectl create clusterrolebinding … --clusterrole=…`), or remove',
    );
    expect(refusal('deployments "web" is forbidden', 403)).toContain('(`kubectl create rolebinding …`)');
  });

  it('our fields are annotations in apps/v1', () => {
    const refused = (field: string) => refusal(`${PATCH}${field}: field not declared in schema`);
    expect(refused('.spec.updateStrategy.rollingUpdate.drain')).toContain(
      'an annotation of the workload: fairlead.dev/drain-timeout-seconds',
    );
    expect(refused('.spec.replica')).toContain('Correct the name of the field.');
  });

  it('does not advise quotes for what no quotes mend', () => {
    expect(refusal(`${PATCH}.spec.x: expected string, got &{map[a:b]}`)).not.toContain('Quote');
  });

  it('is hidden in other words too, whether it was in quotes in git or not', () => {
    expect(refusal(`${PATCH}odd: 8472910355 and "hunter2"`)).toContain('odd: *** and "***".');
    expect(refusal(`${PATCH}odd: name "SLIP=correct horse"`)).toContain('name "SLIP=***".');
    expect(refusal(`${PATCH}odd: LONGER_WORD=my_hunter2_9f8a`)).toContain('LONGER_WORD=***.');
  });

  it.each([' ', ':a[', 'a.', 'unknown field "'])('however much of a name is %j', (part) => {
    const name = part.repeat(300_000 / part.length);
    const begun = cpuTime();
    refusal(`${PATCH}.spec.${name}: field not declared in schema`);
    refusal(`Deployment.apps "web" is invalid: ${name}`, 422);
    expect(cpuTime() - begun).toBeLessThan(2_000);
  });
});

describe('an admission webhook that the apiserver cannot call', () => {
  const text =
    'Internal error occurred: failed calling webhook "h8.example.com": failed to call webhook: Post "https://127.0.0.1:1/x?timeout=10s": dial tcp 127.0.0.1:1: connect: connection refused';
  const found = (message: string, reason: string, code = 500, resource = 'deployments') => {
    const request = { method: 'PATCH', path: { ...path, resource }, server: 'https://kubernetes' };
    const answered = JSON.stringify({
      kind: 'Status',
      status: 'Failure',
      code,
      reason,
      message,
      details: { causes: [{ message }] },
    });
    return toProblems(responseError(request, code, answered, undefined), object);
  };

  it('is a problem of the object, with its name and what to do; the commit is tried again', () => {
    const problems = found(text, 'InternalError') ?? [];
    expect(problems.map((item) => formatProblem(item))).toEqual([
      `WebhookFailed web.yaml:1: Deployment.apps ns/web: ${text}. Mend what serves the webhook h8.example.com, or have its configuration changed (\`kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations -o yaml\` shows which one names it); the commit is tried again by itself.`,
    ]);
    expect(mayPassLater({ first: problems })).toBe(true);
  });

  it('of a Secret: its name, and not what it says', () => {
    const [problem] = found(`${text} hunter2`, 'InternalError', 500, 'secrets') ?? [];
    expect(problem).toMatchObject({ code: 'WebhookFailed' });
    expect(problem?.message).toBe(
      'failed calling webhook "h8.example.com"; the server\'s message is withheld, it may quote the Secret.',
    );
  });

  it.each(['', ' 10.0.0.77', ' fd00::7'])('which is asked for the IP%s of a Service', (ip) => {
    const message = `Service "web" is invalid: spec.clusterIPs: Invalid value: [""]: failed to allocate IP${ip}: ${text}`;
    const problems = found(message, 'Invalid', 422, 'services') ?? [];
    expect(problems).toMatchObject([{ code: 'WebhookFailed', line: 1 }]);
    expect(problems[0]?.next).toMatch(/^Mend what serves the webhook h8\.example\.com/);
    expect(found(message, 'Invalid', 422)).toMatchObject([{ code: 'Invalid' }]);
  });

  it('does not tell values of environment variables', () => {
    const [problem] = found(`${text}: hunter2`, 'InternalError') ?? [];
    expect(problem?.message).toMatch(/connection refused: \*\*\*\.$/);
  });

  it.each([
    ['Internal error occurred: etcdserver: no leader', 'InternalError', 500],
    ['Internal error occurred: somebody said: failed calling webhook "a"', 'InternalError', 500],
    [text, 'ServiceUnavailable', 503],
    [text, '', 500],
  ])('any other failure of the apiserver is none: %s (%s, %d)', (message, reason, code) => {
    expect(found(message, reason, code)).toBeUndefined();
  });
});

describe('what else the apiserver hands a request on to, and cannot reach', () => {
  const bars = { group: 'ex.com', version: 'v2', resource: 'bars', namespace: 'ns', name: 'web' };
  const conversion =
    'conversion webhook for ex.com/v1, Kind=Bar failed: Post "https://gone.ns.svc:443/?timeout=30s": service "gone" not found';
  const status = (message: string) => JSON.stringify({ kind: 'Status', code: 500, message });
  const found = (code: number, answered: string, at: typeof bars | typeof path = bars) => {
    const request = { method: 'GET', path: at, server: 'https://kubernetes' };
    return toProblems(responseError(request, code, answered, undefined), object);
  };

  it.each([
    [
      'a conversion webhook',
      found(500, status(conversion)),
      `WebhookFailed web.yaml:1: Deployment.apps ns/web: ${conversion}. Mend the conversion webhook of the CustomResourceDefinition bars.ex.com, or have its spec.conversion changed (\`kubectl get customresourcedefinition bars.ex.com -o yaml\` shows where it is called); the commit is tried again by itself.`,
    ],
    [
      'an aggregated API',
      found(503, 'service unavailable\n'),
      'ApiServiceUnavailable web.yaml:1: Deployment.apps ns/web: what serves it cannot be reached: service unavailable. Mend what serves the APIService v2.ex.com, or have it deleted (`kubectl describe apiservice v2.ex.com` shows why it cannot be reached); the commit is tried again by itself.',
    ],
  ])('%s: is a problem of the object; the commit is tried again', (_, problems = [], line) => {
    expect(problems.map((item) => formatProblem(item))).toEqual([line]);
    expect(mayPassLater({ first: problems })).toBe(true);
  });

  it.each([
    [500, status(`Internal error occurred: ${conversion}`)],
    [503, status(conversion)],
    [503, '<html><h1>503 Service Temporarily Unavailable</h1></html>'],
    [503, JSON.stringify({ kind: 'Status', code: 503, message: 'service unavailable', reason: 'Timeout' })],
    [502, 'service unavailable'],
  ])('any other failure of the apiserver is none: %d %s', (code, answered) => {
    expect(found(code, answered)).toBeUndefined();
  });

  it('of a kind of core it is the apiserver itself that is away', () => {
    const core = { ...path, group: '' };
    expect(found(503, 'service unavailable', core)).toBeUndefined();
  });
});

describe('a field that somebody else owns', () => {
  const conflict = (fields: Readonly<Record<string, string>>) => {
    const causes = Object.entries(fields).map(([field, manager]) => ({
      reason: 'FieldManagerConflict',
      field,
      message: `conflict with "${manager}" using v1`,
    }));
    return { code: 409, reason: 'Conflict', message: 'Apply failed', details: { causes } };
  };
  const ours = { manager: 'fairlead', operation: 'Apply' };
  const update = (manager: string, more: object = {}) => ({ manager, operation: 'Update', ...more });
  const of = (...managedFields: readonly object[]) => ({ metadata: { managedFields } });
  const patchOf = (told: string): unknown =>
    JSON.parse(
      /^.*kubectl patch deployments\.apps web -n ns --type=json -p '(.*)' \(then /.exec(told)?.[1] ?? '""',
    );
  const replicas = conflict({ '.spec.replicas': 'kubectl', '.spec.template.spec': 'kubectl-rollout' });

  it('is let go of by a patch of this object alone, but for what is of its status', () => {
    const scaled = update('kubectl', { subresource: 'scale' });
    const status = update('kubectl', { subresource: 'status' });
    const told = advice(object, replicas, of(ours, update('kubectl-rollout'), update('kubectl'), scaled));
    expect(told).toMatch(
      /^Conflict web\.yaml:4: Deployment\.apps ns\/web: "kubectl" owns \.spec\.replicas\. Remove the field from the manifest; or let git have it, which changes no value: kubectl patch .* \(then the commit is tried again by itself\); or commit the value that the cluster has\. With `heal: true`/,
    );
    expect(patchOf(told)).toEqual([
      { op: 'test', path: '/metadata/managedFields/3/manager', value: 'kubectl' },
      { op: 'remove', path: '/metadata/managedFields/3' },
      { op: 'test', path: '/metadata/managedFields/2/manager', value: 'kubectl' },
      { op: 'remove', path: '/metadata/managedFields/2' },
    ]);
    expect(JSON.stringify(patchOf(advice(object, replicas, of(status, update('kubectl')))))).not.toContain(
      '/managedFields/0',
    );
  });

  it('keeps what git applied where the other has its name', () => {
    const told = advice(object, conflict({ '.spec.replicas': 'fairlead' }), of(ours, update('fairlead')));
    expect(patchOf(told)).toEqual([
      { op: 'test', path: '/metadata/managedFields/1/manager', value: 'fairlead' },
      { op: 'test', path: '/metadata/managedFields/1/operation', value: 'Update' },
      { op: 'remove', path: '/metadata/managedFields/1' },
    ]);
  });

  it('of one that owns all alone becomes git\u2019s: an apiserver takes no empty list', () => {
    const told = advice(object, replicas, of(update('kubectl'), update('kubectl')));
    expect(patchOf(told)).toEqual([
      { op: 'test', path: '/metadata/managedFields/1/manager', value: 'kubectl' },
      { op: 'remove', path: '/metadata/managedFields/1' },
      { op: 'test', path: '/metadata/managedFields/0/manager', value: 'kubectl' },
      {
        op: 'replace',
        path: '/metadata/managedFields/0',
        value: {
          manager: 'fairlead',
          operation: 'Apply',
          apiVersion: 'apps/v1',
          fieldsType: 'FieldsV1',
          fieldsV1: { 'f:metadata': { 'f:annotations': { 'f:fairlead.dev/repository': {} } } },
        },
      },
    ]);
  });

  it('of an object that has no owners is let go of by giving it to git, if nobody owns anything by then', () => {
    const told = advice(object, conflict({ '.spec.replicas': 'before-first-apply' }), of());
    expect(told).toContain(
      '"before-first-apply" owns .spec.replicas. The object has no metadata.managedFields: the apiserver calls whoever wrote it by that name. Remove',
    );
    expect(patchOf(told)).toEqual([
      { op: 'test', path: '/metadata/managedFields', value: null },
      {
        op: 'add',
        path: '/metadata/managedFields',
        value: [
          {
            manager: 'fairlead',
            operation: 'Apply',
            apiVersion: 'apps/v1',
            fieldsType: 'FieldsV1',
            fieldsV1: { 'f:metadata': { 'f:annotations': { 'f:fairlead.dev/repository': {} } } },
          },
        ],
      },
    ]);
  });

  it.each([
    ['nothing is known of the object', undefined],
    ['the other has gone meanwhile', of(ours)],
  ])('is let go of by hand where %s', (_, live) => {
    expect(advice(object, replicas, live)).toContain(
      'let git have it, which changes no value: kubectl get deployments.apps web -n ns -o yaml --show-managed-fields >object.yaml, take out the entries of "kubectl" in metadata.managedFields there, and leave one at least: kubectl replace -f object.yaml (then',
    );
  });

  it.each([
    ['stringData', 'data: {b: x}\nstringData:\n  b.c: x\n  a.b: x\n', 7],
    ['data', 'data:\n  a.b: x\nstringData:\n  b: x\n', 5],
  ])('of a Secret is told at the line of its %s', (_, text, line) => {
    const secret = { ...object, manifest: { ...object.manifest, kind: 'Secret' } };
    const told = advice(
      secret,
      conflict({ '.data.a.b': 'x' }),
      undefined,
      `kind: Secret\nmetadata:\n  name: s\n${text}`,
    );
    expect(told).toContain(`Conflict web.yaml:${line}: `);
  });
});
