import { expect, it } from '@jest/globals';

import { ProgressClock } from '../../../controllers/progress-clock.ts';

it('begins with the leader, stands still without Temporal, begins anew when that is back', () => {
  let now = 1_000;
  let answers = true;
  const clock = new ProgressClock({ temporalAnswers: () => answers, now: () => now });
  now = 2_000;
  expect(clock.read()).toEqual({ clockFrom: 1_000, clockStopped: false });
  answers = false;
  expect(clock.read()).toEqual({ clockFrom: 1_000, clockStopped: true });
  answers = true;
  now = 3_000;
  expect(clock.read()).toEqual({ clockFrom: 3_000, clockStopped: false });
  now = 4_000;
  expect(clock.read()).toEqual({ clockFrom: 3_000, clockStopped: false });
});
