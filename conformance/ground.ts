/** Where the tests run: an embedded control plane, and either the built-in controllers or a worker of this build. */

import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { WorkerProcess } from '../bench/worker-process.ts';
import { toMessage } from '../kubernetes/api-error.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { findBinary } from '../local/binaries.ts';
import { startControlPlane } from '../local/control-plane.ts';
import { readInstance } from '../local/instance.ts';
import type { Surroundings } from './upstream-tests.ts';

/** Whose controllers are judged. */
export type Side = 'baseline' | 'fairlead';

/** Upstream's tests need one and a half times the two that they spread pods over; more make each DaemonSet slower. */
const NODES = 4;

/** Beside those of upstream that are on: without it the test of maxUnavailable has nothing to test. */
const FEATURE_GATES = { MaxUnavailableStatefulSet: true };

/** Of pods of StatefulSets: three, one after the other, take longer than the ten seconds between two looks of upstream's. */
const START_DELAY = '4s';

export interface Ground {
  readonly surroundings: Omit<Surroundings, 'signal'>;
  close(): Promise<void>;
}

/** Rejects if a program is missing, a server does not come up or the worker does not lead; nothing is left then. */
export async function openGround(side: Side, say: (line: string) => void): Promise<Ground> {
  const program = await findBinary('sig-apps-e2e', { report: say });
  const kubectl = await findBinary('kubectl', { report: say });
  const directory = await mkdtemp(join(tmpdir(), 'fairlead-conformance-'));
  const closings: (() => Promise<void>)[] = [
    async () => {
      await rm(directory, { recursive: true, force: true });
    },
  ];
  const close = async () => {
    for (const closing of closings.toReversed()) await closing();
  };
  try {
    const controlPlane = await startControlPlane({
      nodes: NODES,
      // Which of the two decides what kube-controller-manager leaves to Fairlead.
      workloadApi: side === 'baseline' ? 'fairlead.dev/v1beta1' : 'apps/v1',
      featureGates: FEATURE_GATES,
      report: say,
    });
    closings.push(() => controlPlane.down());
    await slowDown(controlPlane.client);
    if (side === 'fairlead') {
      const record = await readInstance(controlPlane.directory);
      const worker = WorkerProcess.spawn(
        { controlPlane, instanceId: record?.id ?? '', profiles: undefined },
        await controlPlane.workerKubeconfig(),
        { cluster: 'conformance', workloadApi: 'apps/v1', repositories: undefined },
      );
      closings.push(() => worker.stop());
      await worker.untilLeading();
      say('the worker leads');
    }
    return {
      surroundings: {
        program,
        kubeconfig: controlPlane.kubeconfig,
        kubectl: await writeKubectl(directory, kubectl),
        nodes: NODES,
      },
      close,
    };
  } catch (error) {
    // What was wrong first is what counts.
    await close().catch((late: unknown) => say(`while taking down: ${toMessage(late)}`));
    throw error;
  }
}

/**
 * Containers here start within a moment, and upstream looks every ten seconds: three pods are replaced between two looks, and a
 * test that wants to see the middle of it sees the end. Those of StatefulSets, whose tests look for that, start as slowly as real ones.
 */
async function slowDown(client: KubernetesClient): Promise<void> {
  const name = 'conformance-pace';
  const group = { group: 'admissionregistration.k8s.io', version: 'v1' };
  const annotations = `{"sim.fairlead.dev/start-delay": "${START_DELAY}"}`;
  await client.create(
    { ...group, resource: 'mutatingadmissionpolicies' },
    {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'MutatingAdmissionPolicy',
      metadata: { name },
      spec: {
        failurePolicy: 'Fail',
        reinvocationPolicy: 'Never',
        matchConstraints: {
          resourceRules: [
            { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] },
          ],
        },
        matchConditions: [
          {
            name: 'of-a-stateful-set',
            expression:
              "has(object.metadata.ownerReferences) && object.metadata.ownerReferences.exists(owner, owner.kind == 'StatefulSet')",
          },
        ],
        mutations: [
          {
            patchType: 'ApplyConfiguration',
            applyConfiguration: {
              expression: `Object{metadata: Object.metadata{annotations: ${annotations}}}`,
            },
          },
        ],
      },
    },
  );
  await client.create(
    { ...group, resource: 'mutatingadmissionpolicybindings' },
    {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'MutatingAdmissionPolicyBinding',
      metadata: { name },
      spec: { policyName: name },
    },
  );
}

/** A program of its own is what the tests can call. */
async function writeKubectl(directory: string, kubectl: string): Promise<string> {
  const path = join(directory, 'kubectl');
  const script = fileURLToPath(new URL('kubectl.js', import.meta.url));
  const words = [process.execPath, script, kubectl].map(
    (word) => `'${word.replaceAll("'", String.raw`'\''`)}'`,
  );
  await writeFile(path, `#!/bin/sh\nexec ${words.join(' ')} "$@"\n`);
  await chmod(path, 0o755);
  return path;
}
