/** How the programs of the embedded control plane are found (design §4): environment, PATH, cache, download, build. */

import { createHash } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { binaryCacheDirectory, findBinary } from '../../../local/binaries.ts';
import { downloadRelease, releaseOf } from '../../../local/download.ts';
import { packageRoot } from '../../../local/package-root.ts';
import { BINARY_NAMES, BINARY_SOURCES, CONFORMANCE_NAMES, VERSIONS } from '../../../local/versions.ts';

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'fairlead-binaries-'));
});

afterEach(async () => {
  await rm(directory, { recursive: true, force: true });
});

async function program(path: string, output: string): Promise<string> {
  await mkdir(join(path, '..'), { recursive: true });
  await writeFile(path, `#!/bin/sh\necho '${output}'\n`);
  await chmod(path, 0o755);
  return path;
}

const CURRENT = `etcd Version: ${VERSIONS.etcd}`;

describe('order', () => {
  const environment = () => ({ XDG_CACHE_HOME: join(directory, 'cache'), PATH: join(directory, 'path') });
  const cached = () => join(binaryCacheDirectory(environment()), `etcd-${VERSIONS.etcd}`);

  it('takes what the environment names, whatever its version', async () => {
    const named = await program(join(directory, 'mine'), 'etcd Version: 0.1');
    await program(join(directory, 'path', 'etcd'), CURRENT);
    expect(await findBinary('etcd', { environment: { ...environment(), FAIRLEAD_ETCD: named } })).toBe(named);
  });

  it('does not go on silently if the environment names what is not there', async () => {
    const missing = join(directory, 'missing');
    await expect(
      findBinary('etcd', { environment: { ...environment(), FAIRLEAD_ETCD: missing } }),
    ).rejects.toThrow(`FAIRLEAD_ETCD=${missing} is not a program that can be run; correct or unset it`);
  });

  it('takes one on the PATH before the cache', async () => {
    await program(cached(), CURRENT);
    const onPath = await program(join(directory, 'path', 'etcd'), CURRENT);
    expect(await findBinary('etcd', { environment: environment() })).toBe(onPath);
  });

  it.each(['etcd Version: 3.7.30', 'etcd Version: 3.6.0', 'something else'])(
    'passes by one on the PATH that says %s',
    async (output) => {
      await program(join(directory, 'path', 'etcd'), output);
      await program(cached(), CURRENT);
      expect(await findBinary('etcd', { environment: environment() })).toBe(cached());
    },
  );
});

