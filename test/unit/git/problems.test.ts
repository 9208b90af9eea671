/** What a problem tells people to do. */

import { describe, expect, it } from '@jest/globals';

import { formatOnce, formatProblem, problem } from '../../../git/problems.ts';

describe('the next step of a problem', () => {
  const unreachable = problem('SourceUnreachable', 'git.example.com does not answer.');

  it('a worker looks again by itself', () => {
    expect(formatProblem(unreachable)).toMatch(/tried again at the next interval\.$/);
  });

  it('a command that looks once promises no other look', () => {
    expect(formatOnce(unreachable)).toBe(
      'SourceUnreachable: git.example.com does not answer. Check the address and the network, then run the command again.',
    );
    const own = problem('SourceTimeout', 'Too slow.', { next: 'Wait.' });
    expect(formatOnce(own)).toBe(formatProblem(own));
    const other = problem('PathVanished', 'deploy is not there any more.');
    expect(formatOnce(other)).toBe(formatProblem(other));
  });
});
