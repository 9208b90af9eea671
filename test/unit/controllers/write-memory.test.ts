import { describe, expect, it } from '@jest/globals';

import { WriteMemory } from '../../../controllers/write-memory.ts';
import type { Action } from '../../../planners/plan.ts';

const NOW = Date.parse('2026-01-01T00:00:00Z');
const create: Action = {
  verb: 'create',
  resource: 'pods',
  name: 'web-0',
  purpose: 'ScaleUp',
  revision: 'web-a',
  message: 'create Pod web-0',
};
const recreate: Action = { ...create, verb: 'delete', purpose: 'Recreate', revision: 'web-b' };

describe('what a leader remembers of its writes', () => {
  it('a refusal, with a back-off that grows to a minute, until the write is taken or another revision is tried', () => {
    const memory = new WriteMemory();
    const delays = Array.from({ length: 8 }, () => {
      memory.refused('u', create, 'quota', NOW);
      return (memory.of('u').refusals.get('create pods/web-0')?.retryAt ?? 0) - NOW;
    });
    expect(delays).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
    memory.refused('u', { ...create, revision: 'web-b' }, 'quota', NOW + 5);
    expect(memory.of('u').refusals.get('create pods/web-0')).toMatchObject({
      since: NOW + 5,
      retryAt: NOW + 1_005,
      revision: 'web-b',
    });
    memory.taken('u', create, 'stale', NOW);
    expect(memory.of('u').refusals.size).toBe(0);
    expect(memory.of('other').refusals.size).toBe(0);
  });

  it('failures of pods of one place and revision, with a back-off that grows to 15 minutes', () => {
    const memory = new WriteMemory();
    const remove: Action = { ...create, verb: 'delete', purpose: 'ReplaceFinished', place: 'a' };
    const waits = (finishedRevision: string, times: number, now = NOW) =>
      Array.from({ length: times }, () => {
        memory.taken('u', { ...remove, finishedRevision }, 'done', now);
        return (memory.of('u').failures.get('a')?.until ?? 0) - now;
      }).map((milliseconds) => milliseconds / 1_000);
    expect(waits('old', 11)).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900]);
    expect(waits('new', 2)).toEqual([1, 2]);
    expect(memory.of('u').failures.get('a')).toMatchObject({ revision: 'new' });
    expect(waits('new', 1, NOW + 1_800_001)).toEqual([1]);
  });

  it('of which pod a resize was not valid', () => {
    const memory = new WriteMemory();
    const resize: Action = {
      ...create,
      verb: 'patch',
      subresource: 'resize',
      uid: 'pod',
      purpose: 'InPlaceApply',
    };
    memory.refused('u', resize, 'no support', NOW, { unresizable: true });
    expect(memory.of('u').refusals.get('patch pods/web-0')).toMatchObject({ unresizable: 'pod' });
    memory.refused('u', resize, 'quota', NOW);
    expect(memory.of('u').refusals.get('patch pods/web-0')?.unresizable).toBeUndefined();
  });

  it('that another’s object has the name, until it is gone: that alone was to be waited for', () => {
    const memory = new WriteMemory();
    const keys = () => [...memory.of('u').refusals.keys()];
    memory.refused('u', create, 'taken', NOW, { taken: 'leaves', takenBy: 'before' });
    memory.refused('u', { ...create, name: 'web-1' }, 'quota', NOW);
    const asked: string[] = [];
    memory.freed('u', (resource, name) => {
      asked.push(`${resource} ${name}`);
      return 'before';
    });
    memory.freed('other', () => undefined);
    expect([asked, keys()]).toEqual([['pods web-0'], ['create pods/web-0', 'create pods/web-1']]);
    memory.freed('u', () => 'after');
    expect(keys()).toEqual(['create pods/web-1']);
    memory.refused('u', create, 'taken', NOW, { taken: 'stays', takenBy: 'after' });
    memory.freed('u', () => undefined);
    expect(keys()).toEqual(['create pods/web-1']);
  });

  it('what a batch has deleted, until it is there again', () => {
    const memory = new WriteMemory();
    memory.taken('u', recreate, 'stale', NOW);
    expect(memory.of('u').replaced.size).toBe(0);
    memory.taken('u', recreate, 'done', NOW);
    memory.taken('u', { ...recreate, purpose: 'ScaleDown', name: 'web-1' }, 'done', NOW);
    expect([...memory.of('u').replaced]).toEqual([['web-0', 'web-b']]);
    memory.taken('u', create, 'done', NOW);
    expect(memory.of('u').replaced.size).toBe(0);
    memory.taken('u', recreate, 'done', NOW);
    memory.forget('u');
    expect(memory.of('u').replaced.size).toBe(0);
  });
});
