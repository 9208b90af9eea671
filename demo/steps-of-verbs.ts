/** Second half of the story: an operator steps in. */

import { readPinned } from '../kubernetes/wish-annotations.ts';
import type { KubernetesObject } from '../planners/objects.ts';
import { REPLICAS } from './manifests.ts';
import type { Sight } from './observer.ts';
import type { Stage } from './stage.ts';
import type { Step } from './step.ts';
import { check } from './step.ts';
import { allReady, isComplete, runs, withinBudget } from './steps-of-commits.ts';

const HOLD_MS = 2_500;
const PAUSE_REASON = 'error rate is up';

async function pauseMidway(stage: Stage): Promise<string> {
  const { observer, screen } = stage;
  // Slow enough for a command on a busy machine to come before the last pods.
  const commit = await stage.commit('v4', 'web v4', { readyDelay: '4s' });
  await observer.until('the first pods get web:v4', ({ pods }) => pods.some((pod) => runs(pod, 'v4')));
  await stage.fairlead('rollout', 'pause', 'sts/web', '--reason', PAUSE_REASON);
  const isHeld = ({ pods, view }: Sight) => view.paused !== undefined && allReady(pods);
  const { pods, view } = await observer.until('the rollout is paused and what was begun is done', isHeld);
  const done = pods.filter((pod) => runs(pod, 'v4')).length;
  check(
    done > 0 && done < REPLICAS,
    `${String(done)} of ${String(REPLICAS)} pods were at web:v4: not in the middle`,
  );
  const held = Date.now();
  screen.say('  nothing may move now; why?');
  const explained = await stage.fairlead('explain', 'sts/web');
  await stage.hold(Math.max(0, held + HOLD_MS - Date.now()));
  const moved = observer.imageChanges(held);
  check(
    moved.length === 0,
    `${moved.map(({ pod }) => pod).join(', ')} moved although the rollout was paused`,
  );
  const by = view.paused?.by ?? 'nobody';
  check(
    by.includes('alice') && view.paused?.reason === PAUSE_REASON,
    `paused by ${by}: ${view.paused?.reason ?? ''}`,
  );
  check(explained.includes(PAUSE_REASON), 'explain does not say why it is paused');
  withinBudget(stage, commit.at);
  return `held at ${String(done)} of ${String(REPLICAS)} by ${by.split(':').at(-1) ?? by}: ${PAUSE_REASON}`;
}

async function abort(stage: Stage): Promise<string> {
  const { observer, repository, screen } = stage;
  const head = await repository.head();
  const begun = Date.now();
  await stage.fairlead('rollout', 'abort', 'sts/web', '--reason', 'v4 is slower');
  screen.say('  still paused: even the way back waits until someone says so');
  await stage.fairlead('rollout', 'resume', 'sts/web');
  await observer.until('all pods are back at web:v3', (sight) => isComplete(sight, 'v3'));
  await heldByPin(stage, 'v3', head);
  withinBudget(stage, begun);
  return `web:v3, pinned by alice, git at web:v4 (${head.slice(0, 8)})`;
}

async function unpin(stage: Stage): Promise<string> {
  const { observer } = stage;
  const greeting = 'good morning';
  const commit = await stage.commit('v5', 'web v5, another greeting', { greeting });
  const isWanted = (sight: Sight) => isComplete(sight, 'v5') && sight.view.pinned === undefined;
  const { view } = await observer.until('all pods ready at web:v5, no pin', isWanted);
  const configMap = await stage.read<KubernetesObject & { readonly data?: Readonly<Record<string, string>> }>(
    'configmaps',
    'web',
  );
  check(configMap?.data?.['greeting'] === greeting, 'the ConfigMap does not hold the new greeting');
  check(
    view.commit === commit.sha,
    `the StatefulSet names commit ${view.commit ?? 'none'}, not ${commit.sha}`,
  );
  withinBudget(stage, commit.at);
  return `${String(REPLICAS)} pods ready at web:v5, pin gone, ConfigMap changed`;
}

async function undo(stage: Stage): Promise<string> {
  const { observer, repository } = stage;
  const head = await repository.head();
  const begun = Date.now();
  await stage.fairlead('rollout', 'undo', 'sts/web', '--reason', 'v3 was fine');
  await observer.until('all pods are back at web:v3', (sight) => isComplete(sight, 'v3'));
  await heldByPin(stage, 'v3', head);
  withinBudget(stage, begun);
  await stage.fairlead('rollout', 'history', 'sts/web', '-o', 'wide');
  return `web:v3, pinned by alice, git at web:v5 (${head.slice(0, 8)})`;
}

/** Sync looks at the repository meanwhile, and must leave the pinned object alone. */
async function heldByPin(stage: Stage, tag: string, head: string): Promise<void> {
  const { observer, repository } = stage;
  const from = Date.now();
  await stage.hold(HOLD_MS);
  const { object, pods } = await observer.until('a sight', () => true);
  const moved = observer.imageChanges(from);
  check(
    moved.length === 0,
    `${moved.map(({ pod, image }) => `${pod} to ${image}`).join(', ')}: the pin does not hold`,
  );
  check(
    pods.every((pod) => runs(pod, tag)),
    `not every pod runs web:${tag}`,
  );
  const pin = readPinned(object.metadata.annotations);
  check(pin?.by?.includes('alice') === true, `the pin is by ${pin?.by ?? 'nobody'}`);
  check((await repository.head()) === head, `git has another commit than ${head}`);
}

export const STEPS_OF_VERBS: readonly Step[] = [
  {
    name: 'pause',
    title: 'rollout pause, in the middle of the next commit',
    expected: 'nothing moves; who and why',
    play: pauseMidway,
  },
  {
    name: 'abort',
    title: 'rollout abort: back to the last complete revision',
    expected: 'web:v3, pinned, git untouched',
    play: abort,
  },
  {
    name: 'next commit',
    title: 'Another commit unpins',
    expected: 'web:v5, no pin, ConfigMap too',
    play: unpin,
  },
  {
    name: 'undo',
    title: 'rollout undo',
    expected: 'web:v3, pinned, git untouched',
    play: undo,
  },
];
