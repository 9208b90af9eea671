/** A rolling update as `watch` draws it. */

import { describe, expect, it } from '@jest/globals';

import { colorsOf } from '../../../cli/colors.ts';
import { renderTree } from '../../../cli/tree.ts';
import { judgeUpdate } from '../../../cli/update-state.ts';
import { viewUpdateTree } from '../../../cli/update-tree.ts';
import { ROLLING_UPDATE } from '../../../planners/names.ts';
import { planRollingUpdate } from '../../../planners/rolling-update.ts';
import { nextManifest } from '../../../planners/rolling-update-definition.ts';
import { decideStart } from '../../../planners/rolling-update-start.ts';
import { viewUpdate } from '../../../planners/rolling-update-view.ts';
import { IMAGE_TEMPLATE, SimulatedControllers } from '../../support/simulated-controllers.ts';

const NOW = Date.parse('2026-01-01T00:10:00Z');
const PLAIN = { colors: colorsOf({ color: false }), now: NOW, columns: 200, rows: 30 };

function lines(world: SimulatedControllers): readonly string[] {
  const plan = planRollingUpdate(world.snapshot('foo'), NOW);
  return renderTree(viewUpdateTree(plan, judgeUpdate(plan)), PLAIN);
}

function foo(): SimulatedControllers {
  const world = new SimulatedControllers();
  world.controller('foo', { replicas: 2, selector: { app: 'foo' }, template: IMAGE_TEMPLATE('app:1') });
  world.settle();
  world.edit('foo', (one) => ({ ...one, status: { ...one.status, replicas: 2, availableReplicas: 2 } }));
  return world;
}

describe('the tree of a rolling update', () => {
  it('has the controller and its pods while there is none', () => {
    const [head, bar, title, ...pods] = lines(foo());
    expect(head).toMatch(/^replicationcontroller\/foo -n default {3}✔ Ready$/);
    expect(bar).toMatch(
      /^\[#{24}\] 2\/2 updated and available {3}2 of 2 available, 0 unavailable of 0 allowed$/,
    );
    expect(title).toBe('└── controller foo  new, 2 pods');
    expect(pods).toHaveLength(2);
    expect(pods[0]).toMatch(/^ {4}├── foo-\S+ .* app:1 /);
  });

  it('has both, the new one first, and what it does', () => {
    const world = foo();
    const request = { change: { kind: 'image', image: 'app:2' }, key: ROLLING_UPDATE.deployment } as const;
    const decision = decideStart(viewUpdate(world.snapshot('foo')), request);
    if (decision.do !== 'begin') throw new Error(JSON.stringify(decision));
    const { metadata, spec } = nextManifest(decision.data, 2, 1);
    world.controller(metadata.name, { ...spec, replicas: 1 }, metadata.annotations);
    world.settle();
    const shown = lines(world);
    expect(shown[0]).toMatch(/^replicationcontroller\/foo -n default {3}◌ Progressing$/);
    expect(shown[1]).toMatch(/ 1\/2 updated and available {3}3 of 2 available, 0 unavailable of 0 allowed$/);
    const titles = shown.filter((line) => line.includes(' controller '));
    expect(titles).toEqual([
      `├── controller ${metadata.name}  new, 1 pod`,
      '└── controller foo  old, 2 pods',
    ]);
  });
});
