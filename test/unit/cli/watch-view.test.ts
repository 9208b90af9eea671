import { describe, expect, it } from '@jest/globals';

import { colorsOf } from '../../../cli/colors.ts';
import { JsonLines } from '../../../cli/json-lines.ts';
import { planWorkload } from '../../../cli/snapshot.ts';
import { describeTransitions } from '../../../cli/transitions.ts';
import { shortImage } from '../../../cli/pod-columns.ts';
import { progressBar, renderTree } from '../../../cli/tree.ts';
import type { WatchView } from '../../../cli/watch-view.ts';
import { viewRollout } from '../../../cli/watch-view.ts';
import { lookupsOf } from '../../../kubernetes/workload-children.ts';
import type { Pod } from '../../../planners/objects.ts';
import { rollout } from '../../support/rollout-objects.ts';
import type { ObjectOptions } from '../../support/workload-objects.ts';

const NOW = Date.parse('2026-01-01T00:00:45Z');
const TARGET = {
  group: 'fairlead.dev',
  version: 'v1beta1',
  kind: 'StatefulSet',
  namespace: 'default',
  name: 'web',
} as const;
const PLAIN = { colors: colorsOf({ color: false }), now: NOW, columns: 120, rows: 30 };

function view(
  updated: number,
  object: ObjectOptions = {},
  change = (pods: readonly Pod[]) => pods,
): WatchView {
  const made = rollout({ updated, object });
  const children = lookupsOf({ controllerrevisions: made.revisions, pods: change(made.pods) });
  const planned = planWorkload(made.object, TARGET, { children, claims: [], nodes: undefined }, NOW);
  return viewRollout(planned, { kind: 'StatefulSet', api: 'fairlead.dev/v1beta1', name: 'web' }, NOW);
}

/** Revisions' names are hashes: A is the old one, B the new one. */
function named(lines: readonly string[]): string[] {
  const [older, newer] = rollout({ updated: 0 }).revisions.map((revision) => revision.metadata.name);
  return lines.map((line) => line.replaceAll(String(older), 'A').replaceAll(String(newer), 'B'));
}

/** The uid changes with the revision, as it does when a pod is replaced. */
function crashing(pods: readonly Pod[]): readonly Pod[] {
  return pods.map((pod) =>
    pod.metadata.name !== 'web-2'
      ? pod
      : {
          ...pod,
          status: {
            phase: 'Running',
            conditions: [{ type: 'Ready', status: 'False' }],
            containerStatuses: [
              {
                name: 'main',
                restartCount: 2,
                ready: false,
                state: { waiting: { reason: 'CrashLoopBackOff' } },
              },
            ],
          },
        },
  );
}

