/**
 * The checklist of bad inputs (docs/bad-inputs.md), each brought to a running worker by real servers: people are told its name and place,
 * nothing is applied by half, the repository beside it is in the cluster on time, and a good commit puts all right.
 */

import { execFileSync } from 'node:child_process';
import { createHmac, randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { cp, readFile, readdir, rm, truncate, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';

import { describe, expect, it } from '@jest/globals';

import { isNotFound } from '../../kubernetes/api-error.ts';
import type { KubernetesObject } from '../../planners/objects.ts';
import { commitWorkflowId, syncWorkflowId } from '../../workflows/sync-messages.ts';
import { BAD_FILES } from '../support/bad-files.ts';
import type { Told, Track, TrackName } from '../support/bad-input-ground.ts';
import {
  FOLDER,
  TOKEN,
  WEBHOOK_SECRET,
  inFolder,
  named,
  useBadInputGround,
} from '../support/bad-input-ground.ts';
import { eventually } from '../support/eventually.ts';
import type { FileChange } from '../support/git-repository.ts';
import { NO_UTF8, TestRepository } from '../support/git-repository.ts';
import type { Behaviour } from '../support/git-server.ts';
import { GitServer } from '../support/git-server.ts';
import { useLanes } from '../support/lanes.ts';
import { plantedIn, textOf } from '../support/planted.ts';
import { SshGitServer } from '../support/ssh-git-server.ts';

const ground = useBadInputGround();

// One input after the other in each.
/** Lanes with fewer inputs of other kinds get more of the files. */
const ORDER: readonly TrackName[] = ['ssh', 'signed', 'https', 'ssh', 'signed'];
const lanes = { https: useLanes(1), signed: useLanes(1), ssh: useLanes(1) };

/** Afterwards all is put right by a good commit, which is seen to be applied. */
function input(number: string, what: string, on: TrackName, play: (track: Track) => Promise<void>): void {
  const body = lanes[on](async () => {
    const track = ground.track(on);
    // Another input that failed is not this one's matter.
    await track.start();
    await play(track);
    await track.mend();
  });
  it(`${number}: ${what}`, body, 120_000);
}

/** Refused before its first write, for these reasons: how each line begins. */
async function refused(track: Track, make: () => Promise<string>, told: readonly string[]): Promise<Told> {
  const all = await track.harmless(async () => await track.told('Refused', await make()));
  const shown = all.lines.map((line) => line.replaceAll(track.namespace, 'NS'));
  expect(shown.map((line, index) => line.slice(0, told[index]?.length))).toEqual(told);
  return all;
}

/** Not read at all; what is pushed meanwhile is not known of. */
async function unreadable(track: Track, because: RegExp, isBefore = false): Promise<void> {
  await track.harmless(async () => {
    await track.commit({});
    const { lines } = await track.told('Unreadable');
    expect(lines).toEqual([expect.stringMatching(because)]);
  }, isBefore);
}

/** The data of a ConfigMap of the repository; undefined: there is none. */
async function dataOf(
  { namespace }: Track,
  name: string,
): Promise<Readonly<Record<string, string>> | undefined> {
  const path = { group: '', version: 'v1', resource: 'configmaps', namespace, name };
  try {
    const { data = {} } = await ground
      .cluster()
      .client.get<KubernetesObject & { readonly data?: Readonly<Record<string, string>> }>(path);
    return data;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

describe('files', () => {
  for (const [index, { number, what, files, told }] of BAD_FILES.entries()) {
    const on = ORDER[index % ORDER.length] ?? 'ssh';
    input(String(number), what, on, async (track) => {
      await refused(track, async () => await track.commit(inFolder(files(track.namespace))), told);
    });
  }

  input('5', 'a submodule', 'https', async (track) => {
    const other = await TestRepository.create();
    await other.commit({ x: 'y' });
    const add = ['-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', other.path];
    await track.git.git(...add, `${FOLDER}/module`);
    await refused(track, async () => await track.commit({}), ['SubmoduleRefused deploy/web/module@SHA: ']);
    await other.remove();
  });

  input('7', 'a filter, hooks and helpers: nothing of it runs', 'signed', async (track) => {
    const files = { '../../.gitattributes': '* filter=evil\n', 'a.yaml': named('plain') };
    const sha = await track.commit(inFolder(files));
    await track.beside(async () => await track.told('Synced', sha));
    expect(await dataOf(track, 'plain')).toEqual({ key: '1' });
    expect(existsSync(ground.witness())).toBe(false);
  });

  input(
    '8',
    'names with line feeds, of no encoding, like options, of 4 KB, with escapes',
    'https',
    async (track) => {
      const long = `${'d'.repeat(200)}/`.repeat(20);
      const names = [
        '--output=x.yaml',
        '-rf.yaml',
        `${long}a.yaml`,
        'tab\t\u001b[31m.yaml',
        'two\nlines.yaml',
      ];
      const paths = [...names.map((name) => Buffer.from(name)), NO_UTF8].map((path) =>
        Buffer.concat([Buffer.from(`${FOLDER}/`), path]),
      );
      const commitOf = async (text: (index: number) => string) =>
        await track.git.imported(
          'main',
          paths.map((path, index) => [path, text(index)]),
        );
      const shown = ['--output=x', '-rf', `${long}a`, 'f\ufffd\ufffd', 'tab \\u001b[31m', 'two lines'];
      const { lines } = await refused(
        track,
        async () => await commitOf(() => named('')),
        shown.map((name) => `ObjectIncomplete ${FOLDER}/${name}.yaml:1@SHA: ConfigMap: metadata.name is `),
      );
      expect(lines.join('')).toMatch(/^\P{Cc}+$/u);
      const sha = await commitOf((index) => named(`odd-${String(index)}`));
      await track.told('Synced', sha);
      for (const index of paths.keys())
        expect(await dataOf(track, `odd-${String(index)}`)).toEqual({ key: '1' });
    },
  );

  input('9', 'a file of 100 MB', 'ssh', async (track) => {
    const memory = async () => {
      const status = await readFile(`/proc/${String(ground.worker().pid)}/status`, 'utf8');
      return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
    };
    const large = join(track.git.path, FOLDER, 'large.yaml');
    await writeFile(large, '');
    await truncate(large, 100 * 1024 * 1024);
    const before = await memory();
    await refused(track, async () => await track.commit({}), [
      'FileTooLarge deploy/web/large.yaml@SHA: the file has 104857600 bytes, at most 1048576 are read.',
    ]);
    expect((await memory()) - before).toBeLessThan(90);
  });

  input('10', 'a hundred thousand files', 'https', async (track) => {
    const paths = Array.from({ length: 100_000 }, (_, index) =>
      Buffer.from(`${FOLDER}/${String(index % 300)}/${String(index)}.yaml`),
    );
    const make = async () =>
      await track.git.imported(
        'main',
        paths.map((path) => [path, named('x')]),
      );
    await refused(track, make, [
      'TooManyFiles commit SHA: commit SHA has 100000 manifests, at most 20000 are read.',
    ]);
  });

  input('17, 19–22', 'what only looks bad is applied as kubectl reads it', 'signed', async (track) => {
    const item = (name: string) => `{apiVersion: v1, kind: ConfigMap, metadata: {name: ${name}}}`;
    const files = inFolder({
      'keys.yaml': named('keys', '{__proto__: a, constructor: b, 1: c, 0x10: d}'),
      'lines.yaml': `\uFEFF# of Windows\n${named('lines')}`.replaceAll('\n', '\r\n'),
      'list.yaml': `---\n# nothing\n---\napiVersion: v1\nkind: List\nitems:\n- null\n- apiVersion: v1\n  kind: ConfigMapList\n  items: [${item('one')}, null]\n`,
    });
    await track.beside(async () => await track.told('Synced', await track.commit(files)));
    expect(JSON.stringify(await dataOf(track, 'keys'))).toBe(
      '{"1":"c","16":"d","__proto__":"a","constructor":"b"}',
    );
    expect(await dataOf(track, 'lines')).toEqual({ key: '1' });
    expect(await dataOf(track, 'one')).toEqual({});
  });

  input('26', 'a kind whose definition is in the same commit', 'ssh', async (track) => {
    const rbac = { group: 'rbac.authorization.k8s.io', version: 'v1' };
    const apiVersion = 'rbac.authorization.k8s.io/v1';
    const metadata = { name: 'bad-inputs-definitions' };
    const all = { resources: ['*'], verbs: ['*'] };
    await ground.cluster().client.create(
      { ...rbac, resource: 'clusterroles' },
      {
        apiVersion,
        kind: 'ClusterRole',
        metadata,
        rules: [
          { apiGroups: ['apiextensions.k8s.io'], ...all },
          { apiGroups: ['comes.example.com'], ...all },
        ],
      },
    );
    await ground.cluster().client.create(
      { ...rbac, resource: 'clusterrolebindings' },
      {
        apiVersion,
        kind: 'ClusterRoleBinding',
        metadata,
        roleRef: { apiGroup: rbac.group, kind: 'ClusterRole', name: metadata.name },
        subjects: [{ kind: 'ServiceAccount', name: 'default', namespace: track.namespace }],
      },
    );
    const definition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.comes.example.com, annotations: {fairlead.dev/prune: confirmed}}
spec:
  group: comes.example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`;
    const widget = 'apiVersion: comes.example.com/v1\nkind: Widget\nmetadata: {name: it}\n';
    const files = inFolder({ 'a.yaml': widget, 'z.yaml': definition });
    await track.beside(async () => await track.told('Synced', await track.commit(files)));
    const { namespace } = track;
    const path = { group: 'comes.example.com', version: 'v1', resource: 'widgets', namespace, name: 'it' };
    expect(await ground.cluster().client.get(path)).toMatchObject({ kind: 'Widget' });
  });

  input('28', 'an object of the neighbour, and one of the set of another tool', 'signed', async (track) => {
    const { namespace, goodNamespace } = track;
    const { client } = ground.cluster();
    const path = { group: '', version: 'v1', resource: 'configmaps', namespace };
    const labels = { 'applyset.kubernetes.io/part-of': 'applyset-of-another-v1' };
    await client.create(path, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'theirs', labels } });
    // It may: that is no reason.
    await client.create(
      {
        group: 'rbac.authorization.k8s.io',
        version: 'v1',
        resource: 'rolebindings',
        namespace: goodNamespace,
      },
      {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'RoleBinding',
        metadata: { name: 'neighbour' },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'admin' },
        subjects: [{ kind: 'ServiceAccount', name: 'default', namespace }],
      },
    );
    const files = inFolder({
      'a.yaml': named(`config, namespace: ${goodNamespace}`),
      'b.yaml': named('theirs'),
    });
    await refused(track, async () => await track.commit(files), [
      `OwnedByOther deploy/web/a.yaml:1@SHA: ConfigMap ${goodNamespace}/config: repository good-signed applies this`,
      'OwnedByOther deploy/web/b.yaml:1@SHA: ConfigMap NS/theirs: ',
    ]);
  });
});

describe('commits', () => {
  input('30', 'a history that was rewritten: the commit of the branch counts', 'signed', async (track) => {
    await track.told('Synced', await track.git.commit(inFolder({ 'gone.yaml': named('gone') })));
    expect(await dataOf(track, 'gone')).toBeDefined();
    await track.git.git('reset', '--quiet', '--hard', 'refs/base');
    const sha = await track.git.commit(inFolder({ 'other.yaml': named('other') }));
    await track.beside(async () => await track.told('Synced', sha));
    expect([await dataOf(track, 'gone'), await dataOf(track, 'other')]).toEqual([undefined, { key: '1' }]);
  });

  input('30', 'a commit that is not there any more', 'ssh', async (track) => {
    await track.git.git('checkout', '--quiet', '-b', 'side');
    const sha = await track.commit({});
    await track.git.git('checkout', '--quiet', 'main');
    await track.git.git('branch', '--quiet', '--delete', '--force', 'side');
    await track.git.git('reflog', 'expire', '--expire=now', '--all');
    await track.git.git('prune', '--expire=now');
    await ground.withFile(ground.fileWith({ ref: sha }), async () => {
      const { lines } = await track.harmless(async () => await track.told('Refused', sha));
      expect(lines).toEqual([
        expect.stringMatching(/^CommitGone commit SHA: ssh:.* The history was rewritten; push/),
      ]);
    });
  });

  input(
    '31',
    'a branch that is deleted: all stays until it is back, also with less',
    'signed',
    async (track) => {
      await track.told('Synced', await track.git.commit(inFolder({ 'more.yaml': named('more') })));
      await track.git.git('branch', '--move', 'main', 'other');
      await unreadable(track, /^RefNotFound: https:\S+ has no branch or tag main\. Set `ref` to/);
      expect(await dataOf(track, 'more')).toBeDefined();
      await track.git.git('branch', '--move', 'other', 'main');
      await track.mend();
      expect(await dataOf(track, 'more')).toBeUndefined();
    },
  );

  input('31', 'a tag that is moved', 'ssh', async (track) => {
    await track.git.git('tag', 'v1', 'refs/base');
    await ground.withFile(ground.fileWith({ ref: 'v1' }), async () => {
      await track.told('Synced', await track.git.git('rev-parse', 'refs/base'));
      const sha = await track.commit({});
      await track.git.git('tag', '--force', 'v1');
      await track.beside(async () => await track.told('Synced', sha));
    });
  });

  input('31a', 'a branch and a tag of one name', 'signed', async (track) => {
    await track.git.git('tag', 'main', 'refs/base');
    await unreadable(track, /^RefAmbiguous: https:\S+ has a branch and a tag main: refs\/heads\/main is at /);
    await track.git.git('tag', '--delete', 'main');
  });

  input('32', 'a repository that is empty', 'signed', async (track) => {
    const empty = await TestRepository.create();
    track.server.root = empty.path;
    await unreadable(track, /^UnbornBranch: https:\S+ offers no branch or tag at all: it is empty/);
    await empty.remove();
  });

  for (const [what, set, told] of [
    [
      'a commit without a signature',
      ['commit.gpgSign', 'false'],
      'CommitUnsigned commit SHA: commit SHA is not signed.',
    ],
    [
      'a commit that somebody else signed',
      ['user.signingKey', 'eve'],
      'SignatureRefused commit SHA: the signature of commit SHA is not accepted: its key is not one of the allowed',
    ],
    [
      'a commit signed by a key that has expired',
      ['user.signingKey', 'old'],
      'SignatureRefused commit SHA: the signature of commit SHA is not accepted: ',
    ],
  ] as const)
    input('34', what, 'signed', async (track) => {
      const [key, value] = set;
      const good = await track.git.git('config', key);
      await track.git.git('config', key, key === 'user.signingKey' ? join(ground.folder(), value) : value);
      await refused(track, async () => await track.commit({}), [told]);
      await track.git.git('config', key, good);
    });

  input('43', 'escapes of terminals in message and author', 'signed', async (track) => {
    const make = async () => {
      await track.commit(inFolder({ 'bad.yaml': named('') }));
      const author = ['--author', '\u001b[31mEve\u009b <eve@example.com>'];
      await track.git.git(
        'commit',
        '--quiet',
        '--amend',
        ...author,
        '--message',
        '\u001b]0;owned\u0007subject',
      );
      return await track.git.git('rev-parse', 'HEAD');
    };
    await refused(track, make, ['ObjectIncomplete deploy/web/bad.yaml:1@SHA: ConfigMap: metadata.name is ']);
    const { code, out } = await ground.cli('history', 'bad-signed');
    expect(code).toBe(0);
    expect(out).toMatch(/ \[31mEve .* subject /);
    expect(out).not.toMatch(/[^\P{Cc}\n]/u);
  });

  input('44', 'the values of a Secret that is refused', 'https', async (track) => {
    const planted = ['planted-secret-8e20c7', 'planted-note-8e20c7', TOKEN, WEBHOOK_SECRET];
    const [secret = '', note = ''] = planted;
    const text = `apiVersion: v1
kind: Secret
metadata: {name: s, annotations: {note: ["${note}"]}}
stringData: {password: ["${secret}"], other: "${secret}"}
immutable: "${secret}"
`;
    const { view } = await track.harmless(
      async () => await track.told('Refused', await track.commit(inFolder({ 'bad.yaml': text }))),
    );
    expect(view.commit?.problems?.[0]).toMatch(/^Invalid deploy\/web\/bad\.yaml:\d@/);
    const { temporal, cluster, worker } = ground;
    const ids = [
      commitWorkflowId(ground.clusterName, 'bad-https', view.commit?.sha ?? ''),
      syncWorkflowId(ground.clusterName, 'bad-https'),
    ];
    const maps = { group: '', version: 'v1', resource: 'configmaps', namespace: 'fairlead-system' };
    const said = [
      ...(await Promise.all(
        ids.map(async (id) => textOf(await temporal().workflow.getHandle(id).fetchHistory())),
      )),
      JSON.stringify(await cluster().events('fairlead-system')),
      JSON.stringify(await cluster().client.list(maps)),
      JSON.stringify(worker().lines),
      (await ground.cli('history', 'bad-https', '-o', 'json')).out,
      (await ground.cli('get', 'repositories', '-o', 'wide')).out,
      await (await fetch(`http://${ground.metricsAddress()}/metrics`)).text(),
    ];
    for (const one of said) expect(one).toMatch(/bad-https|bad\.yaml/);
    expect(plantedIn(said.join('\n'), planted)).toEqual([]);
    expect(plantedIn(text, planted)).toEqual([secret, note]);
  });

  input('45', 'more than Temporal takes in one payload', 'signed', async (track) => {
    // No two lines are the same: nothing could be made small by compressing.
    const noise = Array.from({ length: 24 }, () => randomBytes(60_000).toString('hex'));
    const files = Object.fromEntries(
      noise.map((text, index) => [
        `${String(index)}.yaml`,
        named(`large-${String(index)}`, `{key: "${text}"}`),
      ]),
    );
    const sha = await track.commit(inFolder(files));
    await track.beside(async () => await track.told('Synced', sha));
    expect(await dataOf(track, 'large-23')).toEqual({ key: noise.at(-1) });
    const run = ground.temporal().workflow.getHandle(commitWorkflowId(ground.clusterName, 'bad-signed', sha));
    expect((await run.describe()).historySize).toBeLessThan(64 * 1024);
    expect(
      plantedIn(
        textOf(await run.fetchHistory()),
        noise.map((text) => text.slice(1_000, 1_040)),
      ),
    ).toEqual([]);
  });
});

describe('servers', () => {
  input('37', 'another host key', 'ssh', async (track) => {
    const impostor = await SshGitServer.start(track.git.path);
    try {
      await ground.trustHostOf(impostor);
      await unreadable(track, /^HostKeyRefused: .*Compare the host key with what the server publishes/);
      const { commands } = ground.ssh();
      const before = commands.length;
      // It looks once more.
      const { code, err } = await ground.cli('sync', 'bad-ssh', '--timeout', '60s');
      expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining('HostKeyRefused') });
      expect(commands).toHaveLength(before);
    } finally {
      await ground.trustHostOf(ground.ssh());
      await impostor.stop();
    }
  });

  const answers: readonly (readonly [what: Behaviour, told: RegExp])[] = [
    ['unauthorized', /^AuthenticationFailed: .*Put a token/],
    [403, /^AuthenticationFailed: .*403/],
    [429, /^SourceUnreachable: .*429.*tried again at the next interval/],
    [500, /^SourceUnreachable: .*500/],
    [503, /^SourceUnreachable: .*503/],
    ['garbage', /^UnbornBranch: .*or what answers there is not git/],
    ['endless', /^Source\w+: /],
    ['hang', /^SourceTimeout: .*git ls-remote did not answer within 20 s/],
    ['slow', /^Source(?:Timeout|Unreachable): /],
  ];
  for (const [behaviour, told] of answers)
    input(
      '38',
      `a server that answers with ${String(behaviour)}`,
      behaviour === 'slow' ? 'signed' : 'https',
      async (track) => {
        track.server.behaviour = behaviour;
        // Looks are given up after 20 s: nobody may wait for that.
        await unreadable(track, told, behaviour === 'hang' || behaviour === 'slow');
      },
    );

  /** A look is answered, but the commit cannot be had. */
  async function unread(
    track: Track,
    files: Readonly<Record<string, FileChange>>,
    because: RegExp,
  ): Promise<void> {
    await track.harmless(async () => {
      const sha = await track.commit(files);
      const { view } = await track.told('Pending', undefined, because);
      expect(view).toMatchObject({ seen: sha });
    });
  }

  input('38', 'a server that answers a look, and the fetch after it with 503', 'https', async (track) => {
    track.server.only = 'fetch';
    track.server.behaviour = 503;
    await unread(track, {}, /^\w{8} is next, but cannot be read yet: SourceUnreachable: .*503/);
  });

  input(
    '38',
    'a server that answers a look, and hangs in the fetch: the next commit does not wait',
    'https',
    async (track) => {
      track.server.only = 'fetch';
      track.server.behaviour = 'hang';
      await unread(track, {}, /^\w{8} is next$/);
    },
  );

  input('39', 'a redirect to another host: the token stays', 'https', async (track) => {
    const elsewhere = await GitServer.start(track.git.path);
    try {
      track.server.redirectTo = elsewhere.url('');
      track.server.behaviour = 'redirect';
      await unreadable(track, /^SourceRefused: .*redirects are not followed/);
      expect(elsewhere.requests).toEqual([]);
    } finally {
      await elsewhere.stop();
    }
  });

  /** Folder of the worker's mirror that has a commit. */
  async function mirrorOf(sha: string): Promise<string> {
    const parents = await readdir(join(ground.folder(), 'cache'), { recursive: true, withFileTypes: true });
    const mirrors = parents.filter(({ name }) => name === 'objects').map(({ parentPath }) => parentPath);
    const has = (mirror: string): boolean => {
      try {
        execFileSync('git', [`--git-dir=${mirror}`, 'cat-file', '-e', `${sha}^{tree}`], { stdio: 'ignore' });
        return true;
      } catch {
        return false;
      }
    };
    const [mirror] = mirrors.filter(has);
    if (mirror === undefined) throw new Error(`none of ${String(mirrors.length)} mirrors has commit ${sha}`);
    return mirror;
  }

  input('40', 'no room on the disk', 'https', async (track) => {
    const objects = join(await mirrorOf(await track.git.git('rev-parse', 'HEAD')), 'objects');
    const kept = join(ground.folder(), 'objects');
    await cp(objects, kept, { recursive: true });
    const room = execFileSync('du', ['-sk', kept], { encoding: 'utf8' }).split('\t')[0] ?? '';
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${String(Number(room) * 2 + 512)}k`, 'tmpfs', objects]);
    try {
      await cp(kept, objects, { recursive: true });
      const noise = randomBytes((Number(room) * 2 + 1024) * 1024);
      await unread(
        track,
        { noise },
        /SourceUnreachable: .*No space left on device.*Make room where the worker/,
      );
    } finally {
      execFileSync('umount', [objects]);
    }
  });

  input('40', 'a mirror that is damaged, and locks that were left', 'https', async (track) => {
    const mirror = await mirrorOf(await track.git.git('rev-parse', 'HEAD'));
    for (const lock of ['shallow.lock', 'HEAD.lock', 'config.lock', 'refs/fairlead/fetched.lock'])
      await writeFile(join(mirror, lock), '');
    for (const entry of await readdir(join(mirror, 'objects'), { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const file = join(entry.parentPath, entry.name);
      const bytes = await readFile(file);
      await rm(file);
      await writeFile(
        file,
        bytes.map((byte, index) => (index % 10 === 9 ? 255 - byte : byte)),
      );
    }
    await track.beside(async () => await track.told('Synced', await track.commit({})));
  });

  input(
    '41',
    'webhooks without a proof, with a wrong one, played again, huge, of wrong types, and a flood',
    'https',
    async (track) => {
      const address = `http://${ground.metricsAddress()}/hook/bad-https`;
      const signed = (body: string) => createHmac('sha256', WEBHOOK_SECRET).update(body).digest('hex');
      const post = async (body: string, headers: Record<string, string>): Promise<number> =>
        (await fetch(address, { method: 'POST', body, headers })).status;
      const push = JSON.stringify({ ref: 'refs/heads/main' });
      const types = JSON.stringify({ ref: 7, repository: ['x'], commits: { a: null }, after: false });
      const tried = async () =>
        JSON.parse((await ground.cli('history', 'bad-https', '-o', 'json')).out) as { attempts: unknown[] };
      const before = (await tried()).attempts.length;
      await track.harmless(async () => {
        expect(await post(push, {})).toBe(401);
        expect(await post(push, { 'x-signature': 'sha256=ab' })).toBe(401);
        expect(await post(push, { 'x-signature': signed(`${push} `) })).toBe(401);
        expect(
          await post('{}', { 'x-github-event': 'ping', 'x-hub-signature-256': `sha256=${signed('{}')}` }),
        ).toBe(200);
        expect(
          await post(types, { 'x-github-event': 'push', 'x-hub-signature-256': `sha256=${signed(types)}` }),
        ).toBe(202);
        expect(await post('[', { 'x-signature': signed('[') })).toBe(400);
        for (let time = 0; time < 3; time += 1)
          expect(await post(push, { 'x-signature': signed(push) })).toBe(202);
        expect(await announced(200 * 1024 * 1024)).toBe(413);
        const statuses = await Promise.all(
          Array.from({ length: 400 }, async () => await post(push, { 'x-signature': 'no' })),
        );
        expect(new Set(statuses.filter((status) => status !== 503))).toEqual(new Set([401, 429]));
      });
      // What was applied already was looked at once more, and nothing else.
      expect((await tried()).attempts).toHaveLength(before);
    },
  );

  /** The answer to a body of so many bytes, of which only the first is sent. */
  async function announced(bytes: number): Promise<number> {
    const [host = '', port = ''] = ground.metricsAddress().split(':');
    const socket = connect(Number(port), host);
    let answer = '';
    socket.setEncoding('utf8').on('data', (text: string) => (answer += text));
    socket.write(
      `POST /hook/bad-https HTTP/1.1\r\nhost: ${host}\r\nx-signature: no\r\ncontent-length: ${String(bytes)}\r\n\r\n{`,
    );
    await eventually('it is answered', () => answer.includes('\r\n'), 10_000);
    socket.destroy();
    return Number(answer.split(' ')[1]);
  }
});

