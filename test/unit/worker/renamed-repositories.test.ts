/** A repository that is suspended and given another name, over real HTTP: it stays suspended, whatever fails on the way. */

import { beforeEach, describe, expect, it } from '@jest/globals';

import type { NamedEntry } from '../../../git/earlier-names.ts';
import { InventoryStore } from '../../../git/inventory.ts';
import { SUSPENDED } from '../../../planners/names.ts';
import { RenamedRepositories } from '../../../worker/renamed-repositories.ts';
import { answer } from '../../support/watch-server.ts';
import { useWatchServer } from '../../support/watch-server-ground.ts';

interface Kept {
  readonly metadata: { readonly annotations: Record<string, string> };
  readonly data: Record<string, string>;
}

const VALUE = '{"by":"ada","reason":"disk alarm"}';
const OURS = { 'applyset.kubernetes.io/tooling': 'fairlead/v1', note: 'kept' };

const ground = useWatchServer();
let kept: Map<string, Kept>;
/** Names of ConfigMaps with the method that fails. */
let failing: Set<string>;
let followed: readonly NamedEntry[];
let told: string[];

beforeEach(() => {
  [kept, failing, followed, told] = [new Map(), new Set(), [entry('team2')], []];
  hold('team2', { ...OURS, [SUSPENDED]: VALUE });
  ground.server.intercept = ({ method, body, url }, response) => {
    const sent = body === '' ? undefined : (JSON.parse(body) as Kept & { metadata: { name: string } });
    const name = sent?.metadata.name ?? url.pathname.split('/').at(-1) ?? '';
    if (failing.has(`${method} ${name}`)) answer(response, 403, { kind: 'Status', reason: 'Forbidden' });
    else if (sent === undefined && !kept.has(name))
      answer(response, 404, { kind: 'Status', reason: 'NotFound' });
    else {
      if (sent !== undefined) kept.set(name, sent);
      answer(response, 200, kept.get(name) ?? {});
    }
    return true;
  };
});

const entry = (name: string): NamedEntry => ({ name, url: '/srv/team', path: '' });

function hold(name: string, annotations: Record<string, string>, data: Record<string, string> = {}): void {
  kept.set(`fairlead-${name}`, { metadata: { annotations }, data });
}

/** Of a leader that begins, after one that followed these. */
function leader(before: readonly NamedEntry[]): RenamedRepositories {
  return new RenamedRepositories({
    before: async () => before,
    followed: () => followed,
    store: (name) => new InventoryStore(ground.client, 'system', name, 'prod'),
    log: { info: (_what: object, text?: string) => void told.push(text ?? '') },
    onChange: () => undefined,
  });
}

function rename(renamed: RenamedRepositories, name: string): void {
  renamed.change(followed, [entry(name)]);
  followed = [entry(name)];
}

const suspended = (name: string) => kept.get(`fairlead-${name}`)?.metadata.annotations[SUSPENDED];

describe('a suspended repository with a new name', () => {
  it('goes on suspended, and back', async () => {
    const renamed = leader([]);
    await renamed.goOn('team2');
    rename(renamed, 'team3');
    expect(renamed.earlier('team3')).toEqual(['team2']);
    await renamed.goOn('team3');
    expect([suspended('team2'), suspended('team3')]).toEqual([undefined, VALUE]);
    expect(kept.get('fairlead-team2')?.metadata.annotations['note']).toBe('kept');
    expect(renamed.earlier('team3')).toBeUndefined();
    rename(renamed, 'team2');
    await renamed.goOn('team2');
    expect([suspended('team2'), suspended('team3')]).toEqual([VALUE, undefined]);
    expect(told).toEqual([
      'repository team3 goes on for team2 and stays suspended by ada: disk alarm',
      'repository team2 goes on for team3 and stays suspended by ada: disk alarm',
    ]);
  });

  it('does so too where no worker ran meanwhile, or one that ended before it had looked', async () => {
    followed = [entry('team3')];
    await leader([entry('team2')]).goOn('team3');
    expect([suspended('team2'), suspended('team3')]).toEqual([undefined, VALUE]);
    followed = [entry('team4')];
    await leader([{ ...entry('team5'), earlierNames: ['team3'] }]).goOn('team4');
    expect([suspended('team3'), suspended('team4')]).toEqual([undefined, VALUE]);
  });

  it('does so after a failure between the two writes, and is not begun before', async () => {
    const renamed = leader([]);
    rename(renamed, 'team3');
    for (const failure of ['GET fairlead-team2', 'POST fairlead-team3', 'PUT fairlead-team2']) {
      failing = new Set([failure]);
      if (failure.startsWith('POST')) failing.add('POST configmaps');
      await expect(renamed.goOn('team3')).rejects.toThrow();
    }
    expect([suspended('team2'), suspended('team3')]).toEqual([VALUE, VALUE]);
    failing.clear();
    await renamed.goOn('team3');
    expect([suspended('team2'), suspended('team3')]).toEqual([undefined, VALUE]);
  });

  it('does so where it is given the next name, or the old one back, while that is on its way', async () => {
    const renamed = leader([]);
    rename(renamed, 'team3');
    const first = renamed.goOn('team3');
    rename(renamed, 'team2');
    await Promise.all([first, renamed.goOn('team2')]);
    expect(suspended('team2')).toBe(VALUE);
    rename(renamed, 'team3');
    rename(renamed, 'team4');
    await renamed.goOn('team4');
    expect(suspended('team4')).toBe(VALUE);
  });
});

describe('what is not moved', () => {
  it.each([
    ['what is not suspended', 'team2', { ...OURS }, {}],
    ['what is no inventory', 'team2', { [SUSPENDED]: VALUE }, {}],
    [
      'what is of other workers',
      'team2',
      { ...OURS, [SUSPENDED]: VALUE, 'fairlead.dev/cluster': 'other' },
      { objects: 'v1 ConfigMap ns a u-1' },
    ],
    ['onto what is no inventory', 'team3', {}, {}],
    ['onto what has one of its own', 'team3', { ...OURS, [SUSPENDED]: 'true' }, {}],
  ])('%s', async (_what, name, annotations: Record<string, string>, data: Record<string, string>) => {
    hold(name, annotations, data);
    const before = new Map(kept);
    const renamed = leader([]);
    rename(renamed, 'team3');
    await renamed.goOn('team3');
    expect(kept).toEqual(before);
    expect([renamed.earlier('team3'), told]).toEqual([undefined, []]);
  });
});
