/** What `plan` says of objects that several repositories of a file would make. */

import { describe, expect, it } from '@jest/globals';

import { contestedProblems } from '../../../cli/plan-contested.ts';
import { formatPlan } from '../../../cli/plan.ts';
import { colorsOf } from '../../../cli/colors.ts';
import { entryKey } from '../../../git/inventory-content.ts';
import type { Claim } from '../../../git/other-commits.ts';
import { inventoryEntry } from '../../../git/prepare.ts';
import { problem } from '../../../git/problems.ts';
import { repositoryFromFlags } from '../../../git/repositories.ts';
import { preparedObjects } from '../../support/commit-context.ts';

const claim = (name: string, also: Partial<Claim> = {}): Claim => ({
  repository: repositoryFromFlags({ repo: '/srv/shop', name }),
  ...also,
});

async function problemsOf(claims: readonly Claim[]) {
  const text = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"one"}}';
  const objects = await preparedObjects({ path: 'one.json', text }, () =>
    Promise.resolve({ resource: 'configmaps', namespaced: true }),
  );
  const by = new Map(objects.map((object) => [entryKey(inventoryEntry(object)), claims]));
  return contestedProblems('shop', objects, { by });
}

describe('an object that a plan creates', () => {
  it('is told where another repository creates it too', async () => {
    expect(await problemsOf([claim('web')])).toEqual([
      {
        code: 'OwnedByOther',
        object: 'ConfigMap ns/one',
        file: 'one.json',
        line: 1,
        message:
          'repository web creates this object too: the first of the two that is applied gets it, and the other is refused.',
        next: 'Leave it to one: take it out of shop or web.',
      },
    ]);
  });

  it('is told where several do', async () => {
    expect(await problemsOf([claim('web'), claim('api')])).toMatchObject([
      {
        message:
          'repositories web, api create this object too: the first of them that is applied gets it, and the others are refused.',
        next: 'Leave it to one: take it out of the others of shop, web, api.',
      },
    ]);
  });

  it.each<[string, readonly Claim[]]>([
    ['nobody else does', []],
    ['the other commit is not accepted', [claim('web', { unsigned: problem('CommitUnsigned', 'no.') })]],
  ])('is not where %s', async (_why, claims) => {
    expect(await problemsOf(claims)).toEqual([]);
  });
});

describe('the last line of a plan', () => {
  it.each([
    [
      1,
      '0 to create, 0 to change, 0 to delete, 0 unchanged; what is wanted twice is refused to all but one (1)',
    ],
    [
      0,
      '0 to create, 0 to change, 0 to delete, 0 unchanged; nothing is applied while there are problems (1)',
    ],
  ])('says what becomes of it, of problems of which %s is of such objects', async (contested, line) => {
    const problems = await problemsOf([claim('web')]);
    const plan = { repository: 'shop', url: '/srv/shop', sha: 'a', changes: [], unchanged: 0, notes: [] };
    const colors = colorsOf({ color: false });
    const text = await formatPlan({ ...plan, problems, contested }, colors);
    expect(text.trimEnd().split('\n').at(-1)).toBe(line);
  });
});
