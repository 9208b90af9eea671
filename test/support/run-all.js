/**
 * `npm test`, and with FAIRLEAD_TEST=full `npm run test:full`: all tests of the suite, in two runs of jest. Files that start servers also wait for them, so three at a time are quicker, also on two
 * cores; those of test/e2e-alone measure times of less than a second, and have the machine for themselves. With arguments, one run with
 * them. The last line is the sum (summary-reporter.js); the exit code is 0 only when both went well.
 */

import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const jest = join(createRequire(import.meta.url).resolve('jest/package.json'), '..', 'bin', 'jest.js');
const isFull = process.env['FAIRLEAD_TEST'] === 'full';
const beside = ['unit', 'workflows', 'e2e', ...(isFull ? ['e2e-full'] : [])];
const alone = ['e2e-alone'];

function run(args, environment = {}) {
  const flags = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'];
  // The processors are busy with what the tests start: threads beside that collect garbage only take turns, and cost more than they save.
  const { status } = spawnSync(process.execPath, ['--single-threaded-gc', jest, ...args], {
    stdio: 'inherit',
    env: { ...process.env, ...environment, NODE_OPTIONS: flags.join(' ') },
  });
  return status ?? 1;
}

const given = process.argv.slice(2);
if (given.length > 0) {
  process.exitCode = run([...given, '--selectProjects', ...beside, ...alone]);
} else {
  const codes = [
    run(['--selectProjects', ...beside]),
    run(['--maxWorkers', '1', '--selectProjects', ...alone], { FAIRLEAD_TEST_SUM: 'add' }),
  ];
  process.exitCode = Math.max(...codes);
}
