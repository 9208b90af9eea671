/** First half of the story: commits alone steer. */

import { formatTable } from '../cli/table.ts';
import type { PodLine } from '../cli/watch-view.ts';
import type { KubernetesObject } from '../planners/objects.ts';
import { MAX_UNAVAILABLE, REPLICAS, imageOf } from './manifests.ts';
import type { Sight } from './observer.ts';
import type { Stage } from './stage.ts';
import type { Step } from './step.ts';
import { check } from './step.ts';

const HOLD_MS = 4_000;
/** The design's bar for a good commit that supersedes a stuck one. */
const SUPERSEDE_MS = 5_000;
const PULL_FAILED = /ErrImagePull|ImagePullBackOff/;

/** Whether nothing is left to do and every pod runs this image and is ready. */
export function isComplete({ view, pods }: Sight, tag: string): boolean {
  return view.done && view.state === 'Ready' && allReady(pods) && pods.every((pod) => runs(pod, tag));
}

/** Whether all replicas are there and ready. */
export function allReady(pods: readonly PodLine[]): boolean {
  return pods.length === REPLICAS && pods.every((pod) => pod.ready);
}

export function runs(pod: PodLine, tag: string): boolean {
  return pod.images[0] === imageOf(tag);
}

/** Seconds with one decimal. */
export function seconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1)} s`;
}

async function firstCommit(stage: Stage): Promise<string> {
  const { observer } = stage;
  const commit = await stage.commit('v1', 'web v1');
  const { pods, view } = await observer.until('all pods ready at web:v1', (sight) => isComplete(sight, 'v1'));
  check(
    view.commit === commit.sha,
    `the StatefulSet names commit ${view.commit ?? 'none'}, not ${commit.sha}`,
  );
  const [service, configMap] = await Promise.all([
    stage.read<KubernetesObject>('services', 'web'),
    stage.read<KubernetesObject>('configmaps', 'web'),
  ]);
  check(service !== undefined && configMap !== undefined, 'the Service or the ConfigMap was not applied');
  return `${String(pods.length)} pods ready at web:v1, Service, ConfigMap`;
}

async function inPlace(stage: Stage): Promise<string> {
  const { observer, screen } = stage;
  const { pods: before } = await observer.until('all pods ready', ({ pods }) => allReady(pods));
  const commit = await stage.commit('v2', 'web v2');
  const { pods: after } = await observer.until('all pods ready at web:v2', (sight) =>
    isComplete(sight, 'v2'),
  );
  const rows = before.map((old) => ({ old, now: after.find(({ name }) => name === old.name) }));
  screen.quote(
    formatTable<(typeof rows)[number]>(
      [
        { title: 'POD', value: ({ old }) => old.name },
        { title: 'UID BEFORE', value: ({ old }) => old.uid },
        { title: 'UID AFTER', value: ({ now }) => now?.uid ?? 'gone' },
        { title: 'IMAGE', value: ({ now }) => now?.images[0]?.split('/').at(-1) ?? '' },
        {
          title: 'RESTARTS',
          value: ({ old, now }) => `${String(old.restarts)} → ${String(now?.restarts ?? 0)}`,
        },
      ],
      rows,
    ),
  );
  const kept = rows.filter(({ old, now }) => old.uid === now?.uid && old.node === now.node).length;
  const restarted = rows.filter(({ old, now }) => now?.restarts === old.restarts + 1).length;
  check(kept === REPLICAS, `only ${String(kept)} of ${String(REPLICAS)} pods kept their uid and node`);
  check(
    restarted === REPLICAS,
    `only ${String(restarted)} of ${String(REPLICAS)} containers restarted exactly once`,
  );
  const most = withinBudget(stage, commit.at);
  return `${String(kept)} uids kept, 1 restart each, at most ${String(most)} unavailable`;
}

async function badCommit(stage: Stage): Promise<string> {
  const { observer, screen, runs: temporal } = stage;
  const commit = await stage.commit('bad', 'web with an image that does not exist');
  const broken = ({ pods }: Sight) => pods.filter((pod) => runs(pod, 'bad') && PULL_FAILED.test(pod.status));
  await observer.until('the budget is used up by pods whose image cannot be pulled', (sight) => {
    return broken(sight).length === MAX_UNAVAILABLE;
  });
  const held = Date.now();
  screen.say(`  nothing may move now; looking on for ${seconds(HOLD_MS)}`);
  const explained = await stage.fairlead('explain', 'sts/web');
  const { phase, waiting } = await temporal.progress();
  const reasons = waiting.map(({ message }) => message);
  screen.say('  the run itself says (query `progress`):');
  screen.quote([phase, ...reasons].join('\n'));
  await stage.hold(Math.max(0, held + HOLD_MS - Date.now()));
  const { pods } = await observer.until('a sight', () => true);
  const moved = observer.imageChanges(held);
  check(
    moved.length === 0,
    `${moved.map(({ pod }) => pod).join(', ')} moved although the budget was used up`,
  );
  const names = pods.filter((pod) => runs(pod, 'bad')).map(({ name }) => name);
  check(
    names.length === MAX_UNAVAILABLE,
    `${names.join(', ')} have the bad image, not ${String(MAX_UNAVAILABLE)} pods`,
  );
  const healthy = pods.filter((pod) => runs(pod, 'v2') && pod.ready).length;
  check(healthy === REPLICAS - MAX_UNAVAILABLE, `only ${String(healthy)} pods still serve web:v2`);
  check(
    names.every((name) => explained.includes(name)) && PULL_FAILED.test(explained),
    `explain does not say that ${names.join(' and ')} cannot pull their image`,
  );
  check(reasons.length > 0, 'the run does not say what it waits for');
  const most = withinBudget(stage, commit.at);
  return `${names.join(', ')} held, ${String(healthy)} serve, at most ${String(most)} unavailable`;
}

async function fix(stage: Stage): Promise<string> {
  const { observer, runs: temporal, signal } = stage;
  const stuckPods = new Set(
    (await observer.until('a sight', () => true)).pods
      .filter((pod) => runs(pod, 'bad'))
      .map(({ name }) => name),
  );
  const [stuckRun] = (await temporal.list()).filter(({ status }) => status === 'RUNNING');
  check(stuckRun !== undefined, 'Temporal lists no running rollout that could be superseded');
  const commit = await stage.commit('v3', 'web v3: the fix');
  const isFirst = () => observer.imageChanges(commit.at).length > 0;
  await observer.until('a first pod gets web:v3', isFirst);
  const [first] = observer.imageChanges(commit.at);
  check(first !== undefined && first.image === imageOf('v3'), 'the first pod that moved did not get web:v3');
  check(
    stuckPods.has(first.pod),
    `${first.pod} moved first, not one of the broken ${[...stuckPods].join(', ')}`,
  );
  const took = first.at - commit.at;
  await observer.until('all pods ready at web:v3', (sight) => isComplete(sight, 'v3'));
  const isClosed = (run: { readonly runId: string; readonly status: string }) =>
    run.runId === stuckRun.runId && run.status !== 'RUNNING';
  const runsNow = await temporal.listUntil((list) => list.some(isClosed), 10_000, signal);
  const closed = runsNow.find(({ runId }) => runId === stuckRun.runId);
  check(
    closed?.status === 'CANCELLED' && closed.outcome === 'Superseded',
    `the stuck run is ${closed?.status ?? 'not listed'} / ${closed?.outcome ?? ''}, not CANCELLED / Superseded`,
  );
  withinBudget(stage, commit.at);
  check(
    took < SUPERSEDE_MS,
    `the first action came ${seconds(took)} after the commit, not within ${seconds(SUPERSEDE_MS)}`,
  );
  return `${first.pod} patched after ${seconds(took)}, stuck run Superseded`;
}

/** @returns the most pods that were unavailable at once */
export function withinBudget({ observer }: Stage, since: number): number {
  const most = observer.mostUnavailable(since);
  check(
    most <= MAX_UNAVAILABLE,
    `${String(most)} pods were unavailable at once, ${String(MAX_UNAVAILABLE)} are allowed`,
  );
  return most;
}

export const STEPS_OF_COMMITS: readonly Step[] = [
  {
    name: 'first commit',
    title: 'The first commit is rolled out',
    expected: '6 pods, Service, ConfigMap',
    play: firstCommit,
  },
  {
    name: 'new image',
    title: 'A new image goes through in place',
    expected: 'same pods, 1 restart, ≤ 2 unavailable',
    play: inPlace,
  },
  {
    name: 'bad image',
    title: 'A bad image is held within its budget',
    expected: 'nothing moves, ≤ 2 unavailable, why',
    play: badCommit,
  },
  {
    name: 'fix',
    title: 'A fix supersedes it',
    expected: 'acts in < 5 s, stuck run superseded',
    play: fix,
  },
];
