/**
 * The checklist of bad inputs (docs/bad-inputs.md), each brought to a running worker by real servers: people are told its name and place,
 * nothing is applied by half, the repository beside it is in the cluster on time, and a good commit puts all right.
 */

import { execFileSync } from 'node:child_process';
import { createHmac, randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile, readdir, rename, truncate, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';

import { describe, expect, it } from '@jest/globals';

import { isNotFound } from '../../kubernetes/api-error.ts';
import type { KubernetesObject } from '../../planners/objects.ts';
import { commitWorkflowId, syncWorkflowId } from '../../workflows/sync-messages.ts';
import type { BadFile } from '../support/bad-files.ts';
import {
  FOREIGN_OBJECTS,
  ODD_NAMES,
  UNREAD_FILES,
  UNUSABLE_OBJECTS,
  contentOf,
  toldOf,
} from '../support/bad-files.ts';
import type { Told, Track, TrackName } from '../support/bad-input-ground.ts';
import {
  FOLDER,
  NEIGHBOUR,
  TOKEN,
  WEBHOOK_SECRET,
  inFolder,
  named,
  useBadInputGround,
} from '../support/bad-input-ground.ts';
import { eventually, found } from '../support/eventually.ts';
import { itInFull } from '../support/full-suite.ts';
import type { FileChange } from '../support/git-repository.ts';
import { TestRepository } from '../support/git-repository.ts';
import type { Behaviour } from '../support/git-server.ts';
import { GitServer } from '../support/git-server.ts';
import { useLanes } from '../support/lanes.ts';
import { mountsRoom, moveToSmallRoom, unmount } from '../support/mounts.ts';
import { plantedIn, textOf } from '../support/planted.ts';
import { configMap } from '../support/small-manifests.ts';
import { SshGitServer } from '../support/ssh-git-server.ts';
import { grantInCluster, grantInNamespace } from '../support/sync-account.ts';

const ground = useBadInputGround();

// One group of inputs after the other in each.
const lanes = { https: useLanes(1), signed: useLanes(1), ssh: useLanes(1) };

/** A minute of waiting for servers that do not answer. */
const FOR_FULL: ReadonlySet<string> = new Set(['38, 39']);

/** Afterwards all is put right by a good commit, which is seen to be applied. */
function inputs(
  numbers: string,
  what: string,
  on: TrackName,
  play: (track: Track) => Promise<void>,
  end: 'mended' | 'as it was' = 'mended',
): void {
  const body = lanes[on](async () => {
    const track = ground.track(on);
    let isPlayed = false;
    try {
      await play(track);
      isPlayed = true;
    } finally {
      // What one that failed has left is not the next one's matter.
      if (end === 'mended' || !isPlayed) await track.mend();
    }
  });
  const test = FOR_FULL.has(numbers) ? itInFull : it;
  test(`${numbers}: ${what}`, body, 180_000);
}

/** The commit is refused before its first write, for these reasons and no others: how each line begins. */
async function refused(track: Track, sha: string, told: readonly string[]): Promise<Told> {
  const all = await track.told('Refused', sha);
  const shown = all.lines.map((line) =>
    line.replaceAll(track.namespace, 'NS').replaceAll(ground.neighbour().namespace, 'OTHER'),
  );
  expect(shown.map((line, index) => line.slice(0, told[index]?.length))).toEqual(told);
  expect(all.view.commit?.problemCount).toBe(told.length);
  return all;
}

/** Not read at all. */
async function unreadable(track: Track, because: RegExp): Promise<void> {
  await track.told('Unreadable', undefined, because);
}

/** Those that a test does not make itself, by their paths. */
function filesOf(track: Track, files: readonly BadFile[]): Record<string, FileChange> {
  const contents = files.flatMap((one) => {
    const content = contentOf(one, track.namespace, ground.neighbour().namespace);
    return content === undefined ? [] : [[one.file, content] as const];
  });
  return inFolder(Object.fromEntries(contents));
}

const inFolderBytes = (name: Buffer): Buffer => Buffer.concat([Buffer.from(`${FOLDER}/`), name]);

/** A commit of texts alone, whatever the file system would say to their paths. */
async function imported(
  track: Track,
  odd: readonly (readonly [path: Buffer, text: string])[],
  files: Readonly<Record<string, FileChange>>,
): Promise<string> {
  const texts = Object.entries(files).map(([path, text]) => {
    if (typeof text !== 'string') throw new TypeError(`${path} is no text`);
    return [Buffer.from(path), text] as const;
  });
  return await track.git.imported('main', [...odd, ...texts]);
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

describe('files and objects', () => {
  inputs(
    '1–3, 5, 6, 12–20',
    'links, a submodule, a pointer, YAML that is none or costs much: each is told at its line',
    'signed',
    async (track) => {
      const other = await TestRepository.create();
      await other.commit({ x: 'y' });
      const add = ['-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', other.path];
      await track.git.git(...add, `${FOLDER}/05`);
      const files = { ...filesOf(track, UNREAD_FILES), ...inFolder({ '../../real/a.yaml': named('real') }) };
      await track.harmless(async () => await refused(track, await track.commit(files), toldOf(UNREAD_FILES)));
      await other.remove();
      await track.clear();
    },
    'as it was',
  );

  inputs(
    '7, 8, 17, 19–22, 26, 30, 45',
    'what only looks bad is applied as kubectl reads it, and pruned when the history is rewritten',
    'ssh',
    async (track) => {
      const { client } = ground.cluster();
      const { namespace } = track;
      await grantInCluster(client, namespace, [
        'customresourcedefinitions.apiextensions.k8s.io',
        'widgets.comes.example.com',
      ]);
      const definition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.comes.example.com, annotations: {fairlead.dev/prune: confirmed}}
spec:
  group: comes.example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`;
      const item = '{apiVersion: v1, kind: ConfigMap, metadata: {name: one}}';
      // No two lines are the same: nothing could be made small by compressing.
      const noise = Array.from({ length: 24 }, () => randomBytes(60_000).toString('hex'));
      const files = inFolder({
        'keys.yaml': named('keys', '{__proto__: a, constructor: b, 1: c, 0x10: d}'),
        'lines.yaml': `\uFEFF# of Windows\n${named('lines')}`.replaceAll('\n', '\r\n'),
        'list.yaml': `---\n# nothing\n---\napiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMapList\n  items: [${item}]\n- {apiVersion: v1, kind: List, items: null}\n`,
        // First comes the object.
        'a.yaml': 'apiVersion: comes.example.com/v1\nkind: Widget\nmetadata: {name: it}\n',
        'z.yaml': definition,
        ...Object.fromEntries(
          noise.map((text, index) => [`${index}.yaml`, named(`large-${index}`, `{key: "${text}"}`)]),
        ),
      });
      const odd = ODD_NAMES.map(
        ([name], index) => [inFolderBytes(name), named(`odd-${String(index)}`)] as const,
      );
      const sha = await ground.neighbour().beside(async () => {
        const made = await imported(track, odd, { '.gitattributes': '* filter=evil\n', ...files });
        await track.told('Synced', made);
        return made;
      }, false);
      expect(JSON.stringify(await dataOf(track, 'keys'))).toBe(
        '{"1":"c","16":"d","__proto__":"a","constructor":"b"}',
      );
      expect(await dataOf(track, 'lines')).toEqual({ key: '1' });
      expect(await dataOf(track, 'one')).toEqual({});
      for (const index of ODD_NAMES.keys())
        expect(await dataOf(track, `odd-${String(index)}`)).toEqual({ key: '1' });
      const path = { group: 'comes.example.com', version: 'v1', resource: 'widgets', namespace, name: 'it' };
      expect(await client.get(path)).toMatchObject({ kind: 'Widget' });
      // Neither filter nor hook of git's was run.
      expect(existsSync(ground.witness())).toBe(false);
      expect(await dataOf(track, 'large-23')).toEqual({ key: noise.at(-1) });
      const run = ground.temporal().workflow.getHandle(commitWorkflowId(ground.clusterName, 'bad-ssh', sha));
      expect((await run.describe()).historySize).toBeLessThan(64 * 1024);
      const pieces = noise.map((text) => text.slice(1_000, 1_040));
      expect(plantedIn(textOf(await run.fetchHistory()), pieces)).toEqual([]);
      // The good commit is not one that followed: what the branch names counts.
      await track.mend();
      expect([await dataOf(track, 'keys'), await dataOf(track, 'kept')]).toEqual([undefined, { key: '1' }]);
    },
    'as it was',
  );

  inputs(
    '8, 22–26',
    'names of files, and objects that are none: each is told at its line',
    'ssh',
    async (track) => {
      const half = inFolder({ 'config.yaml': configMap('half'), 'half.yaml': named('half') });
      const files = { ...half, ...filesOf(track, UNUSABLE_OBJECTS) };
      const nameless = ODD_NAMES.map(([name]) => [inFolderBytes(name), named('')] as const);
      const toldOfNames = ODD_NAMES.map(
        ([, shown]) => `ObjectIncomplete ${FOLDER}/${shown}:1@SHA: ConfigMap: metadata.name is `,
      );
      const told = [...toldOfNames.slice(0, 2), ...toldOf(UNUSABLE_OBJECTS), ...toldOfNames.slice(2)];
      const { lines } = await track.harmless(
        async () => await refused(track, await imported(track, nameless, files), told),
      );
      expect(lines.join('')).toMatch(/^\P{Cc}+$/u);
    },
    'as it was',
  );

  const WHOLE: readonly (readonly [
    what: string,
    files: Readonly<Record<string, FileChange>>,
    told: string,
  ])[] = [
    [
      'a symbolic link in the middle of the path',
      { '../../real/web/a.yaml': named('real'), '../../deploy': { link: 'real' } },
      'SymlinkRefused deploy@SHA: deploy is a symbolic link.',
    ],
    [
      'the path is gone',
      { '../../elsewhere/a.yaml': named('one'), '../../deploy': undefined },
      'PathVanished deploy/web@SHA: the path deploy does not exist in commit SHA. Nothing was pruned.',
    ],
    [
      'empty documents and comments alone',
      { 'bad.yaml': '---\n# nothing\n---\n\n', 'config.yaml': '', 'half.yaml': '# nothing\n' },
      'NoManifests commit SHA: deploy/web holds no manifests in this commit. Nothing was pruned.',
    ],
    [
      'more than 10 MB together',
      Object.fromEntries(
        Array.from({ length: 11 }, (_, index) => [
          `${index}.yaml`,
          `# ${'x'.repeat(1_000_000)}\n${named(`x${index}`)}`,
        ]),
      ),
      'CommitTooLarge commit SHA: the manifests of commit SHA have 11',
    ],
  ];
  inputs(
    '2, 10, 11, 21, 33',
    'a path that leads elsewhere or is gone, nothing in it, too much of it: the commit is refused as a whole',
    'ssh',
    async (track) => {
      await track.harmless(async () => {
        for (const [, files, told] of WHOLE) {
          await track.clear();
          await refused(track, await track.commit(inFolder(files)), [told]);
        }
        const many = Array.from({ length: 100_000 }, (_, index) =>
          Buffer.from(`${FOLDER}/${String(index % 300)}/${String(index)}.yaml`),
        );
        const text = named('x');
        const sha = await imported(
          track,
          many.map((path) => [path, text]),
          {},
        );
        await refused(track, sha, [
          'TooManyFiles commit SHA: commit SHA has 100000 manifests, at most 20000 are read.',
        ]);
      });
    },
  );

  inputs(
    '9, 27–29, 42–44',
    'what is not its own, values that are none, a Secret, escapes in message and author: each is told at its line, none of it obeyed, nothing given away',
    'https',
    async (track) => {
      const { namespace } = track;
      const { client } = ground.cluster();
      const path = { group: '', version: 'v1', resource: 'configmaps', namespace };
      const labels = { 'applyset.kubernetes.io/part-of': 'applyset-of-another-v1' };
      await client.create(path, {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'theirs', labels },
      });
      // It may: that is no reason.
      await grantInNamespace(client, namespace, ground.neighbour().namespace);
      const large = join(track.git.path, FOLDER, '09.yaml');
      await writeFile(large, '');
      await truncate(large, 100 * 1024 * 1024);
      const planted = ['planted-secret-8e20c7', 'planted-note-8e20c7', TOKEN, WEBHOOK_SECRET];
      const [secret = '', note = ''] = planted;
      const text = `apiVersion: v1
kind: Secret
metadata: {name: s, annotations: {note: ["${note}"]}}
stringData: {password: ["${secret}"], other: "${secret}"}
immutable: "${secret}"
`;
      const make = async () => {
        await track.commit({ ...filesOf(track, FOREIGN_OBJECTS), ...inFolder({ '44.yaml': text }) });
        const author = ['--author', '\u001b[31mEve\u009b <eve@example.com>'];
        const message = '\u001b]0;owned\u0007subject';
        await track.git.git('commit', '--quiet', '--amend', ...author, '--message', message);
        return await track.git.git('rev-parse', 'HEAD');
      };
      const { view } = await track.harmless(
        async () =>
          await refused(track, await make(), [...toldOf(FOREIGN_OBJECTS), 'Invalid deploy/web/44.yaml:']),
      );

      const { code, out } = await ground.cli('history', 'bad-https');
      expect(code).toBe(0);
      expect(out).toMatch(/ \[31mEve .* subject /);
      expect(out).not.toMatch(/[^\P{Cc}\n]/u);

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
      for (const one of said) expect(one).toMatch(/bad-https|44\.yaml/);
      expect(plantedIn(said.join('\n'), planted)).toEqual([]);
      expect(plantedIn(text, planted)).toEqual([secret, note]);
    },
  );
});

