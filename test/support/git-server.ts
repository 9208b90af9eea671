/** An https git server on loopback: git's own http-backend behind Node, which can also hang, redirect, refuse and lie. */

import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { execFile } from 'node:child_process';

/**
 * What the server does with a request; `serve` is the ordinary answer, `slow` a byte of one every 200 ms, `unfinished` the whole one
 * without its end, `echo` a refusal that repeats what the client has proven itself with; a number is a status.
 */
export type Behaviour =
  | 'serve'
  | 'hang'
  | 'slow'
  | 'unfinished'
  | 'redirect'
  | 'unauthorized'
  | 'echo'
  | 'garbage'
  | 'endless'
  | number;

export class GitServer {
  behaviour: Behaviour = 'serve';
  /** Only requests of this method are treated so, or those that ask for commits; others are served, as looks are that go before a fetch. */
  only: 'GET' | 'POST' | 'fetch' | undefined;
  /** Password that clients must send; any when absent. */
  password: string | undefined;
  /** What a fetch gets instead of the pack that it asked for. */
  pack: Buffer | undefined;
  /** Where `redirect` sends clients. */
  redirectTo = '';
  /** Every repository under it is served. */
  root: string;
  readonly requests: { readonly path: string; readonly authorization: string | undefined }[] = [];
  readonly caFile: string;
  readonly #server: Server;
  readonly #directory: string;

  private constructor(server: Server, root: string, directory: string) {
    this.#server = server;
    this.root = root;
    this.#directory = directory;
    this.caFile = join(directory, 'cert.pem');
    server.on('request', (request, response) => {
      // A client that has left before it has asked wants no answer.
      buffer(request).then(
        (body) => this.#handle(request, response, body),
        () => response.destroy(),
      );
    });
  }

  /** Serves every repository under `root`. */
  static async start(root: string): Promise<GitServer> {
    const directory = await mkdtemp(join(tmpdir(), 'fairlead-git-server-'));
    const [key, cert] = [join(directory, 'key.pem'), join(directory, 'cert.pem')];
    await promisify(execFile)('openssl', [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:prime256v1',
      '-nodes',
      '-days',
      '2',
      '-subj',
      '/CN=localhost',
      '-addext',
      'subjectAltName=DNS:localhost,IP:127.0.0.1',
      '-keyout',
      key,
      '-out',
      cert,
    ]);
    const { readFile } = await import('node:fs/promises');
    const server = createServer({ key: await readFile(key), cert: await readFile(cert) });
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    return new GitServer(server, root, directory);
  }

  url(path: string): string {
    return `https://localhost:${String((this.#server.address() as AddressInfo).port)}/${path}`;
  }

