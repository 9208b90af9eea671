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
  testEnvironment: 'node',
  // Against hanging, not against a machine that is busy with the servers of another file.
  testTimeout: 30_000,
  ...extra,
});

/** Pure tests first: they need nothing but Node. The others start real servers. */
export default {
  // Files that start servers mostly wait for them: two at a time, also where jest would take one (two cores) or many.
  maxWorkers: 2,
  // Cases of `it.concurrent` mostly wait for servers; more of them beside another file would keep two cores from answering in time.
  maxConcurrency: 8,
  reporters: ['default', '<rootDir>/test/support/summary-reporter.js'],
  projects: [
    project('unit', ['planners', 'unit']),
    project('workflows', ['workflows']),
    project('e2e', ['e2e']),
    project('crash', ['crash']),
  ],
};
