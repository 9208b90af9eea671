/** Which pods of the embedded control plane kwok has let go. */

import { expect, it } from '@jest/globals';

import { trusted } from '../../../kubernetes/values.ts';
import { overduePods } from '../../../local/overdue-pods.ts';
import type { Node, Pod } from '../../../planners/objects.ts';

const NOW = Date.parse('2026-11-27T05:00:30Z');
const LATE = '2026-11-27T05:00:24Z';
const ON_TIME = '2026-11-27T05:00:26Z';

/** Those that kwok manages. */
const NODES = [trusted<Node>({ metadata: { name: 'node-0' } })];

interface PodParts {
  readonly metadata?: object;
  readonly nodeName?: string;
  readonly status?: object;
}

const isOverdue = ({ metadata = {}, nodeName = 'node-0', status = {} }: PodParts) =>
  overduePods([trusted<Pod>({ metadata, spec: { nodeName }, status })], NODES, NOW).length === 1;

const scheduled = (lastTransitionTime: string) => ({
  type: 'PodScheduled',
  status: 'True',
  lastTransitionTime,
});
const next = (message: string) => ({
  containerStatuses: [{}],
  conditions: [scheduled(LATE), { type: 'ContainersReady', status: 'False', message }],
});
const waits = { phase: 'Pending', conditions: [scheduled(LATE)] };
const deleted = (metadata: object) => ({ deletionGracePeriodSeconds: 30, ...metadata });
const START_DELAY = { annotations: { 'sim.fairlead.dev/start-delay': '1m' } };

it.each<[string, PodParts, boolean]>([
  ['scheduled, and not started', { status: waits }, true],
  ['scheduled a moment ago', { status: { conditions: [scheduled(ON_TIME)] } }, false],
  ['made for its node, and not started', { metadata: { creationTimestamp: LATE } }, true],
  ['it says itself when it starts', { metadata: START_DELAY, status: waits }, false],
  ['on no node', { nodeName: '', status: waits }, false],
  ['on a node that is gone, or is not one of kwok', { nodeName: 'node-7', status: waits }, false],
  [
    'its next step is overdue',
    { status: next(`containers with unready status: [main]; simulated: ready at ${LATE}`) },
    true,
  ],
  ['its next step is to come', { status: next(`simulated: replace at ${ON_TIME}`) }, false],
  ['nothing is to come', { status: next('containers with unready status: [main]') }, false],
  ['it has ended', { status: { ...waits, phase: 'Succeeded' } }, false],
  [
    'deleted, and not stopped',
    { metadata: deleted({ deletionTimestamp: '2026-11-27T05:00:54Z' }), status: next('') },
    true,
  ],
  [
    'deleted a moment ago',
    { metadata: deleted({ deletionTimestamp: '2026-11-27T05:00:56Z' }), status: next('') },
    false,
  ],
  [
    'deleted, and stops later',
    {
      metadata: deleted({ deletionTimestamp: '2026-11-27T05:00:54Z' }),
      status: next(`simulated: stop at ${ON_TIME}`),
    },
    false,
  ],
  [
    'deleted, and held by a finalizer',
    { metadata: deleted({ deletionTimestamp: LATE, finalizers: ['example.com/x'] }), status: next('') },
    false,
  ],
])('%s', (_, parts, expected) => {
  expect(isOverdue(parts)).toBe(expected);
});
