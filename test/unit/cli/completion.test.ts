/** What a shell is offered: the words of the grammar, by place. Names of objects: test/e2e/cli-wishes. */

import { describe, expect, it } from '@jest/globals';

import { runCli } from '../../support/cli.ts';

async function offered(line: string): Promise<readonly string[]> {
  const { code, out, err } = await runCli(['complete', '--', ...line.split(' ')], {
    environment: { HOME: '/nonexistent' },
  });
  expect({ code, err }).toEqual({ code: 0, err: '' });
  return out.split('\n').filter((word) => word !== '');
}

describe('completion', () => {
  it.each([
    [
      '',
      [
        'get',
        'watch',
        'explain',
        'rollout',
        'rolling-update',
        'set',
        'sync',
        'suspend',
        'resume',
        'history',
        'worker',
        'local',
        'completion',
      ],
    ],
    ['rollout ', ['status', 'history', 'undo', 'pause', 'abort']],
    ['-n shop rollout ', ['status', 'undo']],
    ['local ', ['up', 'down', 'status', 'env']],
    ['rollout pause ', ['sts/', 'ds/', 'deploy/', 'rc/']],
    ['rollout undo ', ['sts/', 'ds/', 'deploy/']],
    ['get ', ['sts/', 'rc/', 'repositories']],
    ['rollout undo sts/web --', ['--to-revision', '--reason', '--namespace', '--context']],
    ['get -o ', ['table', 'wide', 'json', 'yaml', 'name']],
    ['get --output ', ['json']],
    ['completion ', ['bash', 'zsh', 'fish']],
  ])('fairlead %s', async (line, words) => {
    expect(await offered(line)).toEqual(expect.arrayContaining(words));
  });

  it.each(['plan --path ', 'rolling-update foo --image ', 'rollout undo sts/web ', 'nonsense '])(
    'fairlead %s: only the user knows',
    async (line) => {
      expect(await offered(line)).toEqual([]);
    },
  );

  it('is silent where names would have to come from a cluster that is not there', async () => {
    expect(await offered('rollout undo sts/')).toEqual([]);
    expect(await offered('rolling-update ')).toEqual([]);
    expect(await offered('sync ')).toEqual([]);
  });

  it.each(['rollout undo ', 'rollout restart ', 'set image '])('fairlead %s: no rc', async (line) => {
    expect(await offered(line)).not.toContain('rc/');
  });

  it('does not offer what is not for people', async () => {
    expect(await offered('')).not.toContain('complete');
    expect(await offered('get --')).not.toContain('--lease-namespace');
  });

  it.each(['bash', 'zsh', 'fish'])('there is a script for %s', async (shell) => {
    const { code, out } = await runCli(['completion', shell]);
    expect(code).toBe(0);
    expect(out).toContain('fairlead complete -- ');
  });

  it('of another shell it is said which there are', async () => {
    const { code, err } = await runCli(['completion', 'ksh']);
    expect(code).toBe(2);
    expect(err).toContain('Allowed choices are bash, zsh, fish');
  });
});