describe('commits', () => {
  inputs(
    '34',
    'no signature, that of somebody else, that of a key that has expired',
    'signed',
    async (track) => {
      const because = 'SignatureRefused commit SHA: the signature of commit SHA is not accepted: ';
      await track.harmless(async () => {
        await track.git.git('config', 'commit.gpgSign', 'false');
        const told = ['CommitUnsigned commit SHA: commit SHA is not signed.'];
        await refused(track, await track.commit({}), told);
        await track.git.git('config', 'commit.gpgSign', 'true');
        const good = await track.git.git('config', 'user.signingKey');
        for (const [key, why] of [
          ['eve', 'its key is not one of the allowed'],
          ['old', ''],
        ] as const) {
          await track.git.git('config', 'user.signingKey', join(ground.folder(), key));
          await refused(track, await track.commit({}), [because + why]);
        }
        await track.git.git('config', 'user.signingKey', good);
      });
    },
  );

  inputs(
    '31, 31a, 32',
    'a repository that is empty, a branch that is deleted, a branch and a tag of one name',
    'signed',
    async (track) => {
      const empty = await TestRepository.create();
      await track.harmless(async () => {
        track.server.root = empty.path;
        await track.commit({});
        await unreadable(track, /^UnbornBranch: https:\S+ offers no branch or tag at all: it is empty/);
        await track.git.git('branch', '--move', 'main', 'other');
        track.server.root = track.git.path;
        await unreadable(track, /^RefNotFound: https:\S+ has no branch or tag main\. Set `ref` to/);
        // Nobody is to see what is only half of it, nor a look that is under way already: they come one after the other.
        track.server.behaviour = 503;
        await unreadable(track, /^SourceUnreachable: .*503/);
        await track.git.git('branch', '--move', 'other', 'main');
        await track.git.git('tag', 'main', 'refs/base');
        track.server.behaviour = 'serve';
        await unreadable(
          track,
          /^RefAmbiguous: https:\S+ has a branch and a tag main: refs\/heads\/main is at /,
        );
        track.server.behaviour = 503;
        await track.git.git('tag', '--delete', 'main');
      });
      await empty.remove();
    },
  );
});

