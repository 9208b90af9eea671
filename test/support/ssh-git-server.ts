/** A git server behind ssh on loopback: a real ssh server that runs git's own upload-pack, and can also hang, hang up and lie. */

import { execFile, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import type { Connection, ServerChannel } from 'ssh2';
import ssh2 from 'ssh2';

import { trusted } from '../../kubernetes/values.ts';

/** What the server does with a command; `serve` is the ordinary answer. */
export type SshBehaviour = 'serve' | 'hang' | 'hang up' | 'garbage' | 'failure';

export class SshGitServer {
  behaviour: SshBehaviour = 'serve';
  /** Whether clients may say which version of git's protocol they speak; most servers let nobody set a variable, and speak the first. */
  takesVariables = true;
  /** Every repository under it is served. */
  root: string;
  /** The only commands that were asked for. */
  readonly commands: string[] = [];
  /** Names of the variables that clients wanted to set. */
  readonly variables: string[] = [];
  /** Private key that the server lets in. */
  readonly keyFile: string;
  /** Private key that it does not know. */
  readonly strangerKeyFile: string;
  /** The server's own host key, as clients may trust it. */
  readonly knownHostsFile: string;
  readonly #server: ssh2.Server;
  readonly #directory: string;
  readonly #connections = new Set<Connection>();

  private constructor(root: string, directory: string, hostKey: Buffer, allowed: string) {
    this.root = root;
    this.#directory = directory;
    this.keyFile = join(directory, 'key');
    this.strangerKeyFile = join(directory, 'stranger');
    this.knownHostsFile = join(directory, 'known_hosts');
    const known = ssh2.utils.parseKey(allowed);
    if (known instanceof Error) throw known;
    this.#server = new ssh2.Server({ hostKeys: [hostKey] }, (connection) => {
      this.#connections.add(connection);
      connection.on('close', () => void this.#connections.delete(connection));
      // A client that leaves in the middle of a word is what tests ask for.
      connection.on('error', () => undefined);
      connection.on('authentication', (attempt) => {
        const isKnown =
          attempt.method === 'publickey' &&
          attempt.username === 'git' &&
          attempt.key.data.equals(known.getPublicSSH()) &&
          (attempt.signature === undefined ||
            attempt.blob === undefined ||
            trusted<unknown>(known.verify(attempt.blob, attempt.signature, attempt.hashAlgo)) === true);
        if (isKnown) attempt.accept();
        else attempt.reject(['publickey']);
      });
      connection.on('session', (accept) => {
        const session = accept();
        let protocol = '';
        session.on('env', (acceptVariable, _reject, { key, val }) => {
          this.variables.push(key);
          if (key === 'GIT_PROTOCOL' && this.takesVariables) protocol = val;
          acceptVariable?.();
        });
        session.on('exec', (acceptCommand, _reject, { command }) => {
          this.commands.push(command);
          this.#run(acceptCommand(), command, protocol);
        });
      });
    });
  }

  /** Serves every repository under `root`. */
  static async start(root: string): Promise<SshGitServer> {
    const directory = await mkdtemp(join(tmpdir(), 'fairlead-ssh-server-'));
    for (const name of ['host', 'key', 'stranger']) {
      await promisify(execFile)('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(directory, name)]);
    }
    const read = async (name: string): Promise<string> => await readFile(join(directory, name), 'utf8');
    const server = new SshGitServer(root, directory, Buffer.from(await read('host')), await read('key.pub'));
    await new Promise<void>((resolve) => {
      server.#server.listen(0, '127.0.0.1', resolve);
    });
    await writeFile(server.knownHostsFile, await server.hostLine(server.port));
    return server;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  url(path: string): string {
    return `ssh://git@127.0.0.1:${String(this.port)}/${path}`;
  }

  /** Its own host key as that of whatever listens at a port, for a file of known hosts. */
  async hostLine(port: number): Promise<string> {
    const [type = '', key = ''] = (await readFile(join(this.#directory, 'host.pub'), 'utf8')).split(' ');
    return `[127.0.0.1]:${String(port)} ${type} ${key}\n`;
  }

  /** A file of the server's folder, readable by its owner alone. */
  async file(name: string, text: string): Promise<string> {
    const file = join(this.#directory, name);
    await writeFile(file, text, { mode: 0o600 });
    return file;
  }

  async stop(): Promise<void> {
    for (const connection of this.#connections) connection.end();
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
    await rm(this.#directory, { recursive: true, force: true });
  }

  #run(channel: ServerChannel, command: string, protocol: string): void {
    switch (this.behaviour) {
      case 'hang':
        return;
      case 'hang up':
        channel.close();
        return;
      case 'garbage':
        channel.end('hello, this is not git\n');
        return;
      case 'failure':
        channel.stderr.write('remote: the disk is on fire\n');
        channel.exit(1);
        channel.end();
        return;
      case 'serve':
        this.#serve(channel, command, protocol);
    }
  }

  #serve(channel: ServerChannel, command: string, protocol: string): void {
    const [, path = ''] = /^git-upload-pack '\/(.*)'$/.exec(command) ?? [];
    const git = spawn('git', ['-c', 'safe.directory=*', 'upload-pack', join(this.root, path)], {
      env: { PATH: process.env['PATH'], GIT_PROTOCOL: protocol },
    });
    channel.pipe(git.stdin);
    git.stdin.on('error', () => undefined);
    git.stdout.pipe(channel, { end: false });
    git.stderr.pipe(channel.stderr, { end: false });
    git.on('close', (code) => {
      channel.exit(code ?? 1);
      channel.end();
    });
  }
}
