/** Node, with jest's own deadlines made longer by the factor by which waits are (patience.ts): they are against hanging. */

import { TestEnvironment } from 'jest-environment-node';

/** What jest loads for each file. */
export default class PatientEnvironment extends TestEnvironment {
  /** @param {{ projectConfig: { globals: { PATIENCE: number } } }} config @param {unknown} context */
  constructor(config, context) {
    super(config, context);
    this.patience = config.projectConfig.globals.PATIENCE;
  }

  /** Of one that says nothing jest's `testTimeout` holds, which is made for a busy machine. */
  handleTestEvent(event) {
    const timed =
      event.name === 'test_start' ? event.test : event.name === 'hook_start' ? event.hook : undefined;
    if (timed?.timeout !== undefined && timed.timeout !== null) timed.timeout *= this.patience;
  }
}
