/** What a problem tells people to do. */

import { describe, expect, it } from '@jest/globals';

import {
  TRIED_BY_ITSELF,
  bounded,
  formatOnce,
  formatProblem,
  problem,
  withNext,
} from '../../../git/problems.ts';

import { failureMessage } from '../../../workflows/commit-end.ts';

const SHA = '0123456789abcdef0123456789abcdef01234567';

describe('why a commit failed', () => {
  const run = { sha: SHA, repository: 'shop' };
  const unknown = (line: number) =>
    problem('UnknownField', 'unknown field ".dataa".', {
      file: 'a.yaml',
      line,
      object: 'ConfigMap default/bad',
    });
  const many = (count: number) => Array.from({ length: count }, (_, index) => unknown(index + 1));

  it('names for each problem its place in the commit, and what to do', () => {
    expect(failureMessage(run, 'Refused', bounded([unknown(9)], SHA))).toBe(
      'commit 01234567: refused before its first write, one problem\n' +
        'UnknownField a.yaml:9@01234567: ConfigMap default/bad: unknown field ".dataa". Correct the name of the field.',
    );
  });

  it('says where the others are that it leaves out', () => {
    const twelve = failureMessage(run, 'Failed', bounded(many(12), SHA)).split('\n');
    expect(twelve).toHaveLength(12);
    expect(twelve[0]).toBe('commit 01234567: not everything could be done, 12 problems');
    expect(twelve[11]).toBe('… and 2 more: `fairlead get repository/shop -o yaml` shows all');
    const thirty = failureMessage(run, 'Failed', bounded(many(30), SHA)).split('\n');
    expect(thirty.at(-1)).toBe(
      '… and 20 more: `fairlead get repository/shop -o yaml` shows the first 20, `fairlead plan` all',
    );
  });

  it('is never so long that its last line would be lost', () => {
    const long = Array.from({ length: 12 }, () => problem('Invalid', 'x'.repeat(590), { file: 'a.yaml' }));
    const told = failureMessage(run, 'Refused', bounded(long, SHA));
    expect(told.length).toBeLessThanOrEqual(2_000);
    expect(told.split('\n')).toHaveLength(4);
    expect(told).toMatch(/\n… and 10 more: .* shows all$/);
  });
});

describe('the next step of a problem', () => {
  it('is told to programs as it is to people, and nothing of ours beside it', () => {
    const found = {
      ...problem('DuplicateKey', 'x is there twice.', { file: 'a.yaml', line: 3 }),
      isInFile: true,
    } as const;
    const { next, ...rest } = withNext(found);
    expect(formatProblem(found)).toBe(`DuplicateKey a.yaml:3: x is there twice. ${String(next)}`);
    expect(rest).toEqual({ code: 'DuplicateKey', message: 'x is there twice.', file: 'a.yaml', line: 3 });
  });

  const unreachable = problem('SourceUnreachable', 'git.example.com does not answer.');

  it('a worker looks again by itself', () => {
    expect(formatProblem(unreachable)).toMatch(/tried again, after the interval at the latest\.$/);
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

describe('a problem that passes by itself', () => {
  const leaving = problem('Forbidden', 'the namespace is being terminated.', {
    object: 'ConfigMap shop/a',
    next: `Wait until the namespace is gone; ${TRIED_BY_ITSELF}.`,
  });

  it('promises so where it is the only kind, and not beside one that is in the commit', () => {
    const promise = 'Wait until the namespace is gone; the commit is tried again by itself.';
    expect(bounded([leaving], SHA).lines).toEqual([expect.stringContaining(promise)]);
    const syntax = problem('YamlSyntax', 'no mapping.', { file: 'b.yaml', line: 1 });
    const { lines, first } = bounded([leaving, syntax], SHA);
    const other = 'Wait until the namespace is gone; what else is wrong with the commit needs another one.';
    expect(lines?.[0]).toContain(other);
    expect(first[0]?.next).toBe(other);
  });
});
