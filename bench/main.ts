/** Entry of `npm run bench`. */

import { mkdir } from 'node:fs/promises';
import { parseArgs } from 'node:util';

import { toMessage } from '../kubernetes/api-error.ts';
import { openArena } from './arena.ts';
import { verdictOf, writeBenchmarks } from './benchmarks-document.ts';
import { COMMAND_LINE } from './command-line.ts';
import { COMMITS } from './commits.ts';
import { DISTURBED } from './disturbed.ts';
import { hashOfDecidingSources, presentCommit } from '../local/package-sources.ts';
import { describeMachine, loadAverage } from './machine.ts';
import { ONE_SIDED } from './one-sided.ts';
import { PUSH } from './push.ts';
import { keepResult } from './results.ts';
import type { Outcome, Scenario } from './scenario.ts';
import { SIDE_BY_SIDE } from './side-by-side.ts';
import { formatRows, rowsOf } from './table.ts';

const SCENARIOS: readonly Scenario[] = [
  ...SIDE_BY_SIDE,
  ...ONE_SIDED,
  ...DISTURBED,
  ...PUSH,
  ...COMMITS,
  COMMAND_LINE,
];

const USAGE = `npm run bench -- [SCENARIO…] [--runs N] [--quick] [--profile DIR]

Measures Fairlead beside the built-in controllers in one embedded control plane. Without a name: every scenario.
Results are kept in bench/results/ and shown in docs/benchmarks.md.

  --runs N       measured runs of each side (default 5)
  --quick        one run and a tenth of every size, to try the bench itself; nothing is kept
  --profile DIR  CPU profiles of the workers; nothing is kept

Scenarios:
${SCENARIOS.map(({ name, title }) => `  ${name.padEnd(28)} ${title}`).join('\n')}
`;

interface Wanted {
  readonly scenarios: readonly Scenario[];
  readonly runs: number;
  readonly quick: boolean;
  readonly profiles: string | undefined;
}

process.exitCode = await main(process.argv.slice(2));

async function main(words: readonly string[]): Promise<number> {
  let wanted: Wanted | undefined;
  try {
    wanted = parse(words);
  } catch (error) {
    process.stderr.write(`${toMessage(error)}\n\n${USAGE}`);
    return 2;
  }
  if (wanted === undefined) {
    process.stdout.write(USAGE);
    return 0;
  }
  await measure(wanted);
  return 0;
}

/** Undefined: help is wanted. */
function parse(words: readonly string[]): Wanted | undefined {
  const { values, positionals } = parseArgs({
    args: [...words],
    allowPositionals: true,
    options: {
      runs: { type: 'string' },
      quick: { type: 'boolean', default: false },
      profile: { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) return undefined;
  const runs = Number(values.runs ?? (values.quick ? 1 : 5));
  if (!Number.isInteger(runs) || runs < 1)
    throw new Error(`--runs ${String(values.runs)}: a number from 1 on`);
  const named = positionals.map((name) => {
    const found = SCENARIOS.find((scenario) => scenario.name === name);
    if (found === undefined) throw new Error(`there is no scenario "${name}"`);
    return found;
  });
  const scenarios = named.length === 0 ? SCENARIOS : named;
  return { scenarios, runs, quick: values.quick, profiles: values.profile };
}

async function measure({ scenarios, runs, quick, profiles }: Wanted): Promise<void> {
  const started = performance.now();
  const say = (line: string) => {
    const seconds = ((performance.now() - started) / 1000).toFixed(0);
    process.stderr.write(`${seconds.padStart(5)} s  ${line}\n`);
  };
  if (profiles !== undefined) await mkdir(profiles, { recursive: true });
  const commit = await presentCommit(['bench/results', 'docs/benchmarks.md']);
  const sources = await hashOfDecidingSources();
  const arena = await openArena({ profiles, say });
  try {
    for (const { name, title, run } of scenarios) {
      const before = { at: new Date().toISOString(), loadAverage: loadAverage() };
      const outcome = await run({ arena, runs, quick });
      print(title, outcome);
      if (quick || profiles !== undefined) continue;
      const made = { ...before, machine: describeMachine(), commit, sources };
      say(`kept in ${await keepResult({ scenario: name, title, ...made, ...outcome })}`);
    }
  } finally {
    await arena.close();
  }
  if (!quick && profiles === undefined)
    say(
      `${await writeBenchmarks(
        SCENARIOS.map(({ name }) => name),
        sources,
      )} is up to date`,
    );
}

function print(title: string, outcome: Outcome): void {
  const bars = outcome.bars.map((bar) => `${verdictOf(bar).padEnd(6)}  ${bar.what}: ${bar.measured}`);
  process.stdout.write(
    `\n${title}\n${outcome.conditions}\n\n${formatRows(rowsOf(outcome))}\n\n${bars.join('\n')}\n\n`,
  );
}
