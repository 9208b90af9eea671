/** From a commit to the first write to a pod: the way that every change goes. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { ThrowAwayRepository } from '../demo/throw-away-repository.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { atMost } from './bars.ts';
import { DEPLOYER, grantDeployer } from './deployer.ts';
import { figuresOf, secondsUntilWrite } from './figures-of.ts';
import type { Apply } from './measured-set.ts';
import { MeasuredSet } from './measured-set.ts';
import type { Outcome, Sample, Scenario, ScenarioContext } from './scenario.ts';
import { sized, tenth } from './scenario.ts';
import { FairleadSide } from './sides.ts';

const NAME = 'push';
const NAMESPACE = `${NAME}-fairlead`;
const RULE = { apiGroups: ['fairlead.dev', 'apps'], resources: ['statefulsets'] };
/** A repository in a local path is looked at so often, seconds (docs/decisions/from-git.md). */
const INTERVAL_SECONDS = 2;
const PODS = 20;

async function run(context: ScenarioContext): Promise<Outcome> {
  const { arena, runs } = context;
  const directory = await mkdtemp(join(tmpdir(), 'fairlead-bench-'));
  try {
    const repository = await ThrowAwayRepository.create(join(directory, 'shop'), directory);
    const repositories = join(directory, 'repositories.yaml');
    const entry = { name: NAME, url: repository.path, namespace: NAMESPACE, serviceAccount: DEPLOYER };
    await writeFile(repositories, JSON.stringify([entry]));
    const side = await FairleadSide.start(arena, NAMESPACE, repositories);
    try {
      const pods = sized(context, PODS);
      const shape = {
        kind: 'StatefulSet' as const,
        replicas: pods,
        maxUnavailable: tenth(pods),
        inPlace: false,
        simulation: { 'ready-delay': '0s' },
      };
      const apply = byCommit(arena.controlPlane.client, repository);
      const set = await MeasuredSet.deploy(arena, side, shape, apply);
      const samples: Sample[] = [];
      for (let number = 1; number <= runs; number += 1) {
        const measurement = await set.roll();
        const pushedSeconds = secondsUntilWrite(measurement, measurement.appliedAt);
        samples.push({ side: 'fairlead', figures: { ...figuresOf([measurement], pods), pushedSeconds } });
        arena.say(`${NAME}: run ${String(number)} of ${String(runs)} is over`);
      }
      await set.remove();
      return {
        conditions: `${String(pods)} pods; a repository in a local path, looked at every ${String(INTERVAL_SECONDS)} s`,
        samples,
        bars: [atMost(samples, 'pushedSeconds', INTERVAL_SECONDS + 5, 'poll interval + 5 s')],
      };
    } finally {
      await side.stop();
    }
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** Commits the manifest; the first time it makes the account as whom the repository is applied. */
function byCommit(client: KubernetesClient, repository: ThrowAwayRepository): Apply {
  let granted = false;
  return async (manifest) => {
    if (!granted) await grantDeployer(client, NAMESPACE, RULE);
    granted = true;
    await repository.commit({ 'web.json': JSON.stringify(manifest) }, 'next image');
  };
}

export const PUSH: Scenario = { name: NAME, title: 'From a commit to the first write to a pod', run };
