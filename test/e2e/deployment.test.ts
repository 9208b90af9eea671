/** The Deployment as its users see it, by rule, from one table; in both workload APIs in the full suite. */

import { describe, expect, it } from '@jest/globals';

import { connectTemporal } from '../../controllers/temporal-client.ts';
import { DEPLOYMENT_ANNOTATION } from '../../planners/names.ts';
import type { ReplicaSet } from '../../planners/objects.ts';
import { rolloutWorkflowId } from '../../workflows/messages.ts';
import { found } from '../support/eventually.ts';
import { alterReplicaSets } from '../support/altering-policy.ts';
import { apisOf } from '../support/full-suite.ts';
import { TemporalRuns } from '../support/temporal-runs.ts';
import { useLanes } from '../support/lanes.ts';
import { playOnAll } from '../support/both-apis.ts';
import { useControlPlaneOfBoth } from '../support/control-plane.ts';
import { operatorOf } from '../support/deployment-operator.ts';
import type { DeploymentGround } from '../support/deployment-ground.ts';
import {
  allAt,
  conditionOf,
  extremes,
  imageOf,
  revisionOf,
  uidOf,
  useDeploymentGround,
} from '../support/deployment-ground.ts';

/** A test may wait for those that were declared before. */
const TIMEOUT_MS = 240_000;

const IMAGE_MISSING = /ImagePullBackOff|ErrImagePull/;

/** Size of each ReplicaSet, the lowest number first. */
const sizes = (sets: readonly ReplicaSet[]) =>
  [...sets].sort((a, b) => revisionOf(a) - revisionOf(b)).map(({ spec }) => spec.replicas);
const total = (sets: readonly ReplicaSet[]) => sizes(sets).reduce((sum = 0, size) => sum + (size ?? 0), 0);

