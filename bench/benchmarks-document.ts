/** docs/benchmarks.md: written from the kept results, never by hand. */

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { packageRoot } from '../local/package-root.ts';
import { newestResults } from './results.ts';
import type { Result } from './results.ts';
import type { Bar } from './scenario.ts';
import { rowsOf } from './table.ts';

const HEAD = `# Benchmarks

Written by \`npm run bench\` from \`bench/results/\`; not edited by hand. A bar that is missed says MISSED.

Both sides run in the same embedded control plane (real etcd, apiserver, controller-manager and scheduler; simulated kubelets) and
are measured in turn: built-in, Fairlead, built-in, … *built-in* is the controller of that kind in kube-controller-manager; for
StatefulSets with the feature gate MaxUnavailableStatefulSet, without which it takes one pod at a time. *Fairlead* is one worker
process. What each wrote is counted in the apiserver's audit log, whatever the answer was; renewals of the Lease (one a second) are
not counted, as the built-in controller runs without leader election here; what only tries a write (Fairlead asks for the first pods of
a revision whether the apiserver would take them, before it takes any out of service) stores nothing, and has a line of its own. CPU and
memory are those of the worker and of kube-controller-manager, which also looks after everything else in the cluster, the pods of both sides included. Temporal actions
are counted as Temporal Cloud bills them.

Each scenario is listed with its newest result. Where that is of another worker than the one of today, or does not say of which, it is
stale: it tells what was so then.
`;

/** Writes the document anew; `sources` are those of today. Resolves with its path below the repository. */
export async function writeBenchmarks(order: readonly string[], sources: string): Promise<string> {
  const results = await newestResults();
  const known = order.flatMap((scenario) => results.get(scenario) ?? []);
  const text = benchmarksDocument(known, sources);
  await writeFile(join(packageRoot(), 'docs', 'benchmarks.md'), text);
  return 'docs/benchmarks.md';
}

/** The whole text. `sources` are those of today (`hashOfDecidingSources`), which results may be older than. */
export function benchmarksDocument(results: readonly Result[], sources: string): string {
  return [HEAD, overview(results, sources), ...results.map(section)].join('\n');
}

function overview(results: readonly Result[], sources: string): string {
  const rows = results.flatMap((result) => {
    const stale = result.sources === sources ? '' : '**yes**';
    const runs = String(runsOf(result));
    return result.bars.map((bar) => [result.scenario, bar.what, bar.measured, verdictOf(bar), runs, stale]);
  });
  return `## Bars\n\n${markdownTable([['scenario', 'bar', 'measured', '', 'runs', 'stale'], ...rows])}`;
}

/** Of each side. */
function runsOf({ samples }: Result): number {
  return samples.filter(({ side }) => side === 'fairlead').length;
}

function section(result: Result): string {
  const { cpu, cores, memoryGiB, node, versions } = result.machine;
  const programs = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  const machine = `${String(cores)} × ${cpu}, ${String(memoryGiB)} GiB; Node ${node}, ${programs.join(', ')}`;
  return [
    `## ${result.title}`,
    '',
    `\`npm run bench -- ${result.scenario}\`: ${result.conditions}.`,
    `${result.at.slice(0, 10)}, ${result.commit ?? 'commit not kept'}, runs of each side: ${String(runsOf(result))}; ${machine}; load average before it began ${String(result.loadAverage)}.`,
    '',
    markdownTable(rowsOf(result)),
  ].join('\n');
}

export function verdictOf({ met }: Bar): string {
  return met ? 'met' : 'MISSED';
}

function markdownTable(rows: readonly (readonly string[])[]): string {
  const [head = [], ...body] = rows;
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return `${[line(head), line(head.map(() => '---')), ...body.map(line)].join('\n')}\n`;
}
