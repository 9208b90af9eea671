/** Commits that bring Namespaces and definitions, and what else they hold: made first, pruned only when nobody loses by it. */

import { describe, expect, it } from '@jest/globals';

import { InventoryStore } from '../../git/inventory.ts';
import { formatProblem } from '../../git/problems.ts';
import { isNotFound } from '../../kubernetes/api-error.ts';
import { configMap, useCommitGround } from '../support/commit-ground.ts';
import { INVENTORY_NAMESPACE } from '../support/git-sync.ts';
import { useLanes } from '../support/lanes.ts';
import { grantInCluster } from '../support/sync-account.ts';

const { cluster, sync, follow, planOf } = useCommitGround('git-definitions');

/** Each play has a repository and a namespace of its own. */
const inLane = useLanes(3);

/** The apiserver takes its time to serve a kind, and several plays go on. */
const PATIENCE_MS = 120_000;

describe('what comes with the commit', () => {
  it(
    'a namespace and a kind that did not exist before',
    inLane(async () => {
      const repository = await follow('fresh');
      const suffix = Math.random().toString(36).slice(2, 8);
      await grantInCluster(cluster().client, repository.namespace, [
        'namespaces',
        'configmaps',
        'customresourcedefinitions.apiextensions.k8s.io',
        `things.${suffix}.example.com`,
      ]);
      const crd = {
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'CustomResourceDefinition',
        metadata: { name: `things.${suffix}.example.com` },
        spec: {
          group: `${suffix}.example.com`,
          scope: 'Namespaced',
          names: { kind: 'Thing', plural: 'things' },
          versions: [
            {
              name: 'v1',
              served: true,
              storage: true,
              schema: {
                openAPIV3Schema: {
                  type: 'object',
                  properties: { spec: { type: 'object', properties: { size: { type: 'integer' } } } },
                },
              },
            },
          ],
        },
      };
      const thing = (size: string): string =>
        `apiVersion: ${suffix}.example.com/v1\nkind: Thing\nmetadata: {name: it, namespace: fresh-${suffix}}\nspec:\n  size: ${size}\n`;
      const files = {
        'crd.json': JSON.stringify(crd),
        'namespace.yaml': `apiVersion: v1\nkind: Namespace\nmetadata: {name: fresh-${suffix}}\n`,
        'config.yaml': configMap('inside', 'a').replace(
          'name: inside',
          `name: inside\n  namespace: fresh-${suffix}`,
        ),
      };
      const bad = await repository.bad({
        ...files,
        'config.yaml': files['config.yaml'].replace('key: a', 'key: [1]'),
      });
      expect(bad.outcome).toBe('Refused');
      expect(bad.lines[0]).toMatch(/^Invalid config\.yaml:\d@/);
      const wrong = await repository.bad({ ...files, 'thing.yaml': thing('large') });
      expect(wrong.outcome).toBe('Failed');
      expect(wrong.lines[0]).toMatch(/^Invalid thing\.yaml:5@\w+: Thing\.\S+ fresh-\w+\/it: .*size/);
      expect(await repository.commit({ 'thing.yaml': thing('3') })).toMatchObject({ outcome: 'Succeeded' });
      const path = {
        group: `${suffix}.example.com`,
        version: 'v1',
        resource: 'things',
        namespace: `fresh-${suffix}`,
        name: 'it',
      };
      expect(await cluster().client.get(path)).toMatchObject({ spec: { size: 3 } });
      const last = await repository.commit({
        'namespace.yaml': undefined,
        'thing.yaml': undefined,
        'config.yaml': undefined,
      });
      expect(last).toMatchObject({ outcome: 'Succeeded' });
      const status = (await sync().inventory('fresh'))?.status.commit;
      expect(status).toMatchObject({ pruned: 2 });
      expect(status?.notes).toEqual([
        expect.stringMatching(
          /^Namespace fresh-\w+ was not pruned: deleting a Namespace may lose data: annotate it with fairlead\.dev\/prune=confirmed/,
        ),
      ]);
      const namespacePath = { group: '', version: 'v1', resource: 'namespaces', name: `fresh-${suffix}` };
      await cluster().annotate(namespacePath, { 'fairlead.dev/prune': 'confirmed' });
      expect(await repository.commit({ 'README.md': 'x' })).toMatchObject({ outcome: 'Succeeded' });
      const gone = await cluster()
        .client.get(namespacePath)
        .catch(() => undefined);
      expect(gone === undefined || gone.metadata.deletionTimestamp !== undefined).toBe(true);
    }),
    PATIENCE_MS,
  );
});

