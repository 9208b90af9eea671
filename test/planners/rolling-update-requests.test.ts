/** What `fairlead rolling-update` asks for, by what is there (seed 001 "Initialization"; K1–K9): begun, attached to, or refused. */

import { describe, expect, it } from '@jest/globals';

import { updateRefusal } from '../../cli/update-refusal.ts';
import { ANNOTATION, ROLLING_UPDATE } from '../../planners/names.ts';
import { planRollingUpdate } from '../../planners/rolling-update.ts';
import { awaitPods } from '../../planners/rolling-update-pods.ts';
import { recordManifest } from '../../planners/rolling-update-record.ts';
import { decideRollback } from '../../planners/rolling-update-rollback.ts';
import { decideDefaulted, decideStart } from '../../planners/rolling-update-start.ts';
import type { StartRequest } from '../../planners/rolling-update-start.ts';
import { labelled, plainController } from '../../planners/rolling-update-definition.ts';
import { viewUpdate } from '../../planners/rolling-update-view.ts';
import { IMAGE_TEMPLATE, SimulatedControllers } from '../support/simulated-controllers.ts';
import { IMAGE, KEY, NOW, STATE, begin, fileOf, foo, run } from '../support/simulated-update.ts';

describe('what a request means', () => {
  const decide = (world: SimulatedControllers, request: Partial<StartRequest> = {}) =>
    decideStart(viewUpdate(world.snapshot('foo', request.newName)), { ...IMAGE, ...request });

  it.each<[string, SimulatedControllers, Partial<StartRequest>, string]>([
    ['no such controller', new SimulatedControllers(), {}, 'NotFound'],
    ['the same image', foo(), { change: { kind: 'image', image: 'app:1' } }, 'NoChange'],
    ['replicas 0', foo(0), {}, 'NoReplicas'],
    [
      'no such container',
      foo(),
      { change: { kind: 'image', image: 'app:2', container: 'x' } },
      'NoContainer',
    ],
    ['nothing asked for', foo(), { change: { kind: 'none' } }, 'NothingAsked'],
  ])('%s', (_, world, request, code) => {
    expect(decide(world, request)).toMatchObject({ do: 'refuse', code });
  });

  const HASH = '0123456789abcdef'.repeat(4).slice(0, 63);
  it.each<[string, string, Record<string, string>, Record<string, string>, object]>([
    ['a key of the selector', 'app', {}, {}, { do: 'refuse', code: 'KeyTaken' }],
    ['a key of the template', 'tier', { tier: 'web' }, {}, { do: 'refuse', code: 'KeyTaken' }],
    ['a short hash that is somebody’s', 'tier', { tier: 'c0ffee' }, {}, { code: 'KeyTaken' }],
    ['a key that nothing has', 'stage', {}, {}, { do: 'begin' }],
    ['one that every object of JavaScript has', 'constructor', {}, {}, { do: 'begin' }],
    ['the same, of the template', 'constructor', { constructor: 'x' }, {}, { code: 'KeyTaken' }],
    ['what an update wrote', 'stage', { stage: HASH }, {}, { do: 'begin' }],
    ['what it wrote on the first', 'stage', { stage: `${HASH.slice(0, 58)}-orig` }, {}, { do: 'begin' }],
    ['what kubectl wrote', 'deployment', { deployment: HASH.slice(0, 32) }, {}, { do: 'begin' }],
    ['the key of before', 'app', {}, { [ANNOTATION.deploymentLabelKey]: 'app' }, { do: 'begin' }],
    ['the default key, that is somebody’s', KEY, { [KEY]: 'web' }, {}, { code: 'KeyTaken' }],
    ['the default key, as an update wrote it', KEY, { [KEY]: HASH }, {}, { do: 'begin' }],
  ])('as the key that tells the two apart: %s', (_, key, labels, annotations, decision) => {
    const world = new SimulatedControllers();
    const template = IMAGE_TEMPLATE('app:1', { app: 'foo', ...labels });
    world.controller('foo', { replicas: 3, selector: { app: 'foo' }, template }, annotations);
    expect(decide(world, { key })).toMatchObject(decision);
  });

  it('a key that only the file has for something else', () => {
    const manifest = {
      apiVersion: 'v1',
      kind: 'ReplicationController',
      metadata: { name: 'foo', namespace: 'default' },
      spec: { selector: { app: 'foo' }, template: IMAGE_TEMPLATE('app:2', { app: 'foo', tier: 'web' }) },
    } as const;
    expect(decide(foo(), { change: { kind: 'manifest', manifest }, key: 'tier' })).toMatchObject({
      code: 'KeyTaken',
      message: expect.stringMatching(/^foo has the label tier=web for something else/),
    });
  });

  it('one pod is one', () => {
    const { controllers, pods } = foo(1);
    const unready = pods.map((pod) => ({ ...pod, status: { ...pod.status, conditions: [] } }));
    const [controller] = controllers;
    expect(controller && awaitPods(controller, unready, NOW)).toMatchObject({
      waiting: [{ message: '1 of 1 pod of foo is not available' }],
    });
  });

  it('several containers need the name of one', () => {
    const world = new SimulatedControllers();
    const template = IMAGE_TEMPLATE('app:1');
    const containers = [...template.spec.containers, { name: 'side', image: 'side:1' }];
    world.controller('foo', {
      replicas: 1,
      selector: { app: 'foo' },
      template: { ...template, spec: { containers } },
    });

    expect(decide(world)).toMatchObject({ do: 'refuse', code: 'SeveralContainers' });
    const initContainers = [{ name: 'init', image: 'init:1' }];
    world.edit('foo', (one) => ({
      ...one,
      spec: { ...one.spec, template: { ...template, spec: { containers, initContainers } } },
    }));
    expect(decide(world, { change: { kind: 'image', image: 'init:2', container: 'init' } })).toMatchObject({
      code: 'NoContainer',
      message: expect.stringContaining(
        'init is an init container, whose image only a whole manifest (-f) changes',
      ),
    });
    expect(decide(world, { change: { kind: 'image', image: 'side:2', container: 'side' } })).toMatchObject({
      do: 'begin',
    });
  });

  it('the same command again attaches, another image is refused', () => {
    const world = foo();
    begin(world);
    expect(decide(world)).toEqual({ do: 'attach' });
    run(world, { until: ({ purpose }) => purpose === 'ScaleDown' });
    expect(decide(world)).toEqual({ do: 'attach' });
    expect(decide(world, { change: { kind: 'image', image: 'app:3' } })).toMatchObject({
      code: 'OtherChange',
    });
  });

  it('a manifest of the same pods in another number attaches in the middle: none is taken back for a size', () => {
    const world = foo();
    /** As a dry run answers, with the label that the controller has got meanwhile. */
    const asked = (replicas: number, image: string, also: object = {}): StartRequest => {
      const live = world.find('foo');
      const template = live?.spec.template;
      if (live === undefined || template === undefined) throw new Error('foo is gone');
      const containers = IMAGE_TEMPLATE(image).spec.containers;
      const spec = { ...live.spec, ...also, replicas, template: { ...template, spec: { containers } } };
      return { change: { kind: 'manifest', manifest: plainController({ ...live, spec }, 'foo') }, key: KEY };
    };
    const decision = decide(world, asked(3, 'app:2'));
    if (decision.do !== 'begin') throw new Error(JSON.stringify(decision));
    world.record(decision.data, { ...STATE, desired: decision.desired });
    run(world, { until: ({ purpose }) => purpose === 'ScaleDown' });

    expect(decide(world, asked(3, 'app:2'))).toEqual({ do: 'attach' });
    expect(decide(world, asked(5, 'app:2'))).toEqual({ do: 'attach' });
    expect(decide(world, asked(3, 'app:2', { minReadySeconds: 9 }))).toEqual({ do: 'attach' });
    expect(decide(world, asked(5, 'app:3'))).toMatchObject({ code: 'OtherChange' });
  });

  it.each([{}, { minReadySeconds: 0 }, { minReadySeconds: 5 }])(
    'what was begun with %j is the same without it, and with another',
    (begun) => {
      const asked = (also: object, image = 'app:2'): StartRequest => {
        const metadata = { name: 'foo', namespace: 'default' };
        const spec = { selector: { app: 'foo' }, template: IMAGE_TEMPLATE(image), ...also };
        const manifest = { apiVersion: 'v1', kind: 'ReplicationController', metadata, spec } as const;
        return { change: { kind: 'manifest', manifest }, key: KEY };
      };
      const world = foo();
      const decision = decide(world, asked(begun));
      if (decision.do !== 'begin') throw new Error(JSON.stringify(decision));
      const { controller } = decision.data;
      // As the apiserver serves a 0.
      const { minReadySeconds, ...rest } = controller.spec;
      const spec = {
        ...rest,
        ...(minReadySeconds !== undefined && minReadySeconds > 0 && { minReadySeconds }),
      };
      world.record({ ...decision.data, controller: { ...controller, spec } }, STATE);
      run(world, { until: ({ purpose }) => purpose === 'ScaleDown' });

      for (const also of [{}, { minReadySeconds: 0 }, { minReadySeconds: 5 }, { minReadySeconds: 9 }]) {
        expect(decide(world, asked(also))).toEqual({ do: 'attach' });
        expect(decide(world, asked(also, 'app:3'))).toMatchObject({ code: 'OtherChange' });
      }
    },
  );

  it('the same command again after the end: nothing to do', () => {
    const world = foo();
    begin(world);
    run(world);
    expect(decide(world)).toMatchObject({
      do: 'finished',
      message: expect.stringContaining('foo is rolled out'),
    });
    expect(decide(world, { change: { kind: 'image', image: 'app:1' } })).toMatchObject({ do: 'begin' });

    const kept = foo();
    begin(kept, 'foo-v2');
    run(kept, { next: 'foo-v2' });
    expect(decide(kept, { newName: 'foo-v2' })).toEqual({
      do: 'finished',
      message: 'foo-v2 has taken the place of foo',
    });
    expect(decide(kept, { newName: 'foo-v2', change: { kind: 'image', image: 'app:3' } })).toMatchObject({
      code: 'NotFound',
      message: expect.stringContaining('has taken the place'),
    });
    const labels = kept.find('foo-v2')?.spec.selector ?? {};
    const file = fileOf('foo-v2', labels);
    expect(decide(kept, { newName: 'foo-v2', change: file })).toMatchObject({ do: 'finished' });
    const template = IMAGE_TEMPLATE('app:3', labels);
    const manifest = { ...file.manifest, spec: { ...file.manifest.spec, template } };
    expect(decide(kept, { newName: 'foo-v2', change: { kind: 'manifest', manifest } })).toMatchObject({
      code: 'NotFound',
    });
  });

  it('a manifest of which only defaults are missing is what is there', () => {
    const world = foo();
    const spec = { replicas: 5, template: IMAGE_TEMPLATE('app:1') };
    const manifest = {
      apiVersion: 'v1' as const,
      kind: 'ReplicationController' as const,
      metadata: { name: 'foo', namespace: 'default' },
      spec,
    };
    world.edit('foo', (one) => {
      const template = { ...spec.template, spec: { ...spec.template.spec, restartPolicy: 'Always' } };
      return { ...one, spec: { ...one.spec, template } };
    });
    const decision = decide(world, { change: { kind: 'manifest', manifest } });
    if (decision.do !== 'begin') throw new Error(JSON.stringify(decision));
    const view = viewUpdate(world.snapshot('foo'));
    expect(decideDefaulted(view, decision).do).toBe('begin');
    const { controller } = decision.data;
    const { template } = world.find('foo')?.spec ?? {};
    const served = { ...controller.spec, ...(template && { template }) };
    const defaulted = {
      ...decision,
      data: { ...decision.data, controller: { ...controller, spec: served } },
    };
    expect(decideDefaulted(view, defaulted)).toMatchObject({ do: 'refuse', code: 'NoChange' });
  });

  it('a container that is not there is told while an update is in progress too', () => {
    const world = foo();
    begin(world);
    const change = { kind: 'image', image: 'app:2', container: 'x' } as const;
    // The pods that are meant are those of the next controller.
    const message = expect.stringMatching(/^foo-[0-9a-f]+: /);
    expect(decide(world, { change })).toMatchObject({ do: 'refuse', code: 'NoContainer', message });
  });

  it('of two who begin at once only one can: both records have the same name', () => {
    const world = foo();
    const names = ['app:2', 'app:3'].map((image) => {
      const decision = decide(world, { change: { kind: 'image', image } });
      if (decision.do !== 'begin') throw new Error(JSON.stringify(decision));
      return recordManifest(decision.data, STATE, [])['metadata'];
    });
    expect(names[0]).toMatchObject({ name: 'foo-1' });
    expect(names[1]).toMatchObject({ name: 'foo-1' });
  });

  it('a name that was given begins no second update beside the one in progress', () => {
    const world = foo();
    const next = begin(world);
    run(world, { until: ({ purpose }) => purpose === 'ScaleDown' });
    const asked = (newName: string) =>
      decideStart(viewUpdate(world.snapshot('foo', newName)), { ...IMAGE, newName });

    expect(asked('foo-v2')).toMatchObject({ do: 'refuse', code: 'OtherChange' });
    expect(asked(next)).toEqual({ do: 'attach' });
  });

  it('nor takes the next controller of another one, which is only written down; one that did can be given up', () => {
    const world = foo();
    const labels = { app: 'bar' };
    world.controller('bar', { replicas: 2, selector: labels, template: IMAGE_TEMPLATE('app:1', labels) });
    world.settle();
    // Both have looked before either wrote.
    const asked = { ...IMAGE, newName: 'new' };
    const decision = decideStart(viewUpdate(world.snapshot('bar', 'new')), asked);
    if (decision.do !== 'begin') throw new Error(JSON.stringify(decision));
    begin(world, 'new');
    expect(decideStart(viewUpdate(world.snapshot('bar', 'new')), asked)).toMatchObject({
      code: 'OtherUpdate',
    });

    const { records } = viewUpdate(world.snapshot('bar', 'new'));
    world.record(decision.data, { ...STATE, desired: 2 }, records);
    run(world, { next: 'new', until: ({ purpose }) => purpose === 'ScaleDown' });
    const stepOfBar = () => planRollingUpdate(world.snapshot('bar'), NOW).step;
    expect(stepOfBar()).toMatchObject({ do: 'refuse', code: 'OtherUpdate' });
    const turned = decideRollback(viewUpdate(world.snapshot('bar')), { verb: 'abort' });
    if (turned.do !== 'turn') throw new Error(JSON.stringify(turned));
    world.apply(turned.write);
    for (let turns = 0; turns < 20; turns += 1) {
      const step = stepOfBar();
      if (step.do === 'write') world.apply(step.write);
    }

    expect(stepOfBar()).toMatchObject({ do: 'done', outcome: 'Aborted' });
    expect(run(world, { next: 'new' }).outcome).toBe('Succeeded');
    expect(world.find('bar')?.metadata.annotations).toEqual({});
  });

  it('a name that a controller has which belongs to no update of this one is refused, whatever is asked for', () => {
    const world = foo();
    const labels = { app: 'bar' };
    world.controller('bar', { replicas: 2, selector: labels, template: IMAGE_TEMPLATE('app:2', labels) });
    const message = 'bar exists already, and belongs to no update of foo';
    for (const change of [IMAGE.change, { kind: 'none' } as const]) {
      expect(decide(world, { newName: 'bar', change })).toEqual({ do: 'refuse', code: 'NameTaken', message });
    }
    expect(decideRollback(viewUpdate(world.snapshot('foo', 'bar')), {})).toMatchObject({ code: 'NameTaken' });
    world.edit('bar', (one) => ({
      ...one,
      metadata: { ...one.metadata, annotations: { [ROLLING_UPDATE.partner]: 'baz' } },
    }));
    expect(decide(world, { newName: 'bar' })).toMatchObject({
      code: 'OtherUpdate',
      message: 'bar belongs to another update, that of baz',
    });
    world.forget('replicationcontrollers', 'foo');
    expect(decide(world, { newName: 'bar' })).toMatchObject({ do: 'refuse' });
  });

  it('one without any mark whose selector is the same but for the label is gone on with (seed, "Initialization")', () => {
    const world = foo();
    const labels = { app: 'foo', [KEY]: 'x' };
    world.controller('bar', { replicas: 0, selector: labels, template: IMAGE_TEMPLATE('app:2', labels) });

    expect(decide(world, { newName: 'bar' })).toEqual({ do: 'attach' });
    expect(decide(world, { newName: 'bar', change: { kind: 'image', image: 'app:3' } })).toMatchObject({
      code: 'OtherChange',
    });
  });

  it.each(['deployment', KEY])(
    'blue and green, told apart by %s, are no halves of an update: what the file has other is named (K4)',
    (key) => {
      const world = new SimulatedControllers();
      for (const [name, replicas] of [['blue', 3] as const, ['green', 5] as const]) {
        const selector = { app: 'foo', [key]: name };
        world.controller(name === 'blue' ? 'foo' : name, {
          replicas,
          selector,
          template: IMAGE_TEMPLATE('app:1', selector),
        });
      }
      world.settle();
      const message = 'green exists already, and belongs to no update of foo';
      const change = fileOf('green', { app: 'foo', [key]: 'green' });
      expect(decide(world, { change, newName: 'green' })).toEqual({
        do: 'refuse',
        code: 'NameTaken',
        message: `${message}: it has another spec.template.spec.containers[main].image`,
      });
      const same = { ...change.manifest, spec: world.find('green')?.spec ?? {} };
      for (const other of [{ kind: 'manifest', manifest: same }, IMAGE.change, { kind: 'none' }] as const)
        expect(decide(world, { change: other, newName: 'green' })).toMatchObject({
          code: 'NameTaken',
          message,
        });
      expect(decideRollback(viewUpdate(world.snapshot('foo', 'green')), {})).toMatchObject({
        code: 'NameTaken',
      });
    },
  );

  it.each<[string, Record<string, string>, Record<string, string>, string]>([
    ['nobody, without pods', {}, {}, 'NameTaken'],
    ['this one, by its mark', {}, { [ROLLING_UPDATE.partner]: 'foo' }, 'OtherChange'],
    ['this one, by the mark of the other', { [ROLLING_UPDATE.partner]: 'bar' }, {}, 'OtherChange'],
    ['kubectl', {}, { 'kubectl.kubernetes.io/update-source-id': 'foo:uid-1' }, 'OtherChange'],
  ])(
    'a file is compared with a next controller that has no record, and belongs to %s',
    (_, ofOld, ofNext, code) => {
      const world = new SimulatedControllers();
      world.controller(
        'foo',
        { replicas: 3, selector: { app: 'foo' }, template: IMAGE_TEMPLATE('app:1') },
        ofOld,
      );
      const labels = { app: 'foo', [KEY]: 'bar' };
      const spec = { replicas: 0, selector: labels };
      const other = { ...IMAGE_TEMPLATE('app:3', labels) };
      world.controller('bar', { ...spec, template: other }, ofNext);
      const asked = { change: fileOf('bar', labels), newName: 'bar' };
      expect(decide(world, asked)).toMatchObject({
        code,
        message: expect.stringMatching(/: it has another spec\.template\.spec\.containers\[main\]\.image$/),
      });
      // What the apiserver fills in is no difference, and a selector that is left out is that of the labels.
      const template = IMAGE_TEMPLATE('app:2', labels);
      const served = {
        ...template,
        spec: { ...template.spec, restartPolicy: 'Always', dnsPolicy: 'ClusterFirst' },
      };
      world.edit('bar', (one) => ({ ...one, spec: { ...spec, template: served } }));
      expect(decide(world, asked)).toEqual({ do: 'attach' });
      expect(decide(world, { ...asked, change: fileOf('bar', labels, {}) })).toEqual({ do: 'attach' });
    },
  );

  it('a record that is made anew is that of the file, and of the commit, that began the update', () => {
    const world = foo();
    const change = fileOf('foo', { app: 'foo' });
    const decision = decide(world, { change });
    if (decision.do !== 'begin') throw new Error(decision.do);
    world.record(decision.data, STATE);
    run(world, { until: ({ purpose }) => purpose === 'ScaleDown' });
    for (const { metadata } of world.revisions) world.forget('controllerrevisions', metadata.name);
    expect(run(world, { until: ({ purpose }) => purpose === 'ScaleDown' }).written).toContain('Record');

    expect(decide(world, { change })).toEqual({ do: 'attach' });
    /** What a dry run of the commit makes of the old controller, which has a label of its own by now. */
    const dryRun = (image: string): StartRequest => {
      const live = world.find('foo');
      const template = live?.spec.template;
      if (live === undefined || template === undefined) throw new Error('foo is gone');
      const { containers } = IMAGE_TEMPLATE(image).spec;
      const spec = { ...live.spec, template: { ...template, spec: { containers } } };
      return { change: { kind: 'manifest', manifest: plainController({ ...live, spec }, 'foo') }, key: KEY };
    };
    expect(decide(world, dryRun('app:2'))).toEqual({ do: 'attach' });
    expect(decide(world, dryRun('app:3'))).toMatchObject({ code: 'OtherChange' });
  });

  it('a file of the same name is compared without the label of the update, whose record is lost', () => {
    const world = foo();
    begin(world);
    run(world, { until: ({ purpose }) => purpose === 'ScaleDown' });
    for (const { metadata } of world.revisions) world.forget('controllerrevisions', metadata.name);
    const change = fileOf('foo', { app: 'foo' });
    expect(decide(world, { change })).toEqual({ do: 'attach' });
    const { manifest } = change;
    const template = IMAGE_TEMPLATE('app:3');
    const other = { ...manifest, spec: { ...manifest.spec, template } };
    expect(decide(world, { change: { kind: 'manifest', manifest: other } })).toMatchObject({
      code: 'OtherChange',
    });
    // Only the next is left (seed, "Rename").
    world.forget('replicationcontrollers', 'foo');
    expect(decide(world, { change })).toEqual({ do: 'attach' });
    expect(decide(world, { change: { kind: 'manifest', manifest: other } })).toMatchObject({
      code: 'OtherChange',
    });
  });

  it('a name that another update has taken is refused', () => {
    const world = foo();
    const decision = decide(world);
    const next = decision.do === 'begin' ? decision.data.next : '';
    world.controller(
      next,
      { replicas: 0, selector: { a: 'b' }, template: IMAGE_TEMPLATE('x') },
      { [ROLLING_UPDATE.partner]: 'bar' },
    );

    expect(decide(world)).toMatchObject({ do: 'refuse', code: 'OtherUpdate' });
  });

  it('a file of another name needs a selector of its own (K3), one of the same name does not', () => {
    const manifest = (name: string, selector: Record<string, string>) => ({
      change: {
        kind: 'manifest' as const,
        manifest: {
          apiVersion: 'v1' as const,
          kind: 'ReplicationController' as const,
          metadata: { name, namespace: 'default' },
          spec: { selector, template: IMAGE_TEMPLATE('app:2', selector) },
        },
      },
    });
    expect(decide(foo(), manifest('bar', { app: 'bar' }))).toMatchObject({
      do: 'begin',
      desired: 3,
      data: { next: 'bar', to: 'bar' },
    });
    expect(decide(foo(), manifest('foo', { app: 'foo' }))).toMatchObject({
      do: 'begin',
      data: { to: 'foo' },
    });
  });

  const LABELLED = { app: 'foo', [KEY]: 'a' };
  it.each<[string, Record<string, string>, Record<string, string>, string]>([
    ['the same', { app: 'foo' }, { app: 'foo' }, 'the same value as that of foo (app=foo) for each'],
    [
      'fewer keys',
      LABELLED,
      { app: 'foo' },
      `that of foo (app=foo,${KEY}=a) for each key that both have (app)`,
    ],
    ['more keys', { app: 'foo' }, { app: 'foo', v: '2' }, 'of bar (app=foo,v=2) has the same value'],
    ['keys in part', { app: 'foo', a: 'b' }, { app: 'foo', v: '2' }, 'each key that both have (app)'],
    ['other keys', { app: 'foo' }, { v: '2' }, 'no key in common with that of foo (app=foo)'],
    ['a key of JavaScript more', { app: 'foo' }, { app: 'foo', constructor: 'x' }, 'both have (app)'],
  ])('a file whose selector could select the pods of the old one is refused: %s (K3)', (_, old, own, why) => {
    const world = new SimulatedControllers();
    world.controller('foo', { replicas: 3, selector: old, template: IMAGE_TEMPLATE('app:1', old) });
    // The apiserver fills in the second one.
    for (const selector of [own, {}]) {
      const request = { change: fileOf('bar', own, selector), newName: 'bar' };
      expect(decide(world, request)).toMatchObject({
        code: 'SelectorSame',
        message: expect.stringContaining(why),
      });
      const decision = decide(world, request);
      if (decision.do !== 'refuse') throw new Error(decision.do);
      const { message } = updateRefusal(viewUpdate(world.snapshot('foo')), decision);
      expect(message).toContain(`give ${[...new Set([...Object.keys(old), KEY])].join(' or ')} a value`);
    }
  });

  it.each<[string, Record<string, string>, Record<string, string>]>([
    ['another value', { app: 'foo' }, { app: 'bar' }],
    ['another value of one key', { app: 'foo', v: '1' }, { app: 'foo', v: '2' }],
    ['the label of updates, which the old one gets then', { app: 'foo' }, LABELLED],
  ])('a file whose selector cannot is rolled out, and no pod has two: %s', (_, old, own) => {
    const world = new SimulatedControllers();
    world.controller('foo', { replicas: 3, selector: old, template: IMAGE_TEMPLATE('app:1', old) });
    world.settle();
    const decision = decide(world, { change: fileOf('bar', own), newName: 'bar' });
    if (decision.do !== 'begin') throw new Error(JSON.stringify(decision));
    world.record(decision.data, STATE);
    run(world, { next: 'bar', until: ({ purpose }) => purpose === 'ScaleUp' });
    const [a = {}, b = {}] = world.controllers.map(({ spec }) => spec.selector);
    expect(Object.keys(a).some((key) => key in b && a[key] !== b[key])).toBe(true);
    expect(run(world, { next: 'bar' }).outcome).toBe('Succeeded');
  });

  it('an update that began with such a file before it was refused is attached to', () => {
    const world = foo();
    const change = fileOf('bar', { app: 'foo', v: '2' });
    const { manifest: controller } = change;
    const { hash } = labelled(controller, KEY);
    world.record({ from: 'foo', next: 'bar', to: 'bar', key: KEY, hash, controller }, STATE);
    expect(decide(world, { change, newName: 'bar' })).toEqual({ do: 'attach' });
    expect(run(world, { next: 'bar', until: ({ purpose }) => purpose === 'ScaleDown' }).outcome).toBe(
      'stopped',
    );
  });

  it('of the next controller is refused with the command of the old one, as long as that can be turned round', () => {
    const world = foo();
    const next = begin(world);
    run(world, { until: ({ purpose }) => purpose === 'ScaleDown' });
    const hint = () => {
      const view = viewUpdate(world.snapshot(next));
      const decision = decideRollback(view, {});
      if (decision.do !== 'refuse') throw new Error(decision.do);
      return updateRefusal(view, decision).message.split('\n  ')[1];
    };
    expect(hint()).toBe(
      'turn it round: fairlead rolling-update foo --rollback -n default; or follow it: fairlead rolling-update foo -n default',
    );
    world.forget('replicationcontrollers', 'foo');
    expect(hint()).toBe(`\`fairlead explain rc/${next} -n default\` says how it stands`);
  });
});

it.each([
  [true, 'it has become bar: fairlead rolling-update bar … -n default'],
  [false, '`fairlead get rc -n default` shows what there is; choose a namespace with -n'],
])(
  'a controller that an update has given another name is named by that, if it is there: %s',
  (isThere, hint) => {
    const world = foo();
    begin(world, 'bar');
    run(world);
    expect(world.find('foo')).toBeUndefined();
    if (!isThere) world.forget('replicationcontrollers', 'bar');
    const decision = decideStart(viewUpdate(world.snapshot('foo')), IMAGE);
    if (decision.do !== 'refuse') throw new Error(decision.do);
    const { message } = updateRefusal(viewUpdate(world.snapshot('foo')), decision);
    expect(message.split('\n  ')).toEqual([
      'there is no ReplicationController foo (namespace default)',
      hint,
    ]);
  },
);
