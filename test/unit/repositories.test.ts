import { describe, expect, it } from '@jest/globals';

import { parseInterval, parseRepositories, repositoryFromFlags, settingsOf } from '../../git/repositories.ts';
import { checkPath, checkRef, parseSource, redactUrls, remoteKey } from '../../git/source-url.ts';
import { cpuTime } from '../support/cpu-time.ts';

const ALL = `
- url: https://example.com/team/My_App.git
- name: second
  url: ../local/repo
  ref: release/1.2
  path: ./deploy//web/
  namespace: web
  serviceAccount: deployer
  interval: 5m
  prune: false
  heal: true
- url: https://example.com/third
  serviceAccount: ops/deployer
  tokenFile: token
  username: gitlab+deploy-token-1
  caFile: /etc/ca.pem
  webhookSecretFile: hook-secret
  allowedSignersFile: allowed
  gpgKeysFile: /etc/keys.asc
- url: git@example.com:fourth.git
  sshKeyFile: keys/fourth
  knownHostsFile: /etc/known_hosts
`;

describe('a repositories file with mistakes', () => {
  it('is told all of them at once', () => {
    const text = "[{url: /srv/x, name: shop2, interval: 0s, ref: '-x', path: ../x, prune: maybe, heal: 3}]";
    expect(() => parseRepositories(text, 'r.yaml')).toThrow(
      /5 errors[^]* interval: [^]* prune: [^]* heal: [^]* ref: "-x" is not [^]* path: the path/,
    );
  });

  it('and a value that YAML reads as something else than text is to be quoted', () => {
    expect(() => parseRepositories('[{url: /srv/x, path: y}]', 'r.yaml')).toThrow(
      'path: Invalid input: expected string, received boolean: quote the value',
    );
  });

  it('and one without a url, or with none in it, is told what it is to be', () => {
    const wanted = (says: string) => `url: ${says}an https:// or ssh:// URL, or a path`;
    expect(() => parseRepositories('- name: shop', 'r.yaml')).toThrow(wanted('is missing: '));
    expect(() => parseRepositories("- url: ''", 'r.yaml')).toThrow(wanted('is empty: '));
    expect(() => parseRepositories('- url: 3', 'r.yaml')).toThrow('url: Invalid input: expected string');
  });

  it.each([
    [
      'name: Bad_Name',
      'name: "Bad_Name" is not a name: lower-case letters, digits and "-", at most 50 of them',
    ],
    ['namespace: Bad_NS', 'namespace: "Bad_NS" is not the name of a namespace: lower-case letters'],
    [
      `namespace: ${'n'.repeat(64)}`,
      'is not the name of a namespace: lower-case letters, digits and "-", at most 63',
    ],
  ])('and a name that is none is told with what it may be: %s', (line, told) => {
    expect(() => parseRepositories(`- url: /srv/x\n  ${line}`, 'r.yaml')).toThrow(told);
  });

  it('and a namespace may be as long as Kubernetes lets it be', () => {
    const namespace = 'n'.repeat(63);
    expect(parseRepositories(`[{url: /srv/x, namespace: ${namespace}}]`, 'r.yaml')).toMatchObject([
      { namespace },
    ]);
  });

  it('and HEAD is the ref that it has without one', () => {
    expect(parseRepositories('[{url: /srv/x, ref: HEAD}]', 'r.yaml')).toEqual(
      parseRepositories('[{url: /srv/x}]', 'r.yaml'),
    );
  });
});

