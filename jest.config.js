import { availableParallelism } from 'node:os';

/** What a machine may be slower than the one that tests' deadlines were made on: beside others on the same processors it is, by that. */
const PATIENCE = 3;

const transform = {
  '^.+\\.ts$': [
    '@swc/jest',
    {
      jsc: { parser: { syntax: 'typescript' }, target: 'es2023' },
      module: { type: 'es6' },
    },
  ],
};

const project = (displayName, directories, extra = {}) => ({
  displayName,
  testMatch: directories.map((directory) => `<rootDir>/test/${directory}/**/*.test.ts`),
  extensionsToTreatAsEsm: ['.ts'],
  transform,
  testEnvironment: '<rootDir>/test/support/patient-environment.js',
  globals: { PATIENCE },
  ...extra,
});

/** Pure tests first: they need nothing but Node. The others start real servers. */
export default {
  // Files that start servers also wait for them: two at a time keep two cores busy for 71 % of the time, three for 90. Each has its own
  // control plane of about a gigabyte: hence no more than eight.
  maxWorkers: Math.min(Math.ceil(availableParallelism() * 1.5), 8),
  // Cases of `it.concurrent` mostly wait for servers; more of them beside another file would keep two cores from answering in time.
  maxConcurrency: 8,
  // Against hanging, not against a machine that is busy with the servers of another file.
  testTimeout: 60_000 * PATIENCE,
  testSequencer: '<rootDir>/test/support/longest-first.js',
  reporters: ['default', '<rootDir>/test/support/summary-reporter.js'],
  projects: [
    project('unit', ['planners', 'unit']),
    project('workflows', ['workflows']),
    project('e2e', ['e2e']),
    // `npm run test:full` alone (docs/decisions/two-suites.md).
    project('e2e-full', ['e2e-full']),
    // Those that measure times of less than a second: `npm test` runs them one at a time (test/support/run-all.js).
    project('e2e-alone', ['e2e-alone']),
    project('crash', ['crash']),
  ],
};
