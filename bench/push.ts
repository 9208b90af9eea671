/** From a commit to the first write to a pod: the way that every change goes. */

import { createHmac, randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { ThrowAwayRepository } from '../demo/throw-away-repository.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { findFreePorts } from '../local/ports.ts';
import { atMostInEveryRun } from './bars.ts';
import { DEPLOYER, grantDeployer } from './deployer.ts';
import { figuresOf, secondsUntilWrite } from './figures-of.ts';
import type { Apply } from './measured-set.ts';
import { MeasuredSet } from './measured-set.ts';
import type { Outcome, Sample, Scenario, ScenarioContext } from './scenario.ts';
import { sized, tenth } from './scenario.ts';
import { FairleadSide } from './sides.ts';

const RULE = { apiGroups: ['fairlead.dev', 'apps'], resources: ['statefulsets'] };
/** A repository in a local path is looked at so often, seconds (docs/decisions/from-git.md). */
const INTERVAL_SECONDS = 2;
/** So seldom that it is the webhook that is measured. */
const LONG_INTERVAL_SECONDS = 300;
const PODS = 20;

interface Way {
  readonly name: string;
  readonly title: string;
  /** The worker is told of each commit; else it looks at its intervals. */
  readonly isTold: boolean;
  /** How it learns of a commit, in words. */
  readonly how: string;
  /** Seconds, and why. */
  readonly bar: readonly [limit: number, why: string];
}

/** After each commit: tells the worker of it, or nobody. */
type Announce = () => Promise<void>;

function push({ name, title, isTold, how, bar }: Way): Scenario {
  const namespace = `${name}-fairlead`;
  const run = async (context: ScenarioContext): Promise<Outcome> => {
    const { arena, runs } = context;
    const directory = await mkdtemp(join(tmpdir(), 'fairlead-bench-'));
    try {
      const repository = await ThrowAwayRepository.create(join(directory, 'shop'), directory);
      const repositories = join(directory, 'repositories.yaml');
      const hook = isTold ? await openHook(directory, name) : undefined;
      const entry = { name, url: repository.path, namespace, serviceAccount: DEPLOYER, ...hook?.entry };
      await writeFile(repositories, JSON.stringify([entry]));
      const metricsAddress = hook?.metricsAddress;
      const side = await FairleadSide.start(arena, namespace, { repositories, metricsAddress });
      try {
        const pods = sized(context, PODS);
        const shape = {
          kind: 'StatefulSet' as const,
          replicas: pods,
          maxUnavailable: tenth(pods),
          inPlace: false,
          simulation: { 'ready-delay': '0s' },
        };
        const apply = byCommit(arena.controlPlane.client, namespace, repository, hook?.announce);
        const set = await MeasuredSet.deploy(arena, side, shape, apply);
        const samples: Sample[] = [];
        for (let number = 1; number <= runs; number += 1) {
          const measurement = await set.roll();
          const pushedSeconds = secondsUntilWrite(measurement, measurement.appliedAt);
          samples.push({ side: 'fairlead', figures: { ...figuresOf([measurement], pods), pushedSeconds } });
          arena.say(`${name}: run ${String(number)} of ${String(runs)} is over`);
        }
        await set.remove();
        return {
          conditions: `${String(pods)} pods; a repository in a local path, ${how}`,
          samples,
          bars: [atMostInEveryRun(samples, 'pushedSeconds', ...bar)],
        };
      } finally {
        await side.stop();
      }
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  };
  return { name, title, run };
}

/** A secret, what the repositories entry says of it, and the sender. */
async function openHook(directory: string, name: string) {
  const secret = randomBytes(16).toString('hex');
  const webhookSecretFile = join(directory, 'secret');
  await writeFile(webhookSecretFile, secret);
  const metricsAddress = `127.0.0.1:${String((await findFreePorts(1))[0])}`;
  const announce: Announce = async () => {
    const body = JSON.stringify({ ref: 'refs/heads/main' });
    const { status } = await fetch(`http://${metricsAddress}/hook/${name}`, {
      method: 'POST',
      body,
      headers: { 'x-signature': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}` },
    });
    if (status !== 202) throw new Error(`the worker answers ${String(status)} to a webhook, not 202`);
  };
  return { metricsAddress, announce, entry: { webhookSecretFile, interval: LONG_INTERVAL_SECONDS } };
}

/** Commits the manifest, and tells of it; the first time it makes the account as whom the repository is applied. */
function byCommit(
  client: KubernetesClient,
  namespace: string,
  repository: ThrowAwayRepository,
  announce: Announce = async () => undefined,
): Apply {
  let granted = false;
  return async (manifest) => {
    if (!granted) await grantDeployer(client, namespace, RULE);
    granted = true;
    await repository.commit({ 'web.json': JSON.stringify(manifest) }, 'next image');
    await announce();
  };
}

export const PUSH: readonly Scenario[] = [
  push({
    name: 'push',
    title: 'From a commit to the first write to a pod',
    isTold: false,
    how: `looked at every ${String(INTERVAL_SECONDS)} s`,
    bar: [INTERVAL_SECONDS + 5, 'poll interval + 5 s'],
  }),
  push({
    name: 'push-webhook',
    title: 'From a commit that a webhook tells of to the first write to a pod',
    isTold: true,
    how: 'whose commits a webhook tells of',
    bar: [5, 'by webhook'],
  }),
];
