/** What the demo prints on a terminal: narration stays, and the tree below it is drawn again. */

import { describe, expect, it } from '@jest/globals';

import type { Io } from '../../../cli/io.ts';
import type { WatchView } from '../../../cli/watch-view.ts';
import { Screen } from '../../../demo/screen.ts';

const PROGRESS = {
  target: 2,
  updated: 1,
  updatedReady: 1,
  updatedAvailable: 1,
  desired: 2,
  ready: 2,
  available: 2,
  unavailable: 0,
  maxUnavailable: 1,
};

function view(change: Partial<WatchView> = {}): WatchView {
  return {
    workload: 'statefulset.fairlead.dev/web',
    namespace: 'default',
    state: 'Progressing',
    reason: '',
    message: '',
    done: false,
    progress: PROGRESS,
    updateRevision: undefined,
    commit: undefined,
    waiting: [],
    causes: [],
    paused: undefined,
    pinned: undefined,
    revisions: [],
    ...change,
  };
}

/** What a terminal shows after all that was printed: the lines, by the few sequences that are used. */
function shown(printed: string): readonly string[] {
  const lines: string[] = [''];
  let row = 0;
  // oxlint-disable-next-line no-control-regex -- escapes are what this is about
  const parts = printed.matchAll(/\u001b\[(\d*)([A-Za-z])|\u001b\[\?25[lh]|(\r)|(\n)|([^\u001b\r\n]+)/g);
  for (const [, count = '', sequence, back, feed, text] of parts) {
    if (sequence === 'A') row -= Number(count);
    else if (sequence === 'J') lines.length = row;
    else if (feed !== undefined) row += 1;
    else if (text !== undefined) lines[row] = text;
    else if (back !== undefined || sequence !== undefined) continue;
  }
  return Array.from(lines, (line) => line ?? '');
}

function play(live: boolean): { readonly screen: Screen; readonly printed: () => string } {
  let printed = '';
  const io: Io = {
    out: (text) => void (printed += text),
    err: () => undefined,
    environment: {},
    live,
    color: false,
    size: () => ({ columns: 120, rows: 30 }),
    now: () => 0,
    interrupted: new AbortController().signal,
  };
  return { screen: new Screen(io), printed: () => printed };
}

describe('the screen of the demo', () => {
  it('on a terminal: what is said stays above, the tree is drawn once, below', () => {
    const { screen, printed } = play(true);
    screen.head('1/2  a commit');
    screen.show(view());
    screen.say('  it is written');
    screen.show(view({ waiting: ['web-1 is not ready'] }));
    screen.say('  ✔ done');
    expect(shown(printed()).filter((line) => line !== '')).toEqual([
      '1/2  a commit',
      '  it is written',
      '  ✔ done',
      'statefulset.fairlead.dev/web -n default   ◌ Progressing',
      expect.stringMatching(/^\[.*\] 1\/2 updated and available/),
      'waiting: web-1 is not ready',
    ]);
  });

  it('without one: a line for each thing said and each change, with its time', () => {
    const { screen, printed } = play(false);
    screen.head('1/2  a commit');
    screen.show(view());
    screen.show(view({ waiting: ['web-1 is not ready'], causes: ['web-1 is not ready'] }));
    const lines = printed().trimEnd().split('\n');
    expect(lines.filter((line) => !line.startsWith('1970-01-01T00:00:00Z  '))).toEqual([]);
    expect(lines[0]).toContain('1/2  a commit');
    expect(lines.at(-1)).toContain('web-1 is not ready');
  });
});
