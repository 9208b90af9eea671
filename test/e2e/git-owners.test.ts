/** Who may do what in git: the rights of a repository's account, whose an object is, and whose a field of it. */

import { describe, expect, it } from '@jest/globals';

import { readManagedFields } from '../../kubernetes/managed-fields.ts';
import { asRecord } from '../../kubernetes/values.ts';
import { ANNOTATION } from '../../planners/names.ts';
import type { KubernetesObject } from '../../planners/objects.ts';
import { configMap, service, useCommitGround } from '../support/commit-ground.ts';
import { GitSync, INVENTORY_NAMESPACE } from '../support/git-sync.ts';
import { useLanes } from '../support/lanes.ts';
import { patchIn, runPrinted } from '../support/printed-command.ts';
import { grantInCluster, grantInNamespace, untilAllowed } from '../support/sync-account.ts';

const { controlPlane, cluster, sync, newWorkerClient, follow, planOf } = useCommitGround('git-owners');

describe('who may do what', () => {
  // Each has repositories of its own, with names and namespaces of their own.
  const inLane = useLanes(4);

  async function grant(
    namespace: string,
    verbs: readonly string[],
    {
      apiGroups,
      resources,
    }: { readonly apiGroups: readonly string[]; readonly resources: readonly string[] } = {
      apiGroups: [''],
      resources: ['configmaps'],
    },
  ): Promise<void> {
    const metadata = { name: 'deployer', namespace };
    const rbac = { group: 'rbac.authorization.k8s.io', version: 'v1', namespace };
    await cluster().client.create(
      { group: '', version: 'v1', resource: 'serviceaccounts', namespace },
      { apiVersion: 'v1', kind: 'ServiceAccount', metadata },
    );
    await cluster().client.create(
      { ...rbac, resource: 'roles' },
      {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'Role',
        metadata,
        rules: [{ apiGroups, resources, verbs }],
      },
    );
    await cluster().client.create(
      { ...rbac, resource: 'rolebindings' },
      {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'RoleBinding',
        metadata,
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'deployer' },
        subjects: [{ kind: 'ServiceAccount', name: 'deployer', namespace }],
      },
    );
    const user = `system:serviceaccount:${namespace}:deployer`;
    const [verb = '', resource = '', group = ''] = [verbs[0], resources[0], apiGroups[0]];
    await untilAllowed(cluster().client, { user, verb, resource, group, there: namespace });
  }

  it(
    'acts as the ServiceAccount of the repository, and says all that it may not do before its first write',
    inLane(async () => {
      const repository = await follow('tenant', { serviceAccount: 'deployer' });
      await grant(repository.namespace, ['get', 'create', 'patch']);
      const refused = await repository.bad({ 'a.yaml': configMap('one', 'a'), 'b.yaml': service('web') });
      expect(refused.outcome).toBe('Refused');
      expect(refused.lines).toHaveLength(1);
      expect(refused.lines[0]).toMatch(
        /^Forbidden b\.yaml:1@\w+: Service \S+\/web: .*system:serviceaccount:tenant-\w+:deployer" cannot (?:get|patch) resource "services"/,
      );
      expect(await repository.get('configmaps', 'one')).toBeUndefined();
      expect(await repository.commit({ 'b.yaml': configMap('two', 'b') })).toMatchObject({
        outcome: 'Succeeded',
      });
      const pruning = await repository.bad({ 'b.yaml': undefined });
      expect(pruning.lines[0]).toMatch(
        /^Forbidden commit \w+: ConfigMap tenant-\w+\/two: the commit no longer holds \S+, but \S+ may not delete configmaps\. Grant/,
      );
      expect(await repository.get('configmaps', 'two')).toBeDefined();
    }),
    60_000,
  );

  it(
    'may write nothing outside its namespaces, nor give itself more than it has',
    inLane(async () => {
      const repository = await follow('bounded', { serviceAccount: 'deployer' });
      await grant(repository.namespace, ['get', 'create', 'patch'], {
        apiGroups: ['', 'rbac.authorization.k8s.io'],
        resources: ['configmaps', 'rolebindings'],
      });
      const rbac = 'apiVersion: rbac.authorization.k8s.io/v1';
      const admin = 'roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}';
      const me = `subjects: [{kind: ServiceAccount, name: deployer, namespace: ${repository.namespace}}]`;
      const { outcome, lines } = await repository.bad({
        'a.yaml': configMap('one', 'a'),
        'b.yaml': `${rbac}\nkind: ClusterRole\nmetadata: {name: mine-${repository.namespace}}\nrules: []\n`,
        'c.yaml': `${rbac}\nkind: ClusterRoleBinding\nmetadata: {name: mine-${repository.namespace}}\n${admin}\n${me}\n`,
        'd.yaml': `apiVersion: v1\nkind: Namespace\nmetadata: {name: more-${repository.namespace}}\n`,
        'e.yaml': configMap('two', 'b').replace('name: two', 'name: two\n  namespace: kube-system'),
        'f.yaml': `${rbac}\nkind: RoleBinding\nmetadata: {name: more}\n${admin}\n${me}\n`,
      });
      expect(outcome).toBe('Refused');
      const forbidden = (file: string, object: string) =>
        expect.stringMatching(
          new RegExp(
            `^Forbidden ${file}\\.yaml:1@\\w+: ${object}: .*system:serviceaccount:bounded-\\w+:deployer`,
          ),
        );
      expect(lines).toEqual([
        forbidden('b', 'ClusterRole\\.\\S+ mine-\\S+'),
        forbidden('c', 'ClusterRoleBinding\\.\\S+ mine-\\S+'),
        forbidden('d', 'Namespace more-\\S+'),
        forbidden('e', 'ConfigMap kube-system/two'),
        forbidden('f', 'RoleBinding\\.\\S+ bounded-\\w+/more'),
      ]);
      expect(await repository.get('configmaps', 'one')).toBeUndefined();
    }),
    60_000,
  );

  it(
    'an account without rights in the other workload API may create workloads of apps/v1',
    inLane(async () => {
      const repository = await follow('plain', { serviceAccount: 'deployer' });
      await grant(repository.namespace, ['get', 'list', 'watch', 'create', 'patch'], {
        apiGroups: ['apps'],
        resources: ['deployments', 'daemonsets', 'statefulsets'],
      });
      const workload = (kind: string, name: string, more = ''): string =>
        `apiVersion: apps/v1\nkind: ${kind}\nmetadata: {name: ${name}}\nspec:\n  selector: {matchLabels: {app: ${name}}}\n${more}` +
        `  template:\n    metadata: {labels: {app: ${name}}}\n    spec: {containers: [{name: main, image: "example.com/web:1"}]}\n`;
      const headless = '  serviceName: web\n';
      // Two kinds that fairlead.dev does not serve, one that it serves and the account may not read.
      expect(
        await repository.commit({
          'a.yaml': workload('DaemonSet', 'every'),
          'b.yaml': workload('Deployment', 'web'),
          'c.yaml': workload('StatefulSet', 'db', headless),
        }),
      ).toMatchObject({ outcome: 'Succeeded' });

      const kind = { group: 'fairlead.dev', version: 'v1beta1', resource: 'statefulsets' };
      await cluster().client.create(
        { ...kind, namespace: repository.namespace },
        {
          apiVersion: 'fairlead.dev/v1beta1',
          kind: 'StatefulSet',
          metadata: { name: 'taken' },
          spec: {
            replicas: 0,
            serviceName: 'web',
            selector: { matchLabels: { app: 'taken' } },
            template: {
              metadata: { labels: { app: 'taken' } },
              spec: { containers: [{ name: 'main', image: 'example.com/web:1' }] },
            },
          },
        },
      );
      const { outcome, lines } = await repository.bad({
        'd.yaml': workload('StatefulSet', 'taken', headless),
      });
      expect(outcome).toBe('Refused');
      expect(lines).toEqual([
        expect.stringMatching(
          /^Forbidden d\.yaml:1@\w+: StatefulSet\.apps \S+\/taken: the same workload exists as statefulsets\.fairlead\.dev, which system:serviceaccount:\S+:deployer may not read; .* grant get and delete of statefulsets\.fairlead\.dev; else delete that one\.$/,
        ),
      ]);
    }),
    60_000,
  );

  it(
    'two repositories that claim one object: the second is told whose it is',
    inLane(async () => {
      const first = await follow('claim-a');
      const second = await follow('claim-b');
      await grantInNamespace(cluster().client, second.namespace, first.namespace);
      const manifest = configMap('mine', 'a').replace(
        'name: mine',
        `name: mine\n  namespace: ${first.namespace}`,
      );
      expect(await first.commit({ 'a.yaml': manifest })).toMatchObject({ outcome: 'Succeeded' });
      const { lines } = await second.bad({ 'a.yaml': manifest });
      expect(lines[0]).toMatch(
        /^OwnedByOther a\.yaml:1@\w+: ConfigMap \S+\/mine: repository claim-a applies this object too\./,
      );
    }),
    60_000,
  );

  it(
    'what workers of another FAIRLEAD_CLUSTER apply is not taken over under a new name',
    inLane(async () => {
      const first = await follow('theirs');
      const { sha } = await first.commit({ 'a.yaml': configMap('mine', 'a') });
      const others = await GitSync.start({
        client: await newWorkerClient(),
        temporalAddress: controlPlane().temporalAddress,
        cluster: 'elsewhere',
      });
      try {
        others.follow({ ...first.repository, name: 'ours' });
        expect(await others.apply('ours', sha)).toMatchObject({ outcome: 'Refused' });
        expect((await others.inventory('ours'))?.status.commit?.problems).toEqual([
          expect.stringMatching(
            /^OwnedByOther a\.yaml:1@\w+: ConfigMap \S+\/mine: repository theirs of the workers with FAIRLEAD_CLUSTER=git-owners has applied this object\. .* kubectl delete configmap fairlead-theirs -n fairlead-system$/,
          ),
        ]);
      } finally {
        await others.stop();
      }
    }),
    60_000,
  );

  it(
    'what git drops goes although kubectl had applied it by hand before; what another tool applies too stays, and is told',
    inLane(async () => {
      const one = await follow('dropped');
      const path = {
        group: '',
        version: 'v1',
        resource: 'configmaps',
        namespace: one.namespace,
        name: 'mine',
      };
      const map = (data: string) => configMap('mine', 'a').replace('  key: a\n', data);
      const body = (data: object) => ({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'mine' },
        data,
      });
      const { name: _, ...collection } = path;
      await cluster().client.create(collection, body({ a: '1', b: '2', c: '3' }), {
        fieldManager: 'kubectl-client-side-apply',
      });
      await cluster().client.patch(path, 'apply', body({ c: '3' }), { fieldManager: 'helm' });
      await one.commit({ 'a.yaml': map('  a: "1"\n  b: "2"\n  c: "3"\n') });
      const without = await one.git.commit({ 'a.yaml': map('  a: "1"\n') });
      const note = expect.stringMatching(
        /^a\.yaml:1: ConfigMap \S+\/mine: not in git any more, and stays .* data\.c \("helm", "kubectl-client-side-apply"\)\. .*"path":"\/data\/c"/,
      );
      expect(await planOf(one, without)).toMatchObject({
        changes: [
          { object: expect.stringContaining('/mine'), differences: [{ path: 'data.b', before: '2' }] },
        ],
        notes: expect.arrayContaining([note]),
      });
      expect(await sync().apply('dropped', without)).toMatchObject({ outcome: 'Succeeded' });
      expect(await one.get('configmaps', 'mine')).toMatchObject({ data: { a: '1', c: '3' } });
      expect((await one.get('configmaps', 'mine')) as unknown).not.toHaveProperty('data.b');
      expect((await sync().inventory('dropped'))?.status.commit?.notes).toEqual([note]);
    }),
    60_000,
  );

  it(
    "what kubectl had applied of the same manifest is git's: no default and no spelling is a conflict, and what git drops goes with its defaults",
    inLane(async () => {
      const one = await follow('moved-over', { serviceAccount: 'deployer' });
      const { namespace } = one;
      const resources = ['networkpolicies', 'resourcequotas', 'services', 'podtemplates'];
      const apiGroups = ['', 'networking.k8s.io'];
      await grant(namespace, ['get', 'create', 'patch', 'delete'], { apiGroups, resources });
      const byKubectl = { fieldManager: 'kubectl-client-side-apply' };
      const meta = (apiVersion: string, kind: string) => ({ apiVersion, kind, metadata: { name: 'one' } });
      const policy = {
        ...meta('networking.k8s.io/v1', 'NetworkPolicy'),
        spec: { podSelector: {}, ingress: [{ ports: [{ port: 80 }] }] },
      };
      const quota = (cpu: string) => ({
        ...meta('v1', 'ResourceQuota'),
        spec: { hard: { 'requests.cpu': cpu, 'limits.memory': '1024Mi' } },
      });
      const port = (name: string, number: number) => ({ name, port: number });
      const exposed = (...ports: readonly object[]) => ({
        ...meta('v1', 'Service'),
        spec: { type: 'NodePort', selector: { app: 'x' }, ports },
      });
      const template = (...containers: readonly object[]) => ({
        ...meta('v1', 'PodTemplate'),
        template: { spec: { containers } },
      });
      const [main, side, more] = ['main', 'side', 'more'].map((name) => ({
        name,
        image: 'app:1',
        ports: [{ containerPort: 80 }],
      }));
      const both = [port('a', 80), port('b', 81)];
      const others = [policy, quota('1000m'), exposed(...both)];
      const env = [{ name: 'A', value: '1' }];
      // Somebody has put more into one of the items: that is no default.
      const there = [...others, template({ ...main }, { ...side }, { ...more, env })];
      const at = (group: string, resource: string) => ({ group, version: 'v1', resource, namespace });
      const places = [
        at('networking.k8s.io', 'networkpolicies'),
        ...['resourcequotas', 'services', 'podtemplates'].map((resource) => at('', resource)),
      ];
      for (const [index, body] of there.entries())
        await cluster().client.create(places[index] ?? at('', ''), body, byKubectl);
      const files = (bodies: readonly object[]) =>
        Object.fromEntries(bodies.map((body, index) => [`${String(index)}.json`, JSON.stringify(body)]));
      const first = await one.git.commit(files([...others, template({ ...main }, { ...side }, { ...more })]));
      expect((await planOf(one, first)).problems).toEqual([]);
      expect(await sync().apply(one.name, first)).toMatchObject({ outcome: 'Succeeded' });

      const less = [policy, quota('1000m'), exposed(port('a', 80)), template({ ...main })];
      expect(await one.commit(files(less))).toMatchObject({ outcome: 'Succeeded' });
      expect(asRecord(asRecord(await one.get('services', 'one'))['spec'])['ports']).toHaveLength(1);
      expect(await one.get('podtemplates', 'one')).toMatchObject({
        template: { spec: { containers: [{ name: 'main' }, { name: 'more' }] } },
      });
      expect((await sync().inventory(one.name))?.status.commit?.notes).toEqual([
        expect.stringMatching(
          /not in git any more, and stays .*: template\.spec\.containers\[name="more"\] \(/,
        ),
      ]);

      // What the apiserver keeps is told; a default that git had named is none.
      const headless = { ...exposed(port('a', 80)), spec: { clusterIP: 'None', ports: [port('a', 80)] } };
      const named = (spec: object) => ({ ...headless, metadata: { name: 'two' }, spec });
      const two = { ...headless.spec, sessionAffinity: 'None' };
      expect(await one.commit(files([...less, named(two)]))).toMatchObject({ outcome: 'Succeeded' });
      expect(await one.commit(files([...less, named({ ports: two.ports })]))).toMatchObject({
        outcome: 'Succeeded',
      });
      expect((await sync().inventory(one.name))?.status.commit?.notes).toEqual([
        expect.stringMatching(
          /^4\.json:1: Service \S+\/two: .* the apiserver keeps it: spec\.clusterIP\. Delete the object/,
        ),
      ]);

      // Another amount is a claim.
      await cluster().client.patch(
        { ...at('', 'resourcequotas'), name: 'one' },
        'merge',
        { spec: { hard: { 'requests.cpu': '2' } } },
        { fieldManager: 'kubectl-edit' },
      );
      const other = await one.commit(files([policy, quota('3000m'), exposed(port('a', 80))]));
      expect(other).toMatchObject({ outcome: 'Refused' });
      expect(((await sync().inventory(one.name))?.status.commit?.problems ?? []).join('\n')).toMatch(
        /^Conflict 1\.json:1@\w+: .*"kubectl-edit" owns \.spec\.hard\.requests\.cpu\./,
      );
    }),
    120_000,
  );

  it(
    'a repository of the same name that workers of another FAIRLEAD_CLUSTER follow is refused, and prunes and tells nothing there, until it is handed over',
    inLane(async () => {
      const first = await follow('namesake');
      const files = { 'a.yaml': configMap('mine', 'a'), 'b/b.yaml': configMap('theirs', 'b') };
      const { sha } = await first.commit(files);
      const map = {
        group: '',
        version: 'v1',
        resource: 'configmaps',
        namespace: 'fairlead-system',
        name: 'fairlead-namesake',
      };
      const before = await cluster().client.get(map);
      const others = await GitSync.start({
        client: await newWorkerClient(),
        temporalAddress: controlPlane().temporalAddress,
        cluster: 'next-door',
      });
      try {
        others.follow({ ...first.repository, path: 'b' });
        expect(await others.apply('namesake', sha)).toMatchObject({
          outcome: 'Refused',
          message: expect.stringContaining(
            ': the workers with FAIRLEAD_CLUSTER=git-owners apply a repository of this name, and have 2 objects',
          ),
        });
        expect(await cluster().client.get(map)).toEqual(before);
        expect(await first.get('configmaps', 'mine')).toBeDefined();
        // As the refusal says.
        await cluster().annotate(map, { 'fairlead.dev/cluster': 'next-door' });
        const next = await first.git.commit({ 'b/c.yaml': configMap('new', 'c') });
        expect(await others.apply('namesake', next)).toMatchObject({ outcome: 'Succeeded' });
        expect(await first.get('configmaps', 'mine')).toBeUndefined();
        expect(await first.get('configmaps', 'theirs')).toBeDefined();
      } finally {
        await others.stop();
      }
    }),
    60_000,
  );

  it(
    'two repositories that bring the same new objects at one time: each object is of one of them, and only who has all succeeds',
    inLane(async () => {
      const both = [await follow('race-a'), await follow('race-b')] as const;
      const [{ namespace }] = both;
      await grantInNamespace(cluster().client, both[1].namespace, namespace);
      const names = Array.from({ length: 20 }, (_, index) => `raced-${index}`);
      const files = Object.fromEntries(
        names.map((one) => [
          `${one}.yaml`,
          configMap(one, 'same').replace(`name: ${one}`, `name: ${one}\n  namespace: ${namespace}`),
        ]),
      );
      const ends = await Promise.all(both.map(async (one) => await one.commit(files)));
      const owners = await Promise.all(
        names.map(async (one) => {
          const live = await both[0].get('configmaps', one);
          return live?.metadata.annotations?.[ANNOTATION.repository];
        }),
      );
      for (const [index, { name }] of both.entries()) {
        const commit = (await sync().inventory(name))?.status.commit;
        const own = owners.filter((owner) => owner === name).length;
        // One that was taken over would have been made by both.
        expect([name, commit?.applied ?? 0]).toEqual([name, own]);
        expect([name, ends[index]?.outcome === 'Succeeded']).toEqual([name, own === names.length]);
      }
    }),
    60_000,
  );

  it(
    'an object that was detached is nobody\u2019s: the commit tells, and another repository may have it',
    inLane(async () => {
      const first = await follow('detach-a');
      const second = await follow('detach-b');
      await grantInNamespace(cluster().client, second.namespace, first.namespace);
      const manifest = configMap('mine', 'a').replace(
        'name: mine',
        `name: mine\n  namespace: ${first.namespace}\n  annotations: {client.lifecycle.config.k8s.io/deletion: detach, note: stays}`,
      );
      await first.commit({ 'a.yaml': manifest, 'b.yaml': configMap('two', 'b') });
      const before = await first.get('configmaps', 'mine');
      const { changes } = await planOf(first, await first.git.commit({ 'a.yaml': undefined }));
      expect(changes).toEqual([
        {
          object: `ConfigMap ${first.namespace}/mine`,
          action: 'detach',
          why: 'its annotation client.lifecycle.config.k8s.io/deletion says so',
          differences: [],
        },
      ]);
      expect(await first.commit({ 'README.md': 'x' })).toMatchObject({ outcome: 'Succeeded' });
      const inventory = await sync().inventory('detach-a');
      expect(inventory?.entries.size).toBe(1);
      expect(inventory?.status.commit?.notes).toEqual([
        `ConfigMap ${first.namespace}/mine was detached, not deleted: its annotation client.lifecycle.config.k8s.io/deletion says so`,
      ]);
      const released = await first.get('configmaps', 'mine');
      expect(released?.metadata).toMatchObject({
        uid: before?.metadata.uid,
        annotations: { 'client.lifecycle.config.k8s.io/deletion': 'detach', note: 'stays' },
      });
      expect(JSON.stringify([released?.metadata.labels, released?.metadata.annotations])).not.toMatch(
        /fairlead|applyset/,
      );
      expect(await second.commit({ 'a.yaml': manifest.replace('key: a', 'key: b') })).toMatchObject({
        outcome: 'Succeeded',
      });
      expect(await first.get('configmaps', 'mine')).toMatchObject({
        data: { key: 'b' },
        metadata: { uid: before?.metadata.uid, annotations: { 'fairlead.dev/repository': 'detach-b' } },
      });
    }),
    60_000,
  );

  it(
    'an object that nothing marks as git\u2019s any more stays: the plan tells, and the commit',
    inLane(async () => {
      const repository = await follow('stripped');
      await repository.commit({ 'a.yaml': configMap('one', 'a'), 'b.yaml': configMap('two', 'b') });
      const path = { group: '', version: 'v1', resource: 'configmaps', namespace: repository.namespace };
      const annotations = { [ANNOTATION.repository]: null };
      await cluster().client.patch({ ...path, name: 'one' }, 'merge', { metadata: { annotations } });
      const sha = await repository.git.commit({ 'a.yaml': undefined });
      const object = `ConfigMap ${repository.namespace}/one`;
      const why =
        'nothing on it says that git has applied it (annotation fairlead.dev/repository): delete it by hand if nobody needs it';
      expect((await planOf(repository, sha)).changes).toEqual([
        { object, action: 'keep', why, differences: [] },
      ]);
      expect(await sync().apply('stripped', sha)).toMatchObject({ outcome: 'Succeeded' });
      const inventory = await sync().inventory('stripped');
      expect(inventory?.entries.size).toBe(1);
      const notes = [`${object} was not pruned: ${why}`];
      expect(inventory?.status.commit).toMatchObject({ pruned: 0, notes });
      expect(inventory?.status.history?.at(-1)).toMatchObject({ notes });
      expect(await repository.get('configmaps', 'one')).toBeDefined();
    }),
    60_000,
  );

  it(
    'an object that a finalizer keeps is pruned, and the commit tells for what it waits',
    inLane(async () => {
      const repository = await follow('finalizer');
      await repository.commit({ 'a.yaml': configMap('one', 'a'), 'b.yaml': configMap('two', 'b') });
      const path = {
        group: '',
        version: 'v1',
        resource: 'configmaps',
        namespace: repository.namespace,
        name: 'one',
      };
      const hold = async (finalizers: readonly string[]) => {
        await cluster().client.patch(path, 'merge', { metadata: { finalizers } });
      };
      await hold(['example.com/held']);
      expect(await repository.commit({ 'a.yaml': undefined })).toMatchObject({ outcome: 'Succeeded' });
      const inventory = await sync().inventory('finalizer');
      expect(inventory?.entries.size).toBe(1);
      const notes = [
        `ConfigMap ${repository.namespace}/one is being deleted, and waits for its finalizer example.com/held`,
      ];
      expect(inventory?.status.commit).toMatchObject({ pruned: 1, notes });
      expect(inventory?.status.history?.at(-1)).toMatchObject({ notes });
      await hold([]);
    }),
    60_000,
  );

  it(
    'an object that is there twice is planned once, and wrong',
    inLane(async () => {
      const repository = await follow('twice');
      const sha = await repository.git.commit({
        'a.yaml': configMap('one', 'a'),
        'b.yaml': configMap('one', 'b'),
      });
      const { changes, problems } = await planOf(repository, sha);
      expect(changes).toHaveLength(1);
      expect(problems).toMatchObject([{ code: 'DuplicateObject' }]);
    }),
    60_000,
  );

  it(
    'a namespace that is on its way out: what to do is to wait',
    inLane(async () => {
      const repository = await follow('leaving');
      const namespaces = { group: '', version: 'v1', resource: 'namespaces' };
      const leaving = `${repository.namespace}-2`;
      await cluster().client.create(namespaces, {
        apiVersion: 'v1',
        kind: 'Namespace',
        metadata: { name: leaving },
        spec: { finalizers: ['kubernetes', 'example.com/held'] },
      });
      // In the whole cluster: what is granted in the namespace leaves with it.
      await grantInCluster(cluster().client, repository.namespace, ['configmaps', 'secrets']);
      await cluster().client.delete({ ...namespaces, name: leaving });
      const { lines } = await repository.bad({
        'a.yaml': configMap('one', 'a').replace('name: one', `name: one\n  namespace: ${leaving}`),
        'b.yaml': `apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: ${leaving}}\n`,
      });
      expect(lines).toHaveLength(2);
      for (const line of lines)
        expect(line).toMatch(
          /^Forbidden .* Wait until the namespace is gone, then make it again \(`kubectl describe/,
        );
      // Without a resourceVersion: the namespace controller writes conditions at the same time.
      await cluster().client.replace(
        { ...namespaces, name: leaving, subresource: 'finalize' },
        { apiVersion: 'v1', kind: 'Namespace', metadata: { name: leaving }, spec: { finalizers: [] } },
      );
    }),
    60_000,
  );

  it(
    'a mark that nobody\u2019s inventory confirms is no claim',
    inLane(async () => {
      const first = await follow('marked-a');
      const second = await follow('marked-b');
      await grantInNamespace(cluster().client, second.namespace, first.namespace);
      const manifest = configMap('mine', 'a').replace(
        'name: mine',
        `name: mine\n  namespace: ${first.namespace}`,
      );
      await first.commit({ 'a.yaml': manifest, 'b.yaml': configMap('two', 'b') });
      const mine = await first.get('configmaps', 'mine');
      await first.commit({ 'a.yaml': undefined });
      const { name, namespace, labels, annotations } = mine?.metadata ?? {};
      const path = {
        group: '',
        version: 'v1',
        resource: 'configmaps',
        namespace: first.namespace,
        name: 'mine',
      };
      // As earlier versions left an object that was detached.
      const copy = {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name, namespace, labels, annotations },
      };
      await cluster().client.patch(path, 'apply', copy);
      expect(await second.commit({ 'a.yaml': manifest })).toMatchObject({ outcome: 'Succeeded' });
    }),
    60_000,
  );

  it(
    'a repository under another name goes on with what it had, once nobody follows the old name',
    inLane(async () => {
      const old = await follow('renamed-old');
      await old.commit({ 'a.yaml': configMap('one', 'a'), 'b.yaml': configMap('two', 'b') });
      const before = await old.get('configmaps', 'one');
      sync().follow({ ...old.repository, name: 'renamed-new' });
      const sha = await old.git.commit({ 'b.yaml': undefined });
      // Both are followed.
      const refused = await sync().apply('renamed-new', sha);
      expect(refused.message).toMatch(/ConfigMap \S+\/one: repository renamed-old applies this object too\./);
      sync().unfollow('renamed-old');
      const next = await old.git.commit({ 'a.yaml': configMap('one', 'c') });
      expect(await sync().apply('renamed-new', next)).toMatchObject({ outcome: 'Succeeded' });
      expect(await old.get('configmaps', 'one')).toMatchObject({
        data: { key: 'c' },
        metadata: { uid: before?.metadata.uid, annotations: { 'fairlead.dev/repository': 'renamed-new' } },
      });
      expect((await sync().inventory('renamed-new'))?.entries.size).toBe(1);
    }),
    60_000,
  );

  it(
    'what another repository has left behind is handed over by a command that the refusal names',
    inLane(async () => {
      const old = await follow('left-old');
      const heir = await follow('left-heir');
      await grantInNamespace(cluster().client, heir.namespace, old.namespace);
      const manifest = configMap('mine', 'a').replace(
        'name: mine',
        `name: mine\n  namespace: ${old.namespace}`,
      );
      await old.commit({ 'a.yaml': manifest });
      sync().unfollow('left-old');
      const { lines } = await heir.bad({ 'a.yaml': manifest });
      expect(lines[0]).toContain(
        `: repository left-old applied this object from another source, and is not followed any more. To let left-heir have what left-old had: kubectl annotate configmap fairlead-left-old -n ${INVENTORY_NAMESPACE} --overwrite fairlead.dev/source=${heir.git.path} (`,
      );
      const place = { group: '', version: 'v1', resource: 'configmaps', namespace: INVENTORY_NAMESPACE };
      await cluster().annotate(
        { ...place, name: 'fairlead-left-old' },
        { 'fairlead.dev/source': heir.git.path },
      );
      expect(await heir.commit({ 'README.md': 'x' })).toMatchObject({ outcome: 'Succeeded' });
    }),
    60_000,
  );

  it(
    'another field manager is named, and its fields are left',
    inLane(async () => {
      const repository = await follow('conflict');
      expect(await repository.commit({ 'a.yaml': configMap('one', 'a') })).toMatchObject({
        outcome: 'Succeeded',
      });
      const path = {
        group: '',
        version: 'v1',
        resource: 'configmaps',
        namespace: repository.namespace,
        name: 'one',
      };
      await cluster().client.patch(
        path,
        'merge',
        { data: { key: 'theirs' } },
        { fieldManager: 'kubectl-edit' },
      );
      expect(await repository.commit({ 'b.yaml': configMap('two', 'b') })).toMatchObject({
        outcome: 'Succeeded',
      });
      const { lines } = await repository.bad({ 'a.yaml': configMap('one', 'c') });
      expect(lines[0]).toMatch(
        /^Conflict a\.yaml:6@\w+: ConfigMap \S+\/one: "kubectl-edit" owns \.data\.key\. Remove the field/,
      );
      expect(await repository.get('configmaps', 'one')).toMatchObject({ data: { key: 'theirs' } });
    }),
    60_000,
  );

  it(
    'what lost all of its owners stays git\u2019s as long as it has git\u2019s values; else a command lets go of it',
    inLane(async () => {
      const repository = await follow('cleared');
      const path = { group: '', version: 'v1', resource: 'configmaps', namespace: repository.namespace };
      const edit = async (body: object) =>
        await cluster().client.patch({ ...path, name: 'one' }, 'merge', body);
      const clear = async () => await edit({ metadata: { managedFields: [{}] } });
      await repository.commit({ 'a.yaml': `${configMap('one', 'a')}  gone: a\n` });
      await clear();
      expect(await repository.commit({ 'a.yaml': configMap('one', 'b') })).toMatchObject({
        outcome: 'Succeeded',
      });
      expect((await sync().inventory('cleared'))?.status.commit?.notes).toEqual([
        `ConfigMap ${repository.namespace}/one: git has taken back data.key from "before-first-apply"`,
      ]);
      const { data } = (await repository.get('configmaps', 'one')) as { readonly data?: object };
      expect(data).toEqual({ key: 'b' });
      await edit({ data: { key: 'theirs' } });
      await clear();
      const { lines } = await repository.bad({ 'a.yaml': configMap('one', 'c') });
      expect(lines[0]).toMatch(
        /"before-first-apply" owns \.data\.key\. The object has no metadata\.managedFields: .* or let git have it, /,
      );
      expect(await repository.get('configmaps', 'one')).toMatchObject({ data: { key: 'theirs' } });
      await runPrinted(patchIn(lines[0]), controlPlane().kubeconfig, repository.git.path);
      expect(await repository.get('configmaps', 'one')).toMatchObject({ data: { key: 'theirs' } });
      expect(await repository.commit({ 'README.md': 'x', 'a.yaml': configMap('one', 'c') })).toMatchObject({
        outcome: 'Succeeded',
      });
      expect(await repository.get('configmaps', 'one')).toMatchObject({ data: { key: 'c' } });
    }),
    60_000,
  );

  it(
    'what another took from git is taken back with `heal`, by the commit that changes it; what git never had is not',
    inLane(async () => {
      const repository = await follow('healing', { heal: true });
      const more = (lines: string, value = 'a') => configMap('one', `${value}\n${lines}`);
      const first = await repository.commit({ 'a.yaml': more('  dotted.key: a\n') });
      expect(first).toMatchObject({ outcome: 'Succeeded' });
      const path = { group: '', version: 'v1', resource: 'configmaps', namespace: repository.namespace };
      const edit = async (data: object) =>
        await cluster().client.patch(
          { ...path, name: 'one' },
          'merge',
          { data },
          { fieldManager: 'kubectl-edit' },
        );
      await edit({ key: 'theirs', 'dotted.key': 'theirs', other: 'theirs' });
      const second = await repository.commit({ 'a.yaml': more('  dotted.key: b\n', 'b') });
      expect(second).toMatchObject({ outcome: 'Succeeded' });
      expect(await repository.get('configmaps', 'one')).toMatchObject({
        data: { key: 'b', 'dotted.key': 'b', other: 'theirs' },
      });
      const notes = (await sync().inventory('healing'))?.status.commit?.notes;
      expect(notes).toEqual([
        `ConfigMap ${repository.namespace}/one: git has taken back data.dotted.key, data.key from "kubectl-edit"`,
      ]);
      const events = await cluster().events(INVENTORY_NAMESPACE);
      expect(events.find(({ message }) => message.includes(second.sha.slice(0, 8)))?.message).toContain(
        notes?.[0],
      );
      // Changed to what it was: it is no drift any more, and still not git's.
      await edit({ key: 'theirs' });
      await edit({ key: 'b' });
      expect(await repository.commit({ 'a.yaml': configMap('one', 'c') })).toMatchObject({
        outcome: 'Succeeded',
      });
      expect(await repository.get('configmaps', 'one')).toMatchObject({ data: { key: 'c' } });
      await edit({ key: 'theirs' });
      const { outcome, lines } = await repository.bad({ 'a.yaml': more('  other: ours\n', 'd') });
      expect({ outcome, lines }).toEqual({
        outcome: 'Refused',
        lines: [
          expect.stringMatching(
            /^Conflict a\.yaml:6@\w+: .*"kubectl-edit" owns \.data\.key, \.data\.other\./,
          ),
        ],
      });
      expect(await repository.get('configmaps', 'one')).toMatchObject({
        data: { key: 'theirs', other: 'theirs' },
      });
    }),
    60_000,
  );

  it(
    'of a Secret too, however its values are written; those that an earlier version applied become git\u2019s',
    inLane(async () => {
      const repository = await follow('secret-owners');
      const secret = (values: object) =>
        JSON.stringify({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'one' }, ...values });
      const base64 = (text: string) => Buffer.from(text).toString('base64');
      const path = {
        group: '',
        version: 'v1',
        resource: 'secrets',
        namespace: repository.namespace,
        name: 'one',
      };
      const begin = {
        'a.json': secret({ data: { b: base64('data') }, stringData: { a: 'git', b: 'wins' } }),
      };
      expect(await repository.commit(begin)).toMatchObject({ outcome: 'Succeeded' });
      const data = { a: base64('git'), b: base64('wins') };
      const made = await cluster().client.get<KubernetesObject & { data: object }>(path);
      expect(made.data).toEqual(data);

      // As it was applied before: the values have no owner.
      const { labels, annotations } = made.metadata;
      const manifest = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'one', labels, annotations } };
      const values = { stringData: { a: 'git', b: 'wins' } };
      await cluster().client.patch(path, 'apply', { ...manifest, ...values }, { force: true });
      const ownedBy = async () => {
        const { metadata } = await cluster().client.get(path);
        const entries = readManagedFields((metadata as { managedFields?: unknown }).managedFields);
        const fields = entries.find(({ manager }) => manager === 'fairlead')?.fieldsV1 ?? {};
        return Object.keys(fields).filter((name) => name !== 'f:metadata');
      };
      expect(await ownedBy()).toEqual(['f:stringData']);
      const second = await repository.commit({ 'a.json': secret({ stringData: { a: 'git-2', b: 'wins' } }) });
      expect(second).toMatchObject({ outcome: 'Succeeded' });
      expect(await ownedBy()).toEqual(['f:data']);
      expect(await repository.get('secrets', 'one')).toMatchObject({ data: { ...data, a: base64('git-2') } });

      await cluster().client.patch(
        path,
        'merge',
        { data: { a: base64('theirs') } },
        { fieldManager: 'kubectl-edit' },
      );
      const { lines } = await repository.bad({ 'a.json': secret({ stringData: { a: 'git-3', b: 'wins' } }) });
      expect(lines).toEqual([
        expect.stringMatching(/^Conflict a\.json:1@\w+: .*"kubectl-edit" owns \.data\.a\./),
      ]);
      expect(await repository.get('secrets', 'one')).toMatchObject({ data: { a: base64('theirs') } });
      for (const value of ['git-3', 'theirs']) expect(JSON.stringify(lines)).not.toContain(base64(value));

      await runPrinted(patchIn(lines[0]), controlPlane().kubeconfig, repository.git.path);
      expect(await repository.get('secrets', 'one')).toMatchObject({ data: { a: base64('theirs') } });
      for (const value of ['git-4', 'git-5']) {
        const again = { 'a.json': secret({ stringData: { a: value, b: 'wins' } }) };
        expect(await repository.commit(again)).toMatchObject({ outcome: 'Succeeded' });
        expect(await repository.get('secrets', 'one')).toMatchObject({ data: { ...data, a: base64(value) } });
      }
    }),
    60_000,
  );

  it(
    'an object that was made anew out of a backup can be handed over: what sync itself writes stands in nobody\u2019s way',
    inLane(async () => {
      const repository = await follow('restored');
      expect(await repository.commit({ 'a.yaml': configMap('one', 'a') })).toMatchObject({
        outcome: 'Succeeded',
      });
      const all = { group: '', version: 'v1', resource: 'configmaps', namespace: repository.namespace };
      const path = { ...all, name: 'one' };
      const { metadata, ...rest } = await cluster().client.get<KubernetesObject & { data: object }>(path);
      const { name, labels, annotations } = metadata;
      await cluster().client.delete(path);
      const data = { ...rest.data, theirs: 'stays' };
      const restored = { ...rest, metadata: { name, labels, annotations }, data };
      await cluster().client.create(all, restored, { fieldManager: 'backup' });
      const { lines } = await repository.bad({ 'a.yaml': configMap('one', 'b') });
      expect(lines[0]).toMatch(
        /: "backup" owns \.data\.key\. Remove the field from the manifest; or let git have it/,
      );
      await runPrinted(patchIn(lines[0]), controlPlane().kubeconfig, repository.git.path);
      expect(await repository.get('configmaps', 'one')).toMatchObject({
        metadata: { labels, annotations },
        data: { key: 'a', theirs: 'stays' },
      });
      for (const value of ['c', 'd']) {
        const again = { 'a.yaml': configMap('one', value) };
        expect(await repository.commit(again)).toMatchObject({ outcome: 'Succeeded' });
        expect(await repository.get('configmaps', 'one')).toMatchObject({
          data: { key: value, theirs: 'stays' },
        });
      }
    }),
    60_000,
  );

  it(
    'what people have changed and changed back goes with the commit that drops it, and may be of another kind',
    inLane(async () => {
      const repository = await follow('back', { serviceAccount: 'deployer' });
      const resources = ['configmaps', 'podtemplates'];
      await grant(repository.namespace, ['get', 'create', 'patch'], { apiGroups: [''], resources });
      const pod = (container: object, annotations: object = {}) =>
        JSON.stringify({
          apiVersion: 'v1',
          kind: 'PodTemplate',
          metadata: { name: 'one' },
          template: {
            metadata: { annotations },
            spec: { containers: [{ name: 'main', image: 'app:1', ...container }] },
          },
        });
      const data = (more: object) =>
        JSON.stringify({
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { name: 'one' },
          data: { a: '1', ...more },
        });
      const variable = { name: 'A', value: '1' };
      const before = {
        env: [variable, { ...variable, name: 'B' }],
        readinessProbe: { httpGet: { path: '/', port: 80 } },
      };
      const files = (container: object, more: object, annotations?: object) => ({
        'a.json': pod(container, annotations),
        'b.json': data(more),
      });
      const first = await repository.commit(files(before, { b: '2', c: '3' }, { note: '1' }));
      expect(first).toMatchObject({ outcome: 'Succeeded' });
      const { namespace } = repository;
      const at = (resource: string) => ({ group: '', version: 'v1', resource, namespace, name: 'one' });
      const byHand = { fieldManager: 'kubectl-patch' };
      const container = '/template/spec/containers/0';
      for (const [value, path] of [
        ['2', '/other'],
        ['1', '/'],
      ]) {
        const operations = [
          { op: 'replace', path: `${container}/env/0/value`, value },
          { op: 'replace', path: `${container}/readinessProbe/httpGet/path`, value: path },
        ];
        await cluster().client.patch(at('podtemplates'), 'json', operations, byHand);
      }
      // These stand: one is in the way of what git has next, the other is not.
      const standing = [
        { op: 'replace', path: `${container}/env/1/value`, value: 'theirs' },
        { op: 'replace', path: '/template/metadata/annotations/note', value: 'theirs' },
      ];
      await cluster().client.patch(at('podtemplates'), 'json', standing, byHand);
      for (const b of ['other', '2'])
        await cluster().client.patch(at('configmaps'), 'merge', { data: { b } }, byHand);
      await cluster().client.patch(at('configmaps'), 'merge', { data: { c: 'theirs' } }, byHand);

      const valueFrom = { fieldRef: { fieldPath: 'metadata.name' } };
      const after = {
        env: ['A', 'B'].map((name) => ({ name, valueFrom })),
        readinessProbe: { tcpSocket: { port: 80 } },
      };
      expect(await repository.commit(files(after, {}))).toMatchObject({ outcome: 'Succeeded' });
      expect(await repository.get('podtemplates', 'one')).toMatchObject({
        template: {
          metadata: { annotations: { note: 'theirs' } },
          spec: { containers: [{ env: [{ name: 'A' }, { name: 'B' }], readinessProbe: { tcpSocket: {} } }] },
        },
      });
      const text = JSON.stringify(asRecord(await repository.get('podtemplates', 'one'))['template']);
      expect(text).not.toMatch(/httpGet|"value"/);
      expect(await repository.get('configmaps', 'one')).toMatchObject({ data: { a: '1', c: 'theirs' } });
      expect(asRecord(await repository.get('configmaps', 'one'))['data']).not.toHaveProperty('b');
      const { status } = (await sync().inventory(repository.name)) ?? {};
      const notes = status?.commit?.notes ?? [];
      expect(notes.toSorted()).toEqual([
        expect.stringMatching(
          /git has taken out template\.\S+env\[name="B"\]\.value from "kubectl-patch": it/,
        ),
        expect.stringMatching(
          /PodTemplate \S+\/one: not in git any more, and stays .*: \S+annotations\.note \(/,
        ),
        expect.stringMatching(
          /ConfigMap \S+\/one: not in git any more, and stays .*: data\.c \("kubectl-patch"\)/,
        ),
      ]);
    }),
    60_000,
  );
});
