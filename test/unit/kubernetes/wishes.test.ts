import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { WishRefusedError } from '../../../kubernetes/wish-refused-error.ts';
import type { PatchOperation } from '../../../kubernetes/workload-edit.ts';
import { retryWorkload, undoWorkload } from '../../../kubernetes/wishes.ts';
import { templateHash } from '../../../kubernetes/workload-key.ts';
import type { ControllerRevision, KubernetesObject } from '../../../planners/objects.ts';
import { normaliseTemplate } from '../../../planners/template-defaults.ts';
import { ActivityGround } from '../../support/activity-ground.ts';
import { revisionOf, withImage } from '../../support/rollout-objects.ts';
import { workloadObject } from '../../support/workload-objects.ts';

let ground: ActivityGround;

beforeEach(async () => {
  ground = await ActivityGround.start();
});

afterEach(async () => {
  await ground.stop();
});

const complete = { 'fairlead.dev/complete': 'true' };

/** Revisions of these images; the last one is the present one. Those that are named are marked complete. */
function plantRevisions(images: readonly string[], marked: readonly string[]): readonly ControllerRevision[] {
  const revisions: ControllerRevision[] = [];
  const conditions = [{ type: 'Ready', status: 'False' }] as const;
  for (const image of images) {
    ground.object = withImage(workloadObject({ conditions }), image);
    const made = revisionOf(ground.object, revisions);
    const annotations = { ...made.metadata.annotations, ...(marked.includes(image) && complete) };
    revisions.push({ ...made, metadata: { ...made.metadata, annotations } });
  }
  for (const revision of revisions) ground.plantRevision(revision);
  return revisions;
}

/** What else the object carries. */
function amend(annotations: Readonly<Record<string, string>>, status: object): void {
  const { object } = ground;
  if (object === undefined) throw new Error('nothing planted');
  const metadata = { ...object.metadata, annotations };
  ground.object = { ...object, metadata, status: { ...object.status, ...status } };
}

it.each<['True' | 'False', string, boolean]>([
  ['True', 'RunTerminated', true],
  ['True', 'RunFailed', true],
  // Its run is under way: another is neither needed nor possible, and the wish would stand until that one ends.
  ['True', 'ProgressDeadlineExceeded', false],
  ['False', 'NotStalled', false],
])('`retry` of a rollout with Stalled %s, %s: written %s', async (status, reason, written) => {
  ground.object = workloadObject({ conditions: [{ type: 'Stalled', status, reason }] });
  const { client, reference } = ground;
  const { changed } = await retryWorkload(client, reference.workload, { by: 'alice' }, Date.now());
  expect(changed).toBe(written);
  expect(ground.writes).toHaveLength(written ? 1 : 0);
});

it('`retry` of a run that Temporal says to be over, which no controller has seen: written', async () => {
  ground.object = workloadObject({ conditions: [{ type: 'Stalled', status: 'False' }] });
  const { client, reference } = ground;
  const retry = async (hasEnded: boolean) =>
    (await retryWorkload(client, reference.workload, { by: 'alice' }, Date.now(), hasEnded)).changed;
  expect([await retry(false), ground.writes.length]).toEqual([false, 0]);
  expect([await retry(true), ground.writes.length]).toEqual([true, 1]);
});

it('`retry` with nothing to do names what to ask, with the namespace', async () => {
  ground.object = workloadObject({ conditions: [{ type: 'Stalled', status: 'False' }] });
  const { client, reference } = ground;
  const { message } = await retryWorkload(client, reference.workload, { by: 'alice' }, Date.now());
  expect(message).toContain('`fairlead explain statefulset/web -n default`');
});

