/**
 * Committed histories of real runs, replayed against the workflows as they are now: a change that would wedge runs under way fails
 * here first. `npm run record:histories` makes new ones.
 */

import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { beforeAll, describe, expect, it } from '@jest/globals';
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker';

import * as workflows from '../../workflows/index.ts';
import { builtWorker } from '../support/built-worker.ts';
import { HISTORY_RECORDINGS } from '../support/history-recordings.ts';
import type { RecordedHistory } from '../support/recorded-history.ts';
import { historyFromJson, workflowType, wrongIn } from '../support/recorded-history.ts';

const FOLDER = fileURLToPath(new URL('../histories', import.meta.url));

let codePath: string;
let recorded: ReadonlyMap<string, RecordedHistory>;

beforeAll(async () => {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  codePath = join(await builtWorker(), 'workflow-bundle.js');
  const files = (await readdir(FOLDER)).filter((file) => file.endsWith('.json'));
  recorded = new Map(
    await Promise.all(
      files.map(async (file): Promise<readonly [string, RecordedHistory]> => {
        const text = await readFile(join(FOLDER, file), 'utf8');
        return [file.replace(/\.json$/, ''), JSON.parse(text) as RecordedHistory];
      }),
    ),
  );
}, 180_000);

/** Errors by the name of the history. */
async function replay(histories: ReadonlyMap<string, RecordedHistory>): Promise<Record<string, string>> {
  const feed = [...histories].map(([name, { history }]) => ({
    workflowId: name,
    history: historyFromJson(history),
  }));
  const errors: Record<string, string> = {};
  for await (const { workflowId, error } of Worker.runReplayHistories(
    { workflowBundle: { codePath } },
    feed,
  )) {
    if (error !== undefined) {
      errors[workflowId] = error.message;
    }
  }
  return errors;
}

describe('replay of committed histories', () => {
  it('every workflow of the bundle has one', () => {
    const types = new Set([...recorded.values()].map(({ history }) => workflowType(history)));

    expect(new Set(types)).toEqual(new Set(Object.keys(workflows)));
  });

  it('every recording that is asked for is there, and is what its name says', () => {
    const wrong = HISTORY_RECORDINGS.flatMap(({ name, ...contents }) => {
      const found = recorded.get(name);
      const why = found === undefined ? 'is not there' : wrongIn(found.history, contents);
      return why === undefined ? [] : [`${name}: ${why}`];
    });

    expect(wrong).toEqual([]);
  });

  it('all of them replay', async () => {
    expect(await replay(recorded)).toEqual({});
  }, 60_000);

  it('a history that the workflow would not make does not', async () => {
    const [name, { workflowId, history }] = [...recorded].find(([file]) => file === 'rollout-recreate') ?? [
      '',
      { workflowId: '', history: {} },
    ];
    const other = JSON.parse(
      JSON.stringify(history).replaceAll('"updateBatch"', '"anotherActivity"'),
    ) as unknown;

    expect(await replay(new Map([[name, { workflowId, history: other }]]))).toEqual({
      [name]: expect.stringContaining('Nondeterminism'),
    });
  }, 60_000);
});
