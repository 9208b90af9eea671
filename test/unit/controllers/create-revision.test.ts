/** What becomes of a new revision that the apiserver does not store as it was sent. */

import { describe, expect, it } from '@jest/globals';

import { RevisionNotKeptError, createRevision } from '../../../controllers/create-revision.ts';
import { ApiError } from '../../../kubernetes/api-error.ts';
import type { KubernetesClient } from '../../../kubernetes/client.ts';
import { trusted } from '../../../kubernetes/values.ts';
import type { WatchCache } from '../../../kubernetes/watch-cache.ts';
import { WORKLOAD_KINDS } from '../../../kubernetes/workload-kinds.ts';
import { DEPLOYMENT_ANNOTATION } from '../../../planners/names.ts';
import type { KubernetesObject, ReplicaSet } from '../../../planners/objects.ts';
import type { Snapshot, Workload } from '../../../planners/workload.ts';
import { deploymentOf } from '../../support/deployment-fixtures.ts';
import { setOf } from '../../support/statefulset-fixtures.ts';
import { alteredTemplate } from '../../support/simulated-replica-sets.ts';

const kind = WORKLOAD_KINDS.Deployment;

/** Asks for the revision twice, of an apiserver that stores what `store` answers. */
async function createTwice(store: (sent: ReplicaSet) => ReplicaSet) {
  const stored = new Map<string, KubernetesObject>();
  const deleted: unknown[] = [];
  const client = trusted<KubernetesClient>({
    create: async (_: unknown, sent: ReplicaSet) => {
      const made = store(sent);
      const metadata = { ...made.metadata, uid: `uid-${made.metadata.name}` };
      return { ...made, metadata };
    },
    delete: async (path: unknown, options: unknown) => {
      deleted.push([path, options]);
      return {};
    },
  });
  const cache = trusted<WatchCache>({
    observeWrite: (_: string, object: KubernetesObject) => stored.set(object.metadata.name, object),
    observeDelete: (_: string, __: unknown, { name }: { name: string }) => stored.delete(name),
  });
  const snapshot = () =>
    trusted<Snapshot<Workload>>({
      workload: deploymentOf(),
      revisions: [...stored.values()].map(kind.history.read),
    });
  const ask = async () =>
    await createRevision(client, cache, kind, snapshot, () => 0).catch((error: unknown) => error);
  return { answers: [await ask(), await ask()], stored, deleted };
}

it('with another template it is kept: the next look finds it', async () => {
  const { answers, stored } = await createTwice((sent) => ({
    ...sent,
    spec: { ...sent.spec, template: alteredTemplate(sent.spec.template) },
  }));
  expect(answers).toMatchObject([{ outcome: 'created' }, { outcome: 'existed' }]);
  expect(stored.size).toBe(1);
});

it('with labels that its workload does not select it is deleted again, and that is said', async () => {
  const { answers, stored, deleted } = await createTwice((sent) => ({
    ...sent,
    metadata: { ...sent.metadata, labels: { team: 'a' } },
  }));
  expect(answers).toEqual([expect.any(RevisionNotKeptError), expect.any(RevisionNotKeptError)]);
  expect(String(answers[0])).toMatch(
    /ReplicaSet api-\w+ of Deployment api was stored with the labels team=a, which the selector app=web does not match/,
  );
  expect(stored.size).toBe(0);
  const [[path, options] = []] = deleted as [{ name: string }, unknown][];
  expect(options).toEqual({ uid: `uid-${path?.name ?? ''}` });
});

describe('a ReplicaSet that is to get another number', () => {
  /** Of the template of before the last; the apiserver stores that number of it. */
  async function renumber(stored: string) {
    const workload = deploymentOf();
    const plan = kind.planRevision(workload, [], new Set());
    if (plan.outcome !== 'create') throw new Error(plan.outcome);
    const made = trusted<ReplicaSet>(plan.manifest);
    const numbered = (name: string, number: string, template = made.spec.template) => ({
      ...made,
      spec: { ...made.spec, template },
      metadata: {
        ...made.metadata,
        name,
        uid: `uid-${name}`,
        resourceVersion: '7',
        annotations: { ...made.metadata.annotations, [DEPLOYMENT_ANNOTATION.revision]: number },
      },
    });
    const before = numbered(made.metadata.name, '1');
    const newer = numbered('api-newer', '2', alteredTemplate(made.spec.template));
    const client = trusted<KubernetesClient>({ patch: async () => numbered(before.metadata.name, stored) });
    const cache = trusted<WatchCache>({ observeWrite: () => undefined });
    const snapshot = () =>
      trusted<Snapshot<Workload>>({ workload, revisions: [before, newer].map(kind.history.read) });
    return await createRevision(client, cache, kind, snapshot, () => 0);
  }

  it('has it', async () => {
    expect(await renumber('3')).toMatchObject({ number: '3', outcome: 'renumbered' });
  });

  it('is not told to have it where a webhook takes it back', async () => {
    await expect(renumber('1')).rejects.toThrow(RevisionNotKeptError);
    await expect(renumber('1')).rejects.toThrow(
      /ReplicaSet api-\w+ of Deployment api was to get the number 3, and was stored with 1: mend the admission policy or webhook/,
    );
  });
});

describe('S6, C8: a name that an owner of another uid has', () => {
  /** Asks of an apiserver that has the first name already, as a revision of this owner. */
  async function createBeside(owner: { readonly kind: string; readonly name: string }) {
    const sets = WORKLOAD_KINDS.StatefulSet;
    const workload = setOf();
    const plan = sets.planRevision(workload, []);
    if (plan.outcome !== 'create') throw new Error(plan.outcome);
    const { name } = trusted<KubernetesObject>(plan.manifest).metadata;
    const reference = { apiVersion: 'v1', uid: 'uid-other', controller: true, ...owner };
    const foreign = trusted<KubernetesObject>({
      metadata: { name, uid: 'uid-foreign', ownerReferences: [reference] },
    });
    const own = new Map<string, KubernetesObject>();
    const client = trusted<KubernetesClient>({
      create: async (_: unknown, sent: KubernetesObject) => {
        if (sent.metadata.name !== name) return sent;
        const failure = { status: 409, reason: 'AlreadyExists', text: 'already exists' };
        throw new ApiError({ server: 's', method: 'POST', path: '/controllerrevisions' }, failure);
      },
      get: async () => foreign,
    });
    const cache = trusted<WatchCache>({
      observeWrite: (_: string, object: KubernetesObject) => {
        if (object !== foreign) own.set(object.metadata.name, object);
      },
    });
    const snapshot = () =>
      trusted<Snapshot<Workload>>({ workload, revisions: [...own.values()].map(sets.history.read) });
    const created = await createRevision(client, cache, sets, snapshot, () => 0);
    return { first: name, created };
  }

  it.each([
    ['another kind', { kind: 'DaemonSet', name: 'web' }],
    ['another name', { kind: 'StatefulSet', name: 'other' }],
  ])('is passed over by the next collision count where it is %s', async (_, owner) => {
    const { first, created } = await createBeside(owner);
    expect(created).toMatchObject({ outcome: 'created', number: '1' });
    expect(created.name).not.toBe(first);
  });

  it('is waited for where it was a workload of the same name: it is about to go', async () => {
    await expect(createBeside({ kind: 'StatefulSet', name: 'web' })).rejects.toThrow(
      /^ControllerRevision default\/web-\w+ belongs to an earlier StatefulSet web \(uid uid-other\): wait /,
    );
  });
});
