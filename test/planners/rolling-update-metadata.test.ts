/** Labels and annotations that somebody gives the old controller, or takes from it, in the middle of an update. */

import { describe, expect, it } from '@jest/globals';

import { ANNOTATION, APPLYSET_LABEL, ROLLING_UPDATE } from '../../planners/names.ts';
import { areSameChanges, changedMetadata, withChanges } from '../../planners/rolling-update-metadata.ts';
import type { UpdatePurpose } from '../../planners/rolling-update-steps.ts';
import { viewUpdate } from '../../planners/rolling-update-view.ts';
import type { SimulatedControllers } from '../support/simulated-controllers.ts';
import { begin, foo, run, turn } from '../support/simulated-update.ts';

type Values = Readonly<Record<string, string>>;

/** `foo` with a label and an annotation, and its update so far that `until` is next. */
function updating(until: UpdatePurpose, newName?: string): SimulatedControllers {
  const world = foo();
  set(world, 'foo', { labels: { team: 'a', tier: 'web' }, annotations: { note: 'old' } });
  begin(world, newName);
  run(world, { next: newName, until: ({ purpose }) => purpose === until });
  return world;
}

/** As `kubectl edit` would: both lists anew, but for what the update has written. */
function set(world: SimulatedControllers, name: string, to: { labels: Values; annotations: Values }): void {
  world.edit(name, (one) => {
    const { labels = {}, annotations = {} } = one.metadata;
    const isOfUpdate = ([key]: readonly [string, string]) =>
      key.includes('kubernetes.io/d') || key.includes('kubernetes.io/u');
    const kept = (values: Values) => Object.fromEntries(Object.entries(values).filter(isOfUpdate));
    const metadata = {
      ...one.metadata,
      labels: { ...kept(labels), ...to.labels },
      annotations: { ...kept(annotations), ...to.annotations },
    };
    return { ...one, metadata };
  });
}

/** What is there of `foo`, without the label that tells the halves apart. */
function metadataOf(world: SimulatedControllers, name = 'foo') {
  const { labels = {}, annotations = {} } = world.find(name)?.metadata ?? {};
  const { [ROLLING_UPDATE.deployment]: _, ...own } = labels;
  return { labels: own, annotations };
}

describe('labels and annotations of the old controller', () => {
  it.each<UpdatePurpose>(['CreateNext', 'ScaleDown', 'Phase', 'DeleteOld'])(
    'that are changed before %s are on what gets its name',
    (until) => {
      const world = updating(until);
      set(world, 'foo', { labels: { team: 'b', new: 'x' }, annotations: { mine: '1' } });

      expect(run(world).outcome).toBe('Succeeded');
      expect(metadataOf(world)).toEqual({ labels: { team: 'b', new: 'x' }, annotations: { mine: '1' } });
    },
  );

  it('that are changed and put back while it is about to go are as they were', () => {
    const world = updating('DeleteOld');
    set(world, 'foo', { labels: { team: 'b' }, annotations: {} });
    run(world, { until: ({ purpose }) => purpose === 'DeleteOld' });
    expect(viewUpdate(world.snapshot('foo')).record?.state.changed).toEqual({
      labels: { team: 'b', tier: null },
      annotations: { note: null },
    });
    set(world, 'foo', { labels: { team: 'a', tier: 'web' }, annotations: { note: 'old' } });

    expect(run(world).outcome).toBe('Succeeded');
    expect(metadataOf(world)).toEqual({
      labels: { team: 'a', tier: 'web' },
      annotations: { note: 'old' },
    });
  });

  it('are nothing to one that keeps a name of its own, and stay where it comes back', () => {
    const named = updating('ScaleDown', 'foo-v2');
    set(named, 'foo', { labels: { team: 'b' }, annotations: {} });
    expect(run(named, { next: 'foo-v2' }).outcome).toBe('Succeeded');
    expect(metadataOf(named, 'foo-v2').labels).toEqual({ team: 'a', tier: 'web' });

    const turned = updating('ScaleDown');
    set(turned, 'foo', { labels: { team: 'b' }, annotations: {} });
    turn(turned);
    expect(run(turned).outcome).toBe('Aborted');
    expect(metadataOf(turned).labels).toEqual({ team: 'b' });
  });

  it('keep what `kubectl apply` finds by what has left a file, as it is when the old one goes', () => {
    const name = 'kubectl.kubernetes.io/last-applied-configuration';
    const world = updating('DeleteOld');
    set(world, 'foo', { labels: {}, annotations: { [name]: '{"later":1}' } });

    expect(run(world).outcome).toBe('Succeeded');
    expect(metadataOf(world).annotations).toEqual({ [name]: '{"later":1}' });
  });

  it('called like what every object has are no others', () => {
    const world = foo();
    set(world, 'foo', { labels: { constructor: 'x' }, annotations: { valueOf: 'y' } });
    begin(world);
    run(world, { until: ({ purpose }) => purpose === 'ScaleDown' });
    set(world, 'foo', { labels: {}, annotations: { toString: 'z' } });

    expect(run(world).outcome).toBe('Succeeded');
    expect(metadataOf(world)).toEqual({ labels: {}, annotations: { toString: 'z' } });
  });

  it.each([
    ['has let the controller go in the middle: none', true],
    ['has brought the controller with the update: as that says', false],
  ])('marks of a repository that %s', (_, isFromGit) => {
    const marks = {
      labels: { [APPLYSET_LABEL]: 'set' },
      annotations: { [ANNOTATION.repository]: 'shop', [ANNOTATION.commit]: 'a' },
    };
    const world = foo();
    if (isFromGit) set(world, 'foo', marks);
    begin(world);
    run(world, { until: ({ purpose }) => purpose === 'DeleteOld' });
    const { record } = viewUpdate(world.snapshot('foo'));
    const now = { labels: {}, annotations: {} };
    const metadata = { name: 'foo', namespace: '', ...marks };
    const controller = { ...record!.controller, metadata };

    const none = {
      labels: { [APPLYSET_LABEL]: null },
      annotations: { [ANNOTATION.repository]: null, [ANNOTATION.commit]: null },
    };
    expect(changedMetadata({ ...record!, controller }, { now, lastApplied: undefined })).toEqual(
      isFromGit ? none : { labels: {}, annotations: {} },
    );
    // A later commit waits for the end: what it has not written yet is nothing of this update.
    const later = { ...marks, annotations: { ...marks.annotations, [ANNOTATION.commit]: 'b' } };
    expect(changedMetadata({ ...record!, controller }, { now: later, lastApplied: undefined })).toEqual({
      labels: {},
      annotations: {},
    });
  });

  it('leave no mark of the update, and what it rolls out comes first', () => {
    const world = updating('DeleteOld');
    const { record } = viewUpdate(world.snapshot('foo'));
    const controller = {
      ...record!.controller,
      metadata: { name: 'foo', namespace: '', labels: { team: 'git' } },
    };
    const now = { labels: { team: 'b', tier: 'db', other: 'x' }, annotations: { note: 'old' } };
    const atEnd = { now, lastApplied: undefined };

    // The manifest says another team, and no tier any more.
    const changed = changedMetadata({ ...record!, controller }, atEnd);
    expect(changed).toEqual({ labels: { other: 'x' }, annotations: {} });
    expect(run(world).outcome).toBe('Succeeded');
    expect(Object.keys(metadataOf(world).annotations)).toEqual(['note']);
  });
});