describe('Deployment', () => {
  const controlPlaneOf = useControlPlaneOfBoth({ nodes: 3 });
  const GROUNDS = apisOf('fairlead.dev/v1beta1').map((api) => ({
    api,
    ground: useDeploymentGround(api, controlPlaneOf(api)),
  }));

  const inLane = useLanes(4);

  /** Mostly waiting: in several workload APIs at once, and beside other tests. */
  function inApis(play: (ground: DeploymentGround) => Promise<void>): () => Promise<void> {
    return inLane(async () => {
      await playOnAll(GROUNDS, async ({ ground }) => await play(ground));
    });
  }

  it(
    'seed 004, line by line: change-cause, image, history, undo, undo to a revision, pause, resume, scale, stall, restart',
    inApis(async (ground) => {
      const caused = (cause: string) => ({ 'kubernetes.io/change-cause': cause });
      // A short deadline of the last step would pass in a slow one before.
      const wanted = await ground.deploy({
        name: 'nginx',
        image: 'nginx:1',
        onDeadline: 'Report',
        annotations: caused('created'),
      });
      const { name, namespace } = wanted;
      const cluster = ground.cluster();
      const path = ground.path(wanted);
      const operator = await operatorOf(ground, namespace, name);
      const note = async (cause: string) => await cluster.annotate(path, caused(cause));
      const through = { code: 0, text: 'deployment "nginx" successfully rolled out' };
      const at = async (image: string, replicas = 4) => {
        await ground.untilPods(wanted, `all at ${image}`, allAt(image, replicas));
        expect(await operator.status()).toEqual(through);
        await ground.untilReady(wanted);
      };

      expect(await operator.history()).toBe('1 created');
      await operator.setImage('nginx:2');
      await note('second');
      await at('nginx:2');
      expect(await operator.history()).toBe('1 created\n2 second');
      expect(await operator.imageOf(1)).toBe('nginx:1');
      expect(await operator.imageOf(2)).toBe('nginx:2');
      await operator.undo();
      await at('nginx:1');
      expect(await operator.history()).toBe('2 second\n3 created');
      await operator.undo(2);
      await at('nginx:2');
      expect(await operator.history()).toBe('3 created\n4 second');
      const back = await ground.untilReady(wanted);
      expect(back.metadata.annotations).toMatchObject({
        ...caused('second'),
        [DEPLOYMENT_ANNOTATION.revision]: '4',
        ...(ground.api === 'apps/v1' && { 'fairlead.dev/on-deadline': 'Report' }),
      });
      expect(Object.keys(back.metadata.annotations ?? {})).not.toContain('fairlead.dev/attempts');

      await operator.pause();
      await operator.setImage('nginx:3');
      await operator.setImage('nginx:4');
      await note('fourth');
      expect(await ground.untilSets(wanted, 'no third one', () => true)).toHaveLength(2);
      await operator.resume();
      await at('nginx:4');
      expect(await operator.history()).toBe('3 created\n4 second\n5 fourth');

      await operator.setImage('nginx:bad');
      await ground.untilSets(wanted, 'in the middle', (sets) => sizes(sets).join() === '0,0,3,2');
      await cluster.client.patch({ ...path, subresource: 'scale' }, 'merge', { spec: { replicas: 8 } });
      await ground.untilSets(wanted, 'in proportion', (sets) => sizes(sets).join() === '0,0,6,4');
      // The short deadline may not pass while the pods of the scale are still becoming ready.
      await ground.until(wanted, 'enough available', (one) => one.status?.availableReplicas === 6);
      await cluster.client.patch(path, 'merge', { spec: { progressDeadlineSeconds: 2 } });
      const { code, text } = await operator.status();
      expect([code, text]).toEqual([1, 'deployment "nginx" exceeded its progress deadline']);
      const stalled = await ground.until(
        wanted,
        'stalled',
        (one) => conditionOf(one, 'Stalled')?.status === 'True',
      );
      expect(conditionOf(stalled, 'Available')).toMatchObject({
        status: 'True',
        reason: 'MinimumReplicasAvailable',
      });
      expect(conditionOf(stalled, 'Progressing')).toMatchObject({
        status: 'False',
        reason: 'ProgressDeadlineExceeded',
      });
      await cluster.client.patch(path, 'merge', { spec: { progressDeadlineSeconds: 600 } });
      await operator.undo();
      await at('nginx:4', 8);
      const before = new Set(
        (await ground.untilPods(wanted, 'eight', allAt('nginx:4', 8))).map(({ metadata }) => metadata.uid),
      );
      await operator.restart();
      await ground.untilPods(
        wanted,
        'eight others',
        (pods) => allAt('nginx:4', 8)(pods) && pods.every(({ metadata }) => !before.has(metadata.uid)),
      );
      expect(await operator.status()).toEqual(through);
    }),
    TIMEOUT_MS,
  );

  it(
    'P2, P4, P5, P10, P11, P15–P17: made, rolled within its bounds, and told truly',
    inApis(async (ground) => {
      const cause = { 'kubernetes.io/change-cause': 'first' };
      const wanted = await ground.deploy({ annotations: cause });
      const before = await ground.untilPods(wanted, 'four', allAt('api:1', 4));
      const [first] = await ground.untilSets(wanted, 'one', (sets) => sets.length === 1);
      expect(first?.metadata.name).toMatch(/^api-[bcdfghjklmnpqrstvwxz2456789]+$/);
      expect(first?.metadata.annotations).toMatchObject({
        ...cause,
        [DEPLOYMENT_ANNOTATION.revision]: '1',
        [DEPLOYMENT_ANNOTATION.desiredReplicas]: '4',
        [DEPLOYMENT_ANNOTATION.maxReplicas]: '5',
      });
      const record = await ground.cluster().recordPods(wanted.namespace);
      await ground.apply({
        ...wanted,
        image: 'api:2',
        annotations: { 'kubernetes.io/change-cause': 'second' },
      });
      await ground.untilPods(wanted, 'all new', allAt('api:2', 4));
      const done = await ground.untilReady(wanted);
      record.stop();
      const { fewest, most } = extremes(before, record.events);
      expect([fewest >= 3, most <= 5]).toEqual([true, true]);
      expect(done.metadata.annotations?.[DEPLOYMENT_ANNOTATION.revision]).toBe('2');
      expect(done.status).toMatchObject({
        replicas: 4,
        updatedReplicas: 4,
        readyReplicas: 4,
        availableReplicas: 4,
      });
      expect(conditionOf(done, 'Available')).toMatchObject({
        status: 'True',
        reason: 'MinimumReplicasAvailable',
      });
      expect(conditionOf(done, 'Progressing')).toMatchObject({
        status: 'True',
        reason: 'NewReplicaSetAvailable',
      });
      const sets = await ground.untilSets(wanted, 'two', (all) => all.length === 2);
      expect(sizes(sets)).toEqual([0, 4]);
      expect(sets.map(({ metadata }) => metadata.annotations?.['kubernetes.io/change-cause'])).toEqual([
        'first',
        'second',
      ]);
      await untilHistory(ground, wanted, /2 +api-\S+ +present,complete +Succeeded .* second/);
      const diff = await ground.cli('rollout history deploy/api --diff 1,2', wanted.namespace);
      expect(diff.out).toMatch(/revision #1 .* to #2[^]*containers\[main\]\.image\n +- api:1\n +\+ api:2\n/);
      const { name = '' } = sets.at(-1)?.metadata ?? {};
      const got = await ground.cli('get deploy/api -o wide', wanted.namespace);
      expect(got.out).toMatch(
        new RegExp(`deployment/api +4 +4 +4 +4 +${name.slice(4)} +Ready .* ${name.slice(4)}:4 `),
      );
      const watched = await ground.cli('watch deploy/api --until-done --timeout 20s', wanted.namespace);
      expect([watched.code, watched.out]).toEqual([0, expect.stringContaining('4 of 4')]);
    }),
    TIMEOUT_MS,
  );

  it(
    'P11, P16–P19: a bad image stalls within the budget, says so, and is left by an undo that re-uses the old ReplicaSet',
    inApis(async (ground) => {
      // Long enough for a busy machine to make every pod that it will: one that comes later is progress.
      const wanted = await ground.deploy({ progressDeadlineSeconds: 8 });
      const before = await ground.untilPods(wanted, 'four', allAt('api:1', 4));
      const record = await ground.cluster().recordPods(wanted.namespace);
      await ground.apply({ ...wanted, image: 'api:bad' });
      const stalled = await ground.until(
        wanted,
        'out of time',
        (deployment) => conditionOf(deployment, 'Progressing')?.reason === 'ProgressDeadlineExceeded',
      );
      expect(conditionOf(stalled, 'Progressing')?.status).toBe('False');
      expect(conditionOf(stalled, 'Available')?.status).toBe('True');
      expect(conditionOf(stalled, 'Stalled')?.status).toBe('True');
      const status = await ground.cli('rollout status deploy/api', wanted.namespace);
      expect([status.code, status.out]).toEqual([1, 'deployment "api" exceeded its progress deadline\n']);
      // The deadline may pass before a kubelet that is busy has tried to pull.
      await ground.untilPods(wanted, 'one that cannot be pulled', (pods) =>
        pods.some((pod) => IMAGE_MISSING.test(JSON.stringify(pod.status?.containerStatuses))),
      );
      await found('explain names the cause', async () => {
        const { out } = await ground.cli('explain deploy/api', wanted.namespace);
        return IMAGE_MISSING.test(out) ? out : undefined;
      });
      const undo = await ground.cli('rollout undo deploy/api', wanted.namespace);
      expect([undo.code, undo.out]).toEqual([0, expect.stringMatching(/goes back to revision 1/)]);
      const pods = await ground.untilPods(wanted, 'all old again', allAt('api:1', 4));
      await ground.untilReady(wanted);
      record.stop();
      const { fewest, most } = extremes(before, record.events);
      expect([fewest >= 3, most <= 5]).toEqual([true, true]);
      const uids = new Set(before.map(({ metadata }) => metadata.uid));
      expect(pods.filter(({ metadata }) => uids.has(metadata.uid)).length).toBeGreaterThanOrEqual(3);
      const sets = await ground.untilSets(wanted, 'renumbered', (all) =>
        all.some((set) => revisionOf(set) === 3),
      );
      expect(
        sets.map((set) => [
          revisionOf(set),
          set.metadata.annotations?.[DEPLOYMENT_ANNOTATION.revisionHistory],
        ]),
      ).toEqual([
        [2, undefined],
        [3, '1'],
      ]);
    }),
    TIMEOUT_MS,
  );

  it(
    'P9: paused, two changes are one rollout when it is resumed; scaling goes on meanwhile',
    inApis(async (ground) => {
      const wanted = await ground.deploy();
      expect((await ground.cli('rollout pause deploy/api --reason two-changes', wanted.namespace)).code).toBe(
        0,
      );
      await ground.apply({ ...wanted, image: 'api:2' });
      await ground.apply({ ...wanted, image: 'api:3', replicas: 5 });
      await ground.untilPods(wanted, 'five old ones', allAt('api:1', 5));
      const held = await ground.until(
        wanted,
        'paused',
        (deployment) =>
          conditionOf(deployment, 'Progressing')?.reason === 'DeploymentPaused' &&
          deployment.status?.observedGeneration === deployment.metadata.generation,
      );
      expect(held.status?.updatedReplicas).toBeUndefined();
      expect((await ground.cli('explain deploy/api', wanted.namespace)).out).toMatch(
        /paused by .*two-changes/,
      );
      expect(await ground.untilSets(wanted, 'still one', () => true)).toHaveLength(1);
      expect((await ground.cli('rollout resume deploy/api', wanted.namespace)).code).toBe(0);
      await ground.untilPods(wanted, 'all at the last', allAt('api:3', 5));
      await ground.untilReady(wanted);
      expect(sizes(await ground.untilSets(wanted, 'two', (sets) => sets.length === 2))).toEqual([0, 5]);
    }),
    TIMEOUT_MS,
  );

  it(
    'P9: of a native Deployment a pause of fairlead is one for kubectl, and the other way round',
    inApis(async (ground) => {
      // Of custom resources kubectl knows no pause.
      if (ground.api !== 'apps/v1') return;
      const wanted = await ground.deploy({ replicas: 2 });
      const { namespace } = wanted;
      const operator = await operatorOf(ground, namespace, 'api');
      const fairlead = async (words: string) => await ground.cli(`${words} deploy/api`, namespace);
      expect((await fairlead('rollout pause --reason lunch')).out).toBe('deployment/api paused\n');
      await operator.setImage('api:2');
      const held = await ground.until(
        wanted,
        'paused',
        (one) => conditionOf(one, 'Progressing')?.reason === 'DeploymentPaused',
      );
      expect([held.spec.paused, held.metadata.annotations?.['fairlead.dev/paused']]).toEqual([
        true,
        expect.stringContaining('"reason":"lunch"'),
      ]);
      expect((await fairlead('explain')).out).toMatch(/paused by .*lunch/);
      await operator.resume();
      await ground.untilPods(wanted, 'all new', allAt('api:2', 2));
      await ground.until(
        wanted,
        'the note is gone',
        ({ metadata }) => metadata.annotations?.['fairlead.dev/paused'] === undefined,
      );
      await ground.untilReady(wanted);
      await operator.pause();
      await operator.setImage('api:3');
      expect((await fairlead('rollout pause')).out).toMatch(/^nothing to do: .* spec\.paused is true/);
      expect((await fairlead('rollout resume')).out).toBe('deployment/api resumed\n');
      await ground.untilPods(wanted, 'all at the last', allAt('api:3', 2));
    }),
    TIMEOUT_MS,
  );

  it(
    'P7, P8: scaled in the middle of a rollout each ReplicaSet gets its share, and a newer template takes over',
    inApis(async (ground) => {
      const wanted = await ground.deploy({ replicas: 8, strategy: rolling(2, 2) });
      await ground.apply({ ...wanted, image: 'api:bad' });
      await ground.untilSets(wanted, 'in the middle', (sets) => sizes(sets).join() === '6,4');
      await ground.apply({ ...wanted, image: 'api:bad', replicas: 16 });
      const middle = await ground.untilSets(wanted, 'twice as many', (sets) => total(sets) === 18);
      expect(sizes(middle)).toEqual([11, 7]);
      await ground.apply({ ...wanted, image: 'api:3', replicas: 4 });
      await ground.untilPods(wanted, 'all at the last', allAt('api:3', 4));
      const done = await ground.untilReady(wanted);
      expect(done.metadata.annotations?.[DEPLOYMENT_ANNOTATION.revision]).toBe('3');
      await untilHistory(ground, wanted, /^2 .*Superseded/m);
    }),
    TIMEOUT_MS,
  );

  it(
    'P12: Recreate has pods of one template at a time; P14: history beyond the limit goes',
    inApis(async (ground) => {
      const wanted = await ground.deploy({ strategy: { type: 'Recreate' }, revisionHistoryLimit: 1 });
      const record = await ground.cluster().recordPods(wanted.namespace);
      const before = await ground.untilPods(wanted, 'four', allAt('api:1', 4));
      await ground.apply({ ...wanted, image: 'api:2' });
      await ground.untilPods(wanted, 'all new', allAt('api:2', 4));
      record.stop();
      const there = new Map(before.map((pod) => [pod.metadata.uid, imageOf(pod)]));
      for (const { type, pod } of record.events) {
        if (type === 'DELETED') there.delete(pod.metadata.uid);
        else there.set(pod.metadata.uid, imageOf(pod));
        expect(new Set(there.values()).size).toBeLessThanOrEqual(1);
      }
      await ground.untilReady(wanted);
      await ground.apply({ ...wanted, image: 'api:3' });
      await ground.untilPods(wanted, 'the third', allAt('api:3', 4));
      const kept = await ground.untilSets(wanted, 'the first is gone', (sets) => sets.length === 2);
      expect(kept.map(revisionOf)).toEqual([2, 3]);
    }),
    TIMEOUT_MS,
  );

  it(
    'KEP-5882: with TerminationComplete there are never more pods than replicas and surge, terminating ones included',
    inApis(async (ground) => {
      const wanted = await ground.deploy({
        podReplacementPolicy: 'TerminationComplete',
        strategy: rolling(1, 0),
        replicas: 2,
        templateAnnotations: { 'sim.fairlead.dev/stop-delay': '800ms' },
      });
      const record = await ground.cluster().recordPods(wanted.namespace);
      const there = new Set(
        (await ground.untilPods(wanted, 'two', allAt('api:1', 2))).map(({ metadata }) => metadata.uid),
      );
      await ground.apply({ ...wanted, image: 'api:2' });
      await ground.untilPods(wanted, 'all new', allAt('api:2', 2));
      record.stop();
      let most = 0;
      for (const { type, pod } of record.events) {
        if (type === 'DELETED') there.delete(pod.metadata.uid);
        else there.add(pod.metadata.uid);
        most = Math.max(most, there.size);
      }
      expect(most).toBe(3);
    }),
    TIMEOUT_MS,
  );

  it(
    'design: abort goes back to the last complete revision and pins it; so does a deadline with Rollback',
    inApis(async (ground) => {
      const wanted = await ground.deploy();
      await ground.apply({ ...wanted, image: 'api:bad' });
      await ground.untilSets(wanted, 'in the middle', (sets) => sizes(sets).join() === '3,2');
      const abort = await ground.cli('rollout abort deploy/api --reason broken', wanted.namespace);
      expect([abort.code, abort.out]).toEqual([0, expect.stringMatching(/goes back to revision 1/)]);
      await ground.untilPods(wanted, 'all old', allAt('api:1', 4));
      const back = await ground.untilReady(wanted);
      expect(back.metadata.annotations?.['fairlead.dev/pinned']).toMatch(/"verb":"abort"/);
      await untilHistory(ground, wanted, /^2 .*Aborted/m);
      await ground.apply({
        ...wanted,
        image: 'other:bad',
        progressDeadlineSeconds: 2,
        onDeadline: 'Rollback',
      });
      await ground.until(wanted, 'rolled back', ({ metadata }) =>
        /"verb":"deadline"/.test(metadata.annotations?.['fairlead.dev/pinned'] ?? ''),
      );
      await ground.untilPods(wanted, 'all old again', allAt('api:1', 4));
      await ground.untilReady(wanted);
    }),
    TIMEOUT_MS,
  );

  it(
    'design: a run that was terminated is told, and started again by retry alone',
    inApis(async (ground) => {
      const wanted = await ground.deploy({ replicas: 2 });
      const { namespace, name } = wanted;
      await ground.apply({ ...wanted, image: 'api:bad' });
      await ground.untilSets(wanted, 'in the middle', (sets) => sizes(sets).join() === '2,1');
      const group = ground.api === 'apps/v1' ? 'apps' : 'fairlead.dev';
      const id = rolloutWorkflowId(ground.owner, { namespace, kind: 'Deployment', group, name });
      const client = await connectTemporal(ground.controlPlane().temporalAddress);
      const runs = new TemporalRuns(client, id);
      await runs.terminate();
      await ground.until(wanted, 'Stalled', (one) => conditionOf(one, 'Stalled')?.reason === 'RunTerminated');
      const status = await ground.cli('rollout status deploy/api --timeout 10s', namespace);
      expect([status.code, status.err]).toEqual([1, expect.stringMatching(/is stalled: .*terminated/)]);
      expect((await ground.cli('rollout retry deploy/api --reason again', namespace)).out).toMatch(
        /^deployment\/api is to be tried again/,
      );
      await ground.until(wanted, 'going on', (one) => conditionOf(one, 'Stalled')?.status === 'False');
      // The first revision's run, the terminated one, and the one that was asked for.
      await runs.until('a third is open', (all) => all.length === 3 && all[2]?.status === 'RUNNING');
      await runs.untilBegun();
      await client.connection.close();
      await ground.apply({ ...wanted, image: 'api:3' });
      await ground.untilPods(wanted, 'all at the last', allAt('api:3', 2));
      await untilHistory(ground, wanted, /^2 .*Superseded/m);
    }),
    TIMEOUT_MS,
  );

  it(
    'P3, C4: orphans are adopted with their pods; a name that another owner has taken is passed over',
    inApis(async (ground) => {
      const wanted = await ground.deploy({ replicas: 2 });
      const pods = await ground.untilPods(wanted, 'two', allAt('api:1', 2));
      const [first] = await ground.untilSets(wanted, 'one', (sets) => sets.length === 1);
      const { client } = ground.cluster();
      const [set, path] = [first?.metadata, ground.path(wanted)];
      const orphan = async () => {
        const { metadata } = await ground.untilReady(wanted);
        await client.delete(path, { uid: metadata.uid, propagationPolicy: 'Orphan' });
        await ground.untilGone(wanted);
        await ground.untilSets(wanted, 'free', (sets) =>
          sets.every((one) => one.metadata.ownerReferences === undefined),
        );
      };
      await orphan();
      await ground.apply(wanted);
      await ground.untilReady(wanted);
      const [adopted] = await ground.untilSets(
        wanted,
        'adopted',
        (sets) => sets[0]?.metadata.ownerReferences !== undefined,
      );
      expect(adopted?.metadata.uid).toBe(set?.uid);
      expect((await ground.untilPods(wanted, 'the same', allAt('api:1', 2))).map(uidOf)).toEqual(
        pods.map(uidOf),
      );
      await orphan();
      const other = await client.create(
        { group: '', version: 'v1', resource: 'configmaps', namespace: wanted.namespace },
        { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'owner' } },
      );
      const owner = {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        name: 'owner',
        uid: other.metadata.uid,
        controller: true,
      };
      const sets = { group: 'apps', version: 'v1', resource: 'replicasets', namespace: wanted.namespace };
      await client.patch({ ...sets, name: set?.name }, 'merge', { metadata: { ownerReferences: [owner] } });
      await ground.apply(wanted);
      const done = await ground.untilReady(wanted);
      expect(done.status?.collisionCount).toBe(1);
      const names = (await ground.untilSets(wanted, 'both', (all) => all.length === 2)).map(
        ({ metadata }) => metadata.name,
      );
      expect(new Set(names).size).toBe(2);
      expect(names).toContain(set?.name);
    }),
    TIMEOUT_MS,
  );

  it(
    'a policy that changes ReplicaSets: each template has one all the same, is rolled out and gone back to, and it is told',
    inApis(async (ground) => {
      const wanted = await ground.deploy({ replicas: 2 });
      const { namespace } = wanted;
      const mend = await alterReplicaSets(ground.cluster().client, namespace);
      const told = async () =>
        conditionOf(await ground.untilReady(wanted), 'Ready')?.message ?? 'no condition';
      const toImage = async (image: string) => {
        await ground.apply({ ...wanted, image });
        await ground.untilPods(wanted, `all at ${image}`, allAt(image, 2));
        await ground.untilReady(wanted);
      };
      await toImage('api:2');
      expect(await told()).toMatch(/has stored it with other metadata\.annotations\[injected\] \(/);
      expect((await ground.cli('rollout undo deploy/api', namespace)).code).toBe(0);
      await ground.untilPods(wanted, 'all old', allAt('api:1', 2));
      await toImage('api:2');
      const explained = await ground.cli('explain deploy/api', namespace);
      expect(explained.out).toMatch(/nothing is to be done: [^]*also: +ReplicaSet api-\w+ was made of/);
      expect(await ground.untilSets(wanted, 'one for each', () => true)).toHaveLength(2);
      await mend();
      const [, , command = ''] = /`(fairlead (rollout restart \S+)) -n \S+`/.exec(explained.out) ?? [];
      expect((await ground.cli(command, namespace)).code).toBe(0);
      await ground.untilSets(wanted, 'a third', (sets) => sizes(sets).join() === '0,0,2');
      expect(await told()).toBe('all pods are at the wanted revision and available');
    }),
    TIMEOUT_MS,
  );

  it(
    'P6: the annotation deprecated.deployment.rollback.to goes back, and is taken away',
    inApis(async (ground) => {
      const wanted = await ground.deploy({ replicas: 2 });
      await ground.apply({ ...wanted, image: 'api:2' });
      await ground.untilPods(wanted, 'all new', allAt('api:2', 2));
      await ground.untilReady(wanted);
      await ground.cluster().annotate(ground.path(wanted), { [DEPLOYMENT_ANNOTATION.rollbackTo]: '1' });
      await ground.untilPods(wanted, 'all old', allAt('api:1', 2));
      const done = await ground.untilReady(wanted);
      expect(done.metadata.annotations?.[DEPLOYMENT_ANNOTATION.rollbackTo]).toBeUndefined();
      expect(done.metadata.annotations?.[DEPLOYMENT_ANNOTATION.revision]).toBe('3');
    }),
    TIMEOUT_MS,
  );
});

/** A run writes down its end a moment after the object has told it. */
async function untilHistory(
  ground: DeploymentGround,
  { name, namespace }: { readonly name: string; readonly namespace: string },
  pattern: RegExp,
): Promise<void> {
  let last = '';
  await found(
    `the history tells ${String(pattern)}`,
    async () => {
      last = (await ground.cli(`rollout history deploy/${name}`, namespace)).out;
      return pattern.test(last) ? last : undefined;
    },
    20_000,
    () => last,
  );
}

function rolling(maxSurge: number, maxUnavailable: number): object {
  return { type: 'RollingUpdate', rollingUpdate: { maxSurge, maxUnavailable } };
}
