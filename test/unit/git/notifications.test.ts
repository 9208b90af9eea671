/** What receivers get, over real connections; and what a repositories entry may say of them. */

import { createHmac } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import type { CommitNews, Receiver } from '../../../git/notifications.ts';
import { NewsRefusedError, NewsUnansweredError, notify } from '../../../git/notifications.ts';
import { parseRepositories } from '../../../git/repositories.ts';
import { GitServer } from '../../support/git-server.ts';
import { ReceivingServer } from '../../support/receiving-server.ts';

const SECRET = 'planted-receiver-secret';
const SHA = '0123456789abcdef0123456789abcdef01234567';

let folder: string;
let server: ReceivingServer;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fairlead-notify-'));
  await writeFile(join(folder, 'secret'), `${SECRET}\n`);
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});
beforeEach(async () => {
  server = await ReceivingServer.start();
  await writeFile(join(folder, 'slack'), server.url('/hooks/planted'));
});
afterEach(async () => {
  await server.stop();
});

const news = (more: Partial<CommitNews> = {}): CommitNews => ({
  sha: SHA,
  outcome: 'Succeeded',
  delivery: 'd-1',
  ...more,
});

function receiver(type: Receiver['type']): Receiver {
  const secret = join(folder, 'secret');
  return {
    github: { id: type, type, api: server.url('/api'), tokenFile: secret },
    gitlab: { id: type, type, api: server.url('/api'), tokenFile: secret },
    gitea: { id: type, type, api: server.url('/api'), tokenFile: secret },
    slack: { id: type, type, urlFile: join(folder, 'slack') },
    webhook: { id: type, type, url: server.url('/events'), secretFile: secret },
  }[type];
}

const shop = { cluster: 'blue', name: 'shop', url: 'ssh://git@git.example.com:2222/team/shop.git' };

async function tell(type: Receiver['type'], what = news()) {
  await notify(receiver(type), shop, what);
  const [got] = server.received;
  return {
    path: got?.path,
    headers: got?.headers ?? {},
    body: JSON.parse(got?.body ?? '') as unknown,
    text: got?.body ?? '',
  };
}

describe('a commit status', () => {
  it.each([
    ['github', `/api/repos/team/shop/statuses/${SHA}`, 'authorization', `Bearer ${SECRET}`],
    ['gitea', `/api/repos/team/shop/statuses/${SHA}`, 'authorization', `token ${SECRET}`],
    ['gitlab', `/api/projects/team%2Fshop/statuses/${SHA}`, 'private-token', SECRET],
  ] as const)('at %s', async (type, path, header, value) => {
    const got = await tell(type);
    expect(got.path).toBe(path);
    expect(got.headers[header]).toBe(value);
    const name = type === 'gitlab' ? 'name' : 'context';
    const description = 'applied, and its rollouts are done';
    expect(got.body).toEqual({ state: 'success', [name]: 'fairlead/blue/shop', description });
  });

  it.each([
    ['Pending', 'pending', 'running'],
    ['Refused', 'failure', 'failed'],
    ['Failed', 'failure', 'failed'],
    ['Superseded', 'error', 'canceled'],
    ['Canceled', 'error', 'canceled'],
    ['Terminated', 'error', 'canceled'],
  ] as const)('%s is %s, or %s', async (outcome, github, gitlab) => {
    await notify(receiver('github'), shop, news({ outcome }));
    await notify(receiver('gitlab'), shop, news({ outcome }));
    expect(server.received.map(({ body }) => (JSON.parse(body) as { state: string }).state)).toEqual([
      github,
      gitlab,
    ]);
  });

  it('of another cluster has another context', async () => {
    await notify(receiver('github'), shop, news());
    await notify(receiver('github'), { ...shop, cluster: 'green' }, news());
    const contexts = server.received.map(({ body }) => (JSON.parse(body) as { context: string }).context);
    expect(contexts).toEqual(['fairlead/blue/shop', 'fairlead/green/shop']);
  });

  it('has one line that the server takes', async () => {
    const { body } = await tell(
      'github',
      news({ outcome: 'Refused', message: `${'x'.repeat(200)}\nsecond` }),
    );
    expect(body).toMatchObject({ description: `${'x'.repeat(139)}…` });
  });
});