describe('going back under podUpdatePolicy InPlaceOnly', () => {
  const rollingUpdate = { partition: 0, podUpdatePolicy: 'InPlaceOnly' };
  const now = Date.now();

  /** The last complete revision has another image, and what else is given. */
  function plant(container: object): void {
    ground.object = workloadObject({
      spec: { updateStrategy: { type: 'RollingUpdate', rollingUpdate } },
      status: { currentRevision: 'web-old', updateRevision: 'web-new' },
      conditions: [{ type: 'Ready', status: 'False' }],
    });
    const { template } = ground.object.spec;
    const containers = [{ name: 'main', image: 'web:0', ...container }];
    ground.plantRevision({
      metadata: {
        name: 'web-old',
        namespace: 'default',
        uid: 'revision-uid',
        resourceVersion: '1',
        ownerReferences: [
          {
            apiVersion: 'fairlead.dev/v1beta1',
            kind: 'StatefulSet',
            name: 'web',
            uid: 'set-uid',
            controller: true,
          },
        ],
      },
      data: { spec: { template: { ...template, spec: { containers }, $patch: 'replace' } } },
      revision: 1,
    } as KubernetesObject);
  }

  it('`undo` to other images is written', async () => {
    plant({});
    const { client, reference } = ground;
    const { effect } = await undoWorkload(client, reference.workload, { verb: 'undo' }, now);
    expect(effect).toBe('rolledBack');
    expect(ground.writes).toHaveLength(1);
  });

  it('`undo` leaves what is spelled out and the same as nothing, which no revision holds', async () => {
    plant({});
    const { object, client, reference } = ground;
    if (object === undefined) throw new Error('nothing planted');
    const podOf = (image: string) => ({
      nodeSelector: {},
      containers: [{ name: 'main', image, tty: false, workingDir: '' }],
    });
    const template = { ...object.spec.template, spec: podOf('web:1') };
    ground.object = { ...object, spec: { ...object.spec, template } };
    await undoWorkload(client, reference.workload, { verb: 'undo' }, now);
    const operations = JSON.parse(ground.writes[0] ?? '[]') as readonly PatchOperation[];
    const written = operations.find(({ path }) => path === '/spec/template')?.value;
    expect(written).toEqual({ ...template, spec: podOf('web:0') });
  });

  it('`undo` to what no running pod takes over is refused, with the fields', async () => {
    plant({ command: ['old'] });
    const { client, reference } = ground;
    const undone = undoWorkload(client, reference.workload, { verb: 'undo' }, now);
    await expect(undone).rejects.toThrow(WishRefusedError);
    await expect(undone).rejects.toThrow(/InPlaceOnly, and .*command.* differs.*InPlaceIfPossible/);
    expect(ground.writes).toEqual([]);
  });

  it.each(['abort', 'deadline'] as const)('%s holds the rollout instead', async (verb) => {
    plant({ command: ['old'] });
    const { client, reference } = ground;
    const { effect, message } = await undoWorkload(client, reference.workload, { verb }, now);
    expect(effect).toBe('paused');
    expect(message).toMatch(/command.*so it is held/);
    expect(ground.writes).toEqual([expect.stringContaining('fairlead.dev~1paused')]);
  });
});

