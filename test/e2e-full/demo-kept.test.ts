/** `npm start`: everything stays until Ctrl-C; and what the demo makes of a step that has no effect, and of a worker that ends. */

import { execFile } from 'node:child_process';
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import type { ComponentName, InstanceRecord } from '../../local/instance.ts';
import { runCliProcess } from '../support/cli-process.ts';
import { found } from '../support/eventually.ts';

const TIMEOUT_MS = 240_000;
const KEPT = 'Everything runs until Ctrl-C.';

let state: string;
/** Ends a demo that a test has left behind. */
let end: () => Promise<unknown> = async () => undefined;
beforeEach(async () => {
  state = await mkdtemp(join(tmpdir(), 'fairlead-kept-test-'));
});
afterEach(async () => {
  await end();
  await rm(state, { recursive: true, force: true });
}, 60_000);

const environment = () => ({ PATH: process.env['PATH'] ?? '', XDG_STATE_HOME: state });
const instances = async () => await readdir(join(state, 'fairlead', 'local'));

/** To a component of the demo's control plane. */
async function signal(component: ComponentName, how: NodeJS.Signals): Promise<void> {
  const path = join(state, 'fairlead', 'local', 'demo', 'instance.json');
  const { processes } = JSON.parse(await readFile(path, 'utf8')) as InstanceRecord;
  const pid = processes[component]?.pid;
  // 0 would be our own process group.
  if (pid === undefined) throw new Error(`${component} does not run`);
  process.kill(pid, how);
}

/** The demo with `--keep`, with what it has printed so far. */
function start() {
  const demo = { out: '', interrupt: (): void => undefined };
  const ended = runCliProcess(['--keep'], {
    program: 'demo/main.js',
    environment: environment(),
    seen: (out) => void (demo.out = out),
    begun: (child) => void (demo.interrupt = () => void child.kill('SIGINT')),
  });
  end = async () => {
    demo.interrupt();
    await ended;
  };
  const until = async (text: string) =>
    await found(`it prints ${text}`, async () => (demo.out.includes(text) ? true : undefined), 120_000);
  return { demo, ended, until };
}

describe('npm start', () => {
  it(
    'plays two steps and stays; the commands that it prints do what they say; Ctrl-C takes everything down',
    async () => {
      const { demo, ended, until } = start();
      await until(KEPT);
      await until('rollout undo sts/web');
      const lines = demo.out
        .slice(demo.out.indexOf(KEPT))
        .split('\n')
        .map((line) => line.replace(/^\S+Z {2}/, '').trim())
        .filter((line) => /^(?:alias|eval|sed|fairlead) /.test(line));
      expect(lines).toHaveLength(5);
      const [alias, env, commit, pause, undo] = lines as [string, string, string, string, string];
      const type = async (command: string) =>
        await promisify(execFile)('bash', ['-c', `shopt -s expand_aliases\n${alias}\n${env}\n${command}\n`], {
          env: { ...environment(), HOME: process.env['HOME'] ?? '' },
        });
      const image = async () =>
        (await type("fairlead get sts/web -o json | grep -o 'web:v[0-9]'")).stdout.trim().split('\n')[0];
      const untilImage = async (wanted: string) =>
        await found(`all at ${wanted}`, async () => ((await image()) === wanted ? true : undefined), 60_000);

      await type(commit);
      await untilImage('web:v3');
      expect((await type('fairlead rollout status sts/web --timeout 60s')).stdout).toContain('complete');
      expect((await type(pause)).stdout).toContain('statefulset/web paused');
      expect((await type('fairlead get sts/web')).stdout).toMatch(/ Paused /);
      await type('fairlead rollout resume sts/web');
      expect((await type(undo)).stdout).toContain('statefulset/web');
      await untilImage('web:v2');

      demo.interrupt();
      expect(await ended).toMatchObject({
        code: 0,
        out: expect.stringContaining('everything is taken down'),
      });
      expect(await instances()).toEqual([]);
    },
    TIMEOUT_MS,
  );

  it(
    'a step that has no effect is told, and the exit code is 1',
    async () => {
      const { ended, until } = start();
      await until('2/2  ');
      // No pod becomes what it is to be.
      await signal('kwok', 'SIGSTOP');
      const { code, out } = await ended;
      expect(code).toBe(1);
      expect(out).toMatch(/✗ not within 60 s: all pods ready at web:v2; /);
      expect(out).toContain('1 of 2 steps did not have their effect');
      expect(out).not.toContain(KEPT);
      expect(await instances()).toEqual([]);
    },
    TIMEOUT_MS,
  );

  it(
    'a server that ends meanwhile ends the demo, with its name, and exit code 1',
    async () => {
      const { ended, until } = start();
      await until(KEPT);
      await signal('temporal', 'SIGKILL');
      const { code, err, out } = await ended;
      expect(code).toBe(1);
      expect(err).toContain('temporal was ended by SIGKILL');
      expect(out).not.toContain('while taking everything down');
      expect(await instances()).toEqual([]);
    },
    TIMEOUT_MS,
  );
});