describe('servers', () => {
  inputs('38', 'a server that sends a byte now and then', 'signed', async (track) => {
    track.server.behaviour = 'slow';
    // Looks are given up after 20 s: nobody may wait for that.
    await track.harmless(async () => {
      await track.commit({});
      await unreadable(track, /^Source(?:Timeout|Unreachable): /);
    }, true);
  });

  const ANSWERS: readonly (readonly [what: Behaviour, told: RegExp])[] = [
    ['unauthorized', /^AuthenticationFailed: .*Put a token/],
    [403, /^AuthenticationFailed: .*403/],
    [429, /^SourceUnreachable: .*429.*tried again, after the interval/],
    [500, /^SourceUnreachable: .*500/],
    [503, /^SourceUnreachable: .*503/],
    ['garbage', /^UnbornBranch: .*or what answers there is not git/],
    ['endless', /^Source\w+: /],
  ];

  /** A look is answered, but the commit cannot be had. */
  async function unread(
    track: Track,
    files: Readonly<Record<string, FileChange>>,
    because: RegExp,
    state: 'Pending' | 'Progressing' = 'Pending',
  ): Promise<void> {
    const sha = await track.commit(files);
    const { view } = await track.told(state, undefined, because);
    expect(view).toMatchObject({ seen: sha });
  }

  inputs(
    '38, 39',
    'a server that answers a look with 401, 403, 429, 5xx, with what is not git, without end, with a redirect (the token stays), or not at all; and the fetch after it with 503, or not at all',
    'https',
    async (track) => {
      const { server } = track;
      const elsewhere = await GitServer.start(track.git.path);
      try {
        await track.harmless(async () => {
          server.behaviour = 503;
          await track.commit({});
          for (const [behaviour, told] of ANSWERS) {
            server.behaviour = behaviour;
            await unreadable(track, told);
          }
          server.redirectTo = elsewhere.url('');
          server.behaviour = 'redirect';
          await unreadable(track, /^SourceRefused: .*redirects are not followed/);
          expect(elsewhere.requests).toEqual([]);
        });
      } finally {
        await elsewhere.stop();
      }
      await track.harmless(async () => {
        server.behaviour = 'hang';
        await unreadable(track, /^SourceTimeout: .*git ls-remote did not answer within 20 s/);
      }, true);
      await track.harmless(async () => {
        server.behaviour = 503;
        server.only = 'fetch';
        await unread(track, {}, /^\w{8} is next, but cannot be read yet: SourceUnreachable: .*503/);
        // The next commit does not wait for it.
        server.behaviour = 'hang';
        await unread(track, {}, /^\w{8} is under way; Checking$/, 'Progressing');
      });
    },
  );

  inputs(
    '37',
    'another host key: nothing is asked',
    'ssh',
    async (track) => {
      const good = await track.git.git('rev-parse', 'HEAD');
      const impostor = await SshGitServer.start(track.git.path);
      try {
        await ground.trustHostOf(impostor);
        await track.harmless(async () => {
          await track.commit({});
          await unreadable(track, /^HostKeyRefused: .*Compare the host key with what the server publishes/);
          const { commands } = ground.ssh();
          const before = commands.length;
          // It looks once more.
          const { code, err } = await ground.cli('sync', 'bad-ssh', '--timeout', '60s');
          expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining('HostKeyRefused') });
          expect(commands).toHaveLength(before);
        });
      } finally {
        await track.git.git('reset', '--quiet', '--hard', good);
        await ground.trustHostOf(ground.ssh());
        await impostor.stop();
      }
    },
    'as it was',
  );

  inputs('30, 31', 'a commit that is not there any more, and a tag that is moved', 'ssh', async (track) => {
    await track.git.git('checkout', '--quiet', '-b', 'side');
    const gone = await track.commit({});
    await track.git.git('checkout', '--quiet', 'main');
    await track.git.git('branch', '--quiet', '--delete', '--force', 'side');
    await track.git.git('reflog', 'expire', '--expire=now', '--all');
    await track.git.git('prune', '--expire=now');
    await ground.withFile(ground.fileWith({ ref: gone }), async () => {
      const { lines } = await track.harmless(async () => await track.told('Refused', gone));
      expect(lines).toEqual([
        expect.stringMatching(/^CommitGone commit SHA: ssh:.* Set `ref` to a commit that a branch or tag/),
      ]);
    });
    await track.git.git('tag', 'v1');
    await ground.withFile(ground.fileWith({ ref: 'v1' }), async () => {
      await track.told('Synced', await track.git.git('rev-parse', 'HEAD'));
      const sha = await track.commit({});
      await track.git.git('tag', '--force', 'v1');
      await track.told('Synced', sha);
    });
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

  /** Whether all of it could be: a look that comes in between takes it away, and makes it anew. */
  async function damaged(mirror: string): Promise<boolean> {
    try {
      for (const lock of ['shallow.lock', 'HEAD.lock', 'config.lock', 'refs/fairlead/fetched.lock'])
        await writeFile(join(mirror, lock), '');
      for (const entry of await readdir(join(mirror, 'objects'), { recursive: true, withFileTypes: true })) {
        if (!entry.isFile()) continue;
        const file = join(entry.parentPath, entry.name);
        const bytes = await readFile(file);
        // Renamed: git gives nobody the right to write into them.
        const broken = join(mirror, 'broken');
        await writeFile(
          broken,
          bytes.map((byte, index) => (index % 10 === 9 ? 255 - byte : byte)),
        );
        await rename(broken, file);
      }
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      return false;
    }
  }

  inputs(
    '40',
    'a mirror that is damaged, and locks that were left: it is made anew',
    'https',
    async (track) => {
      const mirror = await mirrorOf(await track.git.git('rev-parse', 'HEAD'));
      await found('it is damaged', async () => ((await damaged(mirror)) ? true : undefined));
      const sha = await track.git.commit(inFolder({ 'config.yaml': configMap('anew') }));
      await track.told('Synced', sha);
    },
    'as it was',
  );

  // Only where this machine lets a small file system be mounted.
  if (mountsRoom())
    inputs('40', 'no room on the disk, until there is', 'https', async (track) => {
      const objects = join(await mirrorOf(await track.git.git('rev-parse', 'HEAD')), 'objects');
      const used = Number(execFileSync('du', ['-sk', objects], { encoding: 'utf8' }).split('\t')[0]);
      await moveToSmallRoom(objects, used * 2 + 512);
      // Not before: the worker goes on to try.
      ground.atEnd(async () => await unmount(objects));
      try {
        const noise = randomBytes((used * 2 + 1024) * 1024);
        const because = /SourceUnreachable: .*No space left on device.*Make room where the worker/;
        await track.harmless(async () => await unread(track, { noise }, because));
      } finally {
        execFileSync('mount', ['-o', 'remount,size=64m', objects]);
      }
    });

  inputs(
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
    'as it was',
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
  const run = () => `touch ${ground.witness()}`;
  const GROUPS: readonly (readonly [
    field: string,
    values: () => readonly unknown[],
    told: readonly string[],
  ])[] = [
    [
      'path',
      () => ['/etc', '../x', 'a/../../b'],
      Array.from({ length: 3 }, () => 'path: the path .* does not stay inside the repository'),
    ],
    [
      'ref',
      () => ['--upload-pack=x', '-x', 'a..b'],
      ['--upload-pack=x', '-x', 'a..b'].map((ref) => `ref: "${ref}" is not a name git allows`),
    ],
    [
      'url',
      () => [
        `ext::sh -c ${run()}`,
        'file:///etc',
        `ssh://-oProxyCommand=${run()}/x`,
        'https://git:planted-url-77@example.com/x',
      ],
      [
        'url: .*scheme of ext::sh',
        'url: ',
        'url: ',
        'url: the url https://\\*\\*\\*@example.com/x holds credentials',
      ],
    ],
    [
      'interval',
      () => ['-1s', '1e999', 'NaN', 0],
      Array.from({ length: 4 }, () => 'interval: a duration from 1s to 24h'),
    ],
  ];

  inputs(
    '4, 35, 36, 42',
    'paths that lead out, refs like options, addresses that run something or hold credentials, durations that are none: the file of before goes on to count',
    'ssh',
    async (track) => {
      const bad = GROUPS.flatMap(([field, values]) => values().map((value) => ({ [field]: value })));
      const more = bad.map((entry, index) => ({ name: `more-${String(index)}`, url: '/srv/x', ...entry }));
      const first = ground.entries().length + 1;
      const told = GROUPS.flatMap(([, , lines]) => lines).map(
        (line, index) => new RegExp(`entry ${String(first + index)} \\(more-${String(index)}\\): ${line}`),
      );
      const text = await ground.withFile(JSON.stringify([...ground.entries(), ...more]), async () => {
        return await track.harmless(async () => await ground.troubles(told[0]));
      });
      const lines = text.split('\n').filter((line) => line.includes('more-'));
      expect(lines).toEqual(told.map((pattern) => expect.stringMatching(pattern)));
      await ground.troubles();
      expect(text + JSON.stringify(ground.worker().lines)).not.toContain('planted-url-77');
      expect(existsSync(ground.witness())).toBe(false);
    },
    'as it was',
  );
});

describe('the neighbour', () => {
  it('was never anything but followed and applied', async () => {
    const { out } = await ground.cli('history', NEIGHBOUR, '-o', 'json');
    const { attempts } = JSON.parse(out) as { readonly attempts: readonly { readonly outcome: string }[] };
    const outcomes = new Set(attempts.map(({ outcome }) => outcome));
    outcomes.delete('Superseded');
    expect(outcomes).toEqual(new Set(['Succeeded']));
    const { states } = ground.neighbour();
    for (const state of ['Pending', 'Progressing'] as const) states.delete(state);
    expect(states).toEqual(new Set(['Synced']));
  });
});
