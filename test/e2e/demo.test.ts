/** `npm run demo` as it is shipped, without a terminal. The only place that plays the whole demo. */

import { mkdir, mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { CliProcessRun } from '../support/cli-process.ts';
import { runCliProcess } from '../support/cli-process.ts';
import { found } from '../support/eventually.ts';

const TIMEOUT_MS = 300_000;

const STEPS = [
  'first commit',
  'new image',
  'bad image',
  'fix',
  'pause',
  'abort',
  'next commit',
  'undo',
  'agent',
  'api',
  'legacy',
  'Temporal',
];

async function runDemo(words: readonly string[], state: string): Promise<CliProcessRun> {
  // CI is what makes some libraries paint what goes into a pipe.
  const [PATH, TMPDIR] = [process.env['PATH'] ?? '', temporaryOf(state)];
  const environment = { PATH, CI: 'true', XDG_STATE_HOME: state, TMPDIR };
  return await runCliProcess(words, { program: 'demo/main.js', environment });
}

function temporaryOf(state: string): string {
  return join(state, 'temporary');
}

/** Command lines of processes that work there: each server is told its directory, the worker its kubeconfig. */
async function processesOf(state: string): Promise<readonly string[]> {
  const all: string[] = [];
  for (const pid of (await readdir('/proc')).filter((entry) => /^\d+$/.test(entry))) {
    // A process that has ended meanwhile has neither.
    const [words, environment] = await Promise.all(
      ['cmdline', 'environ'].map((file) => readFile(`/proc/${pid}/${file}`, 'latin1').catch(() => '')),
    );
    if (`${String(words)}\0${String(environment)}`.includes(state))
      all.push(String(words).replaceAll('\0', ' '));
  }
  return all;
}

describe('npm run demo', () => {
  let state: string;
  let run: CliProcessRun;
  /** While it ran. */
  let processes: readonly string[];

  beforeAll(async () => {
    state = await mkdtemp(join(tmpdir(), 'fairlead-demo-test-'));
    await mkdir(temporaryOf(state));
    const [ended, seen] = await Promise.all([
      runDemo([], state),
      found('its worker runs', async () => {
        const all = await processesOf(state);
        return all.some((words) => words.includes(' up --repo ')) ? all : undefined;
      }),
    ]);
    [run, processes] = [ended, seen];
  }, TIMEOUT_MS);

  afterAll(async () => {
    await rm(state, { recursive: true, force: true });
  });

  it('ends with exit code 0, and every step of the closing table had its effect', () => {
    const table = run.out.slice(run.out.indexOf('\nSTEP '));
    const rows = STEPS.map((step) => table.split('\n').find((line) => line.startsWith(`${step}  `)));
    // The whole output where it is not so: it says what was seen instead.
    expect({
      code: run.code,
      failed: rows.filter((row) => row?.endsWith('✔') !== true),
      err: run.err,
    }).toEqual({ code: 0, failed: [], err: '' });
    expect(table).toMatch(/12 of 12 steps had their effect, [\d.]+ s in all/);
  });

  it('shows that pods survive the update in place, why nothing moves, and a link for each run', () => {
    const uids = [...run.out.matchAll(/web-\d +([0-9a-f-]{36}) +([0-9a-f-]{36}) +web:v2 +0 → 1/g)];
    expect(uids.map(([, before, after]) => before === after)).toEqual(Array.from({ length: 6 }, () => true));
    expect(run.out).toMatch(/it waits: .*ImagePullBackOff|it waits: .*ErrImagePull/);
    expect(run.out).toMatch(/it is paused by system:serviceaccount:default:alice: error rate is up/);
    const links = run.out.matchAll(
      /(COMPLETED|CANCELLED) +(\w+) .*http:\/\/127\.0\.0\.1:\d+\/namespaces\/\S+/g,
    );
    expect([...links].map(([, status, outcome]) => `${String(status)} ${String(outcome)}`)).toEqual([
      'COMPLETED Succeeded',
      'COMPLETED Succeeded',
      'CANCELLED Superseded',
      'COMPLETED Succeeded',
      'COMPLETED Aborted',
      ...Array.from({ length: 10 }, () => 'COMPLETED Succeeded'),
    ]);
  });

  it('shows that api waits for web, and that pods outlive the rename of their controller', () => {
    const seen = [...run.out.matchAll(/ (\d+\.\d) s +(web-\d gets web:v7|api gets api:v2; 6 pods of web)/g)];
    expect(seen.length).toBe(7);
    expect(seen.at(-1)?.[2]).toBe('api gets api:v2; 6 pods of web');
    expect(run.out.match(/legacy-[\w-]+ +[0-9a-f-]{36} +legacy-\w+ +legacy *$/gm)).toHaveLength(2);
  });

  it('prints plain lines, each with its time, where there is no terminal', () => {
    expect(run.out).not.toContain('\u001b');
    const story = run.out.slice(0, run.out.indexOf('\nSTEP ')).trimEnd().split('\n');
    expect(story.filter((line) => !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ  /.test(line))).toEqual([]);
  });

  it('leaves nothing behind', async () => {
    expect(await readdir(join(state, 'fairlead', 'local'))).toEqual([]);
    expect(await readdir(temporaryOf(state))).toEqual([]);
    // The same look found its servers while they ran.
    expect(
      processes.filter((words) => /\/(etcd|kube-apiserver|temporal)\b/.test(words)).length,
    ).toBeGreaterThanOrEqual(3);
    expect(await processesOf(state)).toEqual([]);
  });
});

describe('usage of the demo', () => {
  it(
    'refuses words that it does not know, with exit code 2',
    async () => {
      const { code, err } = await runDemo(['--kept'], tmpdir());
      expect(err).toContain('usage: demo [--keep [--all]]');
      expect(code).toBe(2);
    },
    TIMEOUT_MS,
  );
});