describe('a commit status of a refusal', () => {
  it.each([
    [
      'YamlSyntax deploy/a.yaml:7@01234567: the mapping has no end. Correct it.',
      'YamlSyntax deploy/a.yaml:7@01234567',
    ],
    ['Conflict a.yaml:1@01234567: ConfigMap shop/a: "x" owns .data.a.', 'Conflict a.yaml:1@01234567'],
    ['CommitUnsigned commit 01234567: it is not signed.', 'CommitUnsigned commit 01234567'],
    ['NoManifests: the repository holds none.', 'NoManifests'],
  ])('names the first problem and its place: %j', async (line, place) => {
    const head = 'commit 01234567: refused before its first write, 2 problems';
    const { body } = await tell('github', news({ outcome: 'Refused', message: `${head}\n${line}\nmore` }));
    expect(body).toMatchObject({ description: `${head}: ${place}` });
  });
});

describe('Slack and webhooks', () => {
  it('Slack gets a line in which nothing is markup', async () => {
    const { path, text } = await tell('slack', news({ outcome: 'Failed', message: '<!channel> & co' }));
    expect(path).toBe('/hooks/planted');
    expect(text).toBe(JSON.stringify({ text: '✗ shop on blue at 01234567: &lt;!channel&gt; &amp; co' }));
  });

  it('say how many news before were given up', async () => {
    expect((await tell('slack', news({ missed: 3 }))).body).toEqual({
      text: expect.stringMatching(/\n\(3 news before this could not be delivered\)$/),
    });
    await notify(receiver('webhook'), shop, news({ missed: 3 }));
    expect(JSON.parse(server.received.at(-1)?.body ?? '')).toMatchObject({ missed: 3 });
  });

  it('a webhook is signed, and the same at every try', async () => {
    const got = await tell('webhook', news({ outcome: 'Refused', message: 'no' }));
    expect(got.headers['x-signature']).toBe(
      `sha256=${createHmac('sha256', SECRET).update(got.text).digest('hex')}`,
    );
    expect(got.headers['x-fairlead-delivery']).toBe('d-1');
    expect(got.body).toEqual({
      apiVersion: 'hooks.fairlead.dev/v1',
      kind: 'CommitNews',
      cluster: 'blue',
      repository: 'shop',
      url: shop.url,
      sha: SHA,
      outcome: 'Refused',
      message: 'no',
    });
  });

  it.each([
    ['Pending', 'is being applied'],
    ['Succeeded', 'applied, and its rollouts are done'],
    ['Superseded', 'superseded'],
  ] as const)('a webhook is told in words that it is %s', async (outcome, message) => {
    expect((await tell('webhook', news({ outcome }))).body).toMatchObject({ outcome, message });
  });
});

describe('a receiver that cannot be told', () => {
  it.each([500, 404, 302])('with status %d is named, without any secret', async (status) => {
    server.answers[0] = status;
    for (const type of ['github', 'slack', 'webhook'] as const)
      await expect(notify(receiver(type), shop, news())).rejects.toThrow(
        `${type} of repository shop answered with status ${String(status)}`,
      );
    // A redirect is not followed: the token would go along.
    expect(server.received.map(({ path }) => path)).not.toContain('/elsewhere');
  });

  it.each([
    [404, true],
    [401, true],
    [302, true],
    [429, false],
    [408, false],
    [503, false],
  ])('with status %d is given up at once: %s', async (status, isFinal) => {
    server.answers[0] = status;
    const error: unknown = await notify(receiver('webhook'), shop, news()).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(Error);
    expect(error instanceof NewsRefusedError).toBe(isFinal);
  });

  it('that is away, or whose address is none, is named, without it', async () => {
    await writeFile(join(folder, 'slack'), 'http://127.0.0.1:1/hooks/planted');
    const away = notify(receiver('slack'), shop, news());
    await expect(away).rejects.toThrow('slack of repository shop cannot be told: ECONNREFUSED');
    await writeFile(join(folder, 'slack'), 'planted, no address');
    const none = notify(receiver('slack'), shop, news());
    await expect(none).rejects.toThrow('slack of repository shop cannot be told: ERR_INVALID_URL');
  });

  it('whose certificate is not trusted is named by its host alone, with what helps', async () => {
    const https = await GitServer.start(folder);
    try {
      const url = new URL(https.url('planted'));
      await writeFile(join(folder, 'slack'), url.href);
      const error: unknown = await notify(receiver('slack'), shop, news()).catch((reason: unknown) => reason);
      expect(String(error)).toContain(
        `slack of repository shop cannot be told: the certificate of ${url.host} is not trusted (DEPTH_ZERO_SELF_SIGNED_CERT): if its authority is one of your own, name`,
      );
      expect(String(error)).not.toContain('planted');
      https.behaviour = 200;
      await notify({ ...receiver('slack'), caFile: https.caFile }, shop, news());
      expect(https.requests.map(({ path }) => path)).toEqual([url.pathname]);
    } finally {
      await https.stop();
    }
  });

  it.each([
    ['gitea', '/api/v1/repos/ada/shop/statuses/'],
    ['gitlab', '/api/v4/projects/ada%2Fshop/statuses/'],
    ['github', '/api/v3/repos/ada/shop/statuses/'],
  ] as const)('(%s) whose https has a port of its own is told there', async (type, path) => {
    const https = await GitServer.start(folder);
    try {
      https.behaviour = 200;
      const { api: _, ...usual } = receiver(type);
      const source = { ...shop, url: https.url('ada/shop.git') };
      await notify({ ...usual, caFile: https.caFile }, source, news());
      expect(https.requests.map((request) => request.path)).toEqual([`${path}${SHA}`]);
    } finally {
      await https.stop();
    }
  });

  it('that hangs is given up when the activity is', async () => {
    server.answers[0] = 'hang';
    const signal = AbortSignal.timeout(100);
    await expect(notify(receiver('webhook'), shop, news(), { signal })).rejects.toThrow(
      'webhook of repository shop cannot be told: given up',
    );
  });

  it.each([
    ['hang', 'did not answer within 0.2 s'],
    ['reset', 'broke the connection before it answered'],
    [504, 'answered with status 504'],
  ] as const)(
    'that may have taken it, without an answer (%s), is told so in words',
    async (answer, words) => {
      server.answers[0] = answer;
      const told = notify(receiver('webhook'), shop, news(), { timeoutMs: 200 });
      const error: unknown = await told.catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(NewsUnansweredError);
      expect((error as Error).message).toBe(
        `webhook of repository shop ${words} (it should answer first, and work then)`,
      );
    },
  );
});

