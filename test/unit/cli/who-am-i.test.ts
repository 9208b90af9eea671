/** Under which name a wish is signed. Over real HTTP. */

import { expect, it } from '@jest/globals';

import type { Session } from '../../../cli/session.ts';
import { whoAmI } from '../../../cli/who-am-i.ts';
import { useWatchServer } from '../../support/watch-server-ground.ts';
import { answer } from '../../support/watch-server.ts';

const ground = useWatchServer();

async function ask(status: number, body: unknown): Promise<string | undefined> {
  ground.server.intercept = (_, response) => {
    answer(response, status, body);
    return true;
  };
  const session: Pick<Session, 'client'> = { client: ground.client };
  return await whoAmI(session as Session);
}

it('is the user that the apiserver knows', async () => {
  expect(await ask(201, { status: { userInfo: { username: 'ann' } } })).toBe('ann');
});

it.each([
  ['a webhook cannot be called', 500, 'InternalError', 'failed calling webhook "x.example.com": refused'],
  ['a webhook denies it', 400, 'BadRequest', 'admission webhook "x.example.com" denied the request: no'],
  ['it may not be asked', 403, 'Forbidden', 'selfsubjectreviews is forbidden'],
])('is not known where %s: the wish is written without it', async (_, code, reason, message) => {
  expect(await ask(code, { kind: 'Status', code, reason, message })).toBeUndefined();
});

it('is an error where the apiserver does not know who asks', async () => {
  await expect(
    ask(401, { kind: 'Status', code: 401, reason: 'Unauthorized', message: 'Unauthorized' }),
  ).rejects.toMatchObject({ status: 401 });
});