describe('a confirmed Namespace and a confirmed definition', () => {
  it(
    'stay while something that is kept, detached, or of another repository would go with them',
    inLane(async () => {
      const repository = await follow('holder');
      const other = await follow('lodger');
      const suffix = repository.namespace.split('-').at(-1) ?? '';
      const [box, group] = [`box-${suffix}`, `box${suffix}.example.com`];
      await grantInCluster(cluster().client, repository.namespace, [
        'namespaces',
        'configmaps',
        'persistentvolumeclaims',
        'customresourcedefinitions.apiextensions.k8s.io',
        `things.${group}`,
      ]);
      await grantInCluster(cluster().client, other.namespace, ['configmaps']);
      const confirmed = 'annotations: {fairlead.dev/prune: confirmed}';
      const detach = 'annotations: {client.lifecycle.config.k8s.io/deletion: detach}';
      const definition =
        `apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: things.${group}\n  ${confirmed}\n` +
        `spec:\n  group: ${group}\n  scope: Namespaced\n  names: {plural: things, singular: thing, kind: Thing, listKind: ThingList}\n` +
        `  versions:\n  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}\n`;
      const inBox = (text: string, name: string): string =>
        text.replace(`name: ${name}`, `name: ${name}\n  namespace: ${box}`);
      const files = {
        'box.yaml': `apiVersion: v1\nkind: Namespace\nmetadata:\n  name: ${box}\n  ${confirmed}\n`,
        'crd.yaml': definition,
        'claim.yaml':
          `apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data, namespace: ${box}}\n` +
          'spec:\n  accessModes: [ReadWriteOnce]\n  resources: {requests: {storage: 1Gi}}\n',
        'mine.yaml': inBox(configMap('mine', 'a'), 'mine').replace('\ndata:', `\n  ${detach}\ndata:`),
        'plain.yaml': inBox(configMap('plain', 'a'), 'plain'),
        'thing.yaml': `apiVersion: ${group}/v1\nkind: Thing\nmetadata:\n  name: it\n  namespace: ${repository.namespace}\n  ${detach}\n`,
      };
      expect(await repository.commit({ ...files, 'base.yaml': configMap('base', 'a') })).toMatchObject({
        outcome: 'Succeeded',
      });
      const gone = Object.fromEntries(Object.keys(files).map((name) => [name, undefined]));
      const { changes } = await planOf(repository, await repository.git.commit(gone));
      expect(await repository.commit({ 'README.md': 'x' })).toMatchObject({ outcome: 'Succeeded' });
      const containers = [
        { group: '', version: 'v1', resource: 'namespaces', name: box },
        {
          group: 'apiextensions.k8s.io',
          version: 'v1',
          resource: 'customresourcedefinitions',
          name: `things.${group}`,
        },
      ] as const;
      const areLeft = async (): Promise<readonly boolean[]> =>
        await Promise.all(
          containers.map(async (path) => {
            const live = await cluster()
              .client.get(path)
              .catch((error: unknown) => {
                if (isNotFound(error)) return undefined;
                throw error;
              });
            return live !== undefined && live.metadata.deletionTimestamp === undefined;
          }),
        );
      expect(await areLeft()).toEqual([true, true]);
      const notes = async (): Promise<readonly string[]> =>
        (await sync().inventory('holder'))?.status.commit?.notes ?? [];
      const told = await notes();
      // Where the step was tried again, what it had let go before comes first.
      expect(told.toSorted()).toEqual([
        expect.stringMatching(`^ConfigMap ${box}/mine was detached`),
        expect.stringMatching(
          `^CustomResourceDefinition\\S* things\\.${group} was not pruned: it would take Thing\\.${group} ${repository.namespace}/it \\(detached\\) with it: `,
        ),
        expect.stringMatching(
          `^Namespace ${box} was not pruned: it would take ConfigMap ${box}/mine \\(detached\\), PersistentVolumeClaim ${box}/data \\(not confirmed\\) with it: `,
        ),
        expect.stringMatching(`^PersistentVolumeClaim ${box}/data was not pruned: deleting`),
        expect.stringMatching(`^Thing\\.${group} ${repository.namespace}/it was detached`),
      ]);
      // The plan of it said the same.
      const verbs = { keep: 'was not pruned', detach: 'was detached, not deleted' } as const;
      const planned = changes.flatMap(({ object, action, why }) =>
        action === 'keep' || action === 'detach' ? [`${object} ${verbs[action]}: ${why ?? ''}`] : [],
      );
      expect(planned.toSorted()).toEqual(told.toSorted());
      expect(changes.filter(({ action }) => action === 'delete')).toMatchObject([
        { object: `ConfigMap ${box}/plain` },
      ]);

      // What was let go is not in the inventory any more, and the claim can go by now: what is left still holds them.
      const claim = {
        group: '',
        version: 'v1',
        resource: 'persistentvolumeclaims',
        namespace: box,
        name: 'data',
      };
      await cluster().annotate(claim, { 'fairlead.dev/prune': 'confirmed' });
      await other.commit({ 'a.yaml': inBox(configMap('lodged', 'a'), 'lodged') });
      await repository.commit({ 'README.md': 'y' });
      expect(await areLeft()).toEqual([true, true]);
      // The claim may have a note as well: it goes when the controller manager has seen that nobody uses it.
      const lodged = `it would take ConfigMap ${box}/lodged (of another repository), ConfigMap ${box}/mine (detached) with it`;
      expect(await notes()).toContainEqual(expect.stringContaining(lodged));
      const mine = { group: '', version: 'v1', resource: 'configmaps', namespace: box, name: 'mine' };
      const thing = { group, version: 'v1', resource: 'things', namespace: repository.namespace, name: 'it' };
      for (const path of [mine, thing])
        await cluster().annotate(path, { 'client.lifecycle.config.k8s.io/deletion': undefined });
      await repository.commit({ 'README.md': 'z' });
      expect(await areLeft()).toEqual([true, false]);
      await other.commit({ 'a.yaml': undefined, 'b.yaml': configMap('base', 'a') });
      await repository.commit({ 'README.md': 'end' });
      expect(await areLeft()).toEqual([false, false]);
    }),
    PATIENCE_MS,
  );
});

