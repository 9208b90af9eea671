/** Waves of a commit: each is applied when everything before it is ready. Real Temporal, apiserver and git. */

import { describe, expect, it } from '@jest/globals';

import { isNotFound } from '../../kubernetes/api-error.ts';
import type { ResourcePath } from '../../kubernetes/client.ts';
import type { KubernetesObject } from '../../planners/objects.ts';
import type { CommitView } from '../../workflows/sync-messages.ts';
import { commitProgressQuery, commitWorkflowId } from '../../workflows/sync-messages.ts';
import type { CliRun } from '../support/cli.ts';
import { runCli } from '../support/cli.ts';
import { found } from '../support/eventually.ts';
import { itInFull } from '../support/full-suite.ts';
import { INVENTORY_NAMESPACE } from '../support/git-sync.ts';
import { useLanes } from '../support/lanes.ts';
import { configMap, playStatus, statefulSet } from '../support/small-manifests.ts';
import { grantInCluster } from '../support/sync-account.ts';
import { useSyncGround } from '../support/sync-ground.ts';
import type { Followed } from '../support/sync-ground.ts';

const ground = useSyncGround({ cluster: 'waves' });
const { controlPlane, cluster, sync } = ground;

/** Each play has a repository and a namespace of its own, and mostly waits. */
const inLane = useLanes(4);

/** Several plays go on at a time. */
const PATIENCE_MS = 45_000;

interface TwoSets extends Followed {
  readonly web: ResourcePath;
  readonly api: ResourcePath;
}

async function follow(name: string): Promise<TwoSets> {
  const followed = await ground.follow(name);
  const { namespace } = followed;
  const set = { group: 'fairlead.dev', version: 'v1beta1', resource: 'statefulsets', namespace };
  return { ...followed, web: { ...set, name: 'web' }, api: { ...set, name: 'api' } };
}

async function cli(...words: string[]): Promise<CliRun> {
  const { kubeconfig, temporalAddress, workloadApi } = controlPlane();
  const environment = {
    KUBECONFIG: kubeconfig,
    TEMPORAL_ADDRESS: temporalAddress,
    FAIRLEAD_CLUSTER: 'waves',
    FAIRLEAD_WORKLOAD_API: workloadApi,
  };
  return await runCli(words, { environment });
}

const both = (web: string, api = web): Record<string, string> => ({
  // The file's name and the kind's place would put it first.
  'a.yaml': statefulSet(api, { name: 'api', wave: '1' }),
  'web.yaml': statefulSet(web),
});

