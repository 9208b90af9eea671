/** The verbs that look, and what goes wrong, against real servers and a real worker; in both workload APIs in the full suite. */

import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { describe, expect, it } from '@jest/globals';
import proto from '@temporalio/proto';

import type { Io } from '../../cli/io.ts';
import { connectTemporal } from '../../controllers/temporal-client.ts';
import { groupVersion } from '../../kubernetes/workload-api.ts';
import { ANNOTATION } from '../../planners/names.ts';
import { microTime } from '../../kubernetes/lease.ts';
import { builtWorker } from '../support/built-worker.ts';
import { eventually, found } from '../support/eventually.ts';
import { apisOf } from '../support/full-suite.ts';
import { TestRepository } from '../support/git-repository.ts';
import { statefulSetManifest } from '../support/statefulset-manifest.ts';
import type { CliScene } from '../support/cli-ground.ts';
import { useCliGround } from '../support/cli-ground.ts';
import { useControlPlaneOfBoth } from '../support/control-plane.ts';
import { useLanes } from '../support/lanes.ts';

const PAUSED = 'fairlead.dev/paused';

/** Several plays go on at a time. */
const PATIENCE_MS = 150_000;

const controlPlaneOf = useControlPlaneOfBoth({ nodes: 3 });
const GROUNDS = apisOf('apps/v1').map((api) => ({ api, ground: useCliGround(api, controlPlaneOf(api)) }));
const inLane = useLanes(4);

