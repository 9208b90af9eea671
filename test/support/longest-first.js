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
  'drift',
  'rolling-update-git',
  'daemonset-nodes',
  'faults-servers',
  'demo',
  'repository-verbs',
  'faults-objects',
  'bad-inputs',
  'faults-workers',
  'rolling-update-rename',
  'rolling-update-by-hand',
  'bootstrap',
  'sync',
  'cli-wishes',
  'sync-by-hand',
  'handed-over',
  'daemonset-large',
  'git',
  'commit-to-pods',
  'deployment',
  'waves',
  'faults-two-clusters',
].map((name) => `${name}.test.ts`);

/** What jest asks for the order of its files. */
export default class LongestFirst extends Sequencer {
  async sort(tests) {
    const rankOf = ({ path }) => {
      const index = /\/e2e(-full)?\//.test(path) ? LONGEST.indexOf(basename(path)) : -1;
      return index === -1 ? LONGEST.length : index;
    };
    return [...(await super.sort(tests))].sort((a, b) => rankOf(a) - rankOf(b));
  }
}
