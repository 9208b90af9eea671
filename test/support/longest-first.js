/**
 * The order of test files. Those that take longest begin, so that the last ones to run are short and both lanes end together; where jest
 * has timed a file before, its own order holds among the others. A fresh clone has no timings, hence the names.
 */

import { basename } from 'node:path';

import Sequencer from '@jest/test-sequencer';

/**
 * Those that take a minute or more, longest first, but that which keeps the processors busy begins beside those that mostly wait; a name
 * that is gone, or not there yet, costs a little time only.
 */
const LONGEST = [
  'crash-sample',
  'rolling-update-git',
  'drift',
  'bootstrap',
  'faults-objects',
  'daemonset-nodes',
  'faults-servers',
  'demo',
  'repository-verbs',
  'handed-over',
  'sync',
  'faults-workers',
  'cli-wishes',
  'cli',
  'statefulset',
  'rolling-update',
  'bad-inputs',
  'faults-two-clusters',
].map((name) => `${name}.test.ts`);

/** What jest asks for the order of its files. */
export default class LongestFirst extends Sequencer {
  async sort(tests) {
    const rankOf = ({ path }) => {
      const index = path.includes('/e2e/') ? LONGEST.indexOf(basename(path)) : -1;
      return index === -1 ? LONGEST.length : index;
    };
    return [...(await super.sort(tests))].sort((a, b) => rankOf(a) - rankOf(b));
  }
}
