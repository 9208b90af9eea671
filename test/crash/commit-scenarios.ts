/** Commits to crash in: the worker that follows their repository is killed, and another one goes on with them. */

import { expect } from '@jest/globals';

import type { CommitEnd, CommitPlot, Files } from './commit-scene.ts';
import { CommitScene, SET, byName } from './commit-scene.ts';
import type { CrashScenario } from './crash-play.ts';

const KIND = 'Commit';
const SOON_READY = { 'sim.fairlead.dev/ready-delay': '200ms' };

/** So many objects of one sort, from one number to another; those up to `changed` are at the value of the second commit. */
function row(sort: keyof typeof SORTS, from: number, to: number, changed = 0): Files {
  const numbers = Array.from({ length: to - from + 1 }, (_, index) => from + index);
  return Object.fromEntries(
    numbers.map((number) => {
      const name = `${sort}-${String(number)}`;
      return [name, SORTS[sort](name, number <= changed ? 2 : 1)];
    }),
  );
}

const SORTS = {
  settings: (name: string, value: number) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name },
    data: { value: String(value) },
  }),
  token: (name: string, value: number) => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name },
    stringData: { value: String(value) },
  }),
  front: (name: string, value: number) => ({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name },
    spec: { selector: { app: 'web' }, ports: [{ port: 80 + value }] },
  }),
  account: (name: string, value: number) => ({
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name, annotations: { 'example.com/value': String(value) } },
  }),
} as const;

function workload(
  kind: 'StatefulSet' | 'Deployment',
  name: string,
  image: string,
  more: { readonly apiVersion?: string; readonly spec?: object } = {},
): Files {
  const labels = { app: name };
  return {
    [name]: {
      apiVersion: more.apiVersion ?? 'fairlead.dev/v1beta1',
      kind,
      metadata: { name },
      spec: {
        ...(kind === 'StatefulSet' && { serviceName: name }),
        replicas: 1,
        selector: { matchLabels: labels },
        template: {
          metadata: { labels, annotations: SOON_READY },
          spec: { terminationGracePeriodSeconds: 1, containers: [{ name: 'main', image }] },
        },
        ...more.spec,
      },
    },
  };
}

/** A kind and an object of it. */
function widgets(group: string): Files {
  const properties = { spec: { type: 'object', properties: { value: { type: 'string' } } } };
  return {
    widgets: {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: `widgets.${group}` },
      spec: {
        group,
        scope: 'Namespaced',
        names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            schema: { openAPIV3Schema: { type: 'object', properties } },
          },
        ],
      },
    },
    gear: { apiVersion: `${group}/v1`, kind: 'Widget', metadata: { name: 'gear' }, spec: { value: '1' } },
  };
}

/** Fifty objects, of which eleven are changed, seven go and seven come. */
const FIFTY: CommitPlot = {
  first: () => ({
    ...row('settings', 1, 26),
    ...row('token', 1, 8),
    ...row('front', 1, 8),
    ...row('account', 1, 8),
  }),
  second: () => ({
    ...row('settings', 1, 22, 5),
    ...row('settings', 27, 31),
    ...row('token', 1, 7, 2),
    ...row('token', 9, 9),
    ...row('front', 1, 7, 2),
    ...row('front', 9, 9),
    ...row('account', 1, 7, 2),
  }),
  copied: 'settings-26',
};

/** One workload is rolled out and another goes; a kind comes together with an object of it. */
const WORKLOADS: CommitPlot = {
  first: () => ({
    ...row('settings', 1, 2),
    ...workload('StatefulSet', SET, 'app:1'),
    ...workload('Deployment', 'api', 'app:1'),
  }),
  second: (group) => ({
    ...row('settings', 1, 1, 1),
    ...workload('StatefulSet', SET, 'app:2'),
    ...widgets(group),
  }),
  copied: 'settings-2',
};

/** Says nothing of its size: somebody has set it, and has restarted the pods. */
const LEFT = { replicas: undefined, podManagementPolicy: 'Parallel' };

/** A workload goes over from the cluster's own controllers to Fairlead, with what others have set of it. */
const MOVING: CommitPlot = {
  first: () => ({
    ...row('settings', 1, 2),
    ...workload('StatefulSet', SET, 'app:1', { apiVersion: 'apps/v1', spec: LEFT }),
  }),
  second: () => ({ ...row('settings', 1, 2, 1), ...workload('StatefulSet', SET, 'app:1', { spec: LEFT }) }),
  copied: 'settings-2',
  set: {
    spec: {
      replicas: 2,
      template: { metadata: { annotations: { 'fairlead.dev/restarted': '2026-11-28T00:00:00Z' } } },
    },
    pods: 2,
  },
};