describe('entries of the repositories file', () => {
  /** The file of before goes on to count, with all that it names. */
  async function fileRefused(track: Track, bad: readonly object[], told: readonly RegExp[]): Promise<string> {
    const more = bad.map((entry, index) => ({ name: `more-${String(index)}`, url: '/srv/x', ...entry }));
    const text = await ground.withFile(JSON.stringify([...ground.entries(), ...more]), async () => {
      return await track.harmless(async () => await ground.troubles(told[0]));
    });
    const lines = text.split('\n').filter((line) => line.includes('more-'));
    expect(lines).toEqual(told.map((pattern) => expect.stringMatching(pattern)));
    await ground.troubles();
    return text;
  }
  const line = (index: number, rest: string): RegExp =>
    new RegExp(`entry ${String(index + 7)} \\(more-${String(index)}\\): ${rest}`);

  input('4', 'a path that is absolute or leads out', 'ssh', async (track) => {
    const paths = ['/etc', '../x', 'a/../../b'];
    await fileRefused(
      track,
      paths.map((path) => ({ path })),
      paths.map((_, index) => line(index, 'path: the path .* does not stay inside the repository')),
    );
  });

  input('35', 'a ref like an option', 'ssh', async (track) => {
    const refs = ['--upload-pack=x', '-x', 'a..b'];
    await fileRefused(
      track,
      refs.map((ref) => ({ ref })),
      refs.map((ref, index) => line(index, `ref: "${ref}" is not a name git allows`)),
    );
  });

  input('36', 'an address that runs something, or holds credentials', 'ssh', async (track) => {
    const run = `touch ${ground.witness()}`;
    const urls = [
      `ext::sh -c ${run}`,
      'file:///etc',
      `ssh://-oProxyCommand=${run}/x`,
      'https://git:planted-url-77@example.com/x',
    ];
    const text = await fileRefused(
      track,
      urls.map((url) => ({ url })),
      [
        line(0, 'url: .*scheme of ext::sh'),
        line(1, 'url: '),
        line(2, 'url: '),
        line(3, 'url: the url https://\\*\\*\\*@example.com/x holds credentials'),
      ],
    );
    expect(text + JSON.stringify(ground.worker().lines)).not.toContain('planted-url-77');
    expect(existsSync(ground.witness())).toBe(false);
  });

  input('42', 'durations and numbers that are none', 'ssh', async (track) => {
    const intervals = ['-1s', '1e999', 'NaN', 0];
    await fileRefused(
      track,
      intervals.map((interval) => ({ interval })),
      intervals.map((_, index) => line(index, 'interval: a duration from 1s to 24h')),
    );
  });
});
