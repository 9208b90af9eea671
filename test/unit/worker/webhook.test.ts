/** `/hook` over real connections: who is believed, what is acted on, and what nobody can bring about. */

import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import type { ClientRequest, IncomingMessage, Server } from 'node:http';
import { connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { Registry } from 'prom-client';

import type { Repository } from '../../../git/repositories.ts';
import { parseRepositories } from '../../../git/repositories.ts';
import { startHttpServer } from '../../../worker/http-server.ts';
import { LARGEST_BODY, Webhook } from '../../../worker/webhook.ts';
import { eventually } from '../../support/eventually.ts';

const SECRET = 'correct horse battery staple';
const PLANTED = 'planted-7f3a';

let folder: string;
let repositories: readonly Repository[];
let server: Server;
let webhook: Webhook;
let pushes: string[];
let results: string[];
/** The clock stands still here. */
let stoppedAt: number | undefined;
let logged: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fairlead-hook-'));
  await writeFile(join(folder, 'secret'), `${SECRET}\n`);
  await writeFile(join(folder, 'other'), 'another secret');
  await writeFile(join(folder, 'empty'), '\n');
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

beforeEach(async () => {
  repositories = parseRepositories(
    JSON.stringify([
      { name: 'shop', url: 'https://git.example.com/team/shop.git', webhookSecretFile: 'secret' },
      {
        name: 'shop-canary',
        url: 'https://git.example.com/team/shop',
        ref: 'canary',
        webhookSecretFile: 'secret',
      },
      { name: 'other', url: 'https://git.example.com/team/other', ref: 'main', webhookSecretFile: 'other' },
      { name: 'local', url: '/srv/local', ref: 'main', webhookSecretFile: 'secret' },
      { name: 'open', url: 'https://git.example.com/team/open', webhookSecretFile: 'empty' },
      { name: 'lost', url: 'https://git.example.com/team/lost', webhookSecretFile: 'nowhere' },
      { name: 'deaf', url: 'https://git.example.com/team/deaf' },
    ]),
    join(folder, 'repositories.yaml'),
  );
  pushes = [];
  results = [];
  stoppedAt = undefined;
  logged = '';
  webhook = new Webhook({
    repositories: () => repositories,
    onPush: (repository) => void pushes.push(repository),
    onResult: (result) => void results.push(result),
    log: pino({ level: 'debug' }, { write: (line: string) => void (logged += line) }),
    now: () => stoppedAt ?? performance.now(),
  });
  server = await startHttpServer({
    address: { host: '127.0.0.1', port: 0 },
    registry: new Registry(),
    health: () => [{ name: 'process', ok: true }],
    readiness: () => [],
    more: (asked, answer, path) => {
      if (!Webhook.serves(path)) return false;
      webhook.handle(asked, answer, path);
      return true;
    },
  });
});
afterEach(async () => {
  webhook.stop();
  server.close();
  server.closeAllConnections();
  await once(server, 'close');
});

type Headers = Readonly<Record<string, string>>;

function open(path: string, headers: Headers, method = 'POST', localAddress = '127.0.0.1'): ClientRequest {
  const { port } = server.address() as AddressInfo;
  return request({ host: '127.0.0.1', port, path, method, headers, localAddress });
}

async function statusOf(asked: ClientRequest): Promise<number | undefined> {
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  answer.resume();
  return answer.statusCode;
}

async function post(headers: Headers, body: string | Buffer, path = '/hook'): Promise<number | undefined> {
  const asked = open(path, headers);
  asked.end(body);
  return await statusOf(asked);
}

const sign = (body: string | Buffer, secret = SECRET): string =>
  createHmac('sha256', secret).update(body).digest('hex');

const github = (body: string | Buffer, event = 'push', secret = SECRET): Headers => ({
  'x-github-event': event,
  'x-hub-signature-256': `sha256=${sign(body, secret)}`,
});

const PUSH = JSON.stringify({
  ref: 'refs/heads/main',
  repository: { clone_url: 'https://git.example.com/team/shop.git', default_branch: 'main' },
});

async function isAlive(): Promise<boolean> {
  return (await statusOf(open('/healthz', {}, 'GET').end())) === 200;
}

describe('a push that is proven', () => {
  const canary = {
    ref: 'refs/heads/canary',
    repository: { ssh_url: 'ssh://git@git.example.com:2222/Team/Shop.git', default_branch: 'main' },
  };
  const cloud = {
    repository: { links: { html: { href: 'https://git.example.com/team/shop' } } },
    push: {
      changes: [{ new: { type: 'branch', name: 'canary' } }, { new: null, old: { type: 'tag', name: 'x' } }],
    },
  };
  const dataCenter = {
    repository: { links: { clone: [{ href: 'ssh://git@git.example.com/team/shop.git', name: 'ssh' }] } },
    changes: [{ ref: { id: 'refs/heads/canary' } }],
  };
  const gitlab = {
    object_kind: 'push',
    ref: 'refs/heads/canary',
    project: { git_ssh_url: 'git@git.example.com:team/shop.git', default_branch: 'main' },
  };
  const generic = { repository: 'https://git.example.com/team/shop', ref: 'refs/heads/canary' };
  const hmac =
    (name: string, prefix = '') =>
    (body: string) => ({ [name]: `${prefix}${sign(body)}` });
  // Who does not say which branch is the default one may mean that of the entry without a ref, too.
  const unsure = ['shop', 'shop-canary'];
  it.each<[string, (body: string) => Headers, object, (readonly string[])?]>([
    ['GitHub', (body) => github(body), canary],
    [
      'Gitea',
      (body) => ({ ...github(body), 'x-gitea-event': 'push', 'x-gitea-signature': sign(body) }),
      canary,
    ],
    ['Forgejo', (body) => ({ 'x-forgejo-event': 'push', ...hmac('x-forgejo-signature')(body) }), canary],
    ['GitLab', () => ({ 'x-gitlab-event': 'Push Hook', 'x-gitlab-token': SECRET }), gitlab],
    [
      'GitLab for all projects',
      () => ({ 'x-gitlab-event': 'System Hook', 'x-gitlab-token': SECRET }),
      gitlab,
    ],
    [
      'Bitbucket Cloud',
      (body) => ({ 'x-event-key': 'repo:push', ...hmac('x-hub-signature', 'sha256=')(body) }),
      cloud,
      unsure,
    ],
    [
      'Bitbucket Data Center',
      (body) => ({ 'x-event-key': 'repo:refs_changed', ...hmac('x-hub-signature', 'sha256=')(body) }),
      dataCenter,
      unsure,
    ],
    ['anybody with HMAC', hmac('x-signature', 'sha256='), generic, unsure],
  ])(
    '%s: the entries that follow what was pushed are looked at',
    async (_name, headers, content, expected = ['shop-canary']) => {
      const body = JSON.stringify(content);
      expect(await post({ 'content-type': 'application/json', ...headers(body) }, body)).toBe(202);
      expect(pushes).toEqual(expected);
      expect(results).toEqual(['accepted']);
    },
  );

  it('is taken from a form too, as GitHub sends it unless told otherwise', async () => {
    const body = new URLSearchParams({ payload: PUSH }).toString();
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    expect(await post({ ...form, ...github(body) }, body)).toBe(202);
    expect(pushes).toEqual(['shop']);
  });

  it('is JSON whatever its content type says: `curl -d` calls everything a form', async () => {
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    expect(await post({ ...form, ...github(PUSH) }, PUSH)).toBe(202);
    expect(pushes).toEqual(['shop']);
    expect(await post({ ...form, ...github('a=b') }, 'a=b')).toBe(400);
  });

  it('of the default branch is for entries without a ref, one of another branch for nobody', async () => {
    const other = PUSH.replace('refs/heads/main', 'refs/heads/feature');
    expect(await post(github(other), other)).toBe(200);
    expect(pushes).toEqual([]);
    expect(await post(github(PUSH), PUSH)).toBe(202);
    expect(pushes).toEqual(['shop']);
    expect(results).toEqual(['ignored', 'accepted']);
  });

  it('under a name needs no address: a local repository has none', async () => {
    expect(await post({ 'x-signature': sign('') }, '', '/hook/local')).toBe(202);
    expect(pushes).toEqual(['local']);
  });

  it('does not reach an entry with another secret, nor one without', async () => {
    const theirs = PUSH.replaceAll('shop', 'other');
    expect(await post(github(theirs), theirs)).toBe(200);
    const deaf = PUSH.replaceAll('shop', 'deaf');
    expect(await post(github(deaf), deaf)).toBe(200);
    expect(await post({ 'x-signature': sign('') }, '', '/hook/deaf')).toBe(401);
    expect(await post({ 'x-signature': sign('') }, '', '/hook/unknown')).toBe(401);
    expect(pushes).toEqual([]);
    expect(await post(github(theirs, 'push', 'another secret'), theirs)).toBe(202);
    expect(pushes).toEqual(['other']);
  });

  it('again and again is one look, and one more a second later', async () => {
    for (let times = 0; times < 5; times += 1) expect(await post(github(PUSH), PUSH)).toBe(202);
    expect(pushes).toEqual(['shop']);
    await eventually('the look that was put off', () => pushes.length === 2);
    expect(pushes).toEqual(['shop', 'shop']);
  });

  it('counts with a secret that was changed meanwhile', async () => {
    await writeFile(join(folder, 'other'), 'renewed');
    const theirs = PUSH.replaceAll('shop', 'other');
    expect(await post(github(theirs, 'push', 'another secret'), theirs)).toBe(401);
    expect(await post(github(theirs, 'push', 'renewed'), theirs)).toBe(202);
    await writeFile(join(folder, 'other'), 'another secret');
  });
});

describe('what is no push', () => {
  it.each([
    ['ping', (body: string) => github(body, 'ping')],
    ['an issue', (body: string) => github(body, 'issues')],
    ['an unknown event', (body: string) => github(body, 'constructor')],
    ['a pipeline of GitLab', () => ({ 'x-gitlab-event': 'Pipeline Hook', 'x-gitlab-token': SECRET })],
  ])('%s is ignored', async (_name, headers) => {
    expect(await post(headers(PUSH), PUSH)).toBe(200);
    expect(pushes).toEqual([]);
    expect(results).toEqual(['ignored']);
  });
});

describe('one who does not know the secret', () => {
  it.each<[string, Headers]>([
    ['no proof at all', {}],
    ['no signature', { 'x-github-event': 'push' }],
    ['a wrong signature', github(PUSH, 'push', 'wrong')],
    [
      'the signature of nothing',
      { 'x-github-event': 'push', 'x-hub-signature-256': `sha256=${'0'.repeat(64)}` },
    ],
    [
      'a short signature',
      { 'x-github-event': 'push', 'x-hub-signature-256': `sha256=${sign(PUSH).slice(0, 62)}` },
    ],
    ['a long signature', { 'x-github-event': 'push', 'x-hub-signature-256': `sha256=${sign(PUSH)}00` }],
    ['an empty one', { 'x-github-event': 'push', 'x-hub-signature-256': '' }],
    [
      'SHA-1',
      { 'x-github-event': 'push', 'x-hub-signature': createHmac('sha1', SECRET).update(PUSH).digest('hex') },
    ],
    ['the secret of an empty file', github(PUSH, 'push', '')],
    ['a wrong token', { 'x-gitlab-event': 'Push Hook', 'x-gitlab-token': `${SECRET}x` }],
    ['no token', { 'x-gitlab-event': 'Push Hook', 'x-gitlab-token': '' }],
  ])('%s: 401, and nothing happens', async (_name, headers) => {
    expect(await post(headers, PUSH)).toBe(401);
    expect(pushes).toEqual([]);
    expect(results).toEqual(['unauthorized']);
  });

  it('is asked to wait when he tries on, and others are not', async () => {
    const statuses = [];
    // A slow machine must not give him time.
    stoppedAt = performance.now();
    for (let times = 0; times < 60; times += 1) statuses.push(await post(github(PUSH, 'push', 'x'), PUSH));
    expect(statuses[0]).toBe(401);
    expect(statuses.at(-1)).toBe(429);
    expect(logged.match(/webhook refused/g)).toHaveLength(statuses.length);
    expect(
      logged.split('\n').filter((line) => line.includes('"level":40') && line.includes('refused')),
    ).toHaveLength(2);
    expect(await isAlive()).toBe(true);
  });

  it('does not keep out who knows it, behind one address with him', async () => {
    const begun = performance.now();
    const statuses = [];
    for (let second = 0; second < 20; second += 1) {
      stoppedAt = begun + second * 1_000;
      for (let times = 0; times < 10; times += 1) await post(github(PUSH, 'push', 'x'), PUSH);
      statuses.push(await post(github(PUSH), PUSH));
    }
    expect(new Set(statuses)).toEqual(new Set([202]));
  });

  it('waits sooner when he sends much', async () => {
    const body = Buffer.alloc(LARGEST_BODY, 'x');
    const statuses = [];
    stoppedAt = performance.now();
    for (let times = 0; times < 20; times += 1) statuses.push(await post(github(body, 'push', 'x'), body));
    expect(statuses[0]).toBe(401);
    expect(statuses.at(-1)).toBe(429);
  });

  it.each([
    ['many repositories, each with its own', 40, 429],
    ['many repositories that share one', 1, 401],
  ])('pays for each secret that he is compared with: %s', async (_what, secrets, status) => {
    await Promise.all(
      Array.from({ length: secrets }, async (_, number) =>
        writeFile(join(folder, `of ${String(number)}`), `${SECRET} ${String(number)}`),
      ),
    );
    repositories = Array.from({ length: 40 }, (_, number) => ({
      name: `shop-${String(number)}`,
      url: 'https://git.example.com/team/shop',
      path: '.',
      namespace: 'default',
      intervalSeconds: 60,
      prune: true,
      webhookSecretFile: join(folder, `of ${String(number % secrets)}`),
    }));
    const body = PUSH.padEnd(LARGEST_BODY / 2);
    stoppedAt = performance.now();
    // Who knows one of them pays for the body alone.
    for (let times = 0; times < 5; times += 1)
      expect(await post(github(body, 'push', `${SECRET} 0`), body)).toBe(202);
    const wrong = github(body, 'push', 'x');
    expect([await post(wrong, body), await post(wrong, body)]).toEqual([401, status]);
  });

  it('learns nothing where no repository takes webhooks', async () => {
    repositories = repositories.filter(({ name }) => name === 'deaf');
    expect(await post(github(PUSH), PUSH)).toBe(404);
  });

  it('cannot read with it', async () => {
    expect(await statusOf(open('/hook', {}, 'GET').end())).toBe(405);
  });
});

/** A request whose body never comes, though its headers promise one. */
function dawdle(headers: Headers, localAddress?: string): ClientRequest {
  const asked = open('/hook', { ...headers, 'content-length': '100' }, 'POST', localAddress);
  asked.on('error', () => undefined);
  asked.flushHeaders();
  return asked;
}

describe('one whose body does not come', () => {
  it.each<[string, Headers]>([
    ['no proof', { 'x-github-event': 'push' }],
    ['what is no signature', { 'x-github-event': 'push', 'x-hub-signature-256': 'sha256=00' }],
    ['a wrong token', { 'x-gitlab-event': 'Push Hook', 'x-gitlab-token': 'guessed' }],
  ])('is refused at once when the headers bring %s', async (_name, headers) => {
    const begun = performance.now();
    expect(await statusOf(dawdle(headers))).toBe(401);
    expect(performance.now() - begun).toBeLessThan(1_000);
    expect(results).toEqual(['unauthorized']);
  });

  it('is told why, also when he sends all that he has before he listens', async () => {
    const { port } = server.address() as AddressInfo;
    const socket = connect(port, '127.0.0.1');
    socket.pause();
    socket.write(`POST /hook HTTP/1.1\r\nhost: x\r\ncontent-length: ${String(LARGEST_BODY)}\r\n\r\n`);
    await eventually('it is refused', () => results.length === 1);
    for (let part = 0; part < 16; part += 1) {
      await new Promise((resolve) => {
        setTimeout(resolve, 10);
      });
      await new Promise<void>((resolve, reject) => {
        socket.write(Buffer.alloc(LARGEST_BODY / 16, 'x'), (error) => (error ? reject(error) : resolve()));
      });
    }
    const answered = once(socket, 'data');
    socket.resume();
    const [answer] = (await answered) as [Buffer];
    expect(answer.toString('utf8')).toMatch(/^HTTP\/1\.1 401 /);
    socket.destroy();
  });

  it('is given up after two seconds', async () => {
    const begun = performance.now();
    expect(await statusOf(dawdle(github(PUSH)))).toBe(408);
    expect(performance.now() - begun).toBeLessThan(4_000);
    expect(results).toEqual(['aborted']);
  });

  it.each([
    ['his own address', '127.0.0.1'],
    ['another address', '127.0.0.2'],
  ])('keeps out nobody who comes from %s, however often he connects', async (_name, address) => {
    // All that may be under way, over and over: each of them is owed an answer for two seconds.
    const dawdling = [];
    for (let round = 0; round < 5; round += 1) {
      const sixteen = Array.from({ length: 16 }, () => dawdle(github(PUSH)));
      dawdling.push(...sixteen.map(statusOf));
      await Promise.all(
        sixteen.map((one) => once(one, 'socket').then(([socket]) => once(socket, 'connect'))),
      );
      const genuine = open('/hook', github(PUSH), 'POST', address).end(PUSH);
      expect(await statusOf(genuine)).toBe(202);
    }
    const statuses = await Promise.all(dawdling);
    expect(new Set(statuses)).toEqual(new Set([408, 503]));
    expect(statuses.filter((status) => status === 408)).toHaveLength(16);
    expect(await isAlive()).toBe(true);
  });
});

describe('a hostile body', () => {
  it('of 200 MB is refused by its length alone', async () => {
    const asked = open('/hook', { ...github(PUSH), 'content-length': String(200 * 1024 * 1024) });
    asked.on('error', () => undefined);
    asked.flushHeaders();
    expect(await statusOf(asked)).toBe(413);
    asked.destroy();
    expect(await isAlive()).toBe(true);
  });

  it('that does not tell its length is read so far and no further', async () => {
    const asked = open('/hook', { ...github(PUSH), 'transfer-encoding': 'chunked' });
    asked.on('error', () => undefined);
    asked.write(Buffer.alloc(LARGEST_BODY + 1, 'x'));
    await eventually('it is refused', () => results.length === 1);
    asked.destroy();
    expect(results).toEqual(['too_large']);
    expect(await isAlive()).toBe(true);
  });

  it('that ends in the middle is given up', async () => {
    const { port } = server.address() as AddressInfo;
    const socket = connect(port, '127.0.0.1');
    socket.write(
      `POST /hook HTTP/1.1\r\nhost: x\r\nx-signature: ${sign('')}\r\ncontent-length: 100\r\n\r\nabc`,
    );
    await once(socket, 'connect');
    socket.end();
    await eventually('it is given up', () => results.length === 1);
    expect(results).toEqual(['aborted']);
    expect(await isAlive()).toBe(true);
  });

  it('is answered, whatever is in it, and none of it is logged', async () => {
    const wrong: readonly unknown[] = [null, 5, 'x', [], {}, true, -1e308, [[]], { constructor: 1 }];
    const bodies = wrong.flatMap((value) => [
      value,
      { repository: value, project: value, push: value, changes: value, ref: value },
      {
        repository: { clone_url: value, links: value, default_branch: value },
        ref: value,
        object_kind: 'push',
      },
      { project: { git_http_url: value, default_branch: value }, object_kind: value, ref: PLANTED },
      {
        repository: { links: { clone: value, html: value, self: [value] } },
        push: { changes: [value, { new: value }] },
      },
    ]);
    const texts = [
      ...bodies.map((body) => JSON.stringify(body)),
      `{"a":${'['.repeat(50_000)}`,
      `${'['.repeat(50_000)}${']'.repeat(50_000)}`,
      `not JSON ${PLANTED}`,
      '{"__proto__": {"repository": "https://git.example.com/team/shop"}}',
      '\u0000\uffff',
    ];
    const events: readonly (readonly [string, string])[] = [
      ['x-github-event', 'push'],
      ['x-gitea-event', 'push'],
      ['x-gitlab-event', 'Push Hook'],
      ['x-event-key', 'repo:push'],
    ];
    const proofs = (body: string) => ({
      'x-hub-signature-256': `sha256=${sign(body)}`,
      'x-hub-signature': `sha256=${sign(body)}`,
      'x-gitlab-token': SECRET,
    });
    const statuses = new Set<number | undefined>();
    let now = 0;
    webhook = new Webhook({
      repositories: () => repositories,
      onPush: (repository) => void pushes.push(repository),
      onResult: () => undefined,
      log: pino({ level: 'debug' }, { write: (line: string) => void (logged += line) }),
      // Time for the bucket to fill again between two requests.
      now: () => (now += 10_000),
    });
    for (const body of texts)
      for (const [name, event] of events) statuses.add(await post({ [name]: event, ...proofs(body) }, body));
    expect(statuses).toEqual(new Set([200, 400]));
    expect(pushes).toEqual([]);
    expect(logged).not.toContain(PLANTED);
    expect(logged).not.toContain(SECRET);
    expect(await isAlive()).toBe(true);
  });
});
