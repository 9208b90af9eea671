/**
 * Who works with a Deployment: in apps/v1 a person with kubectl, or, where there is none, one who sends what kubectl sends; on the
 * CRD a person with fairlead. Each method is one line of a walk-through.
 */

import { execFile } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';

import { rolloutSentence } from '../../cli/rollout-sentences.ts';
import type { KubernetesClient, ResourcePath } from '../../kubernetes/client.ts';
import type { WorkloadObject } from '../../kubernetes/workload-edit.ts';
import { DEPLOYMENT_ANNOTATION, LABEL } from '../../planners/names.ts';
import type { ReplicaSet } from '../../planners/objects.ts';
import type { DeploymentGround } from './deployment-ground.ts';
import { revisionOf } from './deployment-ground.ts';
import { patient } from './patience.ts';

const run = promisify(execFile);
const FIELD_MANAGER = 'kubectl-rollout';

export interface Operator {
  readonly setImage: (image: string) => Promise<void>;
  readonly undo: (toRevision?: number) => Promise<void>;
  readonly pause: () => Promise<void>;
  readonly resume: () => Promise<void>;
  readonly restart: () => Promise<void>;
  /** Waits for the end of the rollout: the last sentence, or the complaint. */
  readonly status: () => Promise<{ readonly code: number; readonly text: string }>;
  /** Numbers and change-causes, the oldest first. */
  readonly history: () => Promise<string>;
  /** Image of one revision, as its template is shown. */
  readonly imageOf: (revision: number) => Promise<string>;
}

/** The one who works in that workload API. */
export async function operatorOf(
  ground: DeploymentGround,
  namespace: string,
  name: string,
): Promise<Operator> {
  if (ground.api !== 'apps/v1') return fairlead(ground, namespace, name);
  const { kubeconfig } = ground.controlPlane();
  const path = ground.path({ namespace, name });
  return (await hasKubectl())
    ? kubectl(kubeconfig, namespace, name)
    : requests(ground.cluster().client, path, namespace);
}