describe('what is nowhere', () => {
  const KWOK = `kwok version v${VERSIONS.kwok}`;
  const lines: string[] = [];
  beforeEach(() => {
    lines.length = 0;
  });

  /** With this `go`, and a mirror at which nobody listens. */
  async function find(name: 'etcd' | 'kwok', go: string | undefined): Promise<string> {
    const path = join(directory, 'path');
    await mkdir(path, { recursive: true });
    if (go !== undefined) {
      await writeFile(join(path, 'go'), `#!/bin/sh\n${go}\n`);
      await chmod(join(path, 'go'), 0o755);
    }
    const environment = {
      XDG_CACHE_HOME: join(directory, 'cache'),
      // For the shell of the programs alone: whatever else is there is not to be found.
      PATH: go === undefined ? path : `${path}:/bin:/usr/bin`,
      FAIRLEAD_DOWNLOAD_MIRROR: 'http://127.0.0.1:1',
    };
    return await findBinary(name, { environment, report: (line) => void lines.push(line) });
  }
  /** A `go` whose programs say this. */
  const building = (output: string) =>
    `while [ "$1" != -o ]; do shift; done\nprintf '#!/bin/sh\\necho "%s"\\n' '${output}' >"$2"`;
  const inCache = async () => await readdir(join(directory, 'cache', 'fairlead', 'bin'));

  it('is built where it cannot be downloaded, which is told', async () => {
    const built = await find('kwok', building(KWOK));
    expect(built).toBe(join(directory, 'cache', 'fairlead', 'bin', `kwok-${VERSIONS.kwok}`));
    expect(lines).toEqual([
      expect.stringMatching(/^downloading http:\/\/127\.0\.0\.1:1\//),
      expect.stringMatching(/^kwok: no download \(.*127\.0\.0\.1:1.*\); building it instead$/),
      expect.stringMatching(/^building kwok .* with go; the first build takes about .* on two cores$/),
      expect.stringMatching(/^built kwok .* in \d+ s$/),
    ]);
    lines.length = 0;
    expect(await find('kwok', 'exit 1')).toBe(built);
    expect(lines).toEqual([]);
  });

  it('is built where there is no release to download', async () => {
    await find('etcd', building(CURRENT));
    expect(lines[0]).toMatch(/^building etcd /);
  });

  it.each([
    [
      'nobody has a go',
      undefined,
      /^cannot build etcd .*: there is no `go` on the PATH; install Go 1\.\d+ or newer/,
    ],
    [
      'the build fails',
      'echo wrong >&2; exit 3',
      /^cannot build etcd .*: go build ended with exit code 3\n {2}\| wrong$/,
    ],
    ['another version comes out', building('etcd Version: 0.1'), /was built but does not answer/],
  ])('is told where %s', async (_, go, message) => {
    await expect(find('etcd', go)).rejects.toThrow(message);
    expect(await inCache()).toEqual([]);
  });
});

describe('download', () => {
  let server: Server;
  let base: string;
  const served = new Map<string, Buffer>();
  const quiet = { report: () => undefined };
  const sha256 = (content: Buffer) => createHash('sha256').update(content).digest('hex');

  beforeEach(async () => {
    served.clear();
    server = createServer((request, response) => {
      const content = served.get(request.url ?? '');
      response.writeHead(content === undefined ? 404 : 200).end(content);
    });
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- of a TCP server
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });

  afterEach(async () => {
    await new Promise((resolve) => {
      server.close(resolve);
    });
  });

  it('makes a program that can be run of a file with the pinned checksum', async () => {
    const content = Buffer.from('#!/bin/sh\necho fine\n');
    served.set('/file', content);
    const target = join(directory, 'program');
    await downloadRelease({ url: `${base}/file`, sha256: sha256(content) }, target, quiet);
    expect(await readFile(target)).toEqual(content);
    expect(await readdir(directory)).toEqual(['program']);
  });

  it('refuses another checksum and leaves nothing behind', async () => {
    served.set('/file', Buffer.from('tampered'));
    const release = { url: `${base}/file`, sha256: sha256(Buffer.from('original')) };
    await expect(downloadRelease(release, join(directory, 'program'), quiet)).rejects.toThrow(
      `${base}/file has the SHA-256 ${sha256(Buffer.from('tampered'))}, not the pinned ${release.sha256}`,
    );
    expect(await readdir(directory)).toEqual([]);
  });

  it('says why there was no answer', async () => {
    const release = { url: 'http://127.0.0.1:9/file', sha256: sha256(Buffer.from('')) };
    await expect(downloadRelease(release, join(directory, 'program'), quiet)).rejects.toThrow(
      /^127\.0\.0\.1:9: ./,
    );
  });

  it('says which address answered what', async () => {
    const release = { url: `${base}/gone`, sha256: sha256(Buffer.from('')) };
    await expect(downloadRelease(release, join(directory, 'program'), quiet)).rejects.toThrow(
      `${base}/gone answers 404`,
    );
  });

  it('can be pointed at a mirror, which does not change the checksum', () => {
    const official = releaseOf('kwok', {}, 'linux-x64');
    const mirror = { FAIRLEAD_DOWNLOAD_MIRROR: 'https://mirror.example/github/' };
    const mirrored = releaseOf('kwok', mirror, 'linux-x64');
    expect(official?.url).toMatch(
      /^https:\/\/github\.com\/kubernetes-sigs\/kwok\/releases\/download\/v0\.8\.0\//,
    );
    expect(mirrored?.url).toBe(official?.url.replace('https://github.com', 'https://mirror.example/github'));
    expect(mirrored?.sha256).toBe(official?.sha256);
  });
});

describe('tool chain', () => {
  it.each([
    ['kubernetes', 'k8s.io/kubernetes', VERSIONS.kubernetes],
    ['etcd', 'go.etcd.io/etcd/server/v3', VERSIONS.etcd],
    ['kwok', 'sigs.k8s.io/kwok', VERSIONS.kwok],
    ['temporal', 'github.com/temporalio/cli', VERSIONS.temporal],
  ])('%s is built from the pinned version', async (product, module, version) => {
    const folder = join(packageRoot(), 'local', 'toolchain', product);
    const goMod = await readFile(join(folder, 'go.mod'), 'utf8');
    expect(goMod.split(/\s*\n\s*/)).toContain(`${module} v${version} // indirect`);
    expect(await readFile(join(folder, 'go.sum'), 'utf8')).toContain(`${module} v${version} h1:`);
    expect(await readdir(folder)).toEqual(['go.mod', 'go.sum']);
    const programs = BINARY_NAMES.map((name) => BINARY_SOURCES[name]).filter(
      (source) => source.product === product,
    );
    expect(programs.length).toBeGreaterThan(0);
    for (const { goPackage } of programs) expect(goMod).toContain(goPackage);
  });

  it("builds upstream's tests from the pinned version, with nothing of ours but the main", async () => {
    const folder = join(packageRoot(), 'conformance', 'upstream');
    const goMod = await readFile(join(folder, 'go.mod'), 'utf8');
    expect(goMod.split(/\s*\n\s*/)).toContain(`k8s.io/kubernetes v${VERSIONS.kubernetes}`);
    expect(goMod).toContain(`tool ${BINARY_SOURCES.kubectl.goPackage}\n`);
    expect((await readdir(folder)).toSorted()).toEqual(['go.mod', 'go.sum', 'main.go']);
    for (const name of CONFORMANCE_NAMES) expect(BINARY_SOURCES[name].module).toBe('conformance/upstream');
  });

  it.each([
    ['local', 'toolchain', 'kubernetes'],
    ['conformance', 'upstream'],
  ])('%s/%s replaces every staging module of Kubernetes by that of the same release', async (...folder) => {
    const goMod = await readFile(join(packageRoot(), ...folder, 'go.mod'), 'utf8');
    const replaced = [...goMod.matchAll(/^\t\S+ => (\S+) (\S+)$/gm)].map(([, , version]) => version);
    expect(new Set(replaced)).toEqual(new Set([`v0.${VERSIONS.kubernetes.slice(2)}`]));
    expect(replaced.length).toBeGreaterThan(30);
  });
});
