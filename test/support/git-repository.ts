/** Throw-away git repositories, made with the git program of the machine and nothing of its user's configuration. */

import { execFile, execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Content of a file; undefined removes it; a link points to its target. */
export type FileChange = string | Buffer | undefined | { readonly link: string };

/** The name of a manifest that is no text: `f`, two bytes that UTF-8 does not have, `.yaml`. */
export const NO_UTF8 = Buffer.from([0x66, 0xff, 0xfe, 0x2e, 0x79, 0x61, 0x6d, 0x6c]);

const COMMIT = 'git add --all; git commit --quiet --allow-empty --message "$1"; git rev-parse HEAD';

export class TestRepository {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  /** An empty repository on branch `main`, without a commit. */
  static async create(): Promise<TestRepository> {
    const path = await mkdtemp(join(tmpdir(), 'fairlead-repository-'));
    const repository = new TestRepository(path);
    await repository.git('init', '--quiet', '--initial-branch=main');
    return repository;
  }

  async git(...args: readonly string[]): Promise<string> {
    return await this.#run('git', args);
  }

  /** Changes files and commits them; answers the sha. */
  async commit(files: Readonly<Record<string, FileChange>>, message = 'change'): Promise<string> {
    for (const [name, content] of Object.entries(files)) await this.#write(name, content);
    // Two repositories with the same content would have the same sha, if they were made in the same second.
    const whole = `${message} (${basename(this.path)})`;
    // One process of this large one, which costs ten milliseconds, and not three.
    return await this.#run('/bin/sh', ['-ec', COMMIT, 'commit', whole]);
  }

  /** A commit without parents of these files and no others, whatever the file system would say to their paths; answers the sha. */
  async imported(branch: string, files: readonly (readonly [path: Buffer, text: string])[]): Promise<string> {
    const texts = [...new Set(files.map(([, text]) => text))];
    const input = Buffer.concat([
      ...texts.map((text, index) =>
        Buffer.from(`blob\nmark :${String(index + 1)}\ndata ${String(Buffer.byteLength(text))}\n${text}\n`),
      ),
      Buffer.from(`commit refs/heads/${branch}\ncommitter Test <test@example.com> 0 +0000\ndata 1\nx\n`),
      ...files.map(([path, text]) =>
        Buffer.concat([
          Buffer.from(`M 100644 :${String(texts.indexOf(text) + 1)} "`),
          quoted(path),
          Buffer.from('"\n'),
        ]),
      ),
      Buffer.from('\n'),
    ]);
    execFileSync('git', ['-c', 'core.protectNTFS=false', 'fast-import', '--quiet', '--force'], {
      cwd: this.path,
      input,
    });
    return await this.git('rev-parse', branch);
  }

  async #run(program: string, args: readonly string[]): Promise<string> {
    const { stdout } = await run(program, args, {
      cwd: this.path,
      env: {
        PATH: process.env['PATH'],
        HOME: this.path,
        GIT_CONFIG_NOSYSTEM: '1',
        GIT_AUTHOR_NAME: 'Test',
        GIT_AUTHOR_EMAIL: 'test@example.com',
        GIT_COMMITTER_NAME: 'Test',
        GIT_COMMITTER_EMAIL: 'test@example.com',
      },
    });
    return stdout.trim();
  }

  async remove(): Promise<void> {
    await rm(this.path, { recursive: true, force: true });
  }

  async #write(name: string, content: FileChange): Promise<void> {
    const path = join(this.path, name);
    await rm(path, { recursive: true, force: true });
    if (content === undefined) return;
    await mkdir(dirname(path), { recursive: true });
    if (typeof content === 'object' && 'link' in content) await symlink(content.link, path);
    else await writeFile(path, content);
  }
}

/** As C writes it, which is what fast-import reads. */
function quoted(path: Buffer): Buffer {
  const escaped = [...path].map((byte) => `\\${byte.toString(8).padStart(3, '0')}`);
  return Buffer.from(escaped.join(''));
}
