import { afterEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';

import type { Stopping } from '../../../worker/stopping.ts';
import { listenForStop } from '../../../worker/stopping.ts';

let lines: string[] = [];
let stopping: Stopping | undefined;

function listen(interrupted: AbortSignal): AbortSignal {
  lines = [];
  const log = pino({ base: null, timestamp: false }, { write: (line: string) => void lines.push(line) });
  stopping = listenForStop(log, interrupted);
  return stopping.signal;
}
afterEach(() => stopping?.done());

describe('a worker is to stop', () => {
  it.each(['SIGTERM', 'SIGHUP'] as const)('at %s', (name) => {
    const signal = listen(new AbortController().signal);
    expect(signal.aborted).toBe(false);
    process.emit(name, name);
    expect(signal.aborted).toBe(true);
    expect(stopping?.by()).toBe(name);
    expect(lines).toEqual([`{"level":30,"signal":"${name}","msg":"stopping"}\n`]);
  });

  it('once, when a terminal that is closed sends SIGHUP twice', () => {
    listen(new AbortController().signal);
    process.emit('SIGHUP', 'SIGHUP');
    expect(process.listenerCount('SIGHUP')).toBe(1);
    process.emit('SIGHUP', 'SIGHUP');
    expect(lines).toHaveLength(1);
    stopping?.done();
    expect(process.listenerCount('SIGHUP')).toBe(0);
  });

  it('at Ctrl-C, also one that came before', () => {
    const ctrl = new AbortController();
    const signal = listen(ctrl.signal);
    ctrl.abort();
    expect(signal.aborted).toBe(true);
    expect(stopping?.by()).toBe('SIGINT');
    stopping?.done();
    expect(listen(ctrl.signal).aborted).toBe(true);
  });
});
