/** Commits of very many objects: planned, applied, applied again without a change, changed by one, pruned. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { ThrowAwayRepository } from '../demo/throw-away-repository.ts';
import { ManifestApplier } from '../local/manifests.ts';
import type { ApiWrite } from './audit-log.ts';
import { atMost, atMostInEveryRun } from './bars.ts';
import { serversOf, timeCommand } from './cli-run.ts';
import { DEPLOYER, grantDeployer } from './deployer.ts';
import type { Figures } from './figures.ts';
import { ProcessMeter } from './process-usage.ts';
import type { Bar, Outcome, Sample, Scenario, ScenarioContext } from './scenario.ts';
import { sized } from './scenario.ts';
import { FairleadSide } from './sides.ts';

/** Documents in a file. */
const FILE_SIZE = 100;
/** Exit code of `plan` when it finds differences. */
const DIFFERENCES = 4;

function commits(
  name: string,
  title: string,
  objects: number,
  bars: (samples: readonly Sample[]) => readonly Bar[],
): Scenario {
  const run = async (context: ScenarioContext): Promise<Outcome> => {
    const { arena, runs } = context;
    const count = sized(context, objects);
    const directory = await mkdtemp(join(tmpdir(), 'fairlead-bench-'));
    try {
      const repository = await ThrowAwayRepository.create(join(directory, 'shop'), directory);
      const namespace = `${name}-fairlead`;
      const repositories = join(directory, 'repositories.yaml');
      // It is looked at when the bench asks for it, so that no interval is measured.
      const entry = {
        // All scenarios share a cluster, and in it a name belongs to one source.
        name,
        url: repository.path,
        namespace,
        serviceAccount: DEPLOYER,
        interval: '24h',
      };
      await writeFile(repositories, JSON.stringify([entry]));
      const { client } = arena.controlPlane;
      await new ManifestApplier(client).apply({
        apiVersion: 'v1',
        kind: 'Namespace',
        metadata: { name: namespace },
      });
      await grantDeployer(client, namespace, { apiGroups: [''], resources: ['configmaps'] });
      await repository.commit({ 'first.yaml': manifest('first', 'a') }, 'one object');
      const side = await FairleadSide.start(arena, namespace, { repositories });
      try {
        const samples: Sample[] = [];
        for (let number = 1; number <= runs; number += 1) {
          const measured = new MeasuredRepository(context, side, repository, name);
          samples.push({ side: 'fairlead', figures: await measured.run(count, String(number)) });
          arena.say(`${name}: run ${String(number)} of ${String(runs)} is over`);
        }
        return {
          conditions: `${String(count)} ConfigMaps in ${String(Math.ceil(count / FILE_SIZE))} files; times are those of \`fairlead plan\` and \`fairlead sync\`, from start to end`,
          samples,
          bars: bars(samples),
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

/** Ends with the one object that it begins with. */
class MeasuredRepository {
  readonly #arena: ScenarioContext['arena'];
  readonly #side: FairleadSide;
  readonly #repository: ThrowAwayRepository;
  /** In the worker's file of repositories. */
  readonly #name: string;

  constructor({ arena }: ScenarioContext, side: FairleadSide, repository: ThrowAwayRepository, name: string) {
    this.#name = name;
    this.#arena = arena;
    this.#side = side;
    this.#repository = repository;
  }

  async run(count: number, version: string): Promise<Figures> {
    // What a run before has left to be done is not measured.
    await this.#sync();
    const files = filesOf(count, version);
    const empty = Object.fromEntries(Object.keys(files).map((file) => [file, '']));
    const [first = ''] = Object.keys(files);
    const meter = new ProcessMeter(this.#side.pid());
    await this.#repository.commit(files, 'all');
    const planSeconds = await this.#plan();
    const applied = await this.#sync();
    await this.#repository.commit({ 'README.md': `nothing has changed: ${version}` }, 'no change');
    const unchanged = await this.#sync();
    const changed = (files[first] ?? '').replace(`"${version}"`, `"${version}, changed"`);
    await this.#repository.commit({ [first]: changed }, 'one change');
    const one = await this.#sync();
    const { cpuSeconds, maxRssMiB } = meter.read();
    await this.#repository.commit(empty, 'all but one are gone');
    const pruned = await this.#sync();
    return {
      planSeconds,
      applySeconds: applied.seconds,
      unchangedSeconds: unchanged.seconds,
      unchangedWrites: unchanged.writes,
      changeSeconds: one.seconds,
      changeWrites: one.writes,
      pruneSeconds: pruned.seconds,
      cpuSeconds,
      maxRssMiB,
    };
  }

  async #plan(): Promise<number> {
    const { namespace } = this.#side;
    const words = ['plan', '--repo', this.#repository.path, '--name', this.#name, '-n', namespace];
    const servers = serversOf(this.#arena, this.#side.cluster);
    return (await timeCommand(words, servers, [DIFFERENCES])) / 1000;
  }

  async #sync(): Promise<{ readonly seconds: number; readonly writes: number }> {
    const mark = await this.#arena.audit.mark();
    const servers = serversOf(this.#arena, this.#side.cluster);
    const seconds = (await timeCommand(['sync', this.#name, '--timeout', '20m'], servers)) / 1000;
    const writes = await this.#arena.audit.since(mark, this.#side.user);
    return { seconds, writes: writes.filter((write) => this.#isOfObject(write)).length };
  }

  /** Dry runs change nothing; the inventory and its events are in the worker's namespace. */
  #isOfObject({ namespace, isDryRun }: ApiWrite): boolean {
    return namespace === this.#side.namespace && !isDryRun;
  }
}

function filesOf(count: number, version: string): Readonly<Record<string, string>> {
  const names = Array.from({ length: count }, (_, index) => `object-${String(index)}`);
  return Object.fromEntries(
    Array.from({ length: Math.ceil(count / FILE_SIZE) }, (_, index) => {
      const part = names.slice(index * FILE_SIZE, (index + 1) * FILE_SIZE);
      return [`part-${String(index)}.yaml`, part.map((name) => manifest(name, version)).join('---\n')];
    }),
  );
}

function manifest(name: string, version: string): string {
  return `apiVersion: v1
kind: ConfigMap
metadata:
  name: ${name}
  labels: {app.kubernetes.io/part-of: shop, app.kubernetes.io/component: settings}
data:
  version: "${version}"
  settings: |
    color=blue
    shape=round
`;
}

const noWrites = (samples: readonly Sample[]): Bar =>
  atMostInEveryRun(samples, 'unchangedWrites', 0, 'a commit that changes nothing writes nothing');

export const COMMITS: readonly Scenario[] = [
  commits('commit-1000', '1,000 objects from git', 1_000, (samples) => [
    atMost(samples, 'planSeconds', 10),
    noWrites(samples),
  ]),
  commits('commit-10000', '10,000 objects from git', 10_000, (samples) => [noWrites(samples)]),
];
