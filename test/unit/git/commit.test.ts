/** What of a commit is looked at by a run that puts objects back. */

import { describe, expect, it } from '@jest/globals';

import type { CommitContent, CommitContext } from '../../../git/commit.ts';
import { prepareCommit } from '../../../git/commit.ts';
import { ManifestReader } from '../../../git/manifests.ts';
import { trusted } from '../../../kubernetes/values.ts';

const FILE = `apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
---
apiVersion: v1
kind: Secret
metadata: {name: token}
---
apiVersion: gone.example/v1
kind: Gadget
metadata: {name: lever}
`;

function contentOf(text: string): CommitContent {
  const reader = new ManifestReader();
  for (const _document of reader.read({ path: 'all.yaml', text }));
  return reader;
}

/** A cluster from which the kind Gadget was taken. */
const contextOf = (heal?: readonly string[]) =>
  trusted<CommitContext>({
    repository: { namespace: 'shop' },
    heal: heal && new Set(heal),
    discovery: {
      find: async (_: string, kind: string) =>
        await Promise.resolve(
          kind === 'Gadget' ? undefined : { resource: `${kind.toLowerCase()}s`, namespaced: true },
        ),
      groupVersions: async () => await Promise.resolve([]),
    },
  });

describe('a kind that was taken from the cluster', () => {
  it.each([
    ['a commit', undefined, ['settings', 'token'], ['UnknownKind']],
    ['no other object that is put back', ['/ConfigMap/shop/settings'], ['settings'], []],
    [
      'one of it that is put back',
      ['/ConfigMap/shop/settings', 'gone.example/Gadget/shop/lever'],
      ['settings'],
      ['UnknownKind'],
    ],
  ])('holds up %s', async (_, heal, names, codes) => {
    const { objects, problems } = await prepareCommit(contextOf(heal), contentOf(FILE));
    expect(objects.map(({ manifest }) => manifest.name)).toEqual(names);
    expect(problems.map(({ code }) => code)).toEqual(codes);
  });
});
