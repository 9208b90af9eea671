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
