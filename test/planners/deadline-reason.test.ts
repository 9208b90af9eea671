/** A deadline that passes while the apiserver refuses something is not laid to the template. */

import { expect, it } from '@jest/globals';

import { blamesRefusal, withRefusal } from '../../planners/deadline-reason.ts';
import { DEADLINE_WISHER } from '../../planners/names.ts';
import type { ReasonCode } from '../../planners/plan.ts';
import { PlanBuilder } from '../../planners/plan-builder.ts';

const WISH = { by: DEADLINE_WISHER, reason: 'no progress before the deadline' };

function waitingFor(code: ReasonCode) {
  const plan = new PlanBuilder(new Map(), 0);
  plan.wait('BudgetUsed');
  plan.wait(code, { pod: 'web-2', detail: 'pods web/web-2: Forbidden: no' });
  return plan.waiting;
}

it.each<[ReasonCode, string]>([
  ['WriteRefused', 'change'],
  ['CreateRefused', 'create'],
])('%s is named, and to blame', (code, verb) => {
  const wish = withRefusal(WISH, waitingFor(code));
  expect(wish.reason).toBe(
    `${WISH.reason}: the apiserver refuses to ${verb} web-2: pods web/web-2: Forbidden: no`,
  );
  expect(blamesRefusal(wish)).toBe(true);
});

it('what else is waited for is not, nor is the refusal what an operator pauses for', () => {
  expect(withRefusal(WISH, waitingFor('PodNotReady'))).toEqual(WISH);
  expect(blamesRefusal(WISH)).toBe(false);
  const asked = { by: 'ann', reason: 'lunch' };
  expect(withRefusal(asked, waitingFor('WriteRefused'))).toEqual(asked);
});
