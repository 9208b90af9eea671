/** Workloads that lost the label by which a commit's are watched: they are there, and told for what they are. */

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
const text = `apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {}\n`;

describe('a workload that somebody has applied by hand', () => {
  async function prepared(): Promise<PreparedObject> {
    const served = { resource: 'deployments', namespaced: true };
    const [web] = await preparedObjects({ path: 'web.yaml', text }, () => Promise.resolve(served));
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