describe('changes of metadata', () => {
  it('of a record of an earlier version are not known, nor more than a record holds', () => {
    const { record } = viewUpdate(updating('DeleteOld').snapshot('foo'));
    const { metadata: _, ...replaced } = record!.replaced!;
    expect(changedMetadata({ ...record!, replaced }, { now: {}, lastApplied: undefined })).toBeUndefined();
    const big = 'x'.repeat(100_001);
    const now = { labels: record!.replaced!.metadata!.labels!, annotations: { big } };
    expect(changedMetadata(record!, { now, lastApplied: undefined })).toBeUndefined();
    // Without what is too large, the rest.
    const { metadata: before } = record!.replaced!;
    const changed = changedMetadata(record!, { now: { ...before, annotations: {} }, lastApplied: big });
    expect(changed).toEqual({ labels: {}, annotations: { note: null } });
  });

  it('are read from a record only where they are texts, or null', () => {
    const world = updating('DeleteOld');
    const [revision] = world.revisions;
    const { state } = viewUpdate(world.snapshot('foo')).record!;
    const read = (changed: unknown) => {
      const annotations = { [ANNOTATION.rollingUpdateState]: JSON.stringify({ ...state, changed }) };
      const edited = { ...revision!, metadata: { ...revision!.metadata, annotations } };
      return viewUpdate({ ...world.snapshot('foo'), revisions: [edited] }).record?.state.changed;
    };
    const good = { labels: { a: 'x', b: null } };
    expect([good, { labels: { a: 1 } }, { annotations: ['a'] }, 'text'].map(read)).toEqual([
      good,
      undefined,
      undefined,
      undefined,
    ]);
  });

  it('are merged as a patch, and compared whatever their order', () => {
    const metadata = { name: 'foo', namespace: '', labels: { a: '1', b: '2' } };
    expect(withChanges(metadata, { labels: { a: null, c: '3' }, annotations: { d: '4' } })).toEqual({
      labels: { b: '2', c: '3' },
      annotations: { d: '4' },
    });
    expect(withChanges(metadata)).toEqual({ labels: metadata.labels });
    expect(areSameChanges({ labels: { a: '1', b: null } }, { labels: { b: null, a: '1' } })).toBe(true);
    expect(areSameChanges(undefined, {})).toBe(false);
  });
});
