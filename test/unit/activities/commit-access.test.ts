/** Of which commits of a signed repository the signature is asked for anew, and which wait for their source. */

import { beforeEach, describe, expect, it } from '@jest/globals';

import type { CommitActivityDependencies } from '../../../activities/commit-access.ts';
import { CommitAccess } from '../../../activities/commit-access.ts';
import { CommitReader } from '../../../git/commit.ts';
import type { Mirror } from '../../../git/mirror.ts';
import type { ProblemCode } from '../../../git/problems.ts';
import { ProblemError, problem } from '../../../git/problems.ts';
import { trusted } from '../../../kubernetes/values.ts';
import { commitContext } from '../../support/commit-context.ts';
import { answer } from '../../support/watch-server.ts';
import { useWatchServer } from '../../support/watch-server-ground.ts';

const [APPLIED, OTHER] = ['a'.repeat(40), 'b'.repeat(40)];

const ground = useWatchServer();
let access: CommitAccess;

beforeEach(async () => {
  const labels = { 'fairlead.dev/inventory': 'shop' };
  const annotations = { 'applyset.kubernetes.io/tooling': 'fairlead/v1' };
  const status = JSON.stringify({ lastSucceeded: { sha: APPLIED, at: '' } });
  ground.server.intercept = (_, response) => {
    answer(response, 200, { metadata: { name: 'x', uid: 'u', labels, annotations }, data: { status } });
    return true;
  };
  // Everybody's key was taken away.
  const mirror = trusted<Mirror>({
    verifyCommit: async () => await Promise.reject(new ProblemError(problem('SignatureRefused', 'no key.'))),
    readManifests: async () => await Promise.resolve({ files: [], problems: [] }),
  });
  access = new CommitAccess(
    trusted<CommitActivityDependencies>({ client: ground.client, mirror: () => mirror }),
  );
});

describe('a commit whose signer was withdrawn', () => {
  it.each([
    ['that was applied is what is put back', APPLIED, ['v1/ConfigMap/ns/x'], undefined],
    ['that was applied is not applied anew', APPLIED, undefined, ['SignatureRefused']],
    ['that was never applied is not what is put back', OTHER, ['v1/ConfigMap/ns/x'], ['SignatureRefused']],
  ])('%s', async (_, sha, heal, codes) => {
    const context = commitContext(ground.client);
    const content = await access.read({
      ...context,
      sha,
      repository: { ...context.repository, allowedSignersFile: '/signers' },
      heal: heal && new Set(heal),
    });
    expect(Array.isArray(content) ? content.map(({ code }) => code) : undefined).toEqual(codes);
  });
});

/** A commit that cannot be had for that reason; what the sync is told that it waits for. */
function unreadable(code: ProblemCode): {
  readonly read: Promise<unknown>;
  readonly told: readonly string[];
} {
  const told: string[] = [];
  const mirror = trusted<Mirror>({
    readManifests: async () => await Promise.reject(new ProblemError(problem(code, 'no.'))),
  });
  const reader = new CommitReader(
    () => mirror,
    (_repository, _sha, unread) => void told.push(unread?.code ?? 'nothing'),
  );
  const dependencies = { client: ground.client, mirror: () => mirror, reader };
  const read = new CommitAccess(trusted<CommitActivityDependencies>(dependencies)).read(
    commitContext(ground.client),
  );
  return { read, told };
}

it.each(['AuthenticationFailed', 'RepositoryNotFound', 'SourceRefused', 'HostKeyRefused'] as const)(
  'a commit that cannot be had for %s waits for its next try, and says why',
  async (code) => {
    const { read, told } = unreadable(code);
    await expect(read).rejects.toMatchObject({ problem: { code } });
    expect(told).toEqual([code]);
  },
);

it.each(['CommitGone', 'SourceCorrupt'] as const)(
  'a commit that cannot be had for %s is refused',
  async (code) => {
    const { read, told } = unreadable(code);
    expect(await read).toMatchObject([{ code }]);
    expect(told).toEqual([]);
  },
);
