/** The verbs that steer a rollout, against real servers and a real worker; in both workload APIs in the full suite. */

import { describe, expect, it } from '@jest/globals';

import { connectTemporal } from '../../controllers/temporal-client.ts';
import type { StatefulSetObject } from '../../kubernetes/statefulset-adapter.ts';
import { KubernetesClient } from '../../kubernetes/client.ts';
import type { PatchOptions, PatchType, ResourcePath } from '../../kubernetes/client.ts';
import type { Connection } from '../../kubernetes/kubeconfig.ts';
import { loadConnection } from '../../kubernetes/kubeconfig.ts';
import { setImage } from '../../kubernetes/template-edits.ts';
import { pauseWorkload, resumeWorkload, undoWorkload } from '../../kubernetes/wishes.ts';
import { groupVersion } from '../../kubernetes/workload-api.ts';
import { rolloutWorkflowId } from '../../workflows/messages.ts';
import { runCli } from '../support/cli.ts';
import type { CliScene } from '../support/cli-ground.ts';
import { useCliGround } from '../support/cli-ground.ts';
import { useControlPlaneOfBoth } from '../support/control-plane.ts';
import { apisOf } from '../support/full-suite.ts';
import { useLanes } from '../support/lanes.ts';
import { found } from '../support/eventually.ts';
import { statusOf } from '../support/in-place-ground.ts';
import { statefulSetManifest } from '../support/statefulset-manifest.ts';

const PAUSED = 'fairlead.dev/paused';
const PINNED = 'fairlead.dev/pinned';

/** Several plays go on at a time. */
const PATIENCE_MS = 150_000;

const controlPlaneOf = useControlPlaneOfBoth({ nodes: 3 });
const GROUNDS = apisOf('fairlead.dev/v1beta1').map((api) => ({
  api,
  ground: useCliGround(api, controlPlaneOf(api)),
}));
const inLane = useLanes(4);

