/** Of which commits of a signed repository the signature is asked for anew. */

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import type { CommitActivityDependencies } from '../../../activities/commit-access.ts';
import { CommitAccess } from '../../../activities/commit-access.ts';
import type { Mirror } from '../../../git/mirror.ts';
import { ProblemError, problem } from '../../../git/problems.ts';
import { KubernetesClient } from '../../../kubernetes/client.ts';
import { trusted } from '../../../kubernetes/values.ts';
import { commitContext } from '../../support/commit-context.ts';
import { WatchServer, answer, plainConnection } from '../../support/watch-server.ts';

const [APPLIED, OTHER] = ['a'.repeat(40), 'b'.repeat(40)];

let server: WatchServer;
let client: KubernetesClient;
let access: CommitAccess;

beforeEach(async () => {
  server = await WatchServer.start();
  client = new KubernetesClient(plainConnection(server.url));
  const labels = { 'fairlead.dev/inventory': 'shop' };
  const annotations = { 'applyset.kubernetes.io/tooling': 'fairlead/v1' };
  const status = JSON.stringify({ lastSucceeded: { sha: APPLIED, at: '' } });
  server.intercept = (_, response) => {
    answer(response, 200, { metadata: { name: 'x', uid: 'u', labels, annotations }, data: { status } });
    return true;
  };
  // Everybody's key was taken away.
  const mirror = trusted<Mirror>({
    verifyCommit: async () => await Promise.reject(new ProblemError(problem('SignatureRefused', 'no key.'))),
    readManifests: async () => await Promise.resolve({ files: [], problems: [] }),
  });
  access = new CommitAccess(trusted<CommitActivityDependencies>({ client, mirror: () => mirror }));
});
afterEach(async () => {
  client.close();
  await server.stop();
});

describe('a commit whose signer was withdrawn', () => {
  it.each([
    ['that was applied is what is put back', APPLIED, ['v1/ConfigMap/ns/x'], undefined],
    ['that was applied is not applied anew', APPLIED, undefined, ['SignatureRefused']],
    ['that was never applied is not what is put back', OTHER, ['v1/ConfigMap/ns/x'], ['SignatureRefused']],
  ])('%s', async (_, sha, heal, codes) => {
    const context = commitContext(client);
    const content = await access.read({
      ...context,
      sha,
      repository: { ...context.repository, allowedSignersFile: '/signers' },
      heal: heal && new Set(heal),
    });
    expect(Array.isArray(content) ? content.map(({ code }) => code) : undefined).toEqual(codes);
  });
});
