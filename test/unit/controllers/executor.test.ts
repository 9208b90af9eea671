/** What the executor makes of the apiserver's answers. */

import { describe, expect, it } from '@jest/globals';

import { ActionEvents } from '../../../controllers/action-events.ts';
import type { EventRecorder } from '../../../controllers/events.ts';
import { Executor } from '../../../controllers/executor.ts';
import { WriteMemory } from '../../../controllers/write-memory.ts';
import { ApiError } from '../../../kubernetes/api-error.ts';
import type { KubernetesClient } from '../../../kubernetes/client.ts';
import { trusted } from '../../../kubernetes/values.ts';
import type { WatchCache } from '../../../kubernetes/watch-cache.ts';
import type { OwnerReference, Pod } from '../../../planners/objects.ts';
import type { Action, Refusal } from '../../../planners/plan.ts';
import { actionKey } from '../../../planners/plan.ts';
import { controllerReference } from '../../../planners/controller-ref.ts';
import { LABEL } from '../../../planners/names.ts';
import { pullerName } from '../../../planners/pre-pull.ts';
import { podOf, setOf } from '../../support/statefulset-fixtures.ts';

const NOW = Date.parse('2026-01-01T00:00:00Z');
const set = setOf({ replicas: 1 });

const create: Action = {
  verb: 'create',
  resource: 'pods',
  name: 'web-0',
  body: trusted(podOf(set, 0, 'web-a')),
  purpose: 'ScaleUp',
  message: 'create Pod web-0',
};

/** Executes a create that meets a pod of that name. */
async function createMeeting(found: Pod, action = create) {
  const client = trusted<KubernetesClient>({
    create: async () => {
      const failure = { status: 409, reason: 'AlreadyExists', text: 'exists' };
      throw new ApiError({ server: 's', method: 'POST', path: '/pods' }, failure);
    },
    get: async () => found,
  });
  const observed: unknown[] = [];
  const cache = trusted<WatchCache>({ observeWrite: (_: string, seen: unknown) => void observed.push(seen) });
  const events = trusted<EventRecorder>({ record: () => undefined });
  const memory = new WriteMemory();
  const reports = new ActionEvents(events);
  const executor = new Executor({ cache, events, reports, memory, now: () => NOW });
  const result = await executor.execute(client, set, [action]);
  // Whatever becomes of it, the next plan is to know of the one that is there.
  expect(observed).toEqual([found]);
  return { result, refusal: memory.of(set.ref.uid).refusals.get(actionKey(action)) };
}

/** What is remembered of it, where the pod is not one of ours. */
async function createBeside(found: Pod, action = create): Promise<Refusal | undefined> {
  const { result, refusal } = await createMeeting(found, action);
  expect([...result.refused, ...result.stale]).toEqual([action]);
  return refusal;
}

describe('the name of a pod to be made is that of a pod of another', () => {
  const owned = (owner: Partial<OwnerReference>, metadata: Partial<Pod['metadata']> = {}): Pod => {
    const pod = podOf(set, 0, 'web-a');
    const [own] = pod.metadata.ownerReferences ?? [];
    const ownerReferences = [{ ...trusted<OwnerReference>(own), uid: 'another', ...owner }];
    return { ...pod, metadata: { ...pod.metadata, ownerReferences, ...metadata } };
  };
  const deletionTimestamp = '2026-01-01T00:00:00Z';

  it.each<[string, Pod, Pick<Refusal, 'message' | 'taken'>]>([
    [
      'of a workload that is there',
      owned({ name: 'db' }),
      { taken: 'stays', message: 'the pod of that name belongs to StatefulSet db' },
    ],
    [
      'of one of this name, of the other API',
      owned({ apiVersion: 'apps/v1' }),
      { taken: 'stays', message: 'the pod of that name belongs to StatefulSet web' },
    ],
    [
      'of the same workload before it was made again',
      owned({}, { deletionTimestamp, finalizers: ['example.com/hold'] }),
      {
        taken: 'leaves',
        message:
          'the pod of that name belongs to an earlier StatefulSet web and is being deleted, held by its finalizer example.com/hold',
      },
    ],
    [
      'without a finalizer',
      owned({}, { deletionTimestamp }),
      {
        taken: 'leaves',
        message: 'the pod of that name belongs to an earlier StatefulSet web and is being deleted',
      },
    ],
  ])('%s', async (_, found, words) => {
    expect(await createBeside(found)).toMatchObject(words);
  });

  describe('to pull images, which has no controller', () => {
    const pull: Action = { ...create, purpose: 'PrePull', name: pullerName(set, 'a', 'hash') };
    const named = (ownerReferences: readonly OwnerReference[], name = pull.name): Pod => {
      const pod = owned({}, { name, ownerReferences, labels: { [LABEL.prePull]: 'hash' } });
      return { ...pod, spec: { ...pod.spec, nodeName: 'a' } };
    };
    const owner = { ...controllerReference(set.ref), controller: false };

    it.each<[string, Pod, string]>([
      ['without an owner', named([], 'web-0'), 'the pod of that name has no owner'],
      [
        'of an earlier one',
        named([{ ...owner, uid: 'earlier' }]),
        'the pod of that name belongs to an earlier StatefulSet web',
      ],
    ])('%s: the next plan would not know of it, either', async (_, found, message) => {
      expect(await createBeside(found, pull)).toMatchObject({ taken: 'stays', message });
    });

    it.each<[string, Pod]>([
      ['ours', named([owner])],
      ['one that has lost its owner', named([])],
    ])('%s: the next plan knows of it', async (_, found) => {
      expect(await createBeside(found, pull)).toBeUndefined();
    });
  });
});

