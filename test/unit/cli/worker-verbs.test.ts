import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { runCli } from '../../support/cli.ts';
import { silentServer } from '../../support/silent-server.ts';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'fairlead-worker-'));
});
afterEach(async () => {
  await rm(directory, { recursive: true, force: true });
});

describe('the verbs `up` and `worker`', () => {
  it.each([
    [['worker', '--cluster', 'Not One'], '--cluster (FAIRLEAD_CLUSTER) "Not One"'],
    [['worker', '--metrics-address', '9090'], '--metrics-address (FAIRLEAD_METRICS_ADDRESS) "9090"'],
    [['worker', '--log-level', 'loud'], '--log-level (FAIRLEAD_LOG_LEVEL) "loud"'],
    [['worker', '--workload-api', 'apps/v2'], 'use one of fairlead.dev/v1beta1, apps/v1'],
    [['worker', '--repositories', '/nonexistent/repositories.yaml'], 'repositories.yaml: cannot be read'],
    [['up', '--repo', '/tmp', '--ref', 'a..b'], '--ref: '],
    [['up', '--repo', 'ftp://example.com/x'], '--repo: '],
  ])('%j is a mistake of usage: exit code 2', async (words, message) => {
    const { code, err } = await runCli(words);
    expect(err).toContain(message);
    expect(code).toBe(2);
  });

  it('a repositories file that is wrong: exit code 2', async () => {
    const file = join(directory, 'repositories.yaml');
    await writeFile(file, '- path: deploy\n');
    const { code, err } = await runCli(['worker', '--repositories', file]);
    expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining(`${file}: line 1`) as unknown });
  });

  it('no usable kubeconfig: exit code 6', async () => {
    const file = join(directory, 'kubeconfig');
    await writeFile(file, 'current-context: lost\n');
    for (const KUBECONFIG of [file, join(directory, 'missing')]) {
      const { code, err } = await runCli(['worker'], { environment: { KUBECONFIG } });
      expect({ code, err }).toEqual({ code: 6, err: expect.stringContaining(KUBECONFIG) as unknown });
    }
  });

  it('Ctrl-C ends `up` while it looks at the repository: exit code 130, and no worker starts', async () => {
    await using server = await silentServer();
    const ctrl = new AbortController();
    const running = runCli(['up', '--repo', server.url], { interrupted: ctrl.signal });
    await server.connected;
    ctrl.abort();
    expect(await running).toMatchObject({ code: 130, err: '' });
  });

  it('Ctrl-C before it has begun counts too', async () => {
    const interrupted = AbortSignal.abort();
    expect(await runCli(['worker'], { interrupted, environment: {} })).toMatchObject({ code: 130, err: '' });
  });
});
