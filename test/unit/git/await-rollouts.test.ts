/**
 * What the end of a commit waits for. Workloads that lost the label by which a commit's are watched: they are there, and told for what
 * they are. What has no rollout: in waves until it is ready, else Jobs alone, by how they ended.
 */

import { describe, expect, it } from '@jest/globals';

import type { AwaitedRollouts } from '../../../git/await-rollouts.ts';
import { awaitRollouts } from '../../../git/await-rollouts.ts';
import type { LiveWorkload } from '../../../git/rollout-state.ts';
import type { PreparedObject } from '../../../git/prepare.ts';
import { ApiError } from '../../../kubernetes/api-error.ts';
import type { KubernetesClient, WatchEvent } from '../../../kubernetes/client.ts';
import { trusted } from '../../../kubernetes/values.ts';
import { commitContext, preparedObjects } from '../../support/commit-context.ts';

const WEB = 'Deployment.apps ns/web';
const WEB_MANIFEST = `apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {}\n`;

describe('a workload that somebody has applied by hand', () => {
  async function prepared(): Promise<PreparedObject> {
    const served = { resource: 'deployments', namespaced: true };
    const [web] = await preparedObjects({ path: 'web.yaml', text: WEB_MANIFEST }, () =>
      Promise.resolve(served),
    );
    if (web === undefined) throw new Error('the manifest is not read');
    return web;
  }

  /** An object as it is there, by what an apply by hand has left of its annotations. */
  function live(annotations: Readonly<Record<string, string>>, ready = 'True'): LiveWorkload {
    return trusted<LiveWorkload>({
      kind: 'Deployment',
      metadata: { name: 'web', uid: 'u', generation: 1, annotations },
      status: { observedGeneration: 1, conditions: [{ type: 'Ready', status: ready, message: '0 of 1' }] },
    });
  }

  /** `reads`: the object at each time that it is read; `listed`: whether the first list has it, and the watch tells that it left. */
  async function awaited(
    web: PreparedObject,
    reads: readonly (LiveWorkload | undefined)[],
    listed?: LiveWorkload,
  ): Promise<AwaitedRollouts> {
    const [left, lists] = [[...reads], listed === undefined ? [] : [listed]];
    const client = trusted<KubernetesClient>({
      list: async () => await Promise.resolve({ items: lists.splice(0, 1), resourceVersion: '1' }),
      get: async () => {
        const found = await Promise.resolve(left.length > 1 ? left.shift() : left[0]);
        if (found !== undefined) return found;
        throw new ApiError(
          { method: 'GET', path: web.path, server: '' },
          { status: 404, reason: 'NotFound', text: 'not found' },
        );
      },
      async *watch(
        _path: unknown,
        { signal }: { signal: AbortSignal },
      ): AsyncGenerator<WatchEvent<LiveWorkload>> {
        if (listed !== undefined) yield await Promise.resolve({ type: 'DELETED', object: listed });
        await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      },
    });
    return await awaitRollouts(commitContext(client), [web], { patienceMs: 4_000, wasApplied: () => true });
  }

  it('and that was rolled back before is no failure of the commit', async () => {
    const web = await prepared();
    const pin = JSON.stringify({ rejected: web.manifest.hash, by: 'ann' });
    const { states, unwell } = await awaited(web, [live({ 'fairlead.dev/pinned': pin })]);
    expect({ states: [...states], unwell }).toEqual({ states: [], unwell: [`${WEB}: rolled back by ann`] });
  });

  it.each([
    [
      'in the middle of its rollout is told so, and what helps',
      live({}),
      {
        state: 'Failed',
        message: expect.stringMatching(/^somebody has applied it by hand/),
        next: '`fairlead sync` applies it again.',
      },
    ],
    ['and is deleted then, is gone', undefined, { state: 'Failed', isGone: true }],
  ])('%s', async (_, then, expected) => {
    const web = await prepared();
    const own = { 'fairlead.dev/manifest-hash': web.manifest.hash, 'fairlead.dev/commit': 'a' };
    const { states } = await awaited(web, [then], live(own, 'False'));
    expect(states.get(WEB)).toMatchObject(expected);
  });

  it('is waited for although no watch tells of it', async () => {
    const web = await prepared();
    const own = { 'fairlead.dev/manifest-hash': web.manifest.hash, 'fairlead.dev/commit': 'a' };
    const { states } = await awaited(web, [live(own, 'False'), live(own)]);
    expect(states.get(WEB)).toEqual({ state: 'Done' });
  });
});

