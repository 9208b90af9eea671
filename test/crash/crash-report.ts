/** The crash matrix as a page for readers: what was tried, what failed, how long it took. */

import { cpus } from 'node:os';

import { VERSIONS } from '../../local/versions.ts';
import { describeSite } from './crash-sites.ts';
import type { CrashSite } from './crash-sites.ts';
import { RESUME_LIMIT_MS } from './crash-verdict.ts';
import type { CrashVerdict } from './crash-verdict.ts';

export interface CampaignFacts {
  readonly durationMs: number;
  readonly parallel: number;
}

/** Markdown. @throws Error if there is nothing to report: a matrix without sites proves nothing */
export function crashReport(
  verdicts: readonly CrashVerdict[],
  { durationMs, parallel }: CampaignFacts,
): string {
  if (verdicts.length === 0) {
    throw new Error('the crash matrix had no sites');
  }
  const failed = verdicts.filter(({ faults }) => faults.length > 0);
  const missed = verdicts.filter(({ reached, faults }) => !reached && faults.length === 0);
  const killed = verdicts.length - missed.length;
  return [
    '# Crash matrix',
    '',
    '<!-- Written by `npm run test:crash`. -->',
    '',
    'The worker process gets SIGKILL before and after every API write, every activity boundary and every workflow task of whole',
    'rollouts, and another one is started. Each time: nothing is deleted twice and the budget is kept (judged from outside, by the',
    'audit log and a watch), the end is that of a run without a crash (revisions, uids, restart counts, claims, status, history),',
    `the same workflow run goes on, and it does so within ${String(RESUME_LIMIT_MS / 1000)} s of the start of the next worker.`,
    '',
    `- ${String(verdicts.length)} sites from recorded runs; killed at ${String(killed)}, failed at ${String(failed.length)}`,
    `- not come by in three tries: ${String(missed.length)} (writes that coalesce or not, by the clock)`,
    `- from the next worker's first line of log to its first write or answer: ${spread(verdicts)} (a dead worker's Lease lasts 6 s)`,
    `- ${new Date().toISOString().slice(0, 10)}, ${String(Math.round(durationMs / 60_000))} min, ${String(parallel)} at a time on ` +
      `${String(cpus().length)} cores; Kubernetes ${VERSIONS.kubernetes}, Temporal CLI ${VERSIONS.temporal}, Node ${process.versions.node}`,
    '',
    ...CRASHED_BY.flatMap(({ title, layer }) => table(title, verdicts, layer)),
    ...list('Failed', failed, ({ faults }) => `: ${faults.join('; ')}`),
    ...list('Not come by', missed, () => ''),
  ].join('\n');
}

const CRASHED_BY = [
  { title: 'API writes', layer: 'apiserver' },
  { title: 'Temporal: tasks taken, tasks answered, runs started', layer: 'temporal' },
] as const;

function table(title: string, verdicts: readonly CrashVerdict[], layer: string): readonly string[] {
  const scenarios = [...new Set(verdicts.map(({ scenario }) => scenario))];
  const here = verdicts.filter(({ site }) => site.layer === layer);
  const kinds = [...new Set(here.map(({ site }) => kindOf(site)))].sort();
  const row = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [
    `## ${title}`,
    '',
    row(['before + after', ...scenarios, 'slowest to resume']),
    row(['---', ...scenarios.map(() => '---'), '---']),
    ...kinds.map((kind) => {
      const ofKind = here.filter(({ site }) => kindOf(site) === kind);
      const counts = scenarios.map((scenario) => {
        const sides = ofKind.filter((verdict) => verdict.scenario === scenario);
        const before = sides.filter(({ site }) => site.side === 'before').length;
        return sides.length === 0 ? '' : `${String(before)} + ${String(sides.length - before)}`;
      });
      return row([`\`${kind}\``, ...counts, seconds(Math.max(...resumes(ofKind), 0))]);
    }),
    '',
  ];
}

/** With the activity's type, but without the many combinations of commands that answer a workflow task. */
function kindOf({ layer, kind, key }: CrashSite): string {
  return layer === 'apiserver' || kind === 'RespondWorkflowTaskCompleted' ? kind : key;
}

function list(
  title: string,
  verdicts: readonly CrashVerdict[],
  detail: (verdict: CrashVerdict) => string,
): readonly string[] {
  if (verdicts.length === 0) {
    return [];
  }
  const lines = verdicts.map(
    (verdict) => `- ${verdict.scenario}: ${describeSite(verdict.site)}${detail(verdict)}`,
  );
  return [`## ${title}`, '', ...lines, ''];
}

function resumes(verdicts: readonly CrashVerdict[]): readonly number[] {
  return verdicts.flatMap(({ resumedAfterMs }) => resumedAfterMs ?? []);
}

function spread(verdicts: readonly CrashVerdict[]): string {
  const times = [...resumes(verdicts)].sort((a, b) => a - b);
  const median = times[Math.floor(times.length / 2)] ?? 0;
  return `median ${seconds(median)}, at most ${seconds(times.at(-1) ?? 0)}`;
}

function seconds(milliseconds: number): string {
  return milliseconds === 0 ? '–' : `${(milliseconds / 1000).toFixed(1)} s`;
}