describe('the name of a pod to be made is that of one of ours (design "Once")', () => {
  const POD = podOf(set, 0, 'web-a');
  const other = (metadata: Partial<Pod['metadata']>): Pod => ({
    ...POD,
    metadata: { ...POD.metadata, ...metadata },
  });
  const onNode = (nodeName: string): Pod => ({ ...POD, spec: { ...POD.spec, nodeName } });

  it.each<[string, Pod, Action, string]>([
    ['of the same revision: made before a crash', POD, create, 'done'],
    ['of another revision', other({ labels: { [LABEL.revisionHash]: 'web-b' } }), create, 'stale'],
    ['that is being deleted', other({ deletionTimestamp: '2026-01-01T00:00:00Z' }), create, 'stale'],
    ['on its node', onNode('a'), { ...create, place: 'a' }, 'done'],
    ['on another node', onNode('b'), { ...create, place: 'a' }, 'stale'],
  ])('%s', async (_, found, action, outcome) => {
    expect((await createMeeting(found, action)).result).toMatchObject({ [outcome]: [action] });
  });
});

describe('a pod that is adopted (C4)', () => {
  const pod = podOf(set, 0, 'web-a');
  const adopt: Action = {
    verb: 'patch',
    resource: 'pods',
    name: 'web-0',
    uid: pod.metadata.uid,
    body: trusted({ metadata: { ownerReferences: [controllerReference(set.ref)] } }),
    purpose: 'Adopt',
    message: 'adopt Pod web-0',
  };

  /** What is asked of the apiserver, which has this owner or none, and what becomes of the adoption. */
  async function adoptFor(owner: { uid: string; deletionTimestamp?: string } | undefined) {
    const asked: string[] = [];
    const client = trusted<KubernetesClient>({
      get: async ({ resource }: { resource: string }) => {
        asked.push(`get ${resource}`);
        if (owner !== undefined) return { metadata: { name: 'web', ...owner } };
        const failure = { status: 404, reason: 'NotFound', text: 'not found' };
        throw new ApiError({ server: 's', method: 'GET', path: '/statefulsets' }, failure);
      },
      patch: async ({ resource }: { resource: string }) => {
        asked.push(`patch ${resource}`);
        return { ...pod, metadata: { ...pod.metadata, resourceVersion: '99' } };
      },
    });
    const cache = trusted<WatchCache>({ observeWrite: () => undefined, get: () => pod });
    const events = trusted<EventRecorder>({ record: () => undefined });
    const reports = new ActionEvents(events);
    const executor = new Executor({ cache, events, reports, memory: new WriteMemory(), now: () => NOW });
    const { done, stale } = await executor.execute(client, set, [adopt]);
    expect([...done, ...stale]).toEqual([adopt]);
    return { asked, isAdopted: done.length === 1 };
  }

  it('is asked for once its owner was looked at', async () => {
    expect(await adoptFor({ uid: set.ref.uid })).toEqual({
      asked: ['get statefulsets', 'patch pods'],
      isAdopted: true,
    });
  });

  it.each([
    ['is gone', undefined],
    ['was made again', { uid: 'another' }],
    ['is being deleted', { uid: set.ref.uid, deletionTimestamp: '2026-01-01T00:00:00Z' }],
  ])('is not where its owner %s', async (_, owner) => {
    expect(await adoptFor(owner)).toEqual({ asked: ['get statefulsets'], isAdopted: false });
  });
});