describe.each(GROUNDS)('wishes of operators ($api)', ({ api, ground }) => {
  const workload = `statefulset.${groupVersion(api).group}/web`;
  const { controlPlane, environment } = ground;

  type Play = (scene: CliScene) => Promise<void>;
  const ready = (play: Play) => inLane(async () => await play(await ground.scene()));
  const bare = (play: Play) => inLane(async () => await play(await ground.bareScene()));

  describe('alone', () => {
    it(
      'pause: on the object, signed, idempotent, holds the next change; explain names it; resume lets it go',
      ready(async ({ cluster, namespace, cli, json, annotations }) => {
        const paused = await json('rollout pause sts/web --reason "db alarm"');
        expect(paused).toMatchObject({
          kind: 'WishResult',
          verb: 'pause',
          changed: true,
          effect: 'seen',
          workload,
        });
        expect(JSON.parse((await annotations())[PAUSED] ?? '')).toEqual({
          by: paused['by'],
          reason: 'db alarm',
          at: expect.stringMatching(/^\d{4}-/),
        });
        expect((await cli('rollout pause sts/web')).out).toBe(
          `nothing to do: statefulset/web is already paused by ${String(paused['by'])}: db alarm\n`,
        );
        await cli('set image sts/web main=web:2');
        expect(await json('explain sts/web')).toMatchObject({
          verdict: 'Paused',
          next: `fairlead rollout resume ${workload} -n ${namespace}`,
        });
        const timedOut = await cli('rollout status sts/web --timeout 1s');
        expect(timedOut).toMatchObject({ code: 3, err: expect.stringContaining('paused by') });
        expect((await cluster.pods(namespace, 'web')).map((pod) => pod.spec.containers[0]?.image)).toEqual([
          'web:1',
          'web:1',
          'web:1',
        ]);
        expect((await cli('rollout resume sts/web')).out).toBe('statefulset/web resumed\n');
        expect((await cli('rollout resume sts/web')).out).toBe(
          'nothing to do: statefulset/web is not paused\n',
        );
        expect((await cli('rollout status sts/web --timeout 60s')).code).toBe(0);
      }),
      PATIENCE_MS,
    );

    it(
      'abort: template and pin in one patch, twice is once; idle there is nothing to abort',
      ready(async ({ cluster, namespace, cli, json, annotations, image, breakIt }) => {
        expect((await cli('rollout abort sts/web')).out).toMatch(
          /^nothing to do: no rollout of statefulset\/web is in progress/,
        );
        await breakIt();
        const explained = await json('explain sts/web');
        expect(explained).toMatchObject({ verdict: 'Waiting', sentence: expect.stringContaining('web-2') });
        const broken = (await cluster.set(namespace, 'web')).status?.updateRevision;
        expect((await cli('rollout history sts/web')).out).toMatch(/ present +Running +/);
        const aborted = await json('rollout abort sts/web --reason broken --by alice');
        expect(aborted).toMatchObject({ changed: true, by: 'alice', reason: 'broken' });
        expect(await image()).toBe('web:1');
        expect(JSON.parse((await annotations())[PINNED] ?? '')).toMatchObject({
          by: 'alice',
          reason: 'broken',
          verb: 'abort',
          revision: broken,
        });
        expect((await cli('rollout abort sts/web')).out).toMatch(/^nothing to do: /);
        expect((await cli('rollout status sts/web --timeout 60s')).code).toBe(0);
        const { revisions } = await json<{
          revisions: { name: string; roles: string[]; attempts: { outcome: string; endedBy?: string }[] }[];
        }>('rollout history sts/web');
        expect(revisions.find((one) => one.name === broken)?.attempts.at(-1)).toMatchObject({
          outcome: 'Aborted',
          endedBy: 'alice',
        });
        expect(revisions.at(-1)).toMatchObject({ roles: ['present', 'complete'] });
      }),
      PATIENCE_MS,
    );

    it(
      'abort after an undo to a revision that does not work: back to the last complete one',
      ready(async ({ namespace, cli, json, image, breakIt, untilStuck }) => {
        await breakIt();
        await cli('rollout abort sts/web');
        expect((await cli('rollout status sts/web --timeout 60s')).code).toBe(0);
        expect((await cli('rollout undo sts/web --by bob --reason again')).out).toMatch(
          /^statefulset\/web goes back to revision 2 .*never finished/,
        );
        expect(await image()).toBe('web:bad');
        await untilStuck();
        // Not who ended the attempt of before.
        expect((await cli('rollout history sts/web')).out).toMatch(/ present +Running +bob .* undo: again\n/);
        expect(await json('explain sts/web')).toMatchObject({
          next: expect.stringContaining(`fairlead rollout abort ${workload} -n ${namespace}`),
        });
        expect((await cli('rollout abort sts/web')).out).toMatch(
          /^statefulset\/web goes back to revision 3 /,
        );
        expect(await image()).toBe('web:1');
        expect((await cli('rollout abort sts/web')).out).toMatch(/^nothing to do: /);
        expect((await cli('rollout status sts/web --timeout 60s')).code).toBe(0);
      }),
      PATIENCE_MS,
    );

    it(
      'abort of a set that was made again in the middle: what it sees first was never complete',
      ready(async ({ cluster, namespace, description, cli, json, image, breakIt }) => {
        await breakIt();
        const path = cluster.setPath(namespace, 'web');
        await cluster.client.delete(path, { propagationPolicy: 'Orphan' });
        await cluster.untilGone(path);
        await cluster.applySet({ ...description, image: 'web:bad' });
        const made = await cluster.until<StatefulSetObject>(
          path,
          'observed',
          ({ status }) => status?.currentRevision !== undefined,
        );
        const { currentRevision: good, updateRevision: bad } = made.status ?? {};
        // Its pods say what they were made of, and what its template is was not rolled out.
        expect(good).not.toBe(bad);
        const roles = async () => {
          const { revisions } = await json<{ revisions: { name: string; roles: string[] }[] }>(
            'rollout history sts/web',
          );
          return revisions.map((one) => `${one.name === bad ? 'bad' : 'other'}: ${one.roles.join()}`);
        };
        // Its revisions are adopted one after the other.
        await found('its revisions are told', async () => ((await roles()).length === 2 ? true : undefined));
        expect(await roles()).toEqual(['other: complete', 'bad: present']);
        await cli('set image sts/web main=worse:bad');
        await cluster.until<StatefulSetObject>(
          path,
          'the next revision',
          ({ status }) => status?.updateRevision !== bad,
        );
        expect((await cluster.set(namespace, 'web')).status?.currentRevision).toBe(good);
        expect((await cli('rollout abort sts/web')).out).toMatch(
          /^statefulset\/web goes back to revision 1 /,
        );
        expect(await image()).toBe('web:1');
        expect((await cli('rollout status sts/web --timeout 60s')).code).toBe(0);
      }),
      PATIENCE_MS,
    );

    it(
      'abort of the first rollout: there is nothing to go back to, so it is held',
      bare(async ({ cluster, namespace, description, cli }) => {
        await cluster.applySet({ ...description, name: 'first', image: 'web:bad' });
        await cluster.until(cluster.setPath(namespace, 'first'), 'observed', (set) =>
          JSON.stringify(set).includes('"updateRevision":'),
        );
        const run = await cli('rollout abort sts/first');
        expect(run.out).toBe(
          'no complete revision of statefulset/first to go back to, so it is held: statefulset/first paused\n',
        );
        expect((await cluster.set(namespace, 'first')).metadata.annotations?.[PAUSED]).toBeDefined();
      }),
      PATIENCE_MS,
    );

    it(
      'undo: to the revision before, to a number; an unknown one names those that exist; history keeps them all',
      ready(async ({ namespace, cli, image }) => {
        await cli('set image sts/web main=web:2');
        expect((await cli('rollout status sts/web --timeout 60s')).code).toBe(0);
        expect((await cli('rollout undo sts/web --to-revision 9')).err).toContain(
          'revision 9 of statefulset/web does not exist: known are 1, 2',
        );
        expect((await cli('rollout undo sts/web --to-revision 2')).out).toMatch(
          /^nothing to do: statefulset\/web is at revision 2/,
        );
        expect((await cli('rollout undo sts/web')).out).toMatch(/^statefulset\/web goes back to revision 1 /);
        expect(await image()).toBe('web:1');
        expect((await cli('rollout status sts/web --timeout 60s')).code).toBe(0);
        const typed = ['complete', '--', '-n', namespace, 'rollout', 'undo', 'sts/'];
        expect((await runCli(typed, { environment: environment() })).out).toBe('sts/web\n');
        const table = await cli('rollout history sts/web');
        expect(table.out).toMatch(/\n2 +web-\w+ +- +Succeeded .*\n3 +web-\w+ +present,complete +Succeeded /);
        const one = await cli('rollout history sts/web --revision 3');
        expect(one.out).toMatch(
          new RegExp(`^${workload} with revision #3, web-\\w+ \\(present, complete\\)\\n`),
        );
        expect(one.out).toMatch(/\nPod Template:\n {2}metadata:\n(.*\n)* {6}.*image: web:1\n/);
      }),
      PATIENCE_MS,
    );

    it(
      'restart replaces every pod and keeps the template',
      ready(async ({ cluster, namespace, cli, image, breakIt }) => {
        const uids = async () => (await cluster.pods(namespace, 'web')).map((pod) => pod.metadata.uid);
        const before = await uids();
        expect((await cli('rollout restart sts/web --by alice --reason "new certificate"')).out).toBe(
          'statefulset/web restarted\n',
        );
        expect((await cli('rollout status sts/web --timeout 60s')).code).toBe(0);
        for (const uid of await uids()) expect(before).not.toContain(uid);
        expect(await image()).toBe('web:1');
        await breakIt();
        const { out } = await cli('rollout history sts/web');
        expect(out.match(/restarted by alice: new certificate/g)).toHaveLength(1);
        await cli('rollout abort sts/web');
        const { out: back } = await cli('rollout history sts/web -o wide');
        expect(back.split('\n').filter((line) => line.includes('restarted by alice'))).toEqual([
          expect.stringMatching(/ present.* web:1 /),
        ]);
      }),
      PATIENCE_MS,
    );

    it(
      'status of a resize: over when the last pod has the resources, and one that is refused says why',
      bare(async ({ cluster, namespace, description, cli }) => {
        const resized = {
          ...description,
          name: 'big',
          replicas: 1,
          podUpdatePolicy: 'InPlaceOnly',
          sidecars: { proxy: 'proxy:1' },
          templateAnnotations: { 'sim.fairlead.dev/resize-delay': '2s' },
        } as const;
        await cluster.applySet({ ...resized, cpu: { proxy: '10m' } });
        await cluster.untilReady(namespace, 'big');
        await cluster.applySet({ ...resized, cpu: { proxy: '20m' } });
        const status = await cli('rollout status sts/big --timeout 60s');
        expect(status).toMatchObject({
          code: 0,
          out: expect.stringMatching(/its last pods are being updated\.\.\.\n.*complete/),
        });
        const pods = await cluster.pods(namespace, 'big');
        expect(pods.map((pod) => statusOf(pod, 'proxy')?.resources)).toEqual([{ requests: { cpu: '20m' } }]);
        await cluster.applySet({ ...resized, cpu: { proxy: '9999999' } });
        await cluster.until<StatefulSetObject>(cluster.setPath(namespace, 'big'), 'refused', (set) =>
          (set.status?.conditions ?? []).some(({ reason }) => reason === 'ResizeRefused'),
        );
        // The controller tries again after seconds, and is for a moment about to write: what stood in the way before is told all the same.
        expect(await cli('rollout status sts/big --timeout 15s')).toMatchObject({
          code: 3,
          err: expect.stringMatching(/^error: timed out .*: the apiserver refuses to resize big-0: /m),
        });
      }),
      PATIENCE_MS,
    );

    it(
      'rolled back by its deadline: a pipeline that waits for the rollout fails, with the cause',
      ready(async ({ cluster, namespace, cli, json }) => {
        const pin = { verb: 'deadline', revision: 'web-bad', to: 'web-good', reason: 'no progress for 9 s' };
        await cluster.client.patch(cluster.setPath(namespace, 'web'), 'merge', {
          metadata: { annotations: { [PINNED]: JSON.stringify(pin) } },
        });
        const status = await cli('rollout status sts/web');
        expect(status).toMatchObject({
          code: 1,
          err: expect.stringMatching(
            /was rolled back by its deadline: revision web-bad was left for web-good: no progress/,
          ),
        });
        expect(await json('rollout status sts/web')).toMatchObject({ outcome: 'rolledBack' });
        expect((await cli('watch sts/web --until-done --timeout 20s')).code).toBe(1);
      }),
      PATIENCE_MS,
    );

    it(
      'a run that was terminated: stalled, exit code 1 with the cause; retry starts it again',
      ready(async ({ cluster, namespace, cli, json, target, breakIt }) => {
        await breakIt();
        const client = await connectTemporal(controlPlane().temporalAddress);
        await client.workflow.getHandle(rolloutWorkflowId(ground.owner, target())).terminate('a test');
        await cluster.until<StatefulSetObject>(cluster.setPath(namespace, 'web'), 'Stalled', ({ status }) =>
          (status?.conditions ?? []).some((one) => one.type === 'Stalled' && one.status === 'True'),
        );
        await client.connection.close();
        const status = await cli('rollout status sts/web --timeout 10s');
        expect(status).toMatchObject({ code: 1, err: expect.stringMatching(/is stalled: .*terminated/) });
        expect(await json('explain sts/web')).toMatchObject({
          verdict: 'Stalled',
          next: expect.stringContaining(`fairlead rollout retry ${workload} -n ${namespace}`),
        });
        expect(await json('rollout retry sts/web')).toMatchObject({ changed: true, effect: 'seen' });
        expect((await json<{ items: { state: string }[] }>('get sts/web')).items[0]?.state).toBe(
          'Progressing',
        );
      }),
      PATIENCE_MS,
    );

    it(
      'a workload of the API that the leader does not keep: nothing is written that nobody would honour',
      bare(async ({ cluster, namespace, description, cli, json }) => {
        const other = api === 'apps/v1' ? 'fairlead.dev/v1beta1' : 'apps/v1';
        const { group } = groupVersion(other);
        const name = 'elsewhere';
        const manifest = statefulSetManifest(other, { ...description, name, replicas: 0 });
        const path = { ...groupVersion(other), resource: 'statefulsets', namespace, name };
        await cluster.client.patch(path, 'apply', manifest, { fieldManager: 'test', force: true });
        const notKept = new RegExp(`keeps the workloads of ${api}, not those of ${other}`);
        const paused = await cli(`rollout pause statefulset.${group}/${name}`);
        expect(paused).toMatchObject({ code: 1, out: '', err: expect.stringMatching(notKept) });
        const { metadata } = await cluster.client.get(path);
        expect(metadata.annotations?.[PAUSED]).toBeUndefined();
        const explained = await json(`explain statefulset.${group}/${name}`);
        // Under apps/v1 the cluster's own controller may have finished it.
        expect(explained).toMatchObject({ sentence: expect.stringMatching(notKept) });
        const changed = await cli(`set image statefulset.${group}/${name} main=web:2`);
        expect(changed).toMatchObject({ code: 0, err: expect.stringMatching(notKept) });
      }),
      PATIENCE_MS,
    );

    it(
      'without Temporal a wish is written all the same, and it is said',
      ready(async ({ cli }) => {
        const away = { environment: { ...environment(), TEMPORAL_ADDRESS: '127.0.0.1:1' } };
        const run = await cli('rollout pause sts/web', away);
        expect(run).toMatchObject({ code: 0, out: 'statefulset/web paused\n' });
        expect(run.err).toContain(
          'note: written on the object; the run was not told: Temporal at 127.0.0.1:1 does not answer',
        );
        await cli('set image sts/web main=web:2', away);
        await cli('rollout resume sts/web', away);
        expect((await cli('rollout status sts/web --timeout 60s', away)).code).toBe(0);
      }),
      PATIENCE_MS,
    );
  });

  // They change nothing: one scene for all.
  let refused: Promise<CliScene> | undefined;
  it.each([
    ['rollout undo sts/web --to-revision 99', 'RevisionNotFound'],
    ['rollout undo sts/web', 'NoEarlierRevision'],
    ['rollout history sts/web --revision 99', 'RevisionNotFound'],
    ['set image sts/web nope=web:2', 'NoContainer'],
    ['rollout pause sts/nope', 'NotFound'],
    ['rolling-update nope --image=app:2', 'NotFound'],
    ['rollout history rc/nope', 'NotFound'],
  ])('a refusal has a code: %s', async (words, reason) => {
    refused ??= ground.scene();
    const { json } = await refused;
    expect(await json(words)).toMatchObject({ kind: 'Failure', code: reason, exitCode: 1 });
  });

  describe('at the same time', () => {
    it(
      'eight pauses at once: one wins, the others find it paused',
      ready(async ({ cluster, target }) => {
        const results = await Promise.all(
          Array.from({ length: 8 }, (_, index) =>
            pauseWorkload(cluster.client, target(), { by: `user-${String(index)}` }, Date.now()),
          ),
        );
        expect(results.filter(({ changed }) => changed)).toHaveLength(1);
        const resumed = await Promise.all(
          Array.from({ length: 8 }, () => resumeWorkload(cluster.client, target())),
        );
        expect(resumed.filter(({ changed }) => changed)).toHaveLength(1);
      }),
      PATIENCE_MS,
    );

    it(
      'somebody writes between our read and our patch: it is decided anew, nothing is overwritten',
      ready(async ({ cluster, namespace, target, annotations, image }) => {
        const connection = await loadConnection({}, { kubeconfig: controlPlane().kubeconfig });
        const rival = new RivalClient(connection, async () => {
          await cluster.annotate(cluster.setPath(namespace, 'web'), {
            'example.dev/rival': String(Math.random()),
          });
        });
        try {
          expect(
            await setImage(rival, target(), new Map([['main', 'web:5']]), { by: 'rival' }, Date.now()),
          ).toMatchObject({ changed: true });
          expect(rival.patches).toBe(4);
          expect(await image()).toBe('web:5');
          expect((await annotations())['example.dev/rival']).toBeDefined();
        } finally {
          rival.close();
        }
      }),
      PATIENCE_MS,
    );

    it(
      'another object under the same name is left alone',
      ready(async ({ cluster, target }) => {
        await expect(
          undoWorkload(
            cluster.client,
            { ...target(), uid: 'of-an-earlier-life' },
            { verb: 'abort' },
            Date.now(),
          ),
        ).rejects.toThrow('is another object now');
      }),
      PATIENCE_MS,
    );
  });

  // These end the worker of the ground, when the plays of this API are over.
  describe('without a worker', () => {
    it(
      'a run that was terminated while no worker was there: told and recorded all the same, and once',
      async () => {
        const { cluster, namespace, cli, json, target, breakIt } = await ground.scene();
        await breakIt();
        await ground.withoutWorker(async () => {
          const client = await connectTemporal(controlPlane().temporalAddress);
          await client.workflow.getHandle(rolloutWorkflowId(ground.owner, target())).terminate('a test');
          await client.connection.close();
        });
        const attempts = async () => {
          const { revisions } = await json<{
            revisions: { roles: string[]; attempts: { outcome: string }[] }[];
          }>('rollout history sts/web');
          const present = revisions.find(({ roles }) => roles.includes('present'));
          return present?.attempts.map(({ outcome }) => outcome);
        };
        const told = async () => {
          const events = await cluster.events(namespace);
          const count = events.filter(({ reason }) => reason === 'RunTerminated').length;
          return count === 0 ? undefined : count;
        };
        expect(await found('it is told', told)).toBe(1);
        expect(await attempts()).toEqual(['Terminated']);
        // The next leader finds it told.
        await ground.withoutWorker(async () => undefined);
        expect((await cli('rollout status sts/web --timeout 10s')).code).toBe(1);
        expect([await attempts(), await told()]).toEqual([['Terminated'], 1]);
      },
      PATIENCE_MS,
    );

    it(
      'without a leader nothing is waited for',
      async () => {
        const { cli, json } = await ground.scene();
        const elsewhere = { environment: { ...environment(), FAIRLEAD_CLUSTER: 'nobody' } };
        await ground.withoutWorker(async () => {
          await cli('set image sts/web main=web:2 --no-wait');
          const run = await cli('rollout pause sts/web', elsewhere);
          expect(run).toMatchObject({ code: 0, out: 'statefulset/web paused\n' });
          expect(run.err).toContain(
            'there is no Lease fairlead-system/fairlead-nobody: no Fairlead worker has run under this --cluster, so it takes effect when one starts',
          );
          expect(await json('explain sts/web', elsewhere)).toMatchObject({ verdict: 'NoLeader' });
          expect((await cli('get sts/web')).out).toMatch(/Paused/);
        });
      },
      PATIENCE_MS,
    );
  });

  describe('when the leader has just died', () => {
    it(
      'nobody is told that the rollout goes on',
      async () => {
        const { cli, json, breakIt } = await ground.scene();
        await breakIt();
        expect(await json('explain sts/web')).toMatchObject({ verdict: 'Waiting' });
        await ground.killWorker();
        const [explained, status] = await Promise.all([
          json('explain sts/web'),
          cli('rollout status sts/web --timeout 20s'),
        ]);
        const silent = new RegExp(
          `^the worker \\S+ holds the Lease fairlead-system/fairlead-${ground.owner}, but has not renewed it for at least \\ds \\(last at \\S+Z, by its own clock\\), so nobody acts`,
        );
        expect(explained).toMatchObject({ verdict: 'NoLeader', sentence: expect.stringMatching(silent) });
        expect(status).toMatchObject({ code: 3, err: expect.stringMatching(/, so nobody acts/) });
      },
      PATIENCE_MS,
    );
  });
});

/** Lets somebody else write right before each of our first three patches. */
class RivalClient extends KubernetesClient {
  patches = 0;
  readonly #rival: () => Promise<void>;

  constructor(connection: Connection, rival: () => Promise<void>) {
    super(connection);
    this.#rival = rival;
  }

  override async patch<T>(
    path: ResourcePath,
    type: PatchType,
    body: unknown,
    options?: PatchOptions,
  ): Promise<T> {
    this.patches += 1;
    if (this.patches <= 3) await this.#rival();
    return await super.patch<T>(path, type, body, options);
  }
}
