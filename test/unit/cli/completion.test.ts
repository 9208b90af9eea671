/** What a shell is offered: the words of the grammar, by place. Names of objects: test/e2e/cli-wishes. */

import { execFileSync } from 'node:child_process';

import { describe, expect, it } from '@jest/globals';
import { Command } from 'commander';

import { completer } from '../../../cli/completion.ts';
import { trusted } from '../../../kubernetes/values.ts';
import type { Call } from '../../../cli/io.ts';
import { captureIo, runCli } from '../../support/cli.ts';

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

  it('names that are none are not offered: a shell might run them', async () => {
    const io = captureIo();
    const program = new Command('fairlead');
    program.command('sync').argument('[REPOSITORY]');
    const complete = completer(program, async (_words, { out }) => {
      for (const name of ['shop', '$(id)', '`id`', 'a;id', '-n', 'tools.v1']) out(`repository/${name}\n`);
      return await Promise.resolve(0);
    });
    await complete(trusted<Call>({ io, operands: ['sync', ''] }));
    expect(io.printed.out).toBe('shop\ntools.v1\n');
  });

  it('the script for bash offers what begins like the word, and runs none of it', async () => {
    const { out } = await runCli(['completion', 'bash']);
    const line = [
      `fairlead() { printf '%s\\n' shop '$(echo shop >&2)' 'sh$(echo shop >&2)' other; }`,
      out,
      `COMP_WORDS=(fairlead sync sh); COMP_CWORD=2; _fairlead; printf '%s\\n' "\${COMPREPLY[@]}"`,
    ].join('\n');
    const printed = execFileSync('bash', ['-c', `exec 2>&1; ${line}`], { encoding: 'utf8' });
    expect(printed).toBe('shop\nsh$(echo shop >&2)\n');
  });

  it('of another shell it is said which there are', async () => {
    expect(await runCli(['completion', 'ksh'])).toEqual({
      code: 2,
      out: '',
      err: 'error: there is no completion for "ksh": choose one of bash, zsh, fish\n',
    });
  });
});
