/** Which nodes' kubelets cannot be believed. */

import { expect, it } from '@jest/globals';

import { downNodes } from '../../planners/down-nodes.ts';
import type { Node, Pod } from '../../planners/objects.ts';

const metadata = { name: 'x', uid: 'u', resourceVersion: '1' };

function podOn(nodeName?: string): Pod {
  return { metadata, spec: { containers: [], ...(nodeName !== undefined && { nodeName }) } };
}

function node(name: string, status: 'True' | 'False' | 'Unknown'): Node {
  return { metadata: { ...metadata, name }, status: { conditions: [{ type: 'Ready', status }] } };
}

it('those that are not Ready, and those that are not there, as far as pods are bound to them', () => {
  const nodes = [
    node('well', 'True'),
    node('ill', 'False'),
    node('silent', 'Unknown'),
    node('empty', 'False'),
  ];
  const pods = [...['well', 'ill', 'silent', 'gone', 'gone'].map(podOn), podOn()];
  const found = downNodes(pods, (name) => nodes.find((one) => one.metadata.name === name));
  expect([...found]).toEqual([
    ['ill', 'NotReady'],
    ['silent', 'NotReady'],
    ['gone', 'Gone'],
  ]);
});
