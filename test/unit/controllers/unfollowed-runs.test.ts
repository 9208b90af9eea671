/** Repositories that left the file at once: each one's runs are ended, whatever becomes of those of the others. */

import { expect, it } from '@jest/globals';

import { UnfollowedRuns } from '../../../controllers/unfollowed-runs.ts';
import { eventually } from '../../support/eventually.ts';

it('runs that cannot be ended are tried again, and keep no other repository waiting', async () => {
  let isStuck = true;
  const ended: string[] = [];
  const failed: unknown[] = [];
  const runs = new UnfollowedRuns({
    runs: {
      open: async () => await Promise.resolve(new Set<string>()),
      unfollow: async (name) =>
        name === 'stuck' && isStuck
          ? await Promise.reject(new Error('the query failed'))
          : await Promise.resolve(true),
    },
    isFollowed: () => false,
    receivers: () => [],
    onEnded: (name) => ended.push(name),
    onError: (_error, name) => failed.push(name),
    retryMs: 5,
  });
  runs.start();
  runs.left(['stuck', 'shop', 'infra']);
  try {
    await eventually('it is tried again', () => failed.length > 1);

    expect(ended).toEqual(['shop', 'infra']);
    expect(new Set(failed)).toEqual(new Set(['stuck']));

    isStuck = false;
    await eventually('it is ended', () => ended.includes('stuck'));
  } finally {
    await runs.stop();
  }
});
