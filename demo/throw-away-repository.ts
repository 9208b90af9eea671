/** A git repository that lives as long as the demo. */

import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { trusted } from '../kubernetes/values.ts';

const run = promisify(execFile);

export interface Commit {
  readonly sha: string;
  readonly message: string;
  /** Milliseconds since the epoch just before git was asked to make it. */
  readonly at: number;
}

export class ThrowAwayRepository {
  readonly path: string;
  readonly #home: string;

  private constructor(path: string, home: string) {
    this.path = path;
    this.#home = home;
  }

  /** An empty repository on branch `main`. `home` must hold no git configuration. Rejects with git's own words. */
  static async create(path: string, home: string): Promise<ThrowAwayRepository> {
    await mkdir(path, { recursive: true });
    const repository = new ThrowAwayRepository(path, home);
    await repository.#git('init', '--quiet', '--initial-branch=main');
    // In the repository, so that whoever plays with it can commit too.
    await repository.#git('config', 'user.name', 'Fairlead demo');
    await repository.#git('config', 'user.email', 'demo@fairlead.invalid');
    return repository;
  }

  /** Writes the files and commits everything. */
  async commit(files: Readonly<Record<string, string>>, message: string): Promise<Commit> {
    for (const [name, content] of Object.entries(files)) await writeFile(join(this.path, name), content);
    const at = Date.now();
    await this.#git('add', '--all');
    await this.#git('commit', '--quiet', '--message', message);
    return { sha: await this.head(), message, at };
  }

  /** A file of the working copy. */
  async read(name: string): Promise<string> {
    return await readFile(join(this.path, name), 'utf8');
  }

  /** The commit that `main` names. */
  async head(): Promise<string> {
    return await this.#git('rev-parse', 'HEAD');
  }

  async #git(...args: readonly string[]): Promise<string> {
    try {
      const { stdout } = await run('git', args, {
        cwd: this.path,
        env: { PATH: process.env['PATH'], HOME: this.#home, GIT_CONFIG_NOSYSTEM: '1' },
      });
      return stdout.trim();
    } catch (error) {
      const { stderr = '', message } = trusted<Error & { readonly stderr?: string }>(error);
      throw new Error(
        `git ${args.join(' ')} in ${this.path} failed: ${stderr.trim() || message}; \`fairlead check\` looks at git`,
        { cause: error },
      );
    }
  }
}
