import { homedir } from 'node:os';
import { join } from 'node:path';

import { describe, expect, it } from '@jest/globals';

import { cacheHome, stateHome } from '../../../kubernetes/base-directories.ts';

describe('XDG Base Directory Specification', () => {
  it('takes an absolute path', () => {
    expect(cacheHome({ XDG_CACHE_HOME: '/var/c' })).toBe('/var/c/fairlead');
    expect(stateHome({ XDG_STATE_HOME: '/var/s' })).toBe('/var/s/fairlead');
  });

  it.each([undefined, '', 'state', './state', '~/state'])('takes the default instead of %s', (value) => {
    expect(cacheHome({ XDG_CACHE_HOME: value })).toBe(join(homedir(), '.cache', 'fairlead'));
    expect(stateHome({ XDG_STATE_HOME: value })).toBe(join(homedir(), '.local', 'state', 'fairlead'));
  });
});
