/** Hand-made evidence for the tests of the budget checker: a small cluster whose every change is written down. */

import type {
  Observation,
  PodWrite,
  SeenKind,
  SeenPod,
  SeenWorkload,
} from '../../support/budget-evidence.ts';

const START = Date.parse('2026-01-01T00:00:00Z');

interface PodState {
  readonly ready?: boolean;
  readonly readySince?: number;
  readonly gate?: 'True' | 'False';
  readonly revision?: string;
  readonly image?: string;
  readonly containerID?: string;
  readonly running?: boolean;
  readonly phase?: string;
  readonly mark?: string;
  readonly terminating?: boolean;
  /** That it is bound to. */
  readonly node?: string;
}

export interface SetDescription {
  readonly replicas?: number;
  readonly maxUnavailable?: number | string;
  readonly maxSurge?: number;
  readonly minReadySeconds?: number;
  readonly parallel?: boolean;
  readonly image?: string;
  readonly start?: number;
}

/** Builds observations in resourceVersion order; `at` moves by one second a change unless told. */
export class EvidenceBuilder {
  readonly observations: Observation[] = [];
  readonly writes: PodWrite[] = [];
  readonly #pods = new Map<string, { readonly uid: string; readonly state: PodState }>();
  #version = 100;
  #uids = 0;
  #now = START;
  #set: SetDescription = {};
  readonly #kind: SeenKind;

  constructor(kind: SeenKind = 'StatefulSet') {
    this.#kind = kind;
  }

  /** Lets time pass, milliseconds. */
  wait(milliseconds: number): this {
    this.#now += milliseconds;
    return this;
  }

