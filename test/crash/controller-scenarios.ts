/**
 * Rolling updates of a ReplicationController to crash in. The command only begins them and looks on: it is the worker that is
 * killed, and another one that goes on.
 */

import { expect } from '@jest/globals';

import { ControllerScene, controllerAlias } from './controller-scene.ts';
import type { ControllerEnd } from './controller-scene.ts';
import type { CrashScenario } from './crash-play.ts';
import { textOf } from './crash-play.ts';

const KIND = 'ReplicationController';
const REPLICAS = 2;

interface Plot {
  readonly name: string;
  readonly act: (scene: ControllerScene) => Promise<void>;
  readonly check: (end: ControllerEnd) => void;
}

function scenario({ name, act, check }: Plot): CrashScenario<ControllerEnd> {
  return {
    name: `${KIND}: ${name}`,
    kind: KIND,
    definition: JSON.stringify({ kind: KIND, replicas: REPLICAS, act: textOf(act) }),
    check,
    async open(stage, owner) {
      const scene = await ControllerScene.open(stage, owner);
      return {
        namespace: scene.namespace,
        alias: controllerAlias,
        prepare: async () => await scene.create(REPLICAS),
        async before() {
          const pods = await scene.pods();
          return async () => await scene.end(pods);
        },
        async act() {
          await act(scene);
          await scene.untilOver();
        },
        remove: async () => await scene.remove(),
      };
    },
  };
}

export const CONTROLLER_SCENARIOS: readonly CrashScenario<ControllerEnd>[] = [
  scenario({
    name: 'renamed',
    act: async (scene) => await scene.succeed('rolling-update foo --image=foo:2 --poll-interval 100ms'),
    check: checkRolledOut('foo'),
  }),
  scenario({
    name: 'under a new name',
    act: async (scene) =>
      await scene.succeed('rolling-update foo foo-v2 --image=foo:2 --poll-interval 100ms'),
    check: checkRolledOut('foo-v2'),
  }),
  scenario({
    name: 'turned round',
    async act(scene) {
      // The second pause between growing and shrinking is where it is turned: one of the old pods is gone by then.
      const forward = scene.cli('rolling-update foo --image=foo:2 --poll-interval 100ms --update-period 5s');
      await scene.untilControllers('the next one has both its pods', (controllers) =>
        controllers.some(
          ({ metadata, status }) => metadata.name !== 'foo' && status?.availableReplicas === 2,
        ),
      );
      await scene.succeed('rolling-update foo --rollback --poll-interval 100ms');
      expect(await forward).toMatchObject({ code: 1, err: expect.stringContaining('was rolled back') });
    },
    check(end) {
      expect(end.pods).toEqual(['foo:1 of foo: ready, kept', 'foo:1 of foo: ready, new']);
      expect(end.controllers).toMatchObject([{ name: 'foo', image: 'foo:1', replicas: REPLICAS }]);
      expect(end.records).toEqual(['1: Aborted, 2 pods, of foo: Aborted']);
      expect(end.runs).toEqual(['COMPLETED Aborted']);
    },
  }),
];

function checkRolledOut(name: string): (end: ControllerEnd) => void {
  return (end) => {
    expect(end.pods).toEqual([`foo:2 of ${name}: ready, new`, `foo:2 of ${name}: ready, new`]);
    expect(end.controllers).toMatchObject([{ name, image: 'foo:2', replicas: REPLICAS }]);
    expect(end.records).toEqual([`1: Done, 2 pods, of ${name}: Succeeded`]);
    expect(end.runs).toEqual(['COMPLETED Succeeded']);
  };
}
