/** Names that a CustomResourceDefinition may not claim, over real HTTP. */

import { describe, expect, it } from '@jest/globals';

import type { CommitContent } from '../../../git/commit.ts';
import { checkNames, takenName } from '../../../git/definition-names.ts';
import { problemText } from '../../../git/problems.ts';
import { commitContext, preparedObjects } from '../../support/commit-context.ts';
import { answer } from '../../support/watch-server.ts';
import { useWatchServer } from '../../support/watch-server-ground.ts';

const ground = useWatchServer();

/** What the group serves, all of it in v1: plural, kind, short name. */
const SERVED = [
  ['widgets', 'Widget', 'wd'],
  ['gears', 'Gear', 'gr'],
] as const;

interface Names {
  readonly plural: string;
  readonly kind: string;
  readonly singular?: string;
  readonly listKind?: string;
  readonly shortNames?: readonly string[];
}

function definition(names: Names) {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${names.plural}.ex.com` },
    // Names are of the group, not of a version.
    spec: { group: 'ex.com', scope: 'Cluster', names, versions: [{ name: 'v2', served: true }] },
  };
}

/** Of a commit with those definitions. `holders`: what the apiserver answers of the definition of `widgets`. */
async function refused(
  names: readonly Names[],
  holder: { readonly code: number; readonly deletionTimestamp?: string } = { code: 200 },
): Promise<readonly string[]> {
  ground.server.intercept = ({ url: { pathname } }, response) => {
    if (pathname === '/apis/ex.com') answer(response, 200, { name: 'ex.com', versions: [{ version: 'v1' }] });
    else if (pathname === '/apis/ex.com/v1')
      answer(response, 200, {
        resources: SERVED.map(([name, kind, short]) => ({
          name,
          kind,
          singularName: kind.toLowerCase(),
          shortNames: [short],
          namespaced: true,
        })),
      });
    else if (holder.code === 200) {
      const { deletionTimestamp } = holder;
      answer(response, 200, { metadata: { name: 'x', ...(deletionTimestamp && { deletionTimestamp }) } });
    } else {
      const reason = holder.code === 403 ? 'Forbidden' : 'NotFound';
      answer(response, holder.code, { kind: 'Status', code: holder.code, reason });
    }
    return true;
  };
  const text = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: names.map(definition) });
  const objects = await preparedObjects({ path: 'all.json', text }, () =>
    Promise.resolve({ resource: 'customresourcedefinitions', namespaced: false }),
  );
  const content: CommitContent = { manifests: [], problems: [], texts: new Map() };
  const problems = await checkNames(commitContext(ground.client), content, objects, new Set(objects));
  return problems.map((problem) => `${problem.code} ${problem.object ?? ''}: ${problemText(problem)}`);
}

describe('a name of the group', () => {
  const holder = { plural: 'widgets', kind: 'Widget', listKind: 'Widgets', aliases: ['widget', 'wd'] };
  const free = { plural: 'gizmos', kind: 'Gizmo', aliases: ['gizmo'] };

  it.each([
    [{}, undefined],
    [{ kind: 'Widget' }, 'the kind Widget'],
    [{ kind: 'Widgets' }, 'the kind Widgets'],
    [{ listKind: 'Widget' }, 'the list kind Widget'],
    [{ listKind: 'Widgets' }, 'the list kind Widgets'],
    [{ plural: 'wd' }, 'the name wd'],
    [{ plural: 'widget' }, 'the name widget'],
    [{ aliases: ['gizmo', 'wd'] }, 'the name wd'],
    [{ aliases: ['widgets'] }, 'the name widgets'],
    // Kinds and the names of resources have nothing to do with each other.
    [{ aliases: ['Widget'] }, undefined],
    [{ kind: 'widget' }, undefined],
  ])('%j is that of another: %s', (claim, taken) => {
    expect(takenName({ ...free, ...claim }, holder)).toBe(taken);
  });

  it('is the list kind that nobody chose, too', () => {
    expect(
      takenName({ ...free, kind: 'WidgetList' }, { plural: 'widgets', kind: 'Widget', aliases: [] }),
    ).toBe('the kind WidgetList');
  });
});

describe('a definition of the commit', () => {
  const under = (plural: string): Names => ({ plural, kind: 'Widget', singular: plural.slice(0, -1) });

  it('that claims what the cluster serves as another one is refused, in whatever version that is', async () => {
    expect(await refused([under('parts')])).toEqual([
      'NotEstablished CustomResourceDefinition.apiextensions.k8s.io parts.ex.com: ' +
        'its names would not be accepted: the kind Widget is that of CustomResourceDefinition widgets.ex.com. ' +
        'Choose other names in `spec.names`, or have widgets.ex.com deleted first, with all its objects: ' +
        'what leaves git is deleted last, so that takes a commit of its own.',
    ]);
    expect(await refused([{ plural: 'bolts', kind: 'Bolt', shortNames: ['gr'] }])).toEqual([
      expect.stringContaining('the name gr is that of CustomResourceDefinition gears.ex.com'),
    ]);
  });

  it('that has them already, or takes none, is not', async () => {
    expect(await refused([under('widgets'), { plural: 'bolts', kind: 'Bolt' }])).toEqual([]);
  });

  it.each([
    ['is being deleted', { code: 200, deletionTimestamp: '2026-01-01T00:00:00Z' }],
    ['is gone', { code: 404 }],
    ['cannot be looked at', { code: 403 }],
  ])('is left to the apiserver where the other one %s', async (_, holder) => {
    expect(await refused([under('parts')], holder)).toEqual([]);
  });

  it('may take what the commit gives up by the definition that had it', async () => {
    expect(
      await refused([
        { plural: 'widgets', kind: 'Widget', shortNames: ['w'] },
        { plural: 'bolts', kind: 'Bolt', shortNames: ['wd'] },
      ]),
    ).toEqual([]);
  });

  it('is refused, and so is the other one, where both are of the commit', async () => {
    expect(
      await refused([
        { plural: 'bolts', kind: 'Bolt' },
        { plural: 'pins', kind: 'Bolt', singular: 'pin' },
      ]),
    ).toEqual([
      expect.stringMatching(
        /bolts\.ex\.com: .*the kind Bolt is also that of \S+ pins\.ex\.com in all\.json:\d+\. Choose other names in `spec\.names` of one of the two\.$/,
      ),
      expect.stringMatching(/pins\.ex\.com: .*the kind Bolt is also that of \S+ bolts\.ex\.com/),
    ]);
  });
});