it('C13: that a pod is refused because its namespace ends is no Event', async () => {
  const told: string[] = [];
  const refusedWith = async (text: string, causes: readonly { reason: string; message: string }[]) => {
    const client = trusted<KubernetesClient>({
      create: async () => {
        const failure = { status: 403, reason: 'Forbidden', text, details: { causes } };
        throw new ApiError({ server: 's', method: 'POST', path: '/pods' }, failure);
      },
    });
    const cache = trusted<WatchCache>({});
    const events = trusted<EventRecorder>({
      record: (...[, , reason]: Parameters<EventRecorder['record']>) => void told.push(reason),
    });
    const reports = new ActionEvents(events);
    const executor = new Executor({ cache, events, reports, memory: new WriteMemory(), now: () => NOW });
    expect((await executor.execute(client, set, [create])).refused).toEqual([create]);
  };
  await refusedWith('the namespace is being terminated', [
    { reason: 'NamespaceTerminating', message: 'namespace default is being terminated' },
  ]);
  expect(told).toEqual([]);
  await refusedWith('exceeded quota', []);
  expect(told).toEqual(['FailedCreate']);
});

describe('a patch that changes nothing', () => {
  const pod = { ...podOf(set, 0, 'web-a') };
  const patch: Action = {
    verb: 'patch',
    resource: 'pods',
    name: 'web-0',
    uid: pod.metadata.uid,
    body: { metadata: { labels: { 'apps.kubernetes.io/pod-index': '0' } } },
    purpose: 'FixIdentity',
    message: 'label Pod web-0',
  };
  const planned = (resourceVersion?: string): Action => ({
    ...patch,
    ...(resourceVersion !== undefined && { resourceVersion }),
  });

  /** Executes it so many times, each when it is due; the answer is a pod of that version. */
  async function patched(action: Action, answered: string, times = 1) {
    const version = (resourceVersion: string): Pod => ({
      ...pod,
      metadata: { ...pod.metadata, resourceVersion },
    });
    const client = trusted<KubernetesClient>({ patch: async () => version(answered) });
    const told: string[] = [];
    const events = trusted<EventRecorder>({
      record: (...[, type, reason, message]: Parameters<EventRecorder['record']>) =>
        void told.push(`${type} ${reason}: ${message}`),
    });
    const cache = trusted<WatchCache>({ observeWrite: () => undefined, get: () => version('7') });
    const memory = new WriteMemory();
    const reports = new ActionEvents(events);
    const executor = new Executor({ cache, events, reports, memory, now: () => NOW });
    let result = await executor.execute(client, set, [action]);
    for (let i = 1; i < times; i += 1) result = await executor.execute(client, set, [action]);
    return { result, told, refusal: memory.of(set.ref.uid).refusals.get(actionKey(action)) };
  }

  it.each([planned(), planned('7')])(
    'is tried again with back-off, and told in the same words',
    async (action) => {
      const { result, told, refusal } = await patched(action, '7', 3);
      expect(result).toMatchObject({ done: [], refused: [action], stale: [] });
      expect(refusal?.retryAt).toBe(NOW + 4_000);
      expect(new Set(told)).toEqual(
        new Set([
          'Warning FailedUpdate: label Pod web-0 failed: PATCH pods default/web-0: it was taken, and the object stayed as it was: ' +
            'a webhook or policy of admission takes back what it writes (kubectl get mutatingwebhookconfigurations)',
        ]),
      );
    },
  );

  it('is not one that changes something', async () => {
    const { result, refusal } = await patched(planned(), '8');
    expect(result).toMatchObject({ done: [planned()], refused: [] });
    expect(refusal).toBeUndefined();
  });
});