describe('what Fairlead itself works by', () => {
  it(
    'outlives a commit that leaves out its Namespace, and another whose Namespace holds an inventory',
    async () => {
      const repository = await follow('keeper');
      const attic = `attic-${repository.namespace}`;
      await grantInCluster(cluster().client, repository.namespace, ['namespaces', 'configmaps']);
      const namespace = (name: string): string =>
        `apiVersion: v1\nkind: Namespace\nmetadata:\n  name: ${name}\n  annotations: {fairlead.dev/prune: confirmed}\n`;
      const files = { 'attic.yaml': namespace(attic), 'own.yaml': namespace(INVENTORY_NAMESPACE) };
      expect(await repository.commit({ ...files, 'base.yaml': configMap('base', 'a') })).toMatchObject({
        outcome: 'Succeeded',
      });
      // Of other workers.
      await new InventoryStore(cluster().client, attic, 'old').update((present) => present);
      const sha = await repository.git.commit({ 'attic.yaml': undefined, 'own.yaml': undefined });
      const { changes } = await planOf(repository, sha);
      expect(await sync().apply('keeper', sha)).toMatchObject({ outcome: 'Succeeded' });
      const notes = (await sync().inventory('keeper'))?.status.commit?.notes ?? [];
      expect(notes.toSorted()).toEqual([
        expect.stringMatching(
          `^Namespace ${attic} was not pruned: it would take ConfigMap ${attic}/fairlead-old \\(an inventory of Fairlead\\) with it: `,
        ),
        expect.stringMatching(
          `^Namespace ${INVENTORY_NAMESPACE} was not pruned: it would take what Fairlead works by with it, its Lease and the inventories`,
        ),
      ]);
      // The plan of it said the same.
      expect(
        changes.map(({ object, action, why }) => `${object} ${action}: ${why ?? ''}`).toSorted(),
      ).toEqual(notes.map((note) => note.replace('was not pruned', 'keep')).toSorted());
      const path = { group: '', version: 'v1', resource: 'namespaces', name: INVENTORY_NAMESPACE };
      expect((await cluster().client.get(path)).metadata.deletionTimestamp).toBeUndefined();
    },
    PATIENCE_MS,
  );

  it(
    'is no manifest\u2019s to write: an inventory is refused before the first write',
    async () => {
      const repository = await follow('forger');
      await grantInCluster(cluster().client, repository.namespace, ['configmaps']);
      await (await follow('robbed')).commit({ 'a.yaml': configMap('one', 'a') });
      const inventory = async () => await sync().inventory('robbed');
      const before = await inventory();
      const inSystem = (repositoryName: string): string =>
        `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: fairlead-${repositoryName}\n  namespace: ${INVENTORY_NAMESPACE}\ndata:\n  objects: ""\n`;
      const files = {
        'a.yaml': configMap('one', 'a'),
        // It is not there yet.
        'own.yaml': inSystem('forger'),
        'theirs.yaml': inSystem('robbed'),
      };
      const sha = await repository.git.commit(files);
      const { problems } = await planOf(repository, sha);
      const { outcome } = await sync().apply('forger', sha);
      const lines = (await sync().inventory('forger'))?.status.commit?.problems;
      expect({ outcome, lines }).toEqual({
        outcome: 'Refused',
        lines: ['own.yaml forger', 'theirs.yaml robbed'].map((one) => {
          const [file = '', name = ''] = one.split(' ');
          return `OwnedByOther ${file}:1@${sha.slice(0, 8)}: ConfigMap ${INVENTORY_NAMESPACE}/fairlead-${name}: this is the inventory of repository ${name}, which Fairlead alone writes. Rename the ConfigMap in the manifest.`;
        }),
      });
      expect(problems.map((one) => formatProblem(one, sha))).toEqual(lines);
      expect(await repository.get('configmaps', 'one')).toBeUndefined();
      expect(await inventory()).toEqual(before);
    },
    PATIENCE_MS,
  );
});

