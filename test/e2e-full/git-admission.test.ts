/** Who is asked before an object is written: webhooks that do not answer, and policies that change what they are given. */

import { describe, expect, it } from '@jest/globals';

import { mayDo } from '../../git/access-review.ts';
import { ApiError } from '../../kubernetes/api-error.ts';
import type { KubernetesObject } from '../../planners/objects.ts';
import { configMap, service, useCommitGround } from '../support/commit-ground.ts';
import { found } from '../support/eventually.ts';
import { useLanes } from '../support/lanes.ts';
import { grantInCluster } from '../support/sync-account.ts';

const { cluster, sync, follow, planOf } = useCommitGround('git-admission');

const WEBHOOKS = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  resource: 'validatingwebhookconfigurations',
};

/** A webhook of that name that nobody serves, and that must be asked. */
function deadWebhook(
  name: string,
  rule: { readonly [field in 'apiGroups' | 'operations' | 'resources']: readonly string[] },
  expression: string,
  more: { readonly namespaceSelector?: object } = {},
) {
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name },
    webhooks: [
      {
        name,
        clientConfig: { url: 'https://127.0.0.1:1/x' },
        rules: [{ apiVersions: ['v1'], ...rule }],
        matchConditions: [{ name: 'those', expression }],
        failurePolicy: 'Fail',
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
        ...more,
      },
    ],
  };
}