async function hasKubectl(): Promise<boolean> {
  try {
    await run('kubectl', ['version', '--client']);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

function fairlead(ground: DeploymentGround, namespace: string, name: string): Operator {
  const say = async (words: string) => {
    const { code, out, err } = await ground.cli(words, namespace);
    if (code !== 0) throw new Error(`fairlead ${words}: ${err}`);
    return out;
  };
  return {
    setImage: async (image) => void (await say(`set image fdeploy/${name} main=${image}`)),
    undo: async (to) =>
      void (await say(
        `rollout undo fdeploy/${name}${to === undefined ? '' : ` --to-revision ${String(to)}`}`,
      )),
    pause: async () => void (await say(`rollout pause fdeploy/${name}`)),
    resume: async () => void (await say(`rollout resume fdeploy/${name}`)),
    restart: async () => void (await say(`rollout restart fdeploy/${name}`)),
    status: async () => {
      const { code, out } = await ground.cli(`rollout status fdeploy/${name} --timeout 30s`, namespace);
      return { code, text: out.trim().split('\n').at(-1) ?? '' };
    },
    history: async () => {
      const out = await say(`rollout history fdeploy/${name}`);
      const lines = out
        .split('\n')
        .flatMap((line) => /^(\d+) .* (\S+)$/.exec(line)?.slice(1).join(' ') ?? []);
      return lines.join('\n');
    },
    imageOf: async (revision) =>
      imageIn(await say(`rollout history fdeploy/${name} --revision ${String(revision)}`)),
  };
}

function kubectl(kubeconfig: string, namespace: string, name: string): Operator {
  const say = async (...words: readonly string[]) =>
    (await run('kubectl', [...words, '-n', namespace, '--kubeconfig', kubeconfig])).stdout;
  const deployment = `deployment/${name}`;
  return {
    setImage: async (image) => void (await say('set', 'image', deployment, `main=${image}`)),
    undo: async (to) =>
      void (await say(
        'rollout',
        'undo',
        deployment,
        ...(to === undefined ? [] : [`--to-revision=${String(to)}`]),
      )),
    pause: async () => void (await say('rollout', 'pause', deployment)),
    resume: async () => void (await say('rollout', 'resume', deployment)),
    restart: async () => void (await say('rollout', 'restart', deployment)),
    status: async () => {
      try {
        const out = await say('rollout', 'status', deployment, '--timeout=30s');
        return { code: 0, text: out.trim().split('\n').at(-1) ?? '' };
      } catch (error) {
        const { code, stderr } = error as { readonly code?: number; readonly stderr?: string };
        if (typeof code !== 'number') throw error;
        return { code, text: (stderr ?? '').trim().replace(/^error: /, '') };
      }
    },
    history: async () => {
      const out = await say('rollout', 'history', deployment);
      const lines = out.split('\n').flatMap((line) => /^(\d+) +(\S.*)$/.exec(line)?.slice(1).join(' ') ?? []);
      return lines.join('\n');
    },
    imageOf: async (revision) =>
      imageIn(await say('rollout', 'history', deployment, `--revision=${String(revision)}`)),
  };
}

/** What kubectl 1.36 sends for the same words (k8s.io/kubectl pkg/polymorphichelpers, pkg/cmd/set). */
function requests(client: KubernetesClient, path: ResourcePath, namespace: string): Operator {
  const read = async () => await client.get<WorkloadObject>(path);
  const merge = async (patch: object) => {
    await client.patch(path, 'strategic', patch, { fieldManager: FIELD_MANAGER });
  };
  const replicaSets = async () => {
    const { uid } = (await read()).metadata;
    const sets = { group: 'apps', version: 'v1', resource: 'replicasets', namespace };
    const { items } = await client.list<ReplicaSet>(sets);
    return items
      .filter(({ metadata }) => metadata.ownerReferences?.some((owner) => owner.uid === uid))
      .sort((a, b) => revisionOf(a) - revisionOf(b));
  };
  return {
    setImage: async (image) =>
      await merge({ spec: { template: { spec: { containers: [{ name: 'main', image }] } } } }),
    undo: async (to) => {
      const sets = await replicaSets();
      const back = to === undefined ? sets.at(-2) : sets.find((set) => revisionOf(set) === to);
      if (back === undefined) throw new Error('no rollout history found');
      const { [LABEL.podTemplateHash]: _, ...labels } = back.spec.template.metadata?.labels ?? {};
      const kept = new Set<string>(Object.values(DEPLOYMENT_ANNOTATION));
      const of = (annotations: Readonly<Record<string, string>> | undefined, isKept: boolean) =>
        Object.entries(annotations ?? {}).filter(([key]) => kept.has(key) === isKept);
      const { metadata } = await read();
      const annotations = Object.fromEntries([
        ...of(metadata.annotations, true),
        ...of(back.metadata.annotations, false),
      ]);
      const { template } = back.spec;
      await client.patch(
        path,
        'json',
        [
          {
            op: 'replace',
            path: '/spec/template',
            value: { ...template, metadata: { ...template.metadata, labels } },
          },
          { op: 'replace', path: '/metadata/annotations', value: annotations },
        ],
        { fieldManager: FIELD_MANAGER },
      );
    },
    pause: async () => await merge({ spec: { paused: true } }),
    resume: async () => await merge({ spec: { paused: null } }),
    restart: async () => {
      const annotations = { 'kubectl.kubernetes.io/restartedAt': new Date().toISOString() };
      await merge({ spec: { template: { metadata: { annotations } } } });
    },
    status: async () => {
      for (const end = Date.now() + patient(30_000); Date.now() < end; await delay(100)) {
        const { sentence, done, failed } = rolloutSentence('Deployment', await read());
        if (done || failed === true) return { code: done ? 0 : 1, text: sentence };
      }
      return { code: 1, text: 'timed out waiting for the condition' };
    },
    history: async () =>
      (await replicaSets())
        .map(
          (set) =>
            `${String(revisionOf(set))} ${set.metadata.annotations?.['kubernetes.io/change-cause'] ?? '<none>'}`,
        )
        .join('\n'),
    imageOf: async (revision) =>
      (await replicaSets()).find((set) => revisionOf(set) === revision)?.spec.template.spec.containers[0]
        ?.image ?? '',
  };
}

/** Both print the template: `image: nginx:1`, `Image:	nginx:1`. */
function imageIn(text: string): string {
  return /^\s*-? ?image:\s+"?([^\s"]+)/im.exec(text)?.[1] ?? '';
}
