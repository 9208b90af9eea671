/**
 * Closes a test run with the line `N passed, N failed`. A skipped or unfinished test counts as failed: it proves nothing. With
 * `FAIRLEAD_TEST_SUM=add` the tests of the run before are counted too.
 */

import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';

const SUMMARY = '.fairlead/test-summary';

export default class SummaryReporter {
  #error;

  #earlier = [0, 0];

  onRunStart() {
    if (process.env.FAIRLEAD_TEST_SUM === 'add') this.#earlier = earlierCounts();
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
    console.log(`\n${line}`);
  }

  getLastError() {
    return this.#error;
  }
}

/** What the run before has counted. One that never came to its end has failed. */
function earlierCounts() {
  if (!existsSync(SUMMARY)) return [0, 1];
  const [passed, failed] = readFileSync(SUMMARY, 'utf8').match(/\d+/g).map(Number);
  return [passed, failed];
}
