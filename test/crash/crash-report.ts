/** The crash matrix as a page for readers, put together from what is kept of each scenario's last full run. */

import { definitionHash } from './crash-results.ts';
import type { CrashFigures, CrashResult } from './crash-results.ts';
import type { CrashScenario } from './crash-play.ts';
import { describeSite } from './crash-sites.ts';
import type { CrashSite } from './crash-sites.ts';
import { RESUME_LIMIT_MS } from './crash-verdict.ts';
import type { CrashVerdict } from './crash-verdict.ts';

/** A scenario of today, and what is kept of it. */
interface Entry {
  readonly scenario: ReportedScenario;
  readonly result: CrashResult | undefined;
}

type ReportedScenario = Pick<CrashScenario, 'name' | 'kind' | 'definition'>;

/**
 * Markdown. A scenario that was never run in full, or is another one since, is named as such; results of scenarios that are no
 * more are left out. `sources`: those of today (`hashOfDecidingSources`), which results may be older than. @throws Error for a result without sites: it proves nothing
 */
export function crashReport(
  scenarios: readonly ReportedScenario[],
  results: readonly CrashResult[],
  sources: string,
): string {
  const entries = scenarios.map((scenario): Entry => {
    const result = results.find((one) => one.scenario === scenario.name);
    if (result?.verdicts.length === 0 && result.figures === undefined) {
      throw new Error(`the kept run of ${scenario.name} had no sites`);
    }
    return { scenario, result };
  });
  const all = entries.flatMap(({ result }) => (result === undefined ? [] : [result]));
  const counts = all.map(countsOf);
  const sum = (of: keyof CrashFigures) => String(counts.reduce((total, one) => total + one[of], 0));
  const kinds = [...new Set(scenarios.map(({ kind }) => kind))];
  return [
    '# Crash matrix',
    '',
    '<!-- Written by `npm run test:crash` from test/crash/results. -->',
    '',
    'The worker process gets SIGKILL before and after every API write, every activity boundary and every workflow task of whole',
    'rollouts and commits, and another one is started. Each time: nothing is deleted twice and the budget is kept (judged from',
    'outside, by the audit log and a watch), the end is that of a run without a crash (revisions, uids, restart counts, claims,',
    'status, history; of a commit every object of its namespace, those of others among them, the inventory, the counts, the Events,',
    'and that nothing is written once it is recorded), the same workflow run goes on, and it does so within',
    `${String(RESUME_LIMIT_MS / 1000)} s of the start of the next worker.`,
    '',
    `- ${sum('sites')} sites from recorded runs; killed at ${sum('killed')}, failed at ${sum('failed')}`,
    `- not come by in three tries: ${sum('missed')} (writes that coalesce or not, by the clock)`,
    `- from the next worker's first line of log to its first write or answer: ${spread(all)} (a dead worker's Lease lasts 6 s)`,
    ...machines(all),
    '',
    'Each scenario is listed with its last full run: that of all its sites. A run of some of them keeps nothing. Where it was of other',
    'planners, workflows, activities, controllers, Kubernetes clients, handling of git or worker than there were when this page was',
    `written (${SOURCES_LABEL}${sources}), or does not say of which, it is stale: it proves what was so then.`,
    '',
    row([
      'scenario',
      'sites',
      'killed',
      'failed',
      'not come by',
      'resumed: median',
      'slowest',
      'stale',
      'run',
    ]),
    row(['---', '--:', '--:', '--:', '--:', '--:', '--:', '---', '---']),
    ...entries.map((entry) => summary(entry, sources)),
    '',
    ...kinds.flatMap((kind) => section(kind, all)),
    ...list('Failed', all, ({ faults }) => (faults.length > 0 ? `: ${faults.join('; ')}` : undefined)),
    ...list('Not come by', all, (verdict) => (isMissed(verdict) ? '' : undefined)),
  ]
    .join('\n')
    .trimEnd()
    .concat('\n');
}

/** What the page says before the hash of the sources that it was written with. */
const SOURCES_LABEL = 'hash of the sources: ';

/** The sources that a page was written with. */
export function sourcesOfReport(page: string): string {
  return new RegExp(`${SOURCES_LABEL}(\\w+)`).exec(page)?.[1] ?? '';
}