describe.each(GROUNDS)('command line ($api)', ({ api, ground }) => {
  const workload = `statefulset.${groupVersion(api).group}/web`;
  const { controlPlane, environment } = ground;

  type Play = (scene: CliScene) => Promise<void>;
  const ready = (play: Play) => inLane(async () => await play(await ground.scene()));
  const bare = (play: Play) => inLane(async () => await play(await ground.bareScene()));

  describe('looking', () => {
    it(
      'get: table, wide, name, json; one, a kind, all',
      ready(async ({ namespace, cli, json }) => {
        const table = await cli('get');
        expect(table).toMatchObject({ code: 0, err: '' });
        expect(table.out).toMatch(
          /^NAME +DESIRED +READY +UPDATED +AVAILABLE +REVISION +STATE +REASON +AGE +COMMIT\n/,
        );
        expect(table.out).toMatch(/\nstatefulset\/web +3 +3 +3 +3 +\w+ +Ready +- +\d+s +<none>\n$/);
        expect((await cli('get sts -o wide')).out).toMatch(/ [0-9a-z]+:3 +web:1\n$/);
        expect((await cli('get sts/web -o name')).out).toBe(`${workload}\n`);
        expect((await cli('get -A')).out).toMatch(new RegExp(`\\n${namespace} +statefulset/web `));
        expect((await cli('get -l app=other')).err).toContain('No workloads');
        expect(await json('get sts/web')).toMatchObject({
          apiVersion: 'cli.fairlead.dev/v1',
          kind: 'WorkloadList',
          items: [
            { workloadApi: api, name: 'web', state: 'Ready', desired: 3, available: 3, images: ['web:1'] },
          ],
        });
      }),
      PATIENCE_MS,
    );

    it(
      'a workload that does not exist: named, with its namesake of the other API',
      ready(async ({ cli }) => {
        expect(await cli('get sts/nope')).toMatchObject({
          code: 1,
          err: expect.stringContaining('/nope not found in namespace'),
        });
        const other = api === 'apps/v1' ? 'fairlead.dev/v1beta1' : 'apps/v1';
        const run = await cli(`rollout pause sts/web --workload-api ${other}`);
        expect(run.code).toBe(1);
        expect(run.err).toContain(`there is ${workload}: name it so, or use --workload-api ${api}`);
      }),
      PATIENCE_MS,
    );

    it(
      "rollout status: kubectl's sentences alone on stdout, why on stderr, exit codes",
      ready(async ({ cli, json, breakIt }) => {
        expect(await cli('rollout status sts/web')).toEqual({
          code: 0,
          out: 'partitioned roll out complete: 3 new pods have been updated...\n',
          err: '',
        });
        await breakIt();
        const waiting = await cli('rollout status sts/web --timeout 6s');
        expect(waiting.code).toBe(3);
        // Whether the first look comes before the controller's is chance.
        expect(waiting.out).toMatch(/(^|\n)Waiting for 1 pods to be ready\.\.\.\n$/);
        expect(waiting.err).toMatch(
          /web-2.*\nerror: timed out waiting for the rollout of .*\n.*fairlead explain/s,
        );
        expect(await cli('rollout status sts/web --watch=false')).toMatchObject({
          code: 0,
          out: 'Waiting for 1 pods to be ready...\n',
        });
        const document = await json('rollout status sts/web --watch=false');
        expect(document).toMatchObject({ kind: 'RolloutStatus', outcome: 'progressing' });
        const status = cli('rollout status sts/web --timeout 60s');
        await cli('set image sts/web main=web:2');
        const done = await status;
        expect(done.code).toBe(0);
        expect(done.out).toMatch(/\npartitioned roll out complete: 3 new pods have been updated...\n$/);
      }),
      PATIENCE_MS,
    );

    it(
      'watch without a terminal: a line for each transition, until it is done',
      ready(async ({ cluster, namespace, cli }) => {
        const watching = cli('watch sts/web --timeout 120s');
        expect(await cli('set image sts/web main=web:2')).toMatchObject({ code: 0, err: '' });
        expect((await cli('watch sts/web --until-done --timeout 60s')).code).toBe(0);
        const lines = (await cli('watch sts/web --until-done -o json')).out.trimEnd().split('\n');
        expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ kind: 'Rollout', done: true, state: 'Ready' });
        const interrupt = new AbortController();
        let drawn = '';
        const live = cli('watch sts/web', {
          live: true,
          color: true,
          interrupted: interrupt.signal,
          out: (text) => {
            drawn += text;
          },
        });
        await cli('rollout pause sts/web --reason "look here"');
        await eventually('the pause is drawn', () => drawn.includes('look here'), 15_000);
        interrupt.abort();
        expect(await live).toMatchObject({ code: 130 });
        expect(drawn.startsWith('\u001b[?25l')).toBe(true);
        expect(drawn.endsWith('\u001b[?25h')).toBe(true);
        await cluster.client.delete(cluster.setPath(namespace, 'web'));
        const { code, out, err } = await watching;
        expect({ code, err }).toEqual({ code: 1, err: `${workload} is gone\n` });
        expect(out).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ {2}\S+: revision web-/);
        expect(out).toMatch(/ pod web-0 \([0-9a-f]{8}\): gone\n/);
        expect(out).toMatch(/: 3\/3 updated and available, 3 of 3 available\n/);
      }),
      PATIENCE_MS,
    );

    it(
      'watch waits for a workload that is still to come',
      bare(async ({ cluster, description, cli }) => {
        const coming = { ...description, name: 'coming' };
        const early = await cli('watch sts/coming --timeout 1s');
        expect(early).toMatchObject({ code: 3, out: '' });
        expect(early.err).toMatch(/coming not found in namespace .*\n.*\nwaiting for it; Ctrl-C ends\n$/);
        const watching = cli('watch sts/coming --until-done --timeout 60s');
        await cluster.applySet(coming);
        expect(await watching).toMatchObject({ code: 0 });
      }),
      PATIENCE_MS,
    );
  });

  describe('trouble', () => {
    it(
      'missing permissions: verb, resource and the commands that add it',
      bare(async ({ cluster, namespace, cli }) => {
        await cluster.client.create(
          { group: '', version: 'v1', resource: 'serviceaccounts', namespace },
          {
            apiVersion: 'v1',
            kind: 'ServiceAccount',
            metadata: { name: 'nobody' },
          },
        );
        const KUBECONFIG = await controlPlane().kubeconfigFor(namespace, 'nobody');
        const nobody = { environment: { ...environment(), KUBECONFIG } };
        const { group } = groupVersion(api);
        const run = await cli('rollout pause sts/web', nobody);
        expect(run.code).toBe(1);
        expect(run.err).toContain(
          `you (system:serviceaccount:${namespace}:nobody) may not get statefulsets.${group} in namespace ${namespace}`,
        );
        expect(run.err).toContain(
          `missing rule: apiGroups: ["${group}"], resources: ["statefulsets"], verbs: ["get"]`,
        );
        expect(run.err).toContain(`--serviceaccount=${namespace}:nobody`);
        const check = await cli('check', nobody);
        expect(check.code).toBe(1);
        expect(check.out).toContain(
          `✗ system:serviceaccount:${namespace}:nobody may look at rollouts and steer them`,
        );
        expect(check.out).toContain(`patch statefulsets.${group} in ${namespace}`);
      }),
      PATIENCE_MS,
    );

    it(
      'check: all is well; and Temporal away ends with 5, the apiserver away with 6',
      bare(async ({ cluster, namespace, cli, json }) => {
        const { code, out } = await cli('check');
        expect(out).not.toContain('✗');
        expect(out).toContain(`holds the Lease fairlead-system/fairlead-${ground.owner}`);
        expect(out).toContain('✔ search attributes registered');
        expect(code).toBe(0);
        const leases = {
          group: 'coordination.k8s.io',
          version: 'v1',
          resource: 'leases',
          namespace: 'fairlead-system',
        } as const;
        const rival = await cluster.client.create(leases, {
          apiVersion: 'coordination.k8s.io/v1',
          kind: 'Lease',
          metadata: {
            name: `fairlead-rival-${namespace}`,
            annotations: { [ANNOTATION.keptApi]: api, [ANNOTATION.keptNamespaces]: namespace },
          },
          spec: { holderIdentity: 'rival', leaseDurationSeconds: 600, renewTime: microTime(Date.now()) },
        });
        expect((await cli('check')).out).toContain(
          `! one writer rival holds the Lease fairlead-system/${rival.metadata.name} and keeps the same workloads`,
        );
        await cluster.client.delete({ ...leases, name: rival.metadata.name });
        const checks = await json<{ ok: boolean; checks: { id: string; outcome: string }[] }>(
          'check --worker',
          {
            environment: { ...environment(), KUBECONFIG: await controlPlane().workerKubeconfig() },
          },
        );
        expect(checks.checks.find(({ id }) => id === 'kubernetes.permissions.worker')).toMatchObject({
          outcome: 'ok',
        });
        const bareNamespace = `${namespace}-temporal`;
        const client = await connectTemporal(controlPlane().temporalAddress);
        await client.workflowService.registerNamespace({
          namespace: bareNamespace,
          workflowExecutionRetentionPeriod: proto.google.protobuf.Duration.fromObject({ seconds: 86_400 }),
        });
        await client.connection.close();
        const withoutAttributes = { ...environment(), TEMPORAL_NAMESPACE: bareNamespace };
        const mend = `temporal operator search-attribute create --namespace ${bareNamespace} --name `;
        const told = await found(
          'the namespace is known',
          async () => {
            const bareCheck = await cli('check', { environment: withoutAttributes });
            return bareCheck.out.includes('! search attributes') ? bareCheck : undefined;
          },
          20_000,
        );
        expect(told).toMatchObject({ code: 0, out: expect.stringContaining(mend) });
        expect(told.out).toMatch(/! search attributes .* not registered; runs go without them/);
        const noTemporal = await cli('check', {
          environment: { ...environment(), TEMPORAL_ADDRESS: '127.0.0.1:1' },
        });
        expect(noTemporal).toMatchObject({
          code: 5,
          out: expect.stringContaining('✗ Temporal at 127.0.0.1:1 does not answer'),
        });
        const KUBECONFIG = join(controlPlane().directory, `${namespace}.yaml`);
        const kubeconfig = {
          apiVersion: 'v1',
          kind: 'Config',
          'current-context': 'nowhere',
          clusters: [{ name: 'nowhere', cluster: { server: 'https://127.0.0.1:1' } }],
          contexts: [{ name: 'nowhere', context: { cluster: 'nowhere' } }],
        };
        await writeFile(KUBECONFIG, JSON.stringify(kubeconfig));
        const nowhere = { environment: { ...environment(), KUBECONFIG } };
        expect(await cli('check', nowhere)).toMatchObject({
          code: 6,
          out: expect.stringContaining('✗ apiserver'),
        });
        for (const verb of [
          'get',
          'explain sts/web',
          'rollout pause sts/web',
          'rollout status sts/web',
          'watch sts/web',
        ]) {
          const run = await cli(verb, nowhere);
          expect({ verb, code: run.code, err: run.err.split('\n')[0] }).toEqual({
            verb,
            code: 6,
            err: expect.stringMatching(
              /^error: the apiserver does not answer: GET .*127\.0\.0\.1:1.*ECONNREFUSED/,
            ),
          });
        }
      }),
      PATIENCE_MS,
    );

    it(
      'hostile text on an object does not reach the terminal',
      ready(async ({ cluster, namespace, cli }) => {
        await cluster.annotate(cluster.setPath(namespace, 'web'), {
          [PAUSED]: JSON.stringify({ by: 'x\u001b[2J\u009b31m', reason: 'a\nb\u202e' }),
          'fairlead.dev/commit': '\u001b]0;pwned\u0007abc',
        });
        for (const verb of [
          'get',
          'get -o wide',
          'explain sts/web',
          'rollout status sts/web',
          'get -o json',
          'get -o yaml',
          'rollout pause sts/web',
        ]) {
          const { out, err } = await cli(verb);
          // oxlint-disable-next-line no-control-regex -- what must not be there
          expect({ verb, unsafe: /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/.test(out + err) }).toEqual(
            {
              verb,
              unsafe: false,
            },
          );
        }
      }),
      PATIENCE_MS,
    );
  });

  it(
    'plan: what a commit would change, by path, before anybody applies it',
    ready(async ({ cluster, namespace, description, cli }) => {
      const git = await TestRepository.create();
      try {
        const planned = { ...description, name: 'planned' };
        // As sync applies: fields of other managers would be conflicts.
        await cluster.client.patch(
          cluster.setPath(namespace, 'planned'),
          'apply',
          statefulSetManifest(api, planned),
        );
        await git.commit({
          'web.json': JSON.stringify(statefulSetManifest(api, { ...planned, image: 'web:9' })),
        });
        const changed = await cli(`plan --repo ${git.path} --name shop`);
        expect(changed).toMatchObject({ code: 4, err: '' });
        expect(changed.out).toMatch(
          /spec\.template\.spec\.containers\[main\]\.image\n {4}- web:1\n {4}\+ web:9\n {2}→ a new revision for 3 pods\n/,
        );
        expect(await cluster.set(namespace, 'planned')).toMatchObject({
          spec: { template: { spec: { containers: [{ image: 'web:1' }] } } },
        });
        await git.commit({
          'web.json': JSON.stringify(statefulSetManifest(api, { ...description, image: 'web:9' })),
        });
        expect((await cli(`plan --repo ${git.path} --name shop`)).out).toMatch(
          /✗ Conflict web\.json:1@.*"test" owns/,
        );
        await git.commit({
          'web.json': undefined,
          'secret.json': JSON.stringify({
            apiVersion: 'v1',
            kind: 'Secret',
            metadata: { name: 's' },
            datta: {},
          }),
        });
        const broken = await cli(`plan --repo ${git.path} --name shop`);
        expect(broken).toMatchObject({
          code: 1,
          out: expect.stringMatching(/✗ UnknownField secret\.json:1@.*"\.datta"/),
        });
      } finally {
        await git.remove();
      }
    }),
    PATIENCE_MS,
  );
});

