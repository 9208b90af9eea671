/** Entry of `npm run conformance`. */

import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

import { toMessage } from '../kubernetes/api-error.ts';
import { findBinary } from '../local/binaries.ts';
import { packageRoot } from '../local/package-root.ts';
import { writeDocument } from './document.ts';
import { openGround } from './ground.ts';
import type { Side } from './ground.ts';
import { whyNot } from './reasons.ts';
import { keepResult, readResults } from './results.ts';
import { listTests, runTest } from './upstream-tests.ts';
import type { TestResult, UpstreamTest } from './upstream-tests.ts';

const USAGE = `npm run conformance [-- --focus REGEX] [-- --baseline]

Runs upstream's sig-apps end-to-end tests, unchanged, against Fairlead as the controller of apps/v1 in an embedded control plane.
Results are kept in conformance/results/ and shown in docs/conformance.md; outputs of the tests are in .fairlead/conformance/.

  --focus REGEX  only tests whose name matches
  --baseline     with the built-in controllers: which of the tests can judge at all
  --jobs N       tests at a time (default 4); those marked [Serial] run alone whatever it is

Exit code 0: no test failed; 1: a test failed; 2: usage.
`;

interface Wanted {
  readonly side: Side;
  readonly focus: RegExp;
  readonly jobs: number;
}

const SIGNS = { passed: '✔', failed: '✗', skipped: '-' } as const;

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
  const interrupted = new AbortController();
  const interrupt = () => {
    interrupted.abort(new Error('interrupted'));
  };
  process.once('SIGINT', interrupt).once('SIGTERM', interrupt);
  try {
    return await judge(wanted, interrupted.signal);
  } catch (error) {
    process.stderr.write(
      `error: ${toMessage(interrupted.signal.aborted ? interrupted.signal.reason : error)}\n`,
    );
    return 1;
  }
}

/** Undefined: help is wanted. */
function parse(words: readonly string[]): Wanted | undefined {
  const { values } = parseArgs({
    args: [...words],
    options: {
      focus: { type: 'string', default: '' },
      baseline: { type: 'boolean', default: false },
      jobs: { type: 'string', default: '4' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) return undefined;
  const jobs = Number(values.jobs);
  if (!Number.isInteger(jobs) || jobs < 1) throw new Error(`--jobs ${values.jobs}: a number from 1 on`);
  return { side: values.baseline ? 'baseline' : 'fairlead', focus: new RegExp(values.focus), jobs };
}

/** Runs what is wanted; resolves with the exit code. */
async function judge({ side, focus, jobs }: Wanted, signal: AbortSignal): Promise<number> {
  const say = (line: string) => process.stderr.write(`${line}\n`);
  const all = await listTests(await findBinary('sig-apps-e2e', { report: say, signal }));
  const tests = all.filter(({ name }) => focus.test(name));
  if (tests.length === 0) throw new Error(`none of ${String(all.length)} tests matches ${String(focus)}`);
  const skipped = await skippedTests(side, tests);
  const results: TestResult[] = [];
  const tell = async (result: TestResult) => {
    results.push(result);
    process.stdout.write(`${lineOf(result)}\n`);
    await keepResult(side, result);
  };
  for (const result of skipped.values()) await tell(result);
  await run(
    side,
    tests.filter(({ name }) => !skipped.has(name)),
    { jobs, signal, say, tell },
  );
  say(`${await writeDocument(all)} is up to date`);
  const count = (state: TestResult['state']) => results.filter((result) => result.state === state).length;
  const failed = count('failed');
  process.stdout.write(`\n${count('passed')} passed, ${failed} failed, ${count('skipped')} skipped\n`);
  return failed === 0 ? 0 : 1;
}

/** What is not run, with why not: what no cluster without kubelets can pass, and what the built-in controllers did not pass here. */
async function skippedTests(
  side: Side,
  tests: readonly UpstreamTest[],
): Promise<ReadonlyMap<string, TestResult>> {
  if (side === 'baseline') return new Map();
  const baseline = await readResults('baseline');
  const skipped = new Map<string, TestResult>();
  for (const { name, conformance } of tests) {
    const state = baseline.get(name)?.state;
    if (state === undefined) {
      throw new Error(`there is no baseline of "${name}": npm run conformance -- --baseline --focus …`);
    }
    const reason = whyNot(name) ?? 'red with the built-in controllers too';
    if (state !== 'passed') skipped.set(name, { name, conformance, state: 'skipped', seconds: 0, reason });
  }
  return skipped;
}

interface RunOptions {
  readonly jobs: number;
  readonly signal: AbortSignal;
  readonly say: (line: string) => void;
  readonly tell: (result: TestResult) => Promise<void>;
}

async function run(side: Side, tests: readonly UpstreamTest[], options: RunOptions): Promise<void> {
  if (tests.length === 0) return;
  const { jobs, say, tell } = options;
  const broken = new AbortController();
  const signal = AbortSignal.any([options.signal, broken.signal]);
  const logs = join(packageRoot(), '.fairlead', 'conformance', side);
  await mkdir(logs, { recursive: true });
  const ground = await openGround(side, say);
  try {
    signal.throwIfAborted();
    const where = { ...ground.surroundings, signal };
    const next = (queue: UpstreamTest[]) => async () => {
      for (let test = queue.shift(); test !== undefined; test = queue.shift()) {
        await tell(await runTest(test, where, join(logs, `${test.name.replaceAll(/\W+/g, '-')}.log`)));
      }
    };
    const sideBySide = next(tests.filter(({ serial }) => !serial));
    const lanes = Array.from({ length: jobs }, async () => {
      // A test that is red is a result; what comes here ends the run.
      await sideBySide().catch((error: unknown) => broken.abort(error));
    });
    await Promise.all(lanes);
    signal.throwIfAborted();
    await next(tests.filter(({ serial }) => serial))();
  } finally {
    await ground.close();
  }
}

function lineOf({ name, state, seconds, reason }: TestResult): string {
  const time = state === 'skipped' ? '' : ` (${seconds.toFixed(0)} s)`;
  return `${SIGNS[state]} ${name}${time}${reason === undefined ? '' : `: ${reason}`}`;
}
