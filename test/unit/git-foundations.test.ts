/** Waiting for definitions and namespaces over real HTTP, and giving up where it is in vain. */

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import type { CommitContext } from '../../git/commit.ts';
import type { LiveFoundation } from '../../git/foundations.ts';
import { awaitFoundations, foundationState } from '../../git/foundations.ts';
import type { PreparedObject } from '../../git/prepare.ts';
import { formatProblem } from '../../git/problems.ts';
import { KubernetesClient } from '../../kubernetes/client.ts';
import type { Condition } from '../../planners/objects.ts';
import { commitContext, preparedObjects } from '../support/commit-context.ts';
import { WatchServer, answer, plainConnection } from '../support/watch-server.ts';

const FILE = `# one definition and its object
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: things, kind: Thing}
  versions: [{name: v1, served: true, storage: true}]
---
apiVersion: example.com/v1
kind: Thing
metadata: {name: x}
`;

let server: WatchServer;
let context: CommitContext;
/** The definition's conditions; undefined: it does not exist. */
let conditions: readonly Condition[] | undefined;
/** The resource that has the kind. */
let servedAs: string | undefined;

beforeEach(async () => {
  conditions = [];
  servedAs = undefined;
  server = await WatchServer.start();
  server.intercept = ({ url }, response) => {
    if (url.pathname === '/apis/example.com/v1' && servedAs !== undefined)
      answer(response, 200, { resources: [{ name: servedAs, kind: 'Thing', namespaced: true }] });
    else if (url.pathname.endsWith('/things.example.com') && conditions !== undefined)
      answer(response, 200, { metadata: { name: 'things.example.com' }, status: { conditions } });
    else answer(response, 404, { kind: 'Status', code: 404, reason: 'NotFound' });
    return true;
  };
  context = commitContext(new KubernetesClient(plainConnection(server.url)));
});

afterEach(async () => {
  context.client.close();
  await server.stop();
});

async function prepared(): Promise<readonly PreparedObject[]> {
  return await preparedObjects({ path: 'things.yaml', text: FILE }, (_apiVersion, kind) =>
    Promise.resolve(
      kind === 'Thing' ? undefined : { resource: 'customresourcedefinitions', namespaced: false },
    ),
  );
}

async function wait(
  limitMs: number,
  onWait?: (reasons: readonly string[]) => void,
): Promise<readonly string[]> {
  const options = { limitMs, graceMs: 300, ...(onWait && { onWait }) };
  const problems = await awaitFoundations(context, await prepared(), options);
  return problems.map((item) => formatProblem(item, 'abcdef0123'));
}

const DEFINITION = 'CustomResourceDefinition.apiextensions.k8s.io things.example.com';

describe('waiting for a definition', () => {
  it('ends when it is established and its kind is served, and says meanwhile what is missing', async () => {
    const said: string[] = [];
    const problems = await wait(20_000, ([reason = '']) => {
      if (said.at(-1) !== reason) said.push(reason);
      if (said.length === 1)
        conditions = [{ type: 'Established', status: 'False', reason: 'Installing', message: 'soon' }];
      if (said.length === 2) conditions = [{ type: 'Established', status: 'True' }];
      if (said.length === 3) servedAs = 'items';
      if (said.length === 4) servedAs = 'things';
    });
    expect(problems).toEqual([]);
    expect(said).toEqual([
      `${DEFINITION}: it is not established (no condition yet)`,
      `${DEFINITION}: it is not established (Installing: soon)`,
      'Thing.example.com ns/x: example.com/v1 Thing is not served',
      'Thing.example.com ns/x: example.com/v1 Thing is not served, but as items',
    ]);
  });

  it('whose names are taken ends at its line', async () => {
    conditions = [
      {
        type: 'NamesAccepted',
        status: 'False',
        reason: 'ListKindConflict',
        message: '"ThingList" is in use',
      },
      { type: 'Established', status: 'False', reason: 'NotAccepted', message: 'not all names are accepted' },
    ];
    expect(await wait(20_000)).toEqual([
      `NotEstablished things.yaml:2@abcdef01: ${DEFINITION}: its names are not accepted: ListKindConflict: "ThingList" is in use. ` +
        'Choose other names in `spec.names`, or have the CustomResourceDefinition that has them deleted first: what leaves git is deleted last.',
    ]);
  });

  it('that is not there ends as well: the apply was refused, or it was deleted', async () => {
    conditions = undefined;
    expect(await wait(20_000)).toEqual([
      expect.stringContaining(`things.yaml:2@abcdef01: ${DEFINITION}: it is not there.`),
    ]);
  });

  it('that takes too long is a problem with the reason, and so is its kind', async () => {
    expect(await wait(500)).toEqual([
      expect.stringMatching(
        /things\.yaml:2@abcdef01: .*: it is not established \(no condition yet\) after 1 s\. See `kubectl describe`/,
      ),
    ]);
    conditions = [{ type: 'Established', status: 'True' }];
    expect(await wait(500)).toEqual([
      expect.stringMatching(
        /things\.yaml:11@abcdef01: Thing\.example\.com ns\/x: example\.com\/v1 Thing is not served after 1 s\./,
      ),
    ]);
  });
});

describe('the state of a foundation', () => {
  const live = (more: object, found: readonly Condition[] = []): LiveFoundation => ({
    metadata: { name: 'x', uid: 'u', resourceVersion: '1', ...more },
    status: { conditions: found },
  });

  it('of a Namespace is only whether it is there to stay', async () => {
    const [definition] = await prepared();
    if (definition === undefined) throw new Error('nothing was prepared');
    const namespace = { manifest: { ...definition.manifest, group: '', kind: 'Namespace' } };
    expect(foundationState(namespace, live({}))).toEqual({ state: 'usable' });
    expect(foundationState(namespace, live({ deletionTimestamp: 'now' })).state).toBe('waiting');
    // Names of a definition that works already may be refused without harm.
    const both: readonly Condition[] = [
      { type: 'NamesAccepted', status: 'False' },
      { type: 'Established', status: 'True' },
    ];
    expect(foundationState(definition, live({}, both))).toEqual({ state: 'usable' });
  });
});