describe('the tree', () => {
  it('workload, progress, reason, revisions with their pods', () => {
    const annotations = {
      'fairlead.dev/commit': '0123456789',
      'fairlead.dev/paused': '{"by":"alice","reason":"db alarm"}',
    };
    expect(named(renderTree(view(1, { annotations }, crashing), PLAIN))).toEqual([
      'statefulset.fairlead.dev/web -n default   ‖ Paused   commit 01234567',
      '[························] 0/3 updated and available   2 of 3 available, 1 unavailable of 1 allowed',
      'paused by alice: db alarm',
      expect.stringMatching(/^waiting: web-2 is not ready/),
      '├── revision #2 B  new, 1 pod',
      '│   └── web-2  uid-web-  0/1  CrashLoopBackOff  web:2  node-1  2 restarts  45s',
      '└── revision #1 A  last complete, 2 pods',
      '    ├── web-0  uid-web-  1/1  Running           web:1  node-1              45s',
      '    └── web-1  uid-web-  1/1  Running           web:1  node-1              45s',
    ]);
  });

  it('a small window: pods that are not ready are shown, the others counted; never more rows than there are', () => {
    const lines = renderTree(view(3, {}, crashing), { ...PLAIN, rows: 6 });
    expect(lines).toHaveLength(6);
    expect(lines.join('\n')).toContain('web-2');
    expect(lines.join('\n')).toContain('… and 2 more');
    expect(renderTree(view(1), { ...PLAIN, rows: 1 })).toHaveLength(1);
  });

  it('no line is wider than the window', () => {
    for (const line of renderTree(view(1, {}, crashing), { ...PLAIN, columns: 30 })) {
      expect(line.length).toBeLessThanOrEqual(30);
    }
  });

  it('a narrow window wraps what is above the pods, and leaves away what says least of them', () => {
    const annotations = { 'fairlead.dev/paused': '{"by":"alice","reason":"db alarm"}' };
    const drawn = (columns: number) =>
      named(renderTree(view(1, { annotations }, crashing), { ...PLAIN, columns }));
    expect(drawn(60).slice(-3)).toEqual([
      '└── revision #1 A  last complete, 2 pods',
      '    ├── web-0  1/1  Running           web:1              45s',
      '    └── web-1  1/1  Running           web:1              45s',
    ]);
    expect(drawn(40)).toEqual([
      'statefulset.fairlead.dev/web -n',
      '  default   ‖ Paused',
      '[········] 0/3 updated and available',
      '  2 of 3 available, 1 unavailable of 1',
      '  allowed',
      'paused by alice: db alarm',
      'waiting: web-2 is not ready:',
      '  container main of web-2:',
      '  CrashLoopBackOff',
      expect.stringMatching(/^├── revision #2 …\S+ {2}new, 1 pod$/),
      '│   └── web-2  0/1  CrashLoopBackOff',
      '└── revision #1 …  last complete, 2 pods',
      '    ├── web-0  1/1  Running',
      '    └── web-1  1/1  Running',
    ]);
    const longer = (pods: readonly Pod[]) =>
      pods.map((pod) => ({
        ...pod,
        metadata: { ...pod.metadata, name: `a-name-of-an-application-${pod.metadata.name}` },
      }));
    expect(renderTree(view(3, {}, longer), { ...PLAIN, columns: 40 }).at(-1)).toMatch(
      /^ {4}└── …\S*web-2 {2}1\/1 {2}Running$/,
    );
  });

  it('a page of a message is four lines in a narrow window, and says that there is more', () => {
    const annotations = { 'fairlead.dev/paused': JSON.stringify({ by: 'alice', reason: 'why '.repeat(99) }) };
    const lines = renderTree(view(1, { annotations }), { ...PLAIN, columns: 40 });
    const start = lines.findIndex((line) => line.startsWith('paused by alice'));
    expect(lines[start + 3]).toMatch(/^ {2}why [why ]*…$/);
    expect(lines[start + 4]).not.toContain('why why');
  });

  it('hostile text stays on its line', () => {
    const annotations = {
      'fairlead.dev/paused': JSON.stringify({ by: 'x\u001b[2J\n', reason: '\u202egnp' }),
    };
    const lines = renderTree(view(1, { annotations }), PLAIN);
    expect(lines).toContain('paused by x : gnp');
  });

  it.each([
    [0, 4, '[····]'],
    [3, 4, '[###·]'],
    [4, 4, '[####]'],
    [0, 0, '[####]'],
    [9, 4, '[####]'],
    [399, 400, '[###·]'],
  ])('the bar of %d of %d', (done, total, bar) => {
    expect(progressBar(done, total, 4)).toBe(bar);
  });

  it.each([
    ['web', 'web'],
    ['registry.example:5000/team/web:1.2', 'web:1.2'],
    ['registry.example/web@sha256:0123456789abcdef', 'web@sha256:01234567'],
    ['registry.example/web:1.2@sha256:0123456789abcdef', 'web:1.2'],
  ])('image %s is shown as %s', (image, short) => {
    expect(shortImage(image)).toBe(short);
  });
});

describe('transitions', () => {
  it('the first view is described whole', () => {
    const lines = named(describeTransitions(undefined, view(1)));
    expect(lines).toEqual([
      'statefulset.fairlead.dev/web: revision B',
      'statefulset.fairlead.dev/web: Progressing',
      'pod web-2 (uid-web-): revision B, web:2, Running, ready',
      'pod web-0 (uid-web-): revision A, web:1, Running, ready',
      'pod web-1 (uid-web-): revision A, web:1, Running, ready',
      'statefulset.fairlead.dev/web: 1/3 updated and available, 3 of 3 available',
    ]);
  });

  it('what would be written next is no reason while nobody writes it', () => {
    const conditions = [
      { type: 'Stalled', status: 'True', reason: 'RunTerminated', message: 'run x was terminated' },
    ] as const;
    expect(view(1, { conditions })).toMatchObject({ state: 'Stalled', waiting: [], causes: [] });
    expect(view(1, { conditions }, crashing).waiting).toEqual([
      expect.stringMatching(/^web-2 is not ready/),
      expect.stringMatching(/^the budget is used up: 1 of 1 unavailable/),
    ]);
  });

  it('nothing is said of what stayed the same', () => {
    expect(describeTransitions(view(1), view(1))).toEqual([]);
  });

  it('a countdown is no news', () => {
    const before = { ...view(1), causes: ['web-1 waits'], waiting: ['web-1 waits (9s left)'] };
    const after = { ...before, waiting: ['web-1 waits (8s left)'] };
    expect(describeTransitions(before, after)).toEqual([]);
  });

  it('a pod was replaced', () => {
    expect(named(describeTransitions(view(1), view(2)))).toEqual([
      'pod web-1 (uid-web-): gone',
      'pod web-1 (uid-web-): revision B, web:2, Running, ready',
      'statefulset.fairlead.dev/web: 2/3 updated and available, 3 of 3 available',
    ]);
  });

  it('a pod was updated in place: it is the same pod', () => {
    const sameUid = (pods: readonly Pod[]) =>
      pods.map((pod) => ({ ...pod, metadata: { ...pod.metadata, uid: 'same-uid-of-all' } }));
    expect(named(describeTransitions(view(1, {}, sameUid), view(2, {}, sameUid)))).toContain(
      'pod web-1 (same-uid): now revision B, web:2, same pod',
    );
  });

  it('a pod broke', () => {
    expect(describeTransitions(view(1), view(1, {}, crashing))).toContain(
      'pod web-2 (uid-web-): CrashLoopBackOff, 0/1 containers, not ready',
    );
  });

  it('paused and resumed', () => {
    const paused = view(1, { annotations: { 'fairlead.dev/paused': '{"by":"alice"}' } });
    expect(describeTransitions(view(1), paused)[0]).toBe('statefulset.fairlead.dev/web: paused by alice');
    expect(describeTransitions(paused, view(1))[0]).toBe('statefulset.fairlead.dev/web: resumed');
  });
});

describe('watch -o json', () => {
  it('prints a document for each change, not for a countdown, and notes beside it', () => {
    const printed = { out: '', err: '' };
    const lines = new JsonLines({
      out: (text) => void (printed.out += text),
      err: (text) => void (printed.err += text),
      now: () => NOW,
    });
    const first = { ...view(1), waiting: ['web-2 is not ready, 9 s left'], causes: ['web-2 is not ready'] };
    lines.show(first);
    lines.show({ ...first, waiting: ['web-2 is not ready, 8 s left'] });
    lines.note('connection lost\u001b[2J');
    lines.note('connection lost\u001b[2J');
    lines.show({ ...first, message: 'evil\u009b2J' });
    lines.end();
    const documents = printed.out.split('\n').filter((line) => line !== '');
    expect(documents).toHaveLength(2);
    expect(documents.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      {
        apiVersion: 'cli.fairlead.dev/v1',
        kind: 'Rollout',
        at: '2026-01-01T00:00:45.000Z',
        workload: 'statefulset.fairlead.dev/web',
        namespace: 'default',
        done: false,
        waiting: ['web-2 is not ready, 9 s left'],
        progress: { updated: 1 },
        revisions: [{ role: 'new' }, { role: expect.stringMatching(/complete|old/) as unknown }],
      },
      { message: 'evil\u009b2J' },
    ]);
    expect(printed.out).not.toContain('\u009b');
    expect(printed.err).toBe('note: connection lost\n');
  });
});
