/** `fairlead plan --timeout`: a real git, and a server that takes connections and never answers. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect, it } from '@jest/globals';

import { runCli } from '../../support/cli.ts';
import { silentServer } from '../../support/silent-server.ts';

const KUBECONFIG = `apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]
users: [{name: u, user: {}}]
`;

it('ends with 3 when the time of --timeout is up, and with 130 on Ctrl-C before', async () => {
  await using server = await silentServer();
  const directory = await mkdtemp(join(tmpdir(), 'plan-timeout-'));
  try {
    const kubeconfig = join(directory, 'config');
    await writeFile(kubeconfig, KUBECONFIG);
    const words = ['plan', '--repo', server.url, '--kubeconfig', kubeconfig, '--timeout'];
    expect(await runCli([...words, '500ms'])).toMatchObject({
      code: 3,
      err: expect.stringContaining('timed out: the repository was not read and compared within 0.5 s'),
    });
    const interrupted = new AbortController();
    const running = runCli([...words, '5m'], { interrupted: interrupted.signal });
    await server.connected;
    interrupted.abort();
    expect(await running).toMatchObject({ code: 130 });
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}, 15_000);