describe.each(['abort', 'deadline'] as const)('%s goes to the last complete revision', (verb) => {
  const now = Date.now();

  async function give() {
    return await undoWorkload(ground.client, ground.reference.workload, { verb }, now);
  }

  it('or holds the rollout where there is none; of a deadline the pause says why', async () => {
    plantRevisions(['web:1'], []);
    const { effect, message } = await undoWorkload(
      ground.client,
      ground.reference.workload,
      { verb, by: 'x', reason: 'late' },
      now,
    );
    expect([effect, message]).toEqual(['paused', expect.stringContaining('no complete revision of')]);
    const said = verb === 'deadline' ? 'late; there is no complete revision to go back to' : 'late';
    expect(ground.writes).toEqual([expect.stringContaining(`\\"reason\\":\\"${said}\\"`)]);
  });

  it('and not to the one that an object which was made again calls its current one', async () => {
    const [, good, bad] = plantRevisions(['web:1', 'web:2', 'web:bad', 'web:worse'], ['web:1', 'web:2']);
    amend({}, { currentRevision: bad?.metadata.name });
    expect(await give()).toMatchObject({ effect: 'rolledBack', revision: good?.metadata.name });
    expect(ground.writes).toEqual([expect.stringContaining('"image":"web:2"')]);
  });

  it('but not from a template that comes before it is written, where it is about another one', async () => {
    plantRevisions(['web:1', 'web:bad'], ['web:1']);
    const { object, client, reference } = ground;
    if (object === undefined) throw new Error('nothing planted');
    ground.meanwhile = withImage(object, 'web:fix');
    const { template } = object.spec;
    const target = { ...reference.workload, template: templateHash(normaliseTemplate(template)) };
    await expect(undoWorkload(client, target, { verb }, now)).rejects.toMatchObject({ code: 'Superseded' });
    expect(ground.writes).toHaveLength(1);
  });

  it('and says so where the one that was rolled out last was deleted', async () => {
    const [good] = plantRevisions(['web:1', 'web:bad'], ['web:1']);
    amend({}, { currentRevision: good?.metadata.name });
    expect((await give()).message).not.toContain('deleted');
    amend({}, { currentRevision: 'web-5d8f' });
    expect((await give()).message).toContain(
      ', for the ControllerRevision web-5d8f, which was rolled out last, was deleted',
    );
  });

  it('also from a revision that an undo has led to', async () => {
    const [, good, undone] = plantRevisions(['web:1', 'web:2', 'web:bad'], ['web:1', 'web:2']);
    const pin = { to: undone?.metadata.name, revision: good?.metadata.name, verb: 'undo' };
    amend({ 'fairlead.dev/pinned': JSON.stringify(pin) }, { currentRevision: good?.metadata.name });
    expect(await give()).toMatchObject({
      changed: true,
      effect: 'rolledBack',
      revision: good?.metadata.name,
    });
    expect(ground.writes).toEqual([expect.stringContaining('"image":"web:2"')]);
  });

  it('which is the present one, if an undo or an abort has led to it', async () => {
    const [, , back] = plantRevisions(['web:1', 'web:bad', 'web:2'], ['web:1', 'web:2']);
    const pin = { to: back?.metadata.name, verb: 'undo' };
    amend({ 'fairlead.dev/pinned': JSON.stringify(pin) }, {});
    expect(await give()).toMatchObject({
      changed: false,
      effect: 'rolledBack',
      message: `nothing to do: statefulset/web is on its way back to revision 3 (${String(back?.metadata.name)}) already (undo)`,
    });
    amend(
      { 'fairlead.dev/pinned': JSON.stringify(pin) },
      {
        conditions: [
          { type: 'Ready', status: 'True', reason: 'RolloutComplete' },
          { type: 'Reconciling', status: 'False', reason: 'Reconciled' },
        ],
      },
    );
    expect((await give()).message).toBe(
      `nothing to do: statefulset/web is back at revision 3 (${String(back?.metadata.name)}) already`,
    );
    expect(ground.writes).toEqual([]);
  });
});

describe('`undo` without a number while somebody goes back already', () => {
  const now = Date.now();
  const pinned = (pin: object) => ({ 'fairlead.dev/pinned': JSON.stringify(pin) });

  /** The bad revision was left for the good one, which has been made anew; what is on its way there. */
  function leave(status: object = {}): readonly (string | undefined)[] {
    const [bad, good] = plantRevisions(['web:bad', 'web:1'], ['web:1']).map(({ metadata }) => metadata.name);
    amend(pinned({ to: good, revision: bad, verb: 'abort', by: 'ann', reason: 'broken' }), status);
    return [bad, good];
  }

  async function undo(toRevision?: number) {
    return await undoWorkload(ground.client, ground.reference.workload, { verb: 'undo', toRevision }, now);
  }

  it.each([undefined, 0])('to %s: nothing to do, and how the other template is meant', async (toRevision) => {
    const [, good] = leave();
    expect(await undo(toRevision)).toEqual({
      changed: false,
      effect: 'rolledBack',
      revision: good,
      message:
        `nothing to do: statefulset/web is on its way back to revision 2 (${String(good)}) already (abort by ann: broken); ` +
        '`--to-revision 1` goes to what it comes from',
    });
    expect(ground.writes).toEqual([]);
  });

  it('whoever names it means it', async () => {
    const [bad] = leave();
    expect(await undo(1)).toMatchObject({ changed: true, revision: bad });
  });

  it('once that is over it goes to where the first came from, as with kubectl', async () => {
    const conditions = [
      { type: 'Ready', status: 'True', reason: 'RolloutComplete' },
      { type: 'Reconciling', status: 'False', reason: 'Reconciled' },
    ];
    const [bad] = leave({ conditions });
    expect(await undo()).toMatchObject({ changed: true, revision: bad });
  });

  it('a pin of another template holds nothing back', async () => {
    const [bad] = leave();
    amend(pinned({ to: 'web-other', revision: bad, verb: 'undo' }), {});
    expect(await undo()).toMatchObject({ changed: true, revision: bad });
  });
});