async function exists(path: ResourcePath): Promise<boolean> {
  try {
    await cluster().client.get(path);
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

/** Until the commit is in this phase and what it shows that it waits for is so. */
async function shows(
  name: string,
  sha: string,
  what: string,
  is: (view: CommitView) => boolean,
): Promise<CommitView> {
  let view: CommitView | undefined;
  return await found(
    what,
    async () => {
      view = await sync()
        .temporal.workflow.getHandle(commitWorkflowId('waves', name, sha))
        .query(commitProgressQuery)
        .catch(() => undefined);
      return view !== undefined && is(view) ? view : undefined;
    },
    PATIENCE_MS,
    () => JSON.stringify(view),
  );
}

const waitsForWave = ({ phase }: CommitView): boolean => phase === 'AwaitingWave';

async function imageOf(path: ResourcePath): Promise<string> {
  return JSON.stringify(await cluster().client.get(path)).match(/example\.com\/web:(\w+)/)?.[1] ?? '';
}

describe('a later wave', () => {
  it(
    'is applied when the one before it is ready, and says meanwhile what it waits for',
    inLane(async () => {
      const { git, name, namespace, web, api } = await follow('order');
      const sha = await git.commit(both('1'));
      await sync().commitSeen(name, sha);
      await shows(name, sha, 'the wave is awaited', waitsForWave);
      await playStatus(cluster().client, web, false);
      const { waiting } = await shows(name, sha, 'the reason is shown', (view) =>
        view.waiting.some((line) => line.includes('one pod to go')),
      );
      expect(waiting).toEqual([
        expect.stringMatching(/^StatefulSet\.fairlead\.dev \S+\/web: one pod to go$/),
      ]);
      expect(await exists(api)).toBe(false);
      const why = `statefulset.fairlead.dev/api not found in namespace ${namespace}\n  commit ${sha.slice(0, 8)} of ${name} waits before wave 1 of workloads for StatefulSet.fairlead.dev ${namespace}/web: one pod to go; this object is still to come\n`;
      for (const verb of [['explain'], ['rollout', 'status']]) {
        // The run is asked for what it waits, and has three seconds to answer.
        let told: CliRun | undefined;
        const { code, err } = await found(
          'the one to come is known',
          async () => {
            told = await cli(...verb, 'statefulset/api', '-n', namespace);
            return told.err.includes('waits before wave') ? told : undefined;
          },
          PATIENCE_MS,
          () => JSON.stringify(told),
        );
        expect({ verb, code, err }).toEqual({ verb, code: 1, err: expect.stringContaining(why) });
      }
      const { err } = await cli('explain', 'statefulset/other', '-n', namespace);
      expect(err).not.toContain('commit');
      await playStatus(cluster().client, web, true);
      await shows(name, sha, 'all is applied', ({ phase }) => phase === 'AwaitingRollouts');
      expect(await exists(api)).toBe(true);
      await playStatus(cluster().client, api, true);
      expect(await sync().dealtWith(name, sha)).toMatchObject({ outcome: 'Succeeded' });
    }),
    120_000,
  );

  itInFull(
    'of a newer commit begins anew: the wait of the older one ends with it',
    inLane(async () => {
      const { git, name, web, api } = await follow('newer');
      const first = await git.commit(both('1'));
      await sync().commitSeen(name, first);
      await shows(name, first, 'the wave is awaited', waitsForWave);
      await playStatus(cluster().client, web, false, 'ProgressDeadlineExceeded');
      const second = await git.commit(both('2'));
      await sync().commitSeen(name, second);
      await shows(name, second, 'the wave is awaited', waitsForWave);
      expect([await imageOf(web), await exists(api)]).toEqual(['2', false]);
      await playStatus(cluster().client, web, true);
      await shows(name, second, 'all is applied', ({ phase }) => phase === 'AwaitingRollouts');
      expect(await imageOf(api)).toBe('2');
      await playStatus(cluster().client, api, true);
      expect(await sync().dealtWith(name, second)).toMatchObject({ outcome: 'Succeeded' });
    }),
    120_000,
  );

  itInFull(
    'is applied also where somebody deletes the inventory meanwhile: the commit makes it anew',
    inLane(async () => {
      const { git, name, web, api } = await follow('forgotten');
      const sha = await git.commit(both('1'));
      await sync().commitSeen(name, sha);
      await shows(name, sha, 'the wave is awaited', waitsForWave);
      await playStatus(cluster().client, web, false);
      const claimed = async (not?: string) =>
        await found(
          'the inventory tells of the commit',
          async () => {
            const inventory = await sync().inventory(name);
            const isUnderWay = inventory?.status.commit?.outcome === 'Progressing';
            return isUnderWay && inventory.uid !== not ? inventory : undefined;
          },
          PATIENCE_MS,
        );
      const { uid } = await claimed();
      const inventories = {
        group: '',
        version: 'v1',
        resource: 'configmaps',
        namespace: INVENTORY_NAMESPACE,
      };
      await cluster().client.delete({ ...inventories, name: `fairlead-${name}` });
      const { entries, run } = await claimed(uid);
      expect({ entries: entries.size, sha: run?.sha }).toEqual({ entries: 2, sha });
      await playStatus(cluster().client, web, true);
      await shows(name, sha, 'all is applied', ({ phase }) => phase === 'AwaitingRollouts');
      expect(await exists(api)).toBe(true);
      await playStatus(cluster().client, api, true);
      expect(await sync().dealtWith(name, sha)).toMatchObject({ outcome: 'Succeeded' });
    }),
    120_000,
  );

  it(
    'also waits for a Pod, and for nothing that is ready as soon as it is written',
    inLane(async () => {
      const { git, name, namespace, api } = await follow('pod');
      const sha = await git.commit({
        'api.yaml': statefulSet('1', { name: 'api', wave: '1' }),
        'first.yaml':
          'apiVersion: v1\nkind: Pod\nmetadata:\n  name: first\n  annotations: {sim.fairlead.dev/ready-delay: 3s}\n' +
          'spec: {terminationGracePeriodSeconds: 1, containers: [{name: main, image: "first:1"}]}\n',
        'settings.yaml': configMap('1'),
      });
      await sync().commitSeen(name, sha);
      await found('api is applied', async () => ((await exists(api)) ? true : undefined), PATIENCE_MS);
      const pod = await cluster().client.get<{
        readonly metadata: { name: string; uid: string; resourceVersion: string };
        readonly status: { readonly conditions: readonly { type: string; status: string }[] };
      }>({ group: '', version: 'v1', resource: 'pods', namespace, name: 'first' });
      expect(pod.status.conditions).toContainEqual(
        expect.objectContaining({ type: 'Ready', status: 'True' }),
      );
      await playStatus(cluster().client, api, true);
      expect(await sync().dealtWith(name, sha)).toMatchObject({ outcome: 'Succeeded' });
    }),
    120_000,
  );
});

describe('a wave that does not get ready', () => {
  it(
    'holds up what is later, which is tried again by itself and applied once it is well',
    inLane(async () => {
      const { git, name, namespace, web, api } = await follow('held');
      const first = await git.commit({ ...both('1'), 'old.yaml': configMap('1') });
      await sync().commitSeen(name, first);
      await shows(name, first, 'the wave is awaited', waitsForWave);
      await playStatus(cluster().client, web, true);
      await shows(name, first, 'all is applied', ({ phase }) => phase === 'AwaitingRollouts');
      await playStatus(cluster().client, api, true);
      await sync().dealtWith(name, first);
      const second = await git.commit({ ...both('2'), 'old.yaml': undefined });
      await sync().commitSeen(name, second);
      await shows(name, second, 'the wave is awaited', waitsForWave);
      await playStatus(cluster().client, web, false);
      // The rollout of the later one is done; that what the commit has for it comes later is known before its run shows for what it waits.
      await cluster().client.patch({ ...api, subresource: 'status' }, 'merge', {
        status: { readyReplicas: 1, updatedReplicas: 1, currentRevision: 'one', updateRevision: 'one' },
      });
      const why = `commit ${second.slice(0, 8)} of ${name} waits before wave 1 of workloads for StatefulSet.fairlead.dev ${namespace}/web: one pod to go; what`;
      const status = async (workload: string) =>
        await cli('rollout', 'status', `statefulset/${workload}`, '-n', namespace, '--watch=false');
      let told: CliRun | undefined;
      const { code, err } = await found(
        'the later one says so',
        async () => {
          told = await status('api');
          return told.err.includes(' for ') ? told : undefined;
        },
        PATIENCE_MS,
        () => JSON.stringify(told),
      );
      expect({ code, err }).toEqual({ code: 0, err: expect.stringContaining(`note: ${why}`) });
      expect((await cli('explain', 'statefulset/api', '-n', namespace)).out).toContain(why);
      expect((await status('web')).err).not.toContain('commit');
      await playStatus(cluster().client, web, false, 'ProgressDeadlineExceeded');
      const failed = await sync().dealtWith(name, second);
      expect(failed).toMatchObject({ outcome: 'Failed', tries: 1 });
      // The cause, not what follows from it: many places have room for one alone.
      expect(failed.message).toMatch(/not everything could be done, 2 problems\nRolloutFailed /);
      expect((await cli('history', name)).out).toMatch(/ RolloutFailed web\.yaml/);
      expect((await sync().inventory(name))?.status.commit?.problems).toEqual([
        expect.stringMatching(
          new RegExp(
            `^RolloutFailed web\\.yaml:1@${second.slice(0, 8)}: \\S+ \\S+/web: ProgressDeadlineExceeded`,
          ),
        ),
        expect.stringMatching(
          new RegExp(
            `^WaveHeld a\\.yaml:1@${second.slice(0, 8)}: StatefulSet\\.fairlead\\.dev \\S+/api: wave 1 of the workloads, and with it ` +
              'all that comes later, was held up: an earlier wave is not ready\\. one object was not applied\\. Nothing to do once',
          ),
        ),
      ]);
      expect(await imageOf(api)).toBe('1');
      // What left the commit may be what still works.
      const kept = {
        group: '',
        version: 'v1',
        resource: 'configmaps',
        namespace: web.namespace,
        name: 'config',
      };
      expect(await exists(kept)).toBe(true);
      await playStatus(cluster().client, web, true);
      // Its next try comes by itself after ten seconds.
      await found(
        'api is changed',
        async () => ((await imageOf(api)) === '2' ? true : undefined),
        PATIENCE_MS,
      );
      await playStatus(cluster().client, api, true);
      const applied = await found(
        'it was applied',
        async () => {
          const { last } = await sync().status(name);
          return last?.outcome === 'Succeeded' ? last : undefined;
        },
        PATIENCE_MS,
      );
      expect(applied).toMatchObject({ sha: second, tries: 2 });
      expect(await exists(kept)).toBe(false);
    }),
    180_000,
  );

  itInFull(
    'is no matter for a commit that changes nothing after it',
    inLane(async () => {
      const { git, name, web, api } = await follow('nothing-later');
      const first = await git.commit(both('1'));
      await sync().commitSeen(name, first);
      await shows(name, first, 'the wave is awaited', waitsForWave);
      await playStatus(cluster().client, web, true);
      await shows(name, first, 'all is applied', ({ phase }) => phase === 'AwaitingRollouts');
      await playStatus(cluster().client, api, true);
      await sync().dealtWith(name, first);
      await playStatus(cluster().client, web, false, 'ProgressDeadlineExceeded');
      const second = await git.commit({ 'settings.yaml': configMap('1') });
      expect(await sync().apply(name, second)).toMatchObject({ outcome: 'Succeeded' });
      // The same for one that changes something after it holds it up.
      const third = await git.commit(both('1', '3'));
      expect(await sync().apply(name, third)).toMatchObject({ outcome: 'Failed' });
      expect(await imageOf(api)).toBe('1');
    }),
    120_000,
  );

  itInFull(
    'because an operator rejected it: not before its manifest is corrected',
    inLane(async () => {
      const { git, name, web, api } = await follow('rejected');
      const first = await git.commit(both('1'));
      await sync().commitSeen(name, first);
      await shows(name, first, 'the wave is awaited', waitsForWave);
      const rejected = (await cluster().client.get(web)).metadata.annotations?.['fairlead.dev/manifest-hash'];
      await cluster().client.patch(web, 'merge', {
        metadata: { annotations: { 'fairlead.dev/pinned': JSON.stringify({ rejected, by: 'ann' }) } },
      });
      const failed = await sync().dealtWith(name, first);
      expect(failed.retryAt).toBeUndefined();
      const [rejection, held] = (await sync().inventory(name))?.status.commit?.problems ?? [];
      expect(rejection).toMatch(/^RolledBack web\.yaml/);
      expect(held).toMatch(/^WaveHeld .* Correct the manifest that was rolled back/);
      const fixed = await git.commit(both('2'));
      await sync().commitSeen(name, fixed);
      await shows(name, fixed, 'the wave is awaited', waitsForWave);
      await playStatus(cluster().client, web, true);
      await shows(name, fixed, 'all is applied', ({ phase }) => phase === 'AwaitingRollouts');
      expect(await imageOf(api)).toBe('2');
    }),
    120_000,
  );
});

/** Its pod ends after a while with this code, and is not tried again. */
function job(
  exitCode: number,
  options: { readonly wave?: string; readonly runTime?: string; readonly ttl?: number } = {},
): string {
  const { wave, runTime = '100ms', ttl } = options;
  const annotations = wave === undefined ? '' : `, annotations: {fairlead.dev/wave: "${wave}"}`;
  return `apiVersion: batch/v1
kind: Job
metadata: {name: migrate${annotations}}
spec:
  backoffLimit: 0
${ttl === undefined ? '' : `  ttlSecondsAfterFinished: ${ttl}\n`}  template:
    metadata: {annotations: {sim.fairlead.dev/run-time: ${runTime}}}
    spec:
      restartPolicy: Never
      containers: [{name: main, image: "migrate:exit-${String(exitCode)}"}]
`;
}

/** Of the last stage, and nothing that has to get ready. */
const BUDGET =
  'apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: web}\nspec: {maxUnavailable: 1, selector: {matchLabels: {app: web}}}\n';

describe('the last wave of a stage', () => {
  const budgetOf = (namespace: string): ResourcePath => ({
    group: 'policy',
    version: 'v1',
    resource: 'poddisruptionbudgets',
    namespace,
    name: 'web',
  });
  const jobOf = (namespace: string): ResourcePath => ({
    group: 'batch',
    version: 'v1',
    resource: 'jobs',
    namespace,
    name: 'migrate',
  });
  const failed = 'Job\\.batch \\S+/migrate: BackoffLimitExceeded: ';

  it(
    'holds what comes in the next stage; a claim that waits for its first pod holds nothing',
    inLane(async () => {
      const { git, name, namespace } = await follow('stages');
      await grantInCluster(cluster().client, namespace, ['storageclasses.storage.k8s.io']);
      const claim =
        'apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data, annotations: {fairlead.dev/wave: "1"}}\n' +
        `spec: {storageClassName: ${namespace}, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n`;
      const storageClass =
        `apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: ${namespace}}\n` +
        'provisioner: example.com/none\nvolumeBindingMode: WaitForFirstConsumer\n';
      const sha = await git.commit({
        'budget.yaml': BUDGET,
        'claim.yaml': claim,
        'class.yaml': storageClass,
        'job.yaml': job(0, { wave: '1', runTime: '4s' }),
      });
      await sync().commitSeen(name, sha);
      await shows(name, sha, 'the stage is awaited', ({ held }) => held?.text === 'before the rest');
      expect(await exists(budgetOf(namespace))).toBe(false);
      expect(await sync().dealtWith(name, sha, 60_000)).toMatchObject({ outcome: 'Succeeded' });
      const [budget, migrate, data] = await Promise.all([
        cluster().client.get(budgetOf(namespace)),
        cluster().client.get<KubernetesObject & { readonly status: { readonly completionTime: string } }>(
          jobOf(namespace),
        ),
        cluster().client.get({
          ...budgetOf(namespace),
          group: '',
          resource: 'persistentvolumeclaims',
          name: 'data',
        }),
      ]);
      expect(Date.parse(budget.metadata.creationTimestamp ?? '')).toBeGreaterThanOrEqual(
        Date.parse(migrate.status.completionTime),
      );
      expect(data).toMatchObject({ status: { phase: 'Pending' } });
    }),
    120_000,
  );

  it(
    'that fails holds the next stage up, and says so',
    inLane(async () => {
      const { git, name, namespace } = await follow('stage-held');
      const sha = await git.commit({ 'budget.yaml': BUDGET, 'job.yaml': job(3, { wave: '1' }) });
      expect(await sync().apply(name, sha)).toMatchObject({ outcome: 'Failed' });
      expect((await sync().inventory(name))?.status.commit?.problems).toEqual([
        expect.stringMatching(new RegExp(`^NotReady job\\.yaml:1@\\w{8}: ${failed}`)),
        expect.stringMatching(
          /^WaveHeld budget\.yaml:1@\w{8}: PodDisruptionBudget\.policy \S+\/web: the stage of the rest, and with it all that comes later, was held up: an earlier wave is not ready\. one object was not applied\./,
        ),
      ]);
      expect(await exists(budgetOf(namespace))).toBe(false);
    }),
    120_000,
  );

  it(
    'is awaited by the end of the commit: a Job of it that fails fails the commit, in the next try, too',
    inLane(async () => {
      const { git, name } = await follow('last');
      const sha = await git.commit({
        'a.yaml': configMap('1'),
        'job.yaml': job(3, { wave: '1', runTime: '2s' }),
      });
      const told = new RegExp(
        `^NotReady job\\.yaml:1@\\w{8}: ${failed}.*\`kubectl delete job migrate -n \\S+\` has the next try of the commit run it anew`,
      );
      expect(await sync().apply(name, sha)).toMatchObject({ outcome: 'Failed', tries: 1 });
      expect((await sync().inventory(name))?.status.commit?.problems).toEqual([expect.stringMatching(told)]);
      const again = await found(
        'it was tried again',
        async () => {
          const { last } = await sync().status(name);
          return last?.tries === 2 ? last : undefined;
        },
        PATIENCE_MS,
      );
      expect(again).toMatchObject({ outcome: 'Failed' });
    }),
    120_000,
  );

  itInFull(
    'goes by how a Job has ended that is gone, as its Events tell; where they tell nothing it has not completed',
    inLane(async () => {
      const { git, name, namespace } = await follow('gone');
      const endless = { 'budget.yaml': BUDGET, 'job.yaml': job(0, { wave: '1', runTime: '10m', ttl: 3600 }) };
      const sha = await git.commit(endless);
      await sync().commitSeen(name, sha);
      await shows(name, sha, 'the stage is awaited', ({ held }) => held?.text === 'before the rest');
      await cluster().client.delete(jobOf(namespace), { propagationPolicy: 'Background' });
      expect(await sync().dealtWith(name, sha, 60_000)).toMatchObject({ outcome: 'Failed' });
      expect((await sync().inventory(name))?.status.commit?.problems?.[0]).toMatch(
        /^NotReady job\.yaml:1@\w{8}: Job\.batch \S+\/migrate: it is gone, and no Event tells that it has completed\. The next try/,
      );
      const bad = await git.commit({ 'job.yaml': job(3, { wave: '1', ttl: 0 }) });
      expect(await sync().apply(name, bad)).toMatchObject({ outcome: 'Failed' });
      expect((await sync().inventory(name))?.status.commit?.problems?.[0]).toMatch(/BackoffLimitExceeded/);
      expect(await exists(budgetOf(namespace))).toBe(false);
      const good = await git.commit({ 'job.yaml': job(0, { wave: '1', ttl: 0 }) });
      expect(await sync().apply(name, good)).toMatchObject({ outcome: 'Succeeded' });
      expect(await exists(budgetOf(namespace))).toBe(true);
    }),
    120_000,
  );

  itInFull(
    'and a Job without any: one that has failed when the rollouts are done fails its own commit alone',
    inLane(async () => {
      const { git, name, web } = await follow('no-waves');
      // Neither of the two gets ready here, and nobody has asked for that.
      const balancer =
        'apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {type: LoadBalancer, ports: [{port: 80}]}\n';
      const endless = job(0, { runTime: '10m' }).replace('name: migrate', 'name: endless');
      const others = { 'balancer.yaml': balancer, 'endless.yaml': endless, 'web.yaml': statefulSet('1') };
      const sha = await git.commit({ ...others, 'job.yaml': job(3) });
      await sync().commitSeen(name, sha);
      await shows(name, sha, 'the rollout is awaited', ({ phase }) => phase === 'AwaitingRollouts');
      await found('the Job has failed', async () => {
        const live = JSON.stringify(await cluster().client.get(jobOf(web.namespace ?? '')));
        return live.includes('BackoffLimitExceeded') ? true : undefined;
      });
      await playStatus(cluster().client, web, true);
      expect(await sync().dealtWith(name, sha)).toMatchObject({ outcome: 'Failed' });
      expect((await sync().inventory(name))?.status.commit?.problems).toEqual([
        expect.stringMatching(new RegExp(`^NotReady job\\.yaml:1@\\w{8}: ${failed}`)),
      ]);
      const next = await git.commit({ 'a.yaml': configMap('1') });
      expect(await sync().apply(name, next)).toMatchObject({ outcome: 'Succeeded' });
      expect((await sync().inventory(name))?.status.commit?.notes).toEqual([
        expect.stringMatching(new RegExp(`^${failed}`)),
      ]);
    }),
    120_000,
  );
});

describe('the annotation', () => {
  it(
    'that is no number refuses the commit at its line; plan names the wave, and the same problem',
    inLane(async () => {
      const { git, name, namespace, api } = await follow('wrong');
      const environment = { KUBECONFIG: controlPlane().kubeconfig, PATH: process.env['PATH'] ?? '' };
      const plan = async () =>
        await runCli(['plan', '--repo', git.path, '--name', name, '-n', namespace], { environment });
      await git.commit(both('1'));
      expect((await plan()).out).toMatch(
        /► \S+ \S+\/web would be created\n[^]*► \S+ \S+\/api would be created, in wave 1\n/,
      );
      const sha = await git.commit({ 'a.yaml': statefulSet('1', { name: 'api', wave: 'late' }) });
      const expected = new RegExp(
        `BadWave a\\.yaml:5@${sha.slice(0, 8)}: StatefulSet\\.fairlead\\.dev api: fairlead\\.dev/wave is "late", and must be`,
      );
      expect((await plan()).out).toMatch(expected);
      expect(await sync().apply(name, sha)).toMatchObject({ outcome: 'Refused' });
      expect((await sync().inventory(name))?.status.commit?.problems).toEqual([
        expect.stringMatching(expected),
      ]);
      expect(await exists(api)).toBe(false);
    }),
    60_000,
  );
});

describe('what depends on another object', () => {
  it(
    'is applied when that is ready, also in the same wave; the rest does not wait',
    inLane(async () => {
      const { git, name, namespace, web, api } = await follow('depends');
      const on = (target: string) =>
        `config.kubernetes.io/depends-on: fairlead.dev/namespaces/${namespace}/StatefulSet/${target}`;
      const dependent = statefulSet('1', { name: 'api' }).replace(
        'spec:',
        `  annotations: {${on('web')}}\nspec:`,
      );
      const free = { ...web, name: 'free' };
      const sha = await git.commit({
        'a.yaml': dependent,
        'web.yaml': statefulSet('1'),
        'free.yaml': statefulSet('1', { name: 'free' }),
      });
      await sync().commitSeen(name, sha);
      await shows(name, sha, 'it is awaited', waitsForWave);
      await playStatus(cluster().client, web, false);
      const { waiting } = await shows(name, sha, 'the reason is shown', (view) => view.waiting.length > 0);
      // Nothing hangs on the other one.
      expect(waiting).toEqual([expect.stringMatching(/StatefulSet\.fairlead\.dev \S+\/web: one pod to go$/)]);
      expect([await exists(free), await exists(api)]).toEqual([true, false]);
      await playStatus(cluster().client, web, true);
      await shows(name, sha, 'all is applied', ({ phase }) => phase === 'AwaitingRollouts');
      expect(await exists(api)).toBe(true);
      for (const path of [free, api]) await playStatus(cluster().client, path, true);
      expect(await sync().dealtWith(name, sha)).toMatchObject({ outcome: 'Succeeded' });
    }),
    120_000,
  );

  it(
    'in a circle is refused before the first write',
    inLane(async () => {
      const { git, name, namespace, web } = await follow('circle');
      const on = (target: string) =>
        `config.kubernetes.io/depends-on: fairlead.dev/namespaces/${namespace}/StatefulSet/${target}`;
      const tie = (manifest: string, target: string) =>
        manifest.replace('spec:', `  annotations: {${on(target)}}\nspec:`);
      const sha = await git.commit({
        'a.yaml': tie(statefulSet('1', { name: 'api' }), 'web'),
        'web.yaml': tie(statefulSet('1'), 'api'),
      });
      const last = await sync().apply(name, sha);
      expect(last.outcome).toBe('Refused');
      expect(last.message).toMatch(/DependencyCycle a\.yaml:5.*api \(a\.yaml:1\) → .*web \(web\.yaml:1\)/);
      expect(await exists(web)).toBe(false);
    }),
    60_000,
  );
});
