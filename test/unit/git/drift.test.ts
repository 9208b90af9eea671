/** What is told of drift, once, and how soon it is put back. */

import { describe, expect, it } from '@jest/globals';

import type { Drift } from '../../../git/drift.ts';
import { describeDrift, describeUndo, lookAtDrift } from '../../../git/drift.ts';
import type { DriftedObject } from '../../../git/inventory-status.ts';
import { driftEvents, driftStatus } from '../../../git/drift-report.ts';
import { fightOf, healAllAt, healedAll } from '../../../git/heal-pace.ts';
import type { Healing, Healings } from '../../../git/heal-pace.ts';
import type { CommitContext } from '../../../git/commit.ts';
import type { PreparedObject } from '../../../git/prepare.ts';
import { trusted } from '../../../kubernetes/values.ts';
import { templateHash } from '../../../kubernetes/workload-key.ts';
import { ANNOTATION } from '../../../planners/names.ts';
import { commitContext, preparedObjects } from '../../support/commit-context.ts';
import { answer } from '../../support/watch-server.ts';
import { useWatchServer } from '../../support/watch-server-ground.ts';
import type { KubernetesObject, PodTemplate } from '../../../planners/objects.ts';
import { normaliseTemplate } from '../../../planners/template-defaults.ts';

const drift = (more: Partial<Drift> = {}): Drift => ({
  object: 'ConfigMap shop/settings',
  change: 'changed',
  fields: ['data.color'],
  fieldCount: 1,
  by: ['kubectl-edit'],
  ...more,
});

const known = (...drifts: readonly Partial<DriftedObject>[]): ReadonlyMap<string, DriftedObject> =>
  new Map(
    drifts.map((more) => {
      const one = { ...drift(more), since: '2026-01-01T00:00:00Z' };
      return [one.object, one];
    }),
  );

describe('a drift in words', () => {
  it.each<[Partial<Drift>, string]>([
    [{}, 'ConfigMap shop/settings: data.color changed by "kubectl-edit"'],
    [{ by: [] }, 'ConfigMap shop/settings: data.color changed'],
    [{ by: ['a', 'b'], fieldCount: 3 }, 'ConfigMap shop/settings: data.color and 2 more changed by "a", "b"'],
    [{ change: 'deleted', fields: [], fieldCount: 0, by: [] }, 'ConfigMap shop/settings: deleted'],
    [
      { change: 'taken', held: 'repository b applies this object too.' },
      'ConfigMap shop/settings: repository b applies this object too.',
    ],
    [{ fields: [], fieldCount: 0, held: 'refused' }, 'ConfigMap shop/settings: changed by "kubectl-edit"'],
  ])('%j', (more, words) => {
    expect(describeDrift(drift(more))).toBe(words);
  });
});

describe('an object that is gone', () => {
  const ground = useWatchServer();

  it.each([
    ['a ConfigMap', 'ConfigMap', {}, 'deleted'],
    ['a Job', 'Job', {}, 'deleted'],
    // Put back, it would run again and again.
    ['a Job that the cluster removes at its end', 'Job', { ttlSecondsAfterFinished: 60 }, undefined],
  ])('%s: %s', async (_, kind, spec, change) => {
    ground.server.intercept = (_request, response) => {
      answer(response, 404, { kind: 'Status', code: 404, reason: 'NotFound' });
      return true;
    };
    const group = kind === 'Job' ? 'batch' : '';
    const object = trusted<PreparedObject>({
      manifest: { group, version: 'v1', kind, name: 'x', body: { spec } },
      label: 'x',
      path: { group, version: 'v1', resource: 'xs', namespace: 'shop', name: 'x' },
    });
    const context = trusted<CommitContext>({ client: ground.client, repository: {}, store: {} });
    const found = await lookAtDrift(context, object, true);
    expect(found === 'under way' ? found : found?.change).toBe(change);
  });
});

describe('an object whose status is written all the time', () => {
  const ground = useWatchServer();

  it('is looked at again later: nothing says that it is as the commit wants it', async () => {
    let version = 1;
    const annotations: Record<string, string> = { [ANNOTATION.repository]: 'shop' };
    ground.server.intercept = ({ method, url: { pathname } }, response) => {
      const kind = { name: 'deployments', kind: 'Deployment', namespaced: true, verbs: [] };
      const metadata = {
        name: 'web',
        namespace: 'ns',
        uid: 'u',
        resourceVersion: String(version),
        annotations,
      };
      if (pathname === '/apis/apps/v1') answer(response, 200, { resources: [kind] });
      else if (method === 'GET') answer(response, 200, { metadata, spec: { replicas: 99 } });
      else {
        version += 1;
        answer(response, 409, { kind: 'Status', code: 409, reason: 'Conflict', message: 'modified' });
      }
      return true;
    };
    const context = commitContext(ground.client);
    const text = JSON.stringify({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'web' },
      spec: { replicas: 3 },
    });
    const [object] = await preparedObjects(
      { path: 'a.json', text },
      async (apiVersion, kind) => await context.discovery.find(apiVersion, kind),
    );
    if (object === undefined) throw new Error('nothing was prepared');
    annotations[ANNOTATION.manifestHash] = object.manifest.hash;
    expect(await lookAtDrift(context, object, true)).toBe('under way');
  });
});

