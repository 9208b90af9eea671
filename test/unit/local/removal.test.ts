/** What is swept up when the next instance is started, and what is left alone because nobody here can see whether it lives. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { currentBootId, listInstances, readInstance, writeInstance } from '../../../local/instance.ts';
import type { InstanceRecord } from '../../../local/instance.ts';
import { currentPidNamespace, identifyProcess } from '../../../local/processes.ts';
import type { ProcessIdentity } from '../../../local/processes.ts';
import { removeAbandonedInstances } from '../../../local/removal.ts';
import { trusted } from '../../../kubernetes/values.ts';
import { runCliProcess } from '../../support/cli-process.ts';

const ELSEWHERE = 'pid:[1]';

let state: string;
let dead: ProcessIdentity;

beforeEach(async () => {
  state = await mkdtemp(join(tmpdir(), 'fairlead-removal-'));
  const child = spawn(process.execPath, ['-e', 'process.stdin.resume()'], {
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  await once(child, 'spawn');
  dead = trusted<ProcessIdentity>(identifyProcess(child.pid ?? 0));
  child.stdin.end();
  await once(child, 'exit');
});

afterEach(async () => {
  await rm(state, { recursive: true, force: true });
});

/** An instance that is being set up, as far as its record tells, by a process that is not here. */
async function put(name: string, change: Partial<InstanceRecord>): Promise<string> {
  const directory = join(state, 'fairlead', 'local', name);
  await mkdir(directory, { recursive: true });
  const record = {
    name,
    id: name,
    bootId: currentBootId(),
    starter: dead,
    detached: true,
    complete: false,
    processes: {},
  };
  await writeInstance(directory, trusted<InstanceRecord>({ ...record, ports: {}, ...change }));
  return directory;
}

describe('an instance whose starter cannot be found', () => {
  it('is abandoned where the starter would be seen, and after a boot of the machine, nowhere else', async () => {
    await put('here', { pidNamespace: currentPidNamespace() });
    await put('of-an-earlier-version', {});
    await put('of-an-earlier-boot', { pidNamespace: ELSEWHERE, bootId: 'another' });
    await put('of-a-container', { pidNamespace: ELSEWHERE });
    const directory = join(state, 'fairlead', 'local');
    await removeAbandonedInstances(directory);
    expect(await listInstances(directory)).toEqual(['of-a-container']);
  });

  it.each(['', '{"name":"spoilt"', 'null', '{}'])(
    'is not known where its record is damaged: %j stays, is named with its file, and keeps no other from being removed',
    async (text) => {
      await put('here', { pidNamespace: currentPidNamespace() });
      const spoilt = await put('a-spoilt-one', {});
      await writeFile(join(spoilt, 'instance.json'), text);
      const directory = join(state, 'fairlead', 'local');
      await removeAbandonedInstances(directory);
      expect(await listInstances(directory)).toEqual(['a-spoilt-one']);
      const message = expect.stringContaining(`${join(spoilt, 'instance.json')} is damaged`);
      await expect(readInstance(spoilt)).rejects.toMatchObject({ message });
    },
  );

  it('is left alone where it cannot be read, as that of another user, and keeps no other from being removed', async () => {
    const theirs = await put('a-foreign-one', {});
    // What not even root can read, as the tests may be: a directory.
    await rm(join(theirs, 'instance.json'));
    await mkdir(join(theirs, 'instance.json'));
    await put('here', { pidNamespace: currentPidNamespace() });
    const directory = join(state, 'fairlead', 'local');
    const said: string[] = [];
    await removeAbandonedInstances(directory, (line) => said.push(line));
    expect(await listInstances(directory)).toEqual(['a-foreign-one']);
    expect(said).toEqual([
      expect.stringMatching(
        /^instance a-foreign-one is left alone: (?:Error: )?EISDIR.*\n {2}whoever set it up removes it with: fairlead local down --name a-foreign-one$/,
      ),
    ]);
  });

  it('is neither taken over nor stopped nor called dead from another PID namespace', async () => {
    const directory = await put('theirs', { pidNamespace: ELSEWHERE });
    const environment = { XDG_STATE_HOME: state, PATH: process.env['PATH'] ?? '' };
    for (const verb of ['up', 'status', 'down']) {
      const { code, out, err } = await runCliProcess(['local', verb, '--name', 'theirs'], { environment });
      expect({ verb, code, out, err }).toEqual({
        verb,
        code: 1,
        out: '',
        err: expect.stringContaining(
          `instance theirs was set up in another PID namespace (${ELSEWHERE}, as of a container), whose processes cannot be seen from here`,
        ),
      });
      expect(err).toContain(`rm -r ${directory}`);
    }
    expect(await listInstances(join(state, 'fairlead', 'local'))).toEqual(['theirs']);
  }, 120_000);
});
