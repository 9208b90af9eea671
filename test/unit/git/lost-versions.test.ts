/** What a CustomResourceDefinition may not lose while objects of its commit need it. */

import { describe, expect, it } from '@jest/globals';

import { lostVersions } from '../../../git/lost-versions.ts';
import type { PreparedObject } from '../../../git/prepare.ts';
import type { Problem } from '../../../git/problems.ts';
import { problemText } from '../../../git/problems.ts';
import type { KubernetesObject } from '../../../planners/objects.ts';
import { trusted } from '../../../kubernetes/values.ts';
import { preparedObjects } from '../../support/commit-context.ts';

/** `v1`; `v1-`: it is not served. */
function definition(...versions: readonly string[]) {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'widgets.ex.com' },
    spec: {
      group: 'ex.com',
      scope: 'Namespaced',
      names: { kind: 'Widget', plural: 'widgets' },
      versions: versions.map((name) => ({ name: name.replace('-', ''), served: !name.endsWith('-') })),
    },
  };
}

/** Who has written an object: `fairlead/Apply/v1`. */
const written = (...entries: readonly string[]) =>
  trusted<KubernetesObject>({
    metadata: {
      managedFields: entries.map((entry) => {
        const [manager, operation, version] = entry.split('/');
        return { manager, operation, apiVersion: `ex.com/${version}` };
      }),
    },
  });

/** Of a commit with that definition, and with objects in a version each. */
async function lost(
  after: object,
  before: object,
  objects: readonly { readonly in: string; readonly live?: KubernetesObject }[],
): Promise<readonly Problem[]> {
  const widgets = objects.map(({ in: version }, index) => ({
    apiVersion: `ex.com/${version}`,
    kind: 'Widget',
    metadata: { name: `w${index}` },
  }));
  const text = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [after, ...widgets] });
  const prepared = await preparedObjects({ path: 'all.json', text }, (_, kind) =>
    Promise.resolve({ resource: `${kind.toLowerCase()}s`, namespaced: kind === 'Widget' }),
  );
  const named = (name: string): PreparedObject => {
    const found = prepared.find(({ manifest }) => manifest.name === name);
    if (found === undefined) throw new Error(`no ${name}`);
    return found;
  };
  const members = objects.map(({ live }, index) => ({ object: named(`w${index}`), live }));
  return lostVersions(named('widgets.ex.com'), trusted<KubernetesObject>(before), members);
}

const texts = async (...args: Parameters<typeof lost>) => (await lost(...args)).map(problemText);

const OWN = written('fairlead/Apply/v1');

describe('a version that leaves its definition', () => {
  const [before, after] = [definition('v1', 'v2'), definition('v2')];

  it('is refused while git has applied objects under it, wherever the commit has them by now', async () => {
    const problems = await lost(after, before, [{ in: 'v2', live: OWN }]);
    expect(problems).toMatchObject([
      { code: 'VersionInUse', object: expect.stringContaining('widgets.ex.com'), file: 'all.json' },
    ]);
    expect(problems.map(problemText)).toEqual([
      'spec.versions lacks v1, and metadata.managedFields of Widget.ex.com ns/w0 names it: the apiserver could apply nothing there any more. ' +
        'Leave v1 in, and first only move the objects to another version; when that commit is applied, take v1 out with the next.',
    ]);
  });

  it('names a few of many', async () => {
    const [text] = await texts(
      after,
      before,
      Array.from({ length: 5 }, () => ({ in: 'v2', live: OWN })),
    );
    expect(text).toContain(
      'of Widget.ex.com ns/w0, Widget.ex.com ns/w1, Widget.ex.com ns/w2 and 2 more names it',
    );
  });

  it('is refused for what others have written under it, with what takes that out', async () => {
    const live = written('fairlead/Apply/v2', 'operator/Update/v2', 'operator/Update/v1');
    const operations = [
      { op: 'test', path: '/metadata/managedFields/2/manager', value: 'operator' },
      { op: 'test', path: '/metadata/managedFields/2/operation', value: 'Update' },
      { op: 'test', path: '/metadata/managedFields/2/apiVersion', value: 'ex.com/v1' },
      { op: 'remove', path: '/metadata/managedFields/2' },
    ];
    expect(await texts(after, before, [{ in: 'v2', live }])).toEqual([
      expect.stringMatching(
        /Leave v1 in until nothing is written under it\. What others than git have written/,
      ),
    ]);
    const [text] = await texts(after, before, [{ in: 'v2', live }]);
    expect(text).toContain(
      `changes no value: kubectl patch widgets.ex.com w0 -n ns --type=json -p '${JSON.stringify(operations)}'`,
    );
  });

  it('may go when the objects are moved, are not there yet, or leave with the same commit', async () => {
    expect(await lost(after, before, [{ in: 'v2', live: written('fairlead/Apply/v2') }])).toEqual([]);
    expect(await lost(after, before, [{ in: 'v2' }])).toEqual([]);
    expect(await lost(after, before, [])).toEqual([]);
  });

  it('is refused while the commit has an object under it', async () => {
    const problems = await lost(after, before, [{ in: 'v1' }]);
    expect(problems).toMatchObject([{ isInFile: true }]);
    expect(problems.map(problemText)).toEqual([
      'spec.versions lacks v1, and the commit has Widget.ex.com ns/w0 under it. Write these under a version that is served, or leave v1 served.',
    ]);
  });
});

describe('a version that is served no more', () => {
  const [before, after] = [definition('v1', 'v2'), definition('v1-', 'v2')];

  it('is still converted to: what was written under it can be applied under another', async () => {
    expect(await lost(after, before, [{ in: 'v2', live: OWN }])).toEqual([]);
  });

  it('is refused while the commit has an object under it', async () => {
    expect(await texts(after, before, [{ in: 'v1', live: OWN }])).toEqual([
      expect.stringContaining(
        'spec.versions does not serve v1, and the commit has Widget.ex.com ns/w0 under it',
      ),
    ]);
  });
});
