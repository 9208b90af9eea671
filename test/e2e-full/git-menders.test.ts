/** What a commit refuses only as long as nothing of it is written: an object that is applied before mends that. */

import { describe, expect, it } from '@jest/globals';

import type { KubernetesObject } from '../../planners/objects.ts';
import { configMap, service, useCommitGround } from '../support/commit-ground.ts';
import { found } from '../support/eventually.ts';
import { useLanes } from '../support/lanes.ts';
import { grantInCluster } from '../support/sync-account.ts';

const { cluster, follow, planOf } = useCommitGround('git-menders');

const manifest = (object: object) => `${JSON.stringify(object)}\n`;

/** With the fields of its schema, all of them numbers; of several versions the last is stored. */
function definition(group: string, fields: readonly string[], versions: readonly string[] = ['v1']) {
  const properties = Object.fromEntries(fields.map((field) => [field, { type: 'integer' }]));
  const spec = { type: 'object', properties };
  return manifest({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `gadgets.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { kind: 'Gadget', plural: 'gadgets' },
      versions: versions.map((name) => ({
        name,
        served: true,
        storage: name === versions.at(-1),
        schema: { openAPIV3Schema: { type: 'object', properties: { spec } } },
      })),
    },
  });
}

const gadget = (group: string, name: string, spec: object, version = 'v1') =>
  manifest({ apiVersion: `${group}/${version}`, kind: 'Gadget', metadata: { name }, spec });

const quota = (count: number) =>
  manifest({
    apiVersion: 'v1',
    kind: 'ResourceQuota',
    metadata: { name: 'small' },
    spec: { hard: { 'count/services': String(count) } },
  });

const pod = (name: string, spec: object) =>
  manifest({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: { containers: [{ name: 'main', image: 'registry.example/pod:1' }], ...spec },
  });

describe('an object that is refused until another of its commit is written', () => {
  // Each has repositories of its own, with names and namespaces of their own.
  const inLane = useLanes(4);

  const grantKinds = async (namespace: string, group: string) => {
    await grantInCluster(cluster().client, namespace, [
      'customresourcedefinitions.apiextensions.k8s.io',
      `gadgets.${group}`,
    ]);
  };

  it(
    'a field that the commit brings into the schema; a misspelt one is refused once that is there',
    inLane(async () => {
      const repository = await follow('schema');
      const group = `${repository.namespace}.example.com`;
      await grantKinds(repository.namespace, group);
      const begin = { 'a.json': definition(group, ['size']), 'b.json': gadget(group, 'one', { size: 1 }) };
      expect(await repository.commit(begin)).toMatchObject({ outcome: 'Succeeded' });

      const sha = await repository.git.commit({
        'a.json': definition(group, ['size', 'color']),
        'b.json': gadget(group, 'one', { size: 1, color: 2 }),
      });
      const { problems, changes } = await planOf(repository, sha);
      expect(problems).toEqual([]);
      expect(changes).toMatchObject([
        { action: 'change', object: expect.stringContaining('CustomResourceDefinition') },
        {
          action: 'later',
          object: `Gadget.${group} ${repository.namespace}/one`,
          why: expect.stringMatching(/^it can be tried when CustomResourceDefinition\S* gadgets\.\S+, which/),
        },
      ]);
      expect(await repository.commit({ 'README.md': 'x' })).toMatchObject({ outcome: 'Succeeded' });
      expect(await repository.get('gadgets', 'one', group)).toMatchObject({ spec: { color: 2 } });

      const { lines, outcome } = await repository.bad({
        'a.json': definition(group, ['size', 'color', 'weight']),
        'b.json': gadget(group, 'one', { size: 1, wait: 3 }),
      });
      expect(outcome).toBe('Failed');
      expect(lines).toEqual([
        expect.stringMatching(/^UnknownField b\.json:1@\w+: Gadget\S* .*"\.spec\.wait"/),
      ]);
      // Nothing of the commit changes the schema: nothing is written.
      const alone = await repository.bad({ 'b.json': gadget(group, 'one', { wait: 4 }) });
      expect(alone.outcome).toBe('Refused');
    }),
    120_000,
  );

  it(
    'a kind whose definition is being deleted, and is in the commit',
    inLane(async () => {
      const repository = await follow('leaving-kind');
      const group = `${repository.namespace}.example.com`;
      await grantKinds(repository.namespace, group);
      const files = { 'a.json': definition(group, ['size']), 'b.json': gadget(group, 'one', { size: 1 }) };
      expect(await repository.commit(files)).toMatchObject({ outcome: 'Succeeded' });
      const one = { group, version: 'v1', resource: 'gadgets', namespace: repository.namespace, name: 'one' };
      const hold = async (finalizers: readonly string[]) =>
        await cluster().client.patch(one, 'merge', { metadata: { finalizers } });
      await hold(['example.com/hold']);
      const definitions = {
        group: 'apiextensions.k8s.io',
        version: 'v1',
        resource: 'customresourcedefinitions',
      };
      await cluster().client.delete({ ...definitions, name: `gadgets.${group}` });
      const sha = await repository.git.commit({ 'b.json': gadget(group, 'one', { size: 2 }) });
      await found('the kind takes no objects', async () => {
        const { problems, changes } = await planOf(repository, sha);
        const told = changes.find(({ object }) => object.startsWith('Gadget'));
        return problems.length === 0 && told?.why === 'its kind comes with this commit' ? true : undefined;
      });
      const applied = repository.commit({ 'README.md': 'x' });
      await hold([]);
      expect(await applied).toMatchObject({ outcome: 'Succeeded' });
      expect(await repository.get('gadgets', 'one', group)).toMatchObject({ spec: { size: 2 } });

      await hold(['example.com/hold']);
      await cluster().client.delete({ ...definitions, name: `gadgets.${group}` });
      const alone = await repository.git.commit({ 'a.json': undefined });
      await found('the definition is told', async () => {
        const { problems } = await planOf(repository, alone);
        const [told] = problems;
        return told?.code === 'UnknownKind' && told.message.includes('is being deleted') ? true : undefined;
      });
      await hold([]);
    }),
    120_000,
  );

  it(
    'a pod whose account and class come with it',
    inLane(async () => {
      const repository = await follow('pods');
      const { namespace } = repository;
      await grantInCluster(cluster().client, namespace, ['priorityclasses.scheduling.k8s.io']);
      const files = {
        'a.json': manifest({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'runner' } }),
        'b.json': manifest({
          apiVersion: 'scheduling.k8s.io/v1',
          kind: 'PriorityClass',
          metadata: { name: namespace },
          value: 10,
        }),
        'c.json': pod('one', { serviceAccountName: 'runner' }),
        'd.json': pod('two', { priorityClassName: namespace }),
      };
      const { problems, changes } = await planOf(repository, await repository.git.commit(files));
      expect(problems).toEqual([]);
      expect(changes.map(({ action }) => action)).toEqual(['create', 'create', 'later', 'later']);
      expect(await repository.commit({ 'README.md': 'x' })).toMatchObject({ outcome: 'Succeeded' });
      expect(await repository.get('pods', 'two')).toMatchObject({ spec: { priority: 10 } });

      const { outcome, lines } = await repository.bad({
        'e.json': pod('three', { serviceAccountName: 'nobody' }),
      });
      expect(outcome).toBe('Refused');
      expect(lines).toEqual([expect.stringMatching(/^Forbidden e\.json:1@.*service account \S+\/nobody/)]);
      expect(lines[0]).toMatch(/ Commit the ServiceAccount nobody too, /);
    }),
    120_000,
  );

  it(
    'a version that leaves the definition of a kind: its objects are moved first, by a commit of their own',
    inLane(async () => {
      const repository = await follow('versions');
      const { namespace } = repository;
      const group = `${namespace}.example.com`;
      await grantKinds(namespace, group);
      const two = definition(group, ['size', 'color'], ['v1', 'v2']);
      const begin = { 'a.json': two, 'b.json': gadget(group, 'one', { size: 1, color: 2 }) };
      expect(await repository.commit(begin)).toMatchObject({ outcome: 'Succeeded' });

      const moved = { 'b.json': gadget(group, 'one', { size: 1 }, 'v2'), 'c.yaml': configMap('one', 'a') };
      const gone = { 'a.json': definition(group, ['size', 'color'], ['v2']) };
      const { lines, outcome } = await repository.bad({ ...gone, ...moved });
      expect(outcome).toBe('Refused');
      expect(lines).toEqual([
        expect.stringMatching(/^VersionInUse a\.json:1@\w+: .* lacks v1, .* Gadget\S* \S+\/one names it/),
      ]);
      expect(await repository.get('configmaps', 'one')).toBeUndefined();

      expect(await repository.commit({ 'a.json': two })).toMatchObject({ outcome: 'Succeeded' });
      expect(await repository.commit(gone)).toMatchObject({ outcome: 'Succeeded' });
      expect(await repository.commit({ 'b.json': gadget(group, 'one', { size: 3 }, 'v2') })).toMatchObject({
        outcome: 'Succeeded',
      });

      const next = {
        'a.json': definition(group, ['size', 'color'], ['v2', 'v3']),
        'b.json': gadget(group, 'one', { size: 4 }, 'v3'),
      };
      const { changes } = await planOf(repository, await repository.git.commit(next));
      expect(changes.find(({ object }) => object.startsWith('Gadget'))).toMatchObject({
        action: 'change',
        why: expect.stringContaining('v3 of its kind comes with this commit'),
      });
      expect(await repository.commit({ 'README.md': 'x' })).toMatchObject({ outcome: 'Succeeded' });
    }),
    120_000,
  );

  it(
    'what a quota that the commit raises has no room for before',
    inLane(async () => {
      const repository = await follow('quota');
      const { namespace } = repository;
      await grantInCluster(cluster().client, namespace, ['resourcequotas']);
      expect(await repository.commit({ 'a.json': quota(2) })).toMatchObject({ outcome: 'Succeeded' });
      const path = { group: '', version: 'v1', resource: 'resourcequotas', namespace, name: 'small' };
      await cluster().until<KubernetesObject & { status?: { hard?: object } }>(
        path,
        'counts',
        ({ status }) => status?.hard !== undefined,
      );
      const two = { 'b.json': service('one'), 'c.json': service('two') };
      expect(await repository.commit(two)).toMatchObject({ outcome: 'Succeeded' });
      const { outcome } = await repository.bad({ 'd.json': service('three') });
      expect(outcome).toBe('Refused');
      expect((await repository.bad({ 'a.json': quota(3) })).lines).toEqual([]);
      expect(await repository.get('services', 'three')).toBeDefined();
    }),
    120_000,
  );

  it(
    'a binding of a role that comes with it',
    inLane(async () => {
      const repository = await follow('roles');
      const group = 'rbac.authorization.k8s.io';
      const metadata = { name: 'reader' };
      const role = { apiGroup: group, kind: 'Role', name: 'reader' };
      const binding = { name: 'readers' };
      const files = {
        'a.json': manifest({
          apiVersion: `${group}/v1`,
          kind: 'Role',
          metadata,
          rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get'] }],
        }),
        'b.json': manifest({
          apiVersion: `${group}/v1`,
          kind: 'RoleBinding',
          metadata: binding,
          roleRef: role,
        }),
        'c.yaml': configMap('one', 'a'),
      };
      const { problems } = await planOf(repository, await repository.git.commit(files));
      expect(problems).toEqual([]);
      expect(await repository.bad({ 'README.md': 'x' })).toMatchObject({ outcome: 'Succeeded', lines: [] });
      expect(await repository.get('rolebindings', 'readers', group)).toBeDefined();
    }),
    120_000,
  );
});