function scenario(name: string, plot: CommitPlot, check: (end: CommitEnd) => void): CrashScenario<CommitEnd> {
  return {
    name: `${KIND}: ${name}`,
    kind: KIND,
    definition: JSON.stringify({
      ...plot,
      first: plot.first('example.com'),
      second: plot.second('example.com'),
    }),
    check,
    async open(stage, owner) {
      const scene = await CommitScene.open(stage, owner, plot);
      const { namespace, repositories } = scene;
      return {
        namespace,
        repositories,
        alias: (resource, called) => scene.alias(resource, called),
        prepare: async () => await scene.prepare(),
        before: async () => await scene.before(),
        act: async () => await scene.change(),
        remove: async () => await scene.remove(),
      };
    },
  };
}

/** The same of each of them, from one number to another. */
function each(label: string, from: number, to: number, state: string): Readonly<Record<string, string>> {
  const numbers = Array.from({ length: to - from + 1 }, (_, index) => from + index);
  return Object.fromEntries(numbers.map((number) => [`${label}-${String(number)}`, state]));
}

/** Of the second commit's, as {@link CommitEnd.objects} tells them. */
const OF_FIFTY = {
  ...each('ConfigMap settings', 1, 5, '2 of second: changed'),
  ...each('ConfigMap settings', 6, 22, '1 of first: as it was'),
  ...each('ConfigMap settings', 27, 31, '1 of second: new'),
  ...each('Secret token', 1, 2, '2 of second: changed'),
  ...each('Secret token', 3, 7, '1 of first: as it was'),
  ...each('Secret token', 9, 9, '1 of second: new'),
  ...each('Service front', 1, 2, '82 of second: changed'),
  ...each('Service front', 3, 7, '81 of first: as it was'),
  ...each('Service front', 9, 9, '81 of second: new'),
  ...each('ServiceAccount account', 1, 2, '2 of second: changed'),
  ...each('ServiceAccount account', 3, 7, '1 of first: as it was'),
};

const OF_WORKLOADS = {
  'ConfigMap settings-1': '2 of second: changed',
  [`StatefulSet ${SET}`]: 'app:2, 1 available of second: changed',
  'Widget gear': '1 of second: new',
};

const OF_MOVING = {
  'ConfigMap settings-1': '2 of second: changed',
  'ConfigMap settings-2': '1 of first: as it was',
  [`StatefulSet ${SET}`]: 'app:1, 2 available of second: new',
};

interface Counts {
  readonly applied: number;
  readonly unchanged: number;
  readonly pruned: number;
}

/** What each of both commits had to do, and what is there of the second: these objects, and others that no inventory counts. */
function expectedEnd(
  [first, second]: readonly [Counts, Counts],
  members: Readonly<Record<string, string>>,
  others: Partial<CommitEnd> & { readonly uncounted?: Readonly<Record<string, string>> } = {},
): CommitEnd {
  const { uncounted = {}, ...end } = others;
  const last = { sha: 'second', outcome: 'Succeeded', ...second };
  const strangers = {
    'ConfigMap copy': 'copied of first: as it was',
    'ConfigMap neighbour': '1 of other: as it was',
  };
  return {
    objects: { ...members, ...strangers, ...uncounted },
    inventory: Object.keys(members).sort(byName),
    status: { run: 'second', commit: last, lastSucceeded: 'second', drift: 'none', source: 'sound' },
    history: [{ sha: 'first', outcome: 'Succeeded', ...first }, last],
    events: ['CommitApplied ×1', 'CommitApplied ×1'],
    runs: ['COMPLETED Succeeded'],
    rollouts: [],
    writtenAfter: [],
    ...end,
  };
}

export const COMMIT_SCENARIOS: readonly CrashScenario<CommitEnd>[] = [
  scenario('fifty objects', FIFTY, (end) => {
    const counts = [
      { applied: 50, unchanged: 0, pruned: 0 },
      { applied: 18, unchanged: 32, pruned: 7 },
    ] as const;
    expect(end).toEqual(expectedEnd(counts, OF_FIFTY));
    expect(end.inventory).toHaveLength(50);
  }),
  scenario('workloads and a new kind', WORKLOADS, (end) => {
    const counts = [
      { applied: 4, unchanged: 0, pruned: 0 },
      { applied: 4, unchanged: 0, pruned: 2 },
    ] as const;
    const inventory = [...Object.keys(OF_WORKLOADS), 'CustomResourceDefinition widgets.example.com'];
    expect(end).toEqual(
      expectedEnd(counts, OF_WORKLOADS, {
        inventory: inventory.sort(byName),
        rollouts: ['COMPLETED Succeeded'],
        uncounted: { [`Pod ${SET}-0`]: 'app:2 ready: new' },
      }),
    );
  }),
  scenario('a workload that moves', MOVING, (end) => {
    const counts = [
      { applied: 3, unchanged: 0, pruned: 0 },
      { applied: 2, unchanged: 1, pruned: 0 },
    ] as const;
    // Neither replaced nor one fewer.
    const pod = 'app:1 ready: changed';
    const uncounted = { [`Pod ${SET}-0`]: pod, [`Pod ${SET}-1`]: pod };
    expect(end).toEqual(expectedEnd(counts, OF_MOVING, { uncounted }));
  }),
];