  set(description: SetDescription): this {
    const type = this.observations.length === 0 ? 'ADDED' : 'MODIFIED';
    this.#set = { ...this.#set, ...description };
    const {
      replicas = 4,
      maxUnavailable = 2,
      maxSurge,
      minReadySeconds = 0,
      parallel = true,
      image = 'app:1',
      start,
    } = this.#set;
    const object: SeenWorkload = {
      metadata: { name: 'web', namespace: 'ns', uid: 'set', resourceVersion: this.#next() },
      spec: {
        replicas,
        minReadySeconds,
        podManagementPolicy: parallel ? 'Parallel' : 'OrderedReady',
        updateStrategy: { rollingUpdate: { maxUnavailable, ...(maxSurge !== undefined && { maxSurge }) } },
        template: { spec: { containers: [{ name: 'main', image }] } },
        ...(start !== undefined && { ordinals: { start } }),
      },
    };
    this.observations.push({ kind: this.#kind, type, object, at: this.#now });
    return this;
  }

  /** Nodes node-0…node-(count-1); the first `tainted` of them take no pods. */
  nodes(count: number, tainted = 0): this {
    for (let index = 0; index < count; index += 1) {
      this.node(`node-${String(index)}`, index < tainted);
    }
    return this;
  }

  /** A Ready node joins. */
  node(name: string, tainted = false): this {
    const object = {
      metadata: { name, uid: name, resourceVersion: this.#next() },
      spec: tainted ? { taints: [{ key: 'broken', effect: 'NoExecute' }] } : {},
      status: { conditions: [{ type: 'Ready', status: 'True' }] },
    };
    this.observations.push({ kind: 'node', type: 'ADDED', object, at: this.#now });
    return this;
  }

  /** A Ready pod at revision `a` on each of so many nodes. */
  readyDaemons(count: number): this {
    for (let index = 0; index < count; index += 1) {
      const since = { ready: true, readySince: START - 3_600_000, revision: 'a' };
      this.create(index, { ...since, node: `node-${String(index)}` });
    }
    return this;
  }

  /** Pods 0…count-1, Ready since long ago, at revision `a`. */
  readyPods(count: number, state: PodState = {}): this {
    for (let ordinal = 0; ordinal < count; ordinal += 1) {
      this.create(ordinal, { ready: true, readySince: START - 3_600_000, revision: 'a', ...state });
    }
    return this;
  }

  create(ordinal: number, state: PodState = {}): this {
    this.#uids += 1;
    const name = `web-${String(ordinal)}`;
    this.#pods.set(name, {
      uid: `pod-${String(this.#uids)}`,
      state: { phase: 'Running', revision: 'b', ...state },
    });
    this.#observe('ADDED', name);
    return this;
  }

  /** A change by somebody else: kubelet, a person. */
  change(ordinal: number, state: PodState): this {
    const name = `web-${String(ordinal)}`;
    const pod = this.#pod(name);
    const becameReady = state.ready === true && pod.state.ready !== true;
    this.#pods.set(name, {
      ...pod,
      state: { ...pod.state, ...(becameReady && { readySince: this.#now }), ...state },
    });
    this.#observe('MODIFIED', name);
    return this;
  }

  /** The pod is gone for good. */
  gone(ordinal: number): this {
    const name = `web-${String(ordinal)}`;
    this.#observe('DELETED', name);
    this.#pods.delete(name);
    return this;
  }

  /** A worker's graceful delete. */
  delete(ordinal: number): this {
    this.change(ordinal, { terminating: true });
    return this.#attribute('delete', ordinal);
  }

  /** A worker's delete that takes effect at once; the answer names the version that was there before. */
  deleteAtOnce(ordinal: number): this {
    this.#attribute('delete', ordinal);
    return this.gone(ordinal);
  }

  /** Another delete request for what is terminating already: it changes nothing, and is answered with 200. */
  deleteAgain(ordinal: number): this {
    return this.#attribute('delete', ordinal);
  }

  /** A worker's patch. */
  patch(ordinal: number, state: PodState): this {
    this.change(ordinal, state);
    return this.#attribute('patch', ordinal);
  }

  #attribute(verb: 'delete' | 'patch', ordinal: number): this {
    const name = `web-${String(ordinal)}`;
    this.writes.push({
      auditID: `audit-${String(this.writes.length + 1)}`,
      verb,
      subresource: '',
      namespace: 'ns',
      name,
      uid: this.#pod(name).uid,
      resourceVersion: String(this.#version),
      at: this.#now,
    });
    return this;
  }

  #pod(name: string) {
    const pod = this.#pods.get(name);
    if (pod === undefined) {
      throw new Error(`no pod ${name}`);
    }
    return pod;
  }

  #next(): string {
    this.#version += 1;
    return String(this.#version);
  }

  #observe(type: Observation['type'], name: string): void {
    const { uid, state } = this.#pod(name);
    this.observations.push({
      kind: 'pod',
      type,
      object: podObject(name, uid, this.#next(), state),
      at: this.#now,
    });
  }
}

function podObject(name: string, uid: string, resourceVersion: string, state: PodState): SeenPod {
  const {
    ready = false,
    readySince,
    gate,
    revision = '',
    image = 'app:1',
    mark,
    terminating = false,
    node,
  } = state;
  const { containerID = 'c0', running = true, phase = 'Running' } = state;
  return {
    metadata: {
      name,
      namespace: 'ns',
      uid,
      resourceVersion,
      labels: { 'controller-revision-hash': revision },
      ownerReferences: [{ uid: 'set', controller: true }],
      ...(mark !== undefined && {
        annotations: { 'fairlead.dev/in-place-update': JSON.stringify({ revision: mark }) },
      }),
      ...(terminating && { deletionTimestamp: '2026-01-01T00:00:00Z' }),
    },
    spec: { containers: [{ name: 'main', image }], ...(node !== undefined && { nodeName: node }) },
    status: {
      phase,
      conditions: [
        {
          type: 'Ready',
          status: ready ? 'True' : 'False',
          ...(readySince !== undefined && { lastTransitionTime: new Date(readySince).toISOString() }),
        },
        ...(gate === undefined ? [] : [{ type: 'InPlaceUpdateReady', status: gate }]),
      ],
      containerStatuses: [{ name: 'main', containerID, ...(running && { state: { running: {} } }) }],
    },
  };
}