describe('a receiver that is slow', () => {
  it('has its six seconds', async () => {
    server.answerAfterMs = 6_000;
    await notify(receiver('slack'), shop, news());
    expect(server.received.length).toBe(1);
  }, 10_000);

  it.each(['github', 'gitlab', 'gitea', 'slack', 'webhook'] as const)(
    '(%s) sees by a header what it has had already',
    async (type) => {
      expect((await tell(type)).headers['x-fairlead-delivery']).toBe('d-1');
    },
  );
});

describe('the key notify', () => {
  const parse = (list: readonly object[], url = 'https://git.example.com/team/shop') =>
    parseRepositories(JSON.stringify([{ url, notify: list }]), '/etc/fairlead/repositories.yaml');

  it('names receivers, each with an id of its own', () => {
    const [entry] = parse([
      { type: 'slack', urlFile: 'a' },
      { type: 'github', tokenFile: '/t', api: 'https://git.example.com/api/v3' },
      { type: 'slack', urlFile: 'b' },
      { type: 'webhook', url: 'http://bus.shop.svc/events', secretFile: 's', caFile: 'ca' },
    ]);
    expect(entry?.notify).toEqual([
      { id: 'slack', type: 'slack', urlFile: '/etc/fairlead/a' },
      { id: 'github', type: 'github', api: 'https://git.example.com/api/v3', tokenFile: '/t' },
      { id: 'slack-2', type: 'slack', urlFile: '/etc/fairlead/b' },
      {
        id: 'webhook',
        type: 'webhook',
        url: 'http://bus.shop.svc/events',
        secretFile: '/etc/fairlead/s',
        caFile: '/etc/fairlead/ca',
      },
    ]);
  });

  it.each([
    [{ type: 'github' }, /notify\[0\]\.tokenFile: is needed for github/],
    [{ type: 'slack', url: 'https://x' }, /notify\[0\]\.url: is not for slack/],
    [{ type: 'webhook', url: 'https://user:secret@x/y', secretFile: 's' }, /without credentials/],
    [{ type: 'github', tokenFile: 't', api: 'http://git.example.com/api' }, /an https address/],
    [{ type: 'teams', urlFile: 'x' }, /type/],
  ])('%j is refused', (entry, message) => {
    expect(() => parse([entry])).toThrow(message);
  });

  it('has no commit status for a local repository', () => {
    const list = [{ type: 'gitlab', tokenFile: 't' }];
    expect(() => parse(list, '/srv/shop')).toThrow(/notify\[0\]: a local repository has no commit status/);
  });
});
