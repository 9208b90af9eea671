/** Whether what left a commit may be deleted, asked of an apiserver over real HTTP. */

import { expect, it } from '@jest/globals';

import { checkDeletes } from '../../../git/check-deletes.ts';
import type { InventoryEntry } from '../../../git/inventory-content.ts';
import { commitContext } from '../../support/commit-context.ts';
import { answer } from '../../support/watch-server.ts';
import { useWatchServer } from '../../support/watch-server-ground.ts';

const ground = useWatchServer();

const entries = ['a', 'b', 'c'].map((name): InventoryEntry => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  namespace: 'ns',
  name,
}));

/** Of an account that may delete these by name; what was asked for, in order. */
async function check(names: readonly string[], isAll = false) {
  const asked: (string | undefined)[] = [];
  ground.server.intercept = ({ url: { pathname }, body }, response) => {
    const kind = { name: 'configmaps', kind: 'ConfigMap', namespaced: true, verbs: ['delete'] };
    if (pathname === '/api/v1') answer(response, 200, { resources: [kind] });
    else {
      const { spec } = JSON.parse(body) as { spec: { resourceAttributes: { name?: string } } };
      const { name } = spec.resourceAttributes;
      asked.push(name);
      answer(response, 201, { status: { allowed: isAll || (name !== undefined && names.includes(name)) } });
    }
    return true;
  };
  const problems = await checkDeletes(commitContext(ground.client), entries);
  return { problems: problems.map(({ code, message }) => `${code}: ${message}`), asked };
}

it('of all is asked once', async () => {
  expect(await check([], true)).toEqual({ problems: [], asked: [undefined] });
});

it('of each by name, where an account has rights of single objects', async () => {
  expect(await check(['a', 'b', 'c'])).toEqual({ problems: [], asked: [undefined, 'a', 'b', 'c'] });
});

it('is refused with the first that may not be', async () => {
  const { problems, asked } = await check(['a']);
  expect(problems).toEqual([
    expect.stringMatching(
      /^Forbidden: the commit no longer holds ns\/b, but .* may not delete configmaps\.$/,
    ),
  ]);
  expect(asked).toEqual([undefined, 'a', 'b']);
});