describe('the repositories file', () => {
  it('is read with its defaults', () => {
    expect(parseRepositories(ALL, '/etc/fairlead/repositories.yaml')).toEqual([
      {
        name: 'my-app',
        url: 'https://example.com/team/My_App.git',
        path: '',
        namespace: 'default',
        intervalSeconds: 30,
        prune: true,
      },
      {
        name: 'second',
        url: '/etc/local/repo',
        ref: 'release/1.2',
        path: 'deploy/web',
        namespace: 'web',
        impersonate: 'system:serviceaccount:web:deployer',
        intervalSeconds: 300,
        prune: false,
        heal: true,
      },
      {
        name: 'third',
        url: 'https://example.com/third',
        path: '',
        namespace: 'default',
        impersonate: 'system:serviceaccount:ops:deployer',
        intervalSeconds: 30,
        prune: true,
        tokenFile: '/etc/fairlead/token',
        username: 'gitlab+deploy-token-1',
        caFile: '/etc/ca.pem',
        webhookSecretFile: '/etc/fairlead/hook-secret',
        allowedSignersFile: '/etc/fairlead/allowed',
        gpgKeysFile: '/etc/keys.asc',
      },
      {
        name: 'fourth',
        url: 'git@example.com:fourth.git',
        path: '',
        namespace: 'default',
        intervalSeconds: 30,
        prune: true,
        sshKeyFile: '/etc/fairlead/keys/fourth',
        knownHostsFile: '/etc/known_hosts',
      },
    ]);
  });

  it.each([
    ['', /is empty: it should be a list/],
    ['a: 1', /must be one YAML list/],
    ['- a: [', /line 1: /],
    ['- 3', /^repos\.yaml: entry 1: must be a mapping/],
    ['- {url: /a}\n- {url: /a}', /line 2: entry 2: the name a is taken by an earlier entry; set `name`/],
    ['- name: x', /entry 1 \(x\): url: /],
    ['- {url: /a, branch: main}', /entry 1: .*"branch"/],
    ['- {url: /a, interval: -1s}', /interval: a duration from 1s to 24h/],
    ['- {url: /a, interval: 1e999}', /interval: a duration/],
    ['- {url: /a, interval: 0}', /interval: a duration/],
    ['- {url: /a, prune: "no"}', /prune: /],
    ['- {url: /a, serviceAccount: ""}', /serviceAccount: NAME or NAMESPACE\/NAME/],
    ['- {url: /a, serviceAccount: a/b/c}', /serviceAccount: NAME/],
    ['- {url: /a, path: ../x}', /path: the path "\.\.\/x" does not stay inside the repository\. Set `path`/],
    ['- {url: /a, ref: --upload-pack=x}', /ref: "--upload-pack=x" is not a name git allows/],
    [
      '- {url: "https://user:secret@example.com/x"}',
      /url: the url https:\/\/\*\*\*@example\.com\/x holds credentials\. Put .*tokenFile/,
    ],
    ['- {url: "ssh://git@example.com/x"}', /sshKeyFile: is needed for an ssh address\. Make a key/],
    [
      '- {url: "git@example.com:x", sshKeyFile: /k}',
      /knownHostsFile: is needed for an ssh address\. Run `ssh-keyscan example\.com > FILE`/,
    ],
    ['- {url: "ssh://git@e.com:2222/x", sshKeyFile: /k}', /Run `ssh-keyscan -p 2222 e\.com > FILE`/],
    [
      '- {url: "git@e.com:x", sshKeyFile: /k, knownHostsFile: /h, tokenFile: /t}',
      /tokenFile: is not for an ssh address/,
    ],
    [
      '- {url: "ext::sh -c x"}',
      /scheme of ext::sh -c x is not allowed; https:\/\/ and ssh:\/\/ are, and local/,
    ],
    ['- {url: /b}\n- {url: /a, name: shop, prune: 1}', /line 2: entry 2 \(shop\): prune: /],
    ['- url: /a\n  heal: true\n  nmae: x', /^repos\.yaml: line 3: entry 1: .*"nmae"/],
    ['- url: /a\n  interval: 500ms\n- url: /b', /line 2: entry 1: interval: a duration/],
    [
      '- url: /a\n  notify:\n  - id: chat\n    type: nothing',
      /line 4: entry 1: notify\.0\.type: [^\n]+\n +line 3: entry 1: notify\.0: .*"id"/,
    ],
    // A key that is missing is not that of the next entry.
    ['- name: x\n- name: y\n  url: /b', /line 1: entry 1 \(x\): url: /],
    ['- {url: "https://e.com/x", username: me}', /username: is of use with `tokenFile` alone/],
    ['- {url: "https://e.com/x", tokenFile: /t, username: "me:pw"}', /username: a user name, without ":"/],
    ['- {url: "https://e.com/x", sshKeyFile: /k}', /sshKeyFile: is not for an https address/],
    ['- {url: /a, sshKeyFile: /k}', /sshKeyFile: is not for a local path/],
    ['- {url: /a, webhookSecretFile: ""}', /webhookSecretFile: /],
    ['- {url: /}', /name: none can be made of \//],
    ['- {url: /a, name: Web_1}', /name: lower-case letters/],
  ])('%j is refused', (text, message) => {
    expect(() => parseRepositories(text, 'repos.yaml')).toThrow(message);
  });

  it('reports every error of every entry, and no secret', () => {
    const act = () =>
      parseRepositories(
        '- {url: "https://u:hunter2@e.com/x", ref: "-x", path: /a}\n- {url: /b, prune: 1}\n',
        'repos.yaml',
      );
    expect(act).toThrow(/4 errors/);
    expect(act).not.toThrow(/hunter2/);
  });

  it('has the same meaning as flags', () => {
    expect(repositoryFromFlags({ repo: '.', path: '.', ref: undefined }, '/home/me/shop')).toEqual({
      name: 'shop',
      url: '/home/me/shop',
      path: '',
      namespace: 'default',
      intervalSeconds: 2,
      prune: true,
    });
    const wrong = { repo: 'https://x', interval: 'soon', serviceAccount: 'a/b/c' };
    expect(() => repositoryFromFlags(wrong)).toThrow(
      /^--interval: a duration.*\n  --service-account: |^--service-account: .*\n  --interval: a duration/,
    );
  });

  it.each([
    ['30s', 30],
    ['5m', 300],
    ['24h', 86_400],
    [45, 45],
    ['25h', undefined],
    ['1.5s', undefined],
    ['NaN', undefined],
  ])('interval %j', (text, seconds) => {
    expect(parseInterval(text)).toBe(seconds);
  });
});

describe('what decides how a commit is applied', () => {
  const [one] = parseRepositories(ALL, '/etc/fairlead/repositories.yaml');
  if (one === undefined) throw new Error('the file has no entry');

  it.each([
    { path: 'x' },
    { namespace: 'x' },
    { impersonate: 'x' },
    { prune: false },
    { url: '/x' },
    { allowedSignersFile: '/x' },
    { gpgKeysFile: '/x' },
  ])('%j', (change) => {
    expect(settingsOf({ ...one, ...change })).not.toBe(settingsOf(one));
  });

  it.each([{ intervalSeconds: 5 }, { tokenFile: '/x' }, { webhookSecretFile: '/x' }])('not %j', (change) => {
    expect(settingsOf({ ...one, ...change })).toBe(settingsOf(one));
  });
});

describe('addresses, refs and paths', () => {
  it.each([
    ['https://example.com/a.git', { kind: 'https', url: 'https://example.com/a.git', host: 'example.com' }],
    [
      'ssh://git@example.com/team/a.git',
      { kind: 'ssh', url: 'ssh://git@example.com/team/a.git', host: 'example.com' },
    ],
    ['ssh://git@[::1]:2222/~me/a', { kind: 'ssh', url: 'ssh://git@[::1]:2222/~me/a', host: '[::1]:2222' }],
    ['git@example.com:team/a.git', { kind: 'ssh', url: 'git@example.com:team/a.git', host: 'example.com' }],
    ['/srv/a', { kind: 'local', path: '/srv/a' }],
    ['a/../b', { kind: 'local', path: '/base/b' }],
    ['team/a@b:c', { kind: 'local', path: '/base/team/a@b:c' }],
    ['./ a:b//c@d', { kind: 'local', path: '/base/ a:b/c@d' }],
    ['/base/ https:/a:b@c', { kind: 'local', path: '/base/ https:/a:b@c' }],
  ])('%s', (text, source) => {
    expect(parseSource(text, '/base')).toEqual(source);
  });

  it.each([
    'ext::sh -c id',
    'file:///etc',
    'http://example.com/x',
    'git://example.com/x',
    'ssh://example.com/x',
    'ssh://git:secret@example.com/x',
    'ssh://-oProxyCommand=id@example.com/x',
    'ssh://git@-oProxyCommand=id/x',
    'ssh://git@example.com/-x',
    "ssh://git@example.com/x'$(id)'",
    'ssh://git@example.com/x?y',
    'ssh://git@example.com',
    '-oProxyCommand=id@example.com:x',
    'git@-oProxyCommand=id:x',
    'git@example.com:--upload-pack=id',
    'git@example.com:x y',
    '-oProxyCommand=id',
    '--upload-pack=id',
    'https://token@example.com/x',
    'https://example.com/x?token=1',
    'https://example.com/x#y',
    'https://',
    '',
    'a\nb',
    'fd::7',
  ])('%j is refused', (text) => {
    expect(() => parseSource(text, '/base')).toThrow(/SourceRefused/);
  });

  it.each(['main', 'release/1.2', 'v1.0.0', 'a+b@c', '0123456789abcdef0123456789abcdef01234567'])(
    'ref %s',
    (ref) => {
      expect(checkRef(ref)).toBe(ref);
    },
  );

  it.each([
    '-x',
    '--help',
    'a..b',
    'a b',
    'a~1',
    'a^',
    'a:b',
    '.hidden',
    'a//b',
    'a/',
    'a.lock',
    'a/.b',
    'a@{1}',
    '',
    'x'.repeat(300),
    'a\nb',
  ])('ref %j is refused', (ref) => {
    expect(() => checkRef(ref)).toThrow(/RefNotFound/);
  });

  it.each([
    ['.', ''],
    ['', ''],
    ['a/b/', 'a/b'],
    ['./a//b', 'a/b'],
  ])('path %j is %j', (path, normal) => {
    expect(checkPath(path)).toBe(normal);
  });

  it.each(['/etc', '../x', 'a/../../b', 'a\u0000b', 'a\\b'])('path %j is refused', (path) => {
    expect(() => checkPath(path)).toThrow(/PathVanished/);
  });

  it.each([
    ['https://Git.example.com/team/Shop.git', 'git.example.com/team/shop'],
    ['https://git.example.com:8443/team/shop/', 'git.example.com/team/shop'],
    ['https://user:secret@git.example.com/team/shop?x=1', 'git.example.com/team/shop'],
    ['ssh://git@git.example.com:2222/team/shop.git', 'git.example.com/team/shop'],
    ['git@git.example.com:team/shop.git', 'git.example.com/team/shop'],
    ['git@git.example.com:/team/shop', 'git.example.com/team/shop'],
    ['/srv/shop', undefined],
    ['file:///srv/shop', undefined],
    ['javascript:alert(1)', undefined],
    ['https://', undefined],
    ['https://git.example.com', undefined],
    ['', undefined],
  ])('%j is recognised by %j', (address, key) => {
    expect(remoteKey(address)).toBe(key);
  });

  it.each([
    ['https://deploy:s3cr@PLANTED@git.example.com/web', 'https://***@git.example.com/web'],
    ["https://deploy:it's-PLANTED@git.example.com/web", 'https://***@git.example.com/web'],
    ['https://deploy:s3c/PLANTED@git.example.com/web', 'https://***@git.example.com/web'],
    ['https://deploy:s3c?PLANTED@git.example.com/web', 'https://***@git.example.com/web'],
    ['https://deploy:s3c PLANTED@git.example.com/web', 'https://***@git.example.com/web'],
    ['https://git.example.com/web?token=PLANTED', 'https://git.example.com/web?***'],
    ["https://git.example.com/web#it's PLANTED", 'https://git.example.com/web#***'],
    ['ssh://git:s3c/PLANTED@git.example.com/web', 'ssh://***@git.example.com/web'],
    ['ssh://git@PLANTED@git.example.com/web', 'ssh://***@git.example.com/web'],
    ['ssh://git@git.example.com/web?PLANTED', 'ssh://git@git.example.com/web?***'],
    ['http://deploy:"PLANTED"@git.example.com/web', 'http://***@git.example.com/web'],
    ['deploy:PLANTED@git.example.com:web', '***@git.example.com:web'],
    ['git@git.example.com:a b', 'git@git.example.com:a b'],
    [' https://deploy:PLANTED@git.example.com/web', '" https://***@git.example.com/web"'],
    ['//deploy:PLANTED@git.example.com/web', '"***@git.example.com/web"'],
    ['//deploy:s3c/PLANTED@git.example.com/web', '"***@git.example.com/web"'],
    ['https//deploy:PLANTED@git.example.com/web', '"***@git.example.com/web"'],
    ['<https://deploy:PLANTED@git.example.com/web>', '"***@git.example.com/web>"'],
    ['"https://deploy:PLANTED@git.example.com/web"', '***@git.example.com/web'],
    ['<https://git.example.com/web?token=PLANTED>', '"<https://git.example.com/web?***"'],
    ['_deploy:PLANTED@git.example.com/web', '"***@git.example.com/web"'],
  ])('a refusal tells nothing of a password, whatever is in it: %s', (url, shown) => {
    let message = '';
    try {
      parseSource(url);
    } catch (error) {
      message = String(error);
    }
    expect(message).toContain(shown);
    expect(message).not.toMatch(/PLANTED|s3c/);
  });

  it('takes credentials and queries out of every URL of a text', () => {
    expect(
      redactUrls(
        "fatal: 'https://bob:hunter2@e.com/x?token=abc' and https://token@e.com/y, https://e.com/ok",
      ),
    ).toBe("fatal: 'https://***@e.com/x?***' and https://***@e.com/y, https://e.com/ok");
    expect(redactUrls('ssh://git@h/y and ssh://git:hunter2@h/y')).toBe('ssh://git@h/y and ssh://***@h/y');
    expect(redactUrls('https://bob:hun@ter2@h/@a ssh://bob@ter2@h/y https://h/@a')).toBe(
      'https://***@h/@a ssh://***@h/y https://h/@a',
    );
  });

  it.each(['a', 'a.', 'x://', '://x', 'x://a?', '?a', '@', 'ssh://a:', "x://a'?", 'ssh://@', 'x://a@'])(
    'takes as long for %j again and again as for any text of that length',
    (part) => {
      const said = `${part.repeat(65_536 / part.length)} https://bob:hunter2@e.com/x?token=abc`;
      const begun = cpuTime();
      const text = redactUrls(said);
      expect(cpuTime() - begun).toBeLessThan(1_000);
      expect(text).not.toMatch(/hunter2|token/);
    },
  );
});
