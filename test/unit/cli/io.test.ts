import { describe, expect, it } from '@jest/globals';

import { colorsOf } from '../../../cli/colors.ts';
import { isLiveTerminal } from '../../../cli/io.ts';

describe('what a command paints', () => {
  it.each([
    { isTTY: true, env: {}, live: true },
    { isTTY: true, env: { TERM: 'dumb' }, live: false },
    { isTTY: true, env: { CI: 'true' }, live: false },
    { isTTY: true, env: { NO_COLOR: '1' }, live: false },
    { isTTY: true, env: { NO_COLOR: '' }, live: true },
    { isTTY: false, env: {}, live: false },
    // Node leaves it out on a pipe, and a CI or FORCE_COLOR must not paint that.
    { env: { CI: 'true', FORCE_COLOR: '1' }, live: false },
  ])('is painted and redrawn: $live for isTTY $isTTY with $env', ({ env, live, ...stream }) => {
    const is = isLiveTerminal(stream, env);
    expect(is).toBe(live);
    expect(colorsOf({ color: is }).good('✔') !== '✔').toBe(live);
  });
});
