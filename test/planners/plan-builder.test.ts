/** Writes in back-off after a refusal, by the clock. */

import { expect, it } from '@jest/globals';

import { PlanBuilder } from '../../planners/plan-builder.ts';
import type { Action } from '../../planners/plan.ts';
import { actionKey } from '../../planners/plan.ts';

const NOW = 10_000_000;
const action: Action = {
  verb: 'create',
  resource: 'pods',
  name: 'web-0',
  body: {},
  purpose: 'ScaleUp',
  message: 'create Pod web-0',
};

it.each([
  ['waits for its time', 30_000, false],
  ['is tried at once where the clock was set back since', 3_600_000, true],
])('a refused write %s', (_, ahead, isTried) => {
  const refusal = { since: NOW + ahead - 60_000, retryAt: NOW + ahead, message: 'exceeded quota' };
  const builder = () => new PlanBuilder(new Map([[actionKey(action), refusal]]), NOW);
  expect([builder().addSteady(action), builder().addBatch(action)]).toEqual([isTried, isTried]);
});