describe('a workload that was set aside from git', () => {
  const template = {
    metadata: { labels: { app: 'web' } },
    spec: { containers: [{ name: 'main', image: 'a' }] },
  };
  const live = (changed?: object) =>
    ({
      metadata: {
        name: 'web',
        annotations: {
          'fairlead.dev/commit': 'b',
          ...(changed !== undefined && { 'fairlead.dev/changed': JSON.stringify(changed) }),
        },
      },
      spec: { template },
    }) as unknown as KubernetesObject;
  const target = templateHash(normaliseTemplate(trusted<PodTemplate>(template)));
  const change = { verb: 'set image main=a', target, commit: 'b', by: 'ada', reason: 'leaks' };

  it.each<[string, object | undefined, string]>([
    ['by a verb', change, 'ada has set it aside from git (set image main=a: leaks)'],
    [
      'by a verb that made another template',
      { ...change, target: 'x' },
      'an operator has set it aside from git',
    ],
    ['by nobody known', undefined, 'an operator has set it aside from git'],
  ])('%s', (_name, changed, words) => {
    expect(describeUndo(live(changed))).toBe(words);
  });
});

describe('events of drift', () => {
  const reasons = (before: ReadonlyMap<string, DriftedObject>, after: ReadonlyMap<string, DriftedObject>) =>
    driftEvents(before, after, 'now').map(({ reason }) => reason);

  it.each<[string, readonly Partial<DriftedObject>[], readonly Partial<DriftedObject>[], readonly string[]]>([
    ['new', [], [{}], ['DriftDetected']],
    ['the same as before', [{}], [{ putBackAt: '2026-01-01T00:00:10Z' }], []],
    ['another field', [{}], [{ fields: ['data.shape'] }], ['DriftDetected']],
    ['another manager', [{}], [{ by: ['helm'] }], ['DriftDetected']],
    ['over', [{}], [], ['DriftCorrected']],
    ['another object', [{}], [{ object: 'ConfigMap shop/b' }], ['DriftDetected', 'DriftCorrected']],
  ])('%s', (_name, before, after, expected) => {
    expect(reasons(known(...before), known(...after))).toEqual(expected);
  });

  it('of very many the rest is told together', () => {
    const many = known(...Array.from({ length: 50 }, (_, index) => ({ object: `ConfigMap shop/c${index}` })));
    const events = driftEvents(known(), many, 'now');
    expect(events).toHaveLength(20);
    expect(events.at(-1)?.message).toBe('31 more objects');
    expect(driftStatus(many, [])).toMatchObject({ count: 50 });
    expect(driftStatus(many, [])?.objects).toHaveLength(20);
    expect(driftStatus(known(), [])).toBeUndefined();
  });

  it('why it stays as it is belongs to it', () => {
    const [event] = driftEvents(known(), known({ held: 'it is paused by ada' }), 'now');
    expect(event?.message).toMatch(/kubectl-edit"; it stays as it is: it is paused by ada$/);
  });
});

describe('the pace of healing', () => {
  it.each<[string, Healing | undefined, number, number]>([
    ['never healed: at once', undefined, 1_000, 1_000],
    ['healed just now: 10 s later', { count: 1, at: 0 }, 1_000, 10_000],
    ['a second time: 20 s later', { count: 2, at: 0 }, 1_000, 20_000],
    ['for the time that has gone by nothing is waited', { count: 2, at: 0 }, 25_000, 25_000],
    ['at most ten minutes', { count: 40, at: 0 }, 1_000, 600_000],
    ['long after it another matter: at once', { count: 5, at: 0 }, 400_000, 400_000],
  ])('%s', (_name, past, now, expected) => {
    const healings = past && new Map([['ada', past]]);
    expect(healAllAt(healings, ['ada'], now)).toBe(expected);
  });

  const after = (...times: readonly (readonly [at: number, ...by: string[]])[]): Healings =>
    times.reduce<Healings>((past, [at, ...by]) => healedAll(past, by, at), new Map());

  it('counts in a row, and begins anew after a long time', () => {
    const twice = after([0, 'ada'], [10_000, 'ada']);
    expect([...twice]).toEqual([['ada', { count: 2, at: 10_000 }]]);
    expect([...healedAll(twice, ['ada'], 1_000_000)]).toEqual([['ada', { count: 1, at: 1_000_000 }]]);
  });

  it('is each manager\u2019s own: who comes new is put back at once, and has not fought', () => {
    const past = after([0, 'kubectl-patch'], [10_000, 'kubectl-patch'], [30_000, 'kubectl-patch']);
    const now = 40_000;
    expect(healAllAt(past, ['fighter'], now)).toBe(now);
    expect(fightOf(past, ['fighter'], now)).toBeUndefined();
    expect(healAllAt(past, ['kubectl-patch'], now)).toBe(70_000);
    expect(fightOf(past, ['kubectl-patch'], now)).toEqual({
      by: ['kubectl-patch'],
      healing: { count: 3, at: 30_000 },
    });
    expect(healedAll(past, ['fighter'], now).get('fighter')).toEqual({ count: 1, at: now });
  });

  it('of a change by several, waits for those who insist and names them alone', () => {
    const past = after([0, 'a'], [10_000, 'a', 'b'], [30_000, 'a']);
    expect(healAllAt(past, ['a', 'b', 'c'], 40_000)).toBe(70_000);
    expect(fightOf(past, ['a', 'b', 'c'], 40_000)).toMatchObject({ by: ['a'], healing: { count: 3 } });
  });

  it('of nobody known counts too, and a fight is over long after it', () => {
    const past = after([0], [10_000], [30_000]);
    expect(fightOf(past, [], 40_000)).toEqual({ by: [], healing: { count: 3, at: 30_000 } });
    expect(fightOf(past, [], 1_000_000)).toBeUndefined();
  });
});