describe('what has no rollout, at the end of a commit', () => {
  const MIGRATE = 'Job.batch ns/migrate';
  const manifest = (kind: string, more = ''): string =>
    `apiVersion: ${kind === 'Job' ? 'batch/v1' : 'example.com/v1'}\nkind: ${kind}\nmetadata: {name: migrate}\nspec: {backoffLimit: 0${more}}\n`;

  /** `by`: the commit that has written it, ours is `a`. */
  function live(condition: string | undefined, by = 'a'): LiveWorkload {
    return trusted<LiveWorkload>({
      metadata: { name: 'migrate', uid: 'u', generation: 1, annotations: { 'fairlead.dev/commit': by } },
      status: {
        conditions: condition === undefined ? [] : [{ type: condition, status: 'True', reason: 'Why' }],
      },
    });
  }
  const unready = trusted<LiveWorkload>({
    ...live(undefined),
    status: { conditions: [{ type: 'Ready', status: 'False', reason: 'Why' }] },
  });

  async function ended(
    text: string,
    object: LiveWorkload | undefined,
    { isInWaves, untilMs = Date.now() + 60_000 }: { isInWaves: boolean; untilMs?: number },
  ) {
    const served = { resource: 'things', namespaced: true };
    const objects = await preparedObjects({ path: 'a.yaml', text }, () => Promise.resolve(served));
    const client = trusted<KubernetesClient>({
      get: async () => {
        if (object !== undefined) return await Promise.resolve(object);
        const path = objects[0]?.path ?? { group: '', version: '', resource: '' };
        throw new ApiError(
          { method: 'GET', path, server: '' },
          { status: 404, reason: 'NotFound', text: 'not found' },
        );
      },
    });
    const { states, isComplete, unwell } = await awaitRollouts(commitContext(client), objects, {
      patienceMs: 300,
      wasApplied: () => true,
      end: { untilMs, isInWaves: () => isInWaves },
    });
    return { states: [...states].map(([label, { state }]) => [label, state]), isComplete, unwell };
  }
  const well = { states: [], isComplete: true, unwell: [] };

  it.each([
    ['that runs is not awaited', live(undefined), well],
    ['that has failed is a failure', live('Failed'), { ...well, states: [[MIGRATE, 'Failed']] }],
    [
      'that has failed for an earlier commit is named',
      live('Failed', 'b'),
      { ...well, unwell: [`${MIGRATE}: Why`] },
    ],
    ['that is done is well', live('Complete'), well],
    ['that is gone is no matter', undefined, well],
  ])('a Job without waves %s', async (_, object, expected) => {
    expect(await ended(manifest('Job'), object, { isInWaves: false })).toEqual(expected);
  });

  it.each([
    ['that runs is awaited', live(undefined), { ...well, states: [[MIGRATE, 'InProgress']] }],
    ['that has failed is a failure', live('Failed'), { ...well, states: [[MIGRATE, 'Failed']] }],
    ['that is done is well', live('Complete'), well],
    [
      'of an earlier commit is named, not awaited',
      live(undefined, 'b'),
      { ...well, unwell: [`${MIGRATE}: it has not completed`] },
    ],
    ['that somebody has deleted is a failure', undefined, { ...well, states: [[MIGRATE, 'Failed']] }],
  ])('a Job in waves %s', async (_, object, expected) => {
    expect(await ended(manifest('Job'), object, { isInWaves: true })).toEqual(expected);
  });

  it('a Job that was never applied, and that the cluster removes after its end, is not awaited', async () => {
    const text = manifest('Job', ', ttlSecondsAfterFinished: 1');
    expect(await ended(text, undefined, { isInWaves: true })).toEqual(well);
  });

  it('a custom object that is not ready is awaited in waves alone, and has failed after their deadline', async () => {
    const text = manifest('Thing');
    expect(await ended(text, unready, { isInWaves: false })).toEqual(well);
    const [label, state] = ['Thing.example.com ns/migrate', 'InProgress'];
    expect(await ended(text, unready, { isInWaves: true })).toEqual({ ...well, states: [[label, state]] });
    expect(await ended(text, unready, { isInWaves: true, untilMs: Date.now() - 1 })).toEqual({
      ...well,
      states: [[label, 'Failed']],
    });
  });
});