  /** A file that holds a token. */
  async tokenFile(token: string): Promise<string> {
    const file = join(this.#directory, `token-${String(Math.random()).slice(2)}`);
    await writeFile(file, `${token}\n`, { mode: 0o600 });
    return file;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => {
      this.#server.close(resolve);
    });
    await rm(this.#directory, { recursive: true, force: true });
  }

  #handle(request: IncomingMessage, response: ServerResponse, body: Buffer): void {
    const { authorization } = request.headers;
    this.requests.push({ path: request.url ?? '', authorization });
    const behaviour = this.#isMeant(request, body) ? this.behaviour : 'serve';
    if (typeof behaviour === 'number') {
      response.writeHead(behaviour).end('try later');
      return;
    }
    switch (behaviour) {
      case 'hang':
        return;
      case 'slow': {
        response.writeHead(200, { 'content-type': 'application/x-git-upload-pack-advertisement' });
        // A line of the largest size that git takes, which it awaits to its end.
        let sent = 0;
        const timer = setInterval(() => response.write('fff0'[sent++] ?? 'x'), 200);
        response.once('close', () => clearInterval(timer));
        return;
      }
      case 'redirect':
        response.writeHead(302, { location: `${this.redirectTo}${request.url ?? ''}` }).end();
        return;
      case 'garbage':
        response.writeHead(200, { 'content-type': 'text/html' }).end('<html>hello</html>');
        return;
      case 'endless': {
        response.writeHead(200, { 'content-type': 'application/x-git-upload-pack-advertisement' });
        const chunk = Buffer.alloc(64 * 1024, 'x');
        const write = (): void => {
          while (!response.destroyed && response.write(chunk));
          if (!response.destroyed) response.once('drain', write);
        };
        write();
        return;
      }
      case 'unauthorized':
        this.#refuse(response);
        return;
      case 'echo':
        this.#refuse(
          response,
          `invalid token ${passwordIn(authorization)}, sent as ${authorization ?? 'nothing'}\n`,
        );
        return;
      case 'serve':
      case 'unfinished': {
        if (this.password !== undefined && passwordIn(authorization) !== this.password)
          this.#refuse(response);
        else if (this.pack !== undefined && isFetch(request, body)) lie(response, this.pack);
        else this.#serve(request, response, body, behaviour === 'serve');
      }
    }
  }

  #isMeant(request: IncomingMessage, body: Buffer): boolean {
    if (this.only !== 'fetch') return this.only === undefined || this.only === request.method;
    return isFetch(request, body);
  }

  #refuse(response: ServerResponse, text = ''): void {
    response
      .writeHead(401, { 'www-authenticate': 'Basic realm="git"', 'content-type': 'text/plain' })
      .end(text);
  }

  #serve(request: IncomingMessage, response: ServerResponse, body: Buffer, isFinished: boolean): void {
    const url = new URL(request.url ?? '/', 'https://localhost');
    const backend = spawn('git', ['http-backend'], {
      env: {
        PATH: process.env['PATH'],
        GIT_PROJECT_ROOT: this.root,
        GIT_HTTP_EXPORT_ALL: '1',
        GIT_CONFIG_COUNT: '1',
        GIT_CONFIG_KEY_0: 'safe.directory',
        GIT_CONFIG_VALUE_0: '*',
        GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
        REQUEST_METHOD: request.method ?? 'GET',
        PATH_INFO: url.pathname,
        QUERY_STRING: url.search.slice(1),
        CONTENT_TYPE: request.headers['content-type'] ?? '',
        HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
        REMOTE_ADDR: '127.0.0.1',
      },
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    backend.stdin.on('error', () => undefined).end(body);
    let head = Buffer.alloc(0);
    let begun = false;
    backend.stdout.on('data', (data: Buffer) => {
      if (begun) {
        response.write(data);
        return;
      }
      head = Buffer.concat([head, data]);
      const end = head.indexOf('\r\n\r\n');
      if (end < 0) return;
      begun = true;
      const headers = head
        .toString('utf8', 0, end)
        .split('\r\n')
        .map((line) => line.split(/:\s*/, 2) as [string, string]);
      const status = headers.find(([name]) => name.toLowerCase() === 'status')?.[1];
      for (const [name, value] of headers)
        if (name.toLowerCase() !== 'status') response.setHeader(name, value);
      response.writeHead(Number(status?.slice(0, 3) ?? 200));
      response.write(head.subarray(end + 4));
    });
    backend.stdout.on('end', () => {
      if (isFinished) response.end();
    });
  }
}

function passwordIn(authorization: string | undefined): string {
  const sent = Buffer.from((authorization ?? '').replace(/^Basic /, ''), 'base64').toString('utf8');
  return sent.slice(sent.indexOf(':') + 1);
}

/** A line of git's protocol. */
function packet(content: Buffer): Buffer {
  return Buffer.concat([Buffer.from((content.length + 4).toString(16).padStart(4, '0')), content]);
}

/** Whether commits are asked for, and not only the names of refs. */
function isFetch({ method, headers }: IncomingMessage, body: Buffer): boolean {
  if (method !== 'POST') return false;
  return (headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body).includes('command=fetch');
}

/** Whoever fetches gets this pack, whatever he wants. */
function lie(response: ServerResponse, pack: Buffer): void {
  response.writeHead(200, { 'content-type': 'application/x-git-upload-pack-result' });
  response.write(packet(Buffer.from('packfile\n')));
  for (let at = 0; at < pack.length; at += 60_000)
    response.write(packet(Buffer.concat([Buffer.from([1]), pack.subarray(at, at + 60_000)])));
  response.end('0000');
}
