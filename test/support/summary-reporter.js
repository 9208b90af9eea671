/** Closes a test run with the line `N passed, N failed`. A skipped or unfinished test counts as failed: it proves nothing. */

import { mkdirSync, rmSync, writeFileSync } from 'node:fs';

const SUMMARY = '.fairlead/test-summary';

export default class SummaryReporter {
  #error;

  onRunStart() {
    rmSync(SUMMARY, { force: true });
  }

  onRunComplete(_contexts, results) {
    const skipped = results.numPendingTests + results.numTodoTests;
    const failed = results.numFailedTests + skipped + results.numRuntimeErrorTestSuites;
    if (skipped > 0) {
      this.#error = new Error(`${skipped} tests were skipped: a skipped test is a failed test`);
      console.log(this.#error.message);
    }
    const line = `${results.numPassedTests} passed, ${failed} failed`;
    mkdirSync('.fairlead', { recursive: true });
    writeFileSync(SUMMARY, `${line}\n`);
    console.log(`\n${line}`);
  }

  getLastError() {
    return this.#error;
  }
}