function summary({ scenario, result }: Entry, sources: string): string {
  if (result === undefined) {
    return row([scenario.name, '', '', '', '', '', '', '', '**never run in full**']);
  }
  const { verdicts, date, commit, minutes, parallel, definition } = result;
  const { sites, killed, failed, missed } = countsOf(result);
  const times = resumes(verdicts);
  const changed = definition === definitionHash(scenario) ? '' : '; **the scenario has changed since**';
  const took = minutes === undefined ? '' : `${String(minutes)} min, `;
  const kept = result.figures === undefined ? '' : '; only these figures were kept';
  return row([
    scenario.name,
    ...[sites, killed, failed, missed].map(String),
    seconds(times[Math.floor(times.length / 2)] ?? 0),
    seconds(times.at(-1) ?? 0),
    result.sources === sources ? '' : '**yes**',
    `${date}, ${commit}, ${took}${String(parallel)} at a time${kept}${changed}`,
  ]);
}

const CRASHED_BY = [
  { title: 'API writes', layer: 'apiserver' },
  { title: 'Temporal: tasks taken, tasks answered, runs started', layer: 'temporal' },
] as const;

function section(kind: string, all: readonly CrashResult[]): readonly string[] {
  const results = all.filter((result) => result.kind === kind && result.verdicts.length > 0);
  return results.length === 0
    ? []
    : [`## ${kind}`, '', ...CRASHED_BY.flatMap(({ title, layer }) => table(title, results, layer))];
}

function table(title: string, results: readonly CrashResult[], layer: string): readonly string[] {
  const columns = results.map(({ verdicts }) => verdicts.filter(({ site }) => site.layer === layer));
  const kinds = [...new Set(columns.flat().map(({ site }) => kindOf(site)))].sort();
  const names = results.map(({ scenario, kind }) => scenario.replace(`${kind}: `, ''));
  return [
    `### ${title}`,
    '',
    row(['before + after', ...names, 'slowest to resume']),
    row(['---', ...names.map(() => '---'), '---']),
    ...kinds.map((kind) => {
      const ofKind = columns.map((verdicts) => verdicts.filter(({ site }) => kindOf(site) === kind));
      const cells = ofKind.map((sides) => {
        const before = sides.filter(({ site }) => site.side === 'before').length;
        return sides.length === 0 ? '' : `${String(before)} + ${String(sides.length - before)}`;
      });
      return row([`\`${kind}\``, ...cells, seconds(resumes(ofKind.flat()).at(-1) ?? 0)]);
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
  results: readonly CrashResult[],
  detail: (verdict: CrashVerdict) => string | undefined,
): readonly string[] {
  const lines = results.flatMap(({ scenario, verdicts }) =>
    verdicts.flatMap((verdict) => {
      const text = detail(verdict);
      return text === undefined ? [] : [`- ${scenario}: ${describeSite(verdict.site)}${text}`];
    }),
  );
  return lines.length === 0 ? [] : [`## ${title}`, '', ...lines, ''];
}

/** Where all ran alike one line, else one for each. */
function machines(results: readonly CrashResult[]): readonly string[] {
  const different = [...new Set(results.map(({ machine }) => machine))];
  return different.map((machine) => {
    const there = results.filter((result) => result.machine === machine).map(({ scenario }) => scenario);
    return `- ${machine}${different.length === 1 ? '' : ` (${there.join(', ')})`}`;
  });
}

function countsOf({ verdicts, figures }: CrashResult): CrashFigures {
  if (figures !== undefined) return figures;
  const missed = verdicts.filter(isMissed).length;
  return {
    sites: verdicts.length,
    killed: verdicts.length - missed,
    failed: verdicts.filter(({ faults }) => faults.length > 0).length,
    missed,
  };
}

function isMissed({ reached, faults }: CrashVerdict): boolean {
  return !reached && faults.length === 0;
}

/** Shortest first. */
function resumes(verdicts: readonly CrashVerdict[]): readonly number[] {
  return verdicts.flatMap(({ resumedAfterMs }) => resumedAfterMs ?? []).sort((a, b) => a - b);
}

function spread(results: readonly CrashResult[]): string {
  const times = resumes(results.flatMap(({ verdicts }) => verdicts));
  const median = times[Math.floor(times.length / 2)] ?? 0;
  return `median ${seconds(median)}, at most ${seconds(times.at(-1) ?? 0)}`;
}

function row(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}

function seconds(milliseconds: number): string {
  return milliseconds === 0 ? '–' : `${(milliseconds / 1000).toFixed(1)} s`;
}