describe('a definition whose names are taken', () => {
  const crds = { group: 'apiextensions.k8s.io', version: 'v1', resource: 'customresourcedefinitions' };

  /** Follows a repository that may keep gadgets and gizmos, and has a Gadget. */
  async function groundOf(name: string, names: string) {
    const repository = await follow(name);
    const group = `${repository.namespace}.example.com`;
    await grantInCluster(cluster().client, repository.namespace, [
      'customresourcedefinitions.apiextensions.k8s.io',
      `gadgets.${group}`,
      `gizmos.${group}`,
    ]);
    const definition = (
      plural: string,
      more: string,
      scope = 'Namespaced',
    ): string => `apiVersion: ${crds.group}/v1
kind: CustomResourceDefinition
metadata: {name: ${plural}.${group}}
spec:
  group: ${group}
  scope: ${scope}
  names: {plural: ${plural}, singular: ${plural.slice(0, -1)}, ${more}}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`;
    const object = (kind: string, objectName = 'x'): string =>
      `apiVersion: ${group}/v1\nkind: ${kind}\nmetadata: {name: ${objectName}}\n`;
    const first = { 'a.yaml': `${definition('gadgets', names)}---\n${object('Gadget')}` };
    expect(await repository.commit(first)).toMatchObject({ outcome: 'Succeeded' });
    const existing = async (): Promise<readonly string[]> => {
      const { items } = await cluster().client.list(crds);
      return items.map(({ metadata }) => metadata.name).filter((one) => one.endsWith(group));
    };
    return { repository, group, definition, object, existing };
  }

  it(
    'is refused before anything is written, also where git drops the one that has them; plan says so',
    inLane(async () => {
      const ground = await groundOf('names', 'kind: Gadget, shortNames: [gd]');
      const { repository, group, definition, object, existing } = ground;
      const bad = {
        'a.yaml': undefined,
        'b.yaml': `# the same kind, of another name and scope\n${definition('gizmos', 'kind: Gadget', 'Cluster')}`,
        'c.yaml': object('Gadget', 'other'),
        'd.yaml': configMap('other', 'a'),
      };
      const { problems } = await planOf(repository, await repository.git.commit(bad));
      const told = expect.stringMatching(
        new RegExp(`the kind Gadget is that of CustomResourceDefinition gadgets\\.${group}`),
      );
      expect(problems).toMatchObject([{ code: 'NotEstablished', file: 'b.yaml', line: 8, message: told }]);
      const { outcome, lines } = await repository.bad({ 'README.md': 'again' });
      expect({ outcome, lines }).toEqual({
        outcome: 'Refused',
        lines: [
          expect.stringMatching(
            /^NotEstablished b\.yaml:8@\w+: \S+ gizmos\S+: its names would not be accepted/,
          ),
        ],
      });
      expect(await repository.get('configmaps', 'other')).toBeUndefined();
      expect(await existing()).toEqual([`gadgets.${group}`]);
      const short = await repository.bad({
        'b.yaml': definition('gizmos', 'kind: Gizmo, shortNames: [gd]'),
        'c.yaml': object('Gizmo'),
      });
      expect(short.lines).toEqual([
        expect.stringContaining(`the name gd is that of CustomResourceDefinition gadgets.`),
      ]);
    }),
    PATIENCE_MS,
  );

  it(
    'that only the apiserver knows of fails the commit at the line of the definition, with the reason',
    inLane(async () => {
      // Nothing that is served tells of the kind of lists, and the commit has only one of the two.
      const ground = await groundOf('lists', 'kind: Gadget, listKind: Gadgets');
      const { repository, group, definition, object } = ground;
      const { outcome, lines, message } = await repository.bad({
        'a.yaml': undefined,
        'b.yaml': `# the list kind is taken\n${definition('gizmos', 'kind: Gizmo, listKind: Gadgets')}`,
        'c.yaml': object('Gizmo'),
        'd.yaml': configMap('other', 'a'),
      });
      expect(outcome).toBe('Failed');
      expect(lines).toEqual([
        expect.stringMatching(
          /^NotEstablished b\.yaml:2@\w+: \S+ gizmos\S+: its names are not accepted: ListKindConflict: .*Gadgets.* Choose other names/,
        ),
      ]);
      expect(message).toContain('NotEstablished b.yaml:2');
      await cluster().client.delete({ ...crds, name: `gizmos.${group}` });
    }),
    PATIENCE_MS,
  );
});
