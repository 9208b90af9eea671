/** What the apiserver answers to a write of a rolling update, and what follows: look again, or say what it said. */

import { describe, expect, it } from '@jest/globals';

import { writeUpdate } from '../../../kubernetes/rolling-update-objects.ts';
import type { UpdateWrite } from '../../../planners/rolling-update-steps.ts';
import { answer } from '../../support/watch-server.ts';
import { useWatchServer } from '../../support/watch-server-ground.ts';

const ground = useWatchServer();

const GONE = 'namespaces "shop" not found';

async function write(verb: UpdateWrite['verb'], code: number, reason: string) {
  ground.server.intercept = (_, response) => {
    answer(response, code, { kind: 'Status', status: 'Failure', code, reason, message: GONE });
    return true;
  };
  const about = {
    resource: 'replicationcontrollers',
    name: 'foo',
    purpose: 'CreateNext',
    message: '',
  } as const;
  return await writeUpdate(ground.client, 'shop', { ...about, verb, body: {} });
}

describe('a write that is not done', () => {
  it.each([
    ['create', 409, 'AlreadyExists'],
    ['patch', 409, 'Conflict'],
    ['patch', 404, 'NotFound'],
    ['delete', 404, 'NotFound'],
  ] as const)('%s, %i %s: what it was planned on is not so any more', async (verb, code, reason) => {
    expect(await write(verb, code, reason)).toBe('stale');
  });

  it('a creation for which there is no namespace says so: looking again would show nothing else', async () => {
    await expect(write('create', 404, 'NotFound')).rejects.toThrow(GONE);
  });
});

describe('a patch that the apiserver has taken', () => {
  /** The answer is a controller of that version. */
  async function patch(resourceVersion: string) {
    ground.server.intercept = (_, response) => {
      answer(response, 200, { metadata: { name: 'foo', uid: 'one', resourceVersion } });
      return true;
    };
    const about = {
      resource: 'replicationcontrollers',
      name: 'foo',
      purpose: 'Annotate',
      message: '',
    } as const;
    const planned = { ...about, verb: 'patch', uid: 'one', resourceVersion: '7', body: {} } as const;
    return await writeUpdate(ground.client, 'shop', planned);
  }

  it('is not done where the object stayed as it was when the patch was planned', async () => {
    await expect(patch('7')).rejects.toThrow(
      'PATCH replicationcontrollers shop/foo: it was taken, and the object stayed as it was: a webhook or policy of admission ' +
        'takes back what it writes (kubectl get mutatingwebhookconfigurations)',
    );
  });

  it('is done where it changed, by whomever', async () => {
    expect(await patch('8')).toBe('done');
  });
});
