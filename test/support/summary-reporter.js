/**
 * Closes a test run with the line `N passed, N failed`. A skipped or unfinished test counts as failed: it proves nothing. With
 * `FAIRLEAD_TEST_SUM=add` the tests of the run before are counted too. Before that line comes a line for each test that failed, and what
 * is known of workers that ended by themselves: of a long log often only the end is kept.
 */

import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import { stripVTControlCharacters } from 'node:util';

const SUMMARY = '.fairlead/test-summary';
/** Lines of what went wrong, also by processes of tests (worker-process.ts). */
const TROUBLES = '.fairlead/test-troubles';

export default class SummaryReporter {
  #error;

  #earlier = [0, 0];

  onRunStart() {
    if (process.env.FAIRLEAD_TEST_SUM === 'add') this.#earlier = earlierCounts();
    else rmSync(TROUBLES, { force: true });
    rmSync(SUMMARY, { force: true });
  }

  onRunComplete(_contexts, results) {
    const skipped = results.numPendingTests + results.numTodoTests;
    const failed = results.numFailedTests + skipped + results.numRuntimeErrorTestSuites;
    if (skipped > 0) {
      this.#error = new Error(`${skipped} tests were skipped: a skipped test is a failed test`);
      console.log(this.#error.message);
    }
    const [passedEarlier, failedEarlier] = this.#earlier;
    const line = `${passedEarlier + results.numPassedTests} passed, ${failedEarlier + failed} failed`;
    mkdirSync('.fairlead', { recursive: true });
    writeFileSync(SUMMARY, `${line}\n`);
    writeFileSync(TROUBLES, results.testResults.flatMap(failuresOf).join(''), { flag: 'a' });
    console.log(`\n${readFileSync(TROUBLES, 'utf8')}${line}`);
  }

  getLastError() {
    return this.#error;
  }
}

/** A line for each test of a file that failed, and for a file that could not run. */
function failuresOf({ testFilePath, testExecError, testResults }) {
  const file = relative(process.cwd(), testFilePath);
  const failed = testResults.filter(({ status }) => status === 'failed');
  return [
    ...(testExecError ? [`failed: ${file}: ${inOneLine(testExecError.message)}\n`] : []),
    ...failed.map(
      ({ fullName, failureMessages }) => `failed: ${file}: ${fullName}: ${inOneLine(failureMessages[0])}\n`,
    ),
  ];
}

/** What was expected and what came is told too, of a few lines; where in the code is in the log. */
function inOneLine(text = '') {
  const lines = stripVTControlCharacters(text).split('\n');
  const stack = lines.findIndex((line) => /^\s+at /.test(line));
  const message = lines.slice(0, stack < 0 ? lines.length : stack).map((line) => line.trim());
  return message
    .filter((line) => line !== '')
    .slice(0, 24)
    .join(' | ')
    .slice(0, 2_500);
}

/** What the run before has counted. One that never came to its end has failed. */
function earlierCounts() {
  if (!existsSync(SUMMARY)) return [0, 1];
  const [passed, failed] = readFileSync(SUMMARY, 'utf8').match(/\d+/g).map(Number);
  return [passed, failed];
}