describe('a pod that goes for another one', () => {
  const request = { server: 's', method: 'POST', path: '/pods' } as const;
  const body = { metadata: { name: 'new' } };
  const pods = [0, 1, 2].map((ordinal) => podOf(set, ordinal, 'web-a'));
  const deleteOf = (
    { metadata: { name, uid } }: Pod,
    revision = 'web-b',
    successor: object = body,
  ): Action => ({
    verb: 'delete',
    resource: 'pods',
    name,
    uid,
    purpose: 'Recreate',
    revision,
    successor: trusted(successor),
    message: `delete Pod ${name}`,
  });

  /** What reaches the apiserver, and what the executor remembers as refused. `answer` is that to the creation. */
  function play(answer: { status: number; reason: string; text: string } | undefined) {
    const asked: string[] = [];
    const client = trusted<KubernetesClient>({
      create: async (path: object, sent: object, { dryRun = false } = {}) => {
        expect([sent, path]).toEqual([body, expect.not.objectContaining({ name: expect.anything() })]);
        asked.push(dryRun ? 'try' : 'create');
        if (answer !== undefined) throw new ApiError(request, answer);
      },
      delete: async ({ name }: { name: string }) => {
        asked.push(name);
      },
    });
    const cache = trusted<WatchCache>({ observeDelete: () => undefined });
    const told: string[] = [];
    const events = trusted<EventRecorder>({
      record: (_: unknown, __: unknown, reason: string, message: string) => {
        if (reason.startsWith('Failed')) told.push(`${reason} ${message}`);
      },
    });
    const memory = new WriteMemory();
    const reports = new ActionEvents(events);
    const executor = new Executor({ cache, events, reports, memory, now: () => NOW });
    const execute = async (...actions: readonly Action[]) => await executor.execute(client, set, actions);
    return { asked, told, execute };
  }

  it('stays where that one would be refused, and who looks is told what the apiserver says', async () => {
    const text = 'Pod "web-0" is invalid: spec.x: Invalid value';
    const { asked, told, execute } = play({ status: 422, reason: 'Invalid', text });
    const { refused } = await execute(...pods.map((pod) => deleteOf(pod)));
    expect([refused.length, asked]).toEqual([1, ['try']]);
    expect(told).toEqual([
      `FailedDelete delete Pod web-0 failed: POST /pods: Invalid: the pod that is to come in its place would be refused: ${text}`,
    ]);
  });

  it('is tried once for each revision', async () => {
    const { asked, execute } = play(undefined);
    await execute(...pods.slice(0, 2).map((pod) => deleteOf(pod)));
    await execute(...pods.slice(2).map((pod) => deleteOf(pod)));
    await execute(...pods.slice(0, 1).map((pod) => deleteOf(pod, 'web-c')));
    expect(asked).toEqual(['try', 'web-0', 'web-1', 'web-2', 'try', 'web-0']);
  });

  it.each([
    [
      'its name is taken still',
      { status: 409, reason: 'AlreadyExists', text: 'pods "web-0" already exists' },
    ],
    [
      'a quota counts the one that goes',
      {
        status: 403,
        reason: 'Forbidden',
        text: 'pods "web-0" is forbidden: exceeded quota: q, requested: pods=1, used: pods=3, limited: pods=3',
      },
    ],
  ])('goes where nothing else is said than that %s', async (_, answer) => {
    const { asked, execute } = play(answer);
    const { done } = await execute(...pods.slice(0, 2).map((pod) => deleteOf(pod)));
    expect([done.length, asked]).toEqual([2, ['try', 'web-0', 'web-1']]);
  });

  it('goes where a webhook allows nothing to be tried', async () => {
    const text = 'admission webhook "audit.example.com" does not support dry run';
    const { asked, execute } = play({ status: 400, reason: 'BadRequest', text });
    const { done } = await execute(...pods.slice(0, 2).map((pod) => deleteOf(pod)));
    expect([done.length, asked]).toEqual([2, ['try', 'web-0', 'web-1']]);
  });

  it('stays while the apiserver does not answer', async () => {
    const { asked, execute } = play({ status: 0, reason: 'Network', text: 'refused' });
    await expect(execute(...pods.map((pod) => deleteOf(pod)))).rejects.toThrow('Network');
    expect(asked).toEqual(['try']);
  });
});