// For itself: there is one apiserver.
describe.each(GROUNDS)('command line ($api)', ({ ground }) => {
  describe('trouble', () => {
    it(
      'the apiserver restarts while one waits: the waiting goes on',
      async () => {
        const { controlPlane } = ground;
        const { cli } = await ground.scene();
        await cli('rollout pause sts/web');
        await cli('set image sts/web main=web:2');
        const printed = { status: '', watch: '' };
        const into = (name: keyof typeof printed): Partial<Io> => ({
          out: (text) => void (printed[name] += text),
        });
        const status = cli('rollout status sts/web --timeout 200s', into('status'));
        const watch = cli('watch sts/web --until-done --timeout 200s', into('watch'));
        await eventually('both have begun', () => printed.status !== '' && printed.watch !== '');
        await controlPlane().restart('kube-apiserver');
        await cli('rollout resume sts/web --no-wait');
        expect((await status).code).toBe(0);
        expect(printed.status).toMatch(/\npartitioned roll out complete: 3 new pods have been updated...\n$/);
        expect((await watch).code).toBe(0);
        expect(printed.watch).toMatch(/: 3\/3 updated and available/);
      },
      PATIENCE_MS,
    );
  });
});

describe('the built command', () => {
  it('--help brings nothing along that takes time (how much it takes is measured in bench/)', async () => {
    const main = join(await builtWorker(), 'cli', 'main.js');
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [main, '--help'], {
      env: { NODE_DEBUG: 'esm' },
      maxBuffer: 64 * 1024 * 1024,
    });
    expect(stdout).toContain('fairlead');
    const loaded = [...stderr.matchAll(/Translating \w+ file:\S*\/node_modules\/((?:@[^/]+\/)?[^/]+)/g)];
    expect([...new Set(loaded.map(([, name]) => name))]).toEqual(['commander']);
  }, 240_000);
});