describe('before an object is written', () => {
  // Each has repositories of its own, with names and namespaces of their own.
  const inLane = useLanes(4);

  it(
    'an admission webhook that does not answer refuses what it is asked about, beside whatever else is wrong, until it is mended',
    inLane(async () => {
      const repository = await follow('webhook');
      const { namespace } = repository;
      const name = `${namespace}.example.com`;
      const configurationOf = (condition: string) =>
        deadWebhook(
          name,
          {
            apiGroups: [''],
            operations: ['CREATE', 'UPDATE', 'DELETE'],
            resources: ['configmaps', 'secrets'],
          },
          condition,
          { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } } },
        );
      const isAsked = async (): Promise<boolean> => {
        const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'probe' } };
        const at = { group: '', version: 'v1', resource: 'configmaps', namespace };
        try {
          await cluster().client.create(at, body, { dryRun: true });
          return false;
        } catch (error) {
          return error instanceof ApiError && error.unreached?.name === name;
        }
      };
      const untilAsked = async (expected: boolean): Promise<void> => {
        const look = async () => ((await isAsked()) === expected ? true : undefined);
        await found(`a dry run ${expected ? 'asks' : 'does not ask'} the webhook`, look);
      };

      await cluster().client.create(WEBHOOKS, configurationOf('true'));
      try {
        await untilAsked(true);
        const files = {
          'a.yaml': `${configMap('one', 'a')}---\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {a: hunter2}\n`,
          'b.yaml': `${configMap('two', 'b')}spek: 1\n`,
          'c.yaml': service('web'),
        };
        const { outcome, lines, sha } = await repository.bad(files);
        const next = `Mend what serves the webhook ${name}, or have its configuration changed`;
        const told = [
          `WebhookFailed a.yaml:1@SHA: ConfigMap ${namespace}/one: Internal error occurred: failed calling webhook "${name}": failed to call webhook: `,
          `WebhookFailed a.yaml:8@SHA: Secret ${namespace}/s: failed calling webhook "${name}"; the server's message is withheld, it may quote the Secret. ${next}`,
          'UnknownField b.yaml:7@SHA: ',
        ];
        const short = lines.map((line) => line.replace(sha.slice(0, 8), 'SHA'));
        expect(short).toEqual(told.map((words) => expect.stringContaining(words)));
        expect(short[0]).toMatch(/connection refused\. Mend what serves/);
        expect(outcome).toBe('Refused');
        const { problems, changes } = await planOf(repository, sha);
        expect(problems.map(({ code }) => code)).toEqual(['WebhookFailed', 'WebhookFailed', 'UnknownField']);
        expect(changes).toMatchObject([{ object: `Service ${namespace}/web`, action: 'create' }]);
        await repository.bad({ 'b.yaml': undefined });
        expect((await sync().inventory('webhook'))?.status.commit).toMatchObject({
          outcome: 'Refused',
          notes: [expect.stringMatching(/^it is tried again by itself/)],
        });
        expect(await repository.get('services', 'web')).toBeUndefined();

        // What the check could not know: only the writes themselves ask it.
        await cluster().client.patch(
          { ...WEBHOOKS, name },
          'merge',
          configurationOf('request.dryRun != true'),
        );
        await untilAsked(false);
        const second = await repository.bad({ 'README.md': 'x' });
        expect(second).toMatchObject({ outcome: 'Failed' });
        expect(second.lines.toSorted()).toEqual([
          expect.stringMatching(/^WebhookFailed a\.yaml:1@\w+: ConfigMap .*connection refused/),
          expect.stringMatching(/^WebhookFailed a\.yaml:8@\w+: Secret .* withheld/),
        ]);
        expect(await repository.get('services', 'web')).toBeDefined();
        // Of one that is asked about dry runs too it can be seen when it is gone.
        await cluster().client.patch({ ...WEBHOOKS, name }, 'merge', configurationOf('true'));
        await untilAsked(true);
      } finally {
        await cluster().client.delete({ ...WEBHOOKS, name });
      }
      await untilAsked(false);
      expect(await repository.commit({ 'README.md': 'y' })).toMatchObject({ outcome: 'Succeeded' });
      expect(await repository.get('configmaps', 'one')).toBeDefined();
    }),
    120_000,
  );

  it(
    'an admission webhook that does not answer even when it is asked for permissions: what leaves the commit is deleted',
    inLane(async () => {
      const repository = await follow('reviews');
      const { namespace } = repository;
      await repository.commit({ 'a.yaml': configMap('one', 'a'), 'b.yaml': configMap('two', 'b') });
      const name = `reviews-${namespace}.example.com`;
      const rule = {
        apiGroups: ['authorization.k8s.io'],
        operations: ['CREATE'],
        resources: ['selfsubjectaccessreviews'],
      };
      // Of this repository alone: reviews have no namespace of their own.
      const here = `object.spec.resourceAttributes.namespace == '${namespace}'`;
      await cluster().client.create(WEBHOOKS, deadWebhook(name, rule, here));
      try {
        const question = { verb: 'delete', group: '', resource: 'configmaps', namespace };
        const isUnknown = async () =>
          (await mayDo(cluster().client, question, undefined)) === undefined ? true : undefined;
        await found('nobody can be asked', isUnknown);
        expect(await repository.commit({ 'b.yaml': undefined })).toMatchObject({ outcome: 'Succeeded' });
        expect(await repository.get('configmaps', 'two')).toBeUndefined();
      } finally {
        await cluster().client.delete({ ...WEBHOOKS, name });
      }
    }),
    60_000,
  );

  it(
    'what an admission policy changes as it is applied: a plan does not say that somebody has changed it since',
    inLane(async () => {
      const repository = await follow('mutated');
      const { namespace } = repository;
      const metadata = { name: namespace };
      const of = (resource: string) => ({ ...WEBHOOKS, resource });
      const policies = of('mutatingadmissionpolicies');
      const bindings = of('mutatingadmissionpolicybindings');
      const [apiGroups, apiVersions, resources] = [[''], ['v1'], ['configmaps']];
      const operations = ['CREATE', 'UPDATE'];
      await cluster().client.create(policies, {
        apiVersion: 'admissionregistration.k8s.io/v1',
        kind: 'MutatingAdmissionPolicy',
        metadata,
        spec: {
          matchConstraints: { resourceRules: [{ apiGroups, apiVersions, operations, resources }] },
          matchConditions: [{ name: 'here', expression: `object.metadata.namespace == '${namespace}'` }],
          failurePolicy: 'Fail',
          reinvocationPolicy: 'Never',
          mutations: [
            {
              patchType: 'JSONPatch',
              jsonPatch: {
                expression: '[JSONPatch{op: "replace", path: "/data/key", value: "forced"}]',
              },
            },
          ],
        },
      });
      await cluster().client.create(bindings, {
        apiVersion: 'admissionregistration.k8s.io/v1',
        kind: 'MutatingAdmissionPolicyBinding',
        metadata,
        spec: { policyName: namespace },
      });
      const keyOf = async (dryRun: boolean) => {
        const path = { group: '', version: 'v1', resource: 'configmaps', namespace };
        const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'probe' }, data: { key: 'a' } };
        const made = await cluster().client.create<KubernetesObject & { data: { key: string } }>(path, body, {
          dryRun,
        });
        return made.data.key;
      };
      const untilKey = async (key: string) => {
        await found(`the policy makes it ${key}`, async () =>
          (await keyOf(true)) === key ? true : undefined,
        );
      };
      await untilKey('forced');
      const { sha } = await repository.commit({ 'a.yaml': configMap('one', 'a') });
      expect(await repository.get('configmaps', 'one')).toMatchObject({ data: { key: 'forced' } });
      await cluster().client.delete({ ...bindings, name: namespace });
      await cluster().client.delete({ ...policies, name: namespace });
      await untilKey('a');
      const { changes } = await planOf(repository, sha);
      expect(changes).toMatchObject([
        {
          action: 'leave',
          why: expect.stringMatching(/^nobody has changed it since .*: an admission webhook or policy did/),
          differences: [{ path: 'data.key' }],
        },
      ]);
    }),
    60_000,
  );

  it(
    'a conversion webhook that does not answer refuses its objects alone, and a commit that takes it away goes through',
    inLane(async () => {
      const repository = await follow('conversion');
      const { namespace } = repository;
      const group = `${namespace}.example.com`;
      await grantInCluster(cluster().client, namespace, [
        'configmaps',
        'customresourcedefinitions.apiextensions.k8s.io',
        `bars.${group}`,
      ]);
      const definition = (webhook: boolean) => {
        const clientConfig = { service: { name: 'gone', namespace, path: '/' } };
        const schema = {
          openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
        };
        return JSON.stringify({
          apiVersion: 'apiextensions.k8s.io/v1',
          kind: 'CustomResourceDefinition',
          metadata: { name: `bars.${group}` },
          spec: {
            group,
            scope: 'Namespaced',
            names: { kind: 'Bar', plural: 'bars' },
            versions: ['v1', 'v2'].map((name) => ({ name, served: true, storage: name === 'v1', schema })),
            conversion: webhook
              ? {
                  strategy: 'Webhook',
                  webhook: { conversionReviewVersions: ['v1'], clientConfig },
                }
              : { strategy: 'None' },
          },
        });
      };
      const bar = (version: string) => `apiVersion: ${group}/${version}\nkind: Bar\nmetadata: {name: bar}\n`;
      const files = { 'a.json': definition(false), 'b.yaml': bar('v1'), 'c.yaml': configMap('one', 'a') };
      expect(await repository.commit(files)).toMatchObject({ outcome: 'Succeeded' });

      await repository.bad({ 'a.json': definition(true), 'b.yaml': bar('v2') });
      const { lines, sha } = await repository.bad({ 'c.yaml': configMap('one', 'b') });
      expect(lines).toEqual([
        expect.stringMatching(
          /^WebhookFailed b\.yaml:1@\w+: Bar\.\S+ \S+\/bar: conversion webhook for .* failed: .* Mend the conversion webhook of the CustomResourceDefinition bars\./,
        ),
      ]);
      const { problems } = await planOf(repository, sha);
      expect(problems).toMatchObject([{ code: 'WebhookFailed', file: 'b.yaml', line: 1 }]);

      const mended = await repository.git.commit({ 'a.json': definition(false) });
      // The apiserver may still ask the webhook in the moment after the write: then it is tried again.
      await found('the commit that takes the webhook away is applied', async () => {
        const { outcome } = await sync().apply(repository.name, mended);
        return outcome === 'Succeeded' ? true : undefined;
      });
      expect(await repository.get('configmaps', 'one')).toMatchObject({ data: { key: 'b' } });
    }),
    120_000,
  );
});
