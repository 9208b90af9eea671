/** Plans of Deployments, and their writes in a few words. */

import { planDeployment } from '../../planners/deployment.ts';
import type { Pod, ReplicaSet } from '../../planners/objects.ts';
import type { Action } from '../../planners/plan.ts';
import type { Deployment } from '../../planners/workload.ts';
import type { ReplicaSetOptions } from './deployment-fixtures.ts';
import { deploymentOf, deploymentSnapshotOf, replicaSetOf } from './deployment-fixtures.ts';
import { NOW } from './statefulset-fixtures.ts';

/** The newer ReplicaSet of two. */
export const NEW = { image: 'api:2', revision: 2, created: '2025-12-02T00:00:00Z' } as const;

export function planOf(deployment: Deployment, sets: readonly ReplicaSet[], pods: readonly Pod[] = []) {
  return planDeployment(deploymentSnapshotOf(deployment, sets, { pods }), NOW);
}

/** `new 0→3`, `old 10→8`; other writes by their purpose. */
export function brief(actions: readonly Action[], update: string): readonly string[] {
  return actions.map(({ name, label, purpose, charged }) => {
    const who = name === update ? 'new' : 'old';
    const size = label?.split(': ')[1]?.replaceAll(' ', '');
    return size === undefined ? `${purpose} ${who}` : `${who} ${size}${charged === true ? ' charged' : ''}`;
  });
}

/** A rollout from api:1 to api:2. */
export function rolling(
  overrides: Partial<Deployment>,
  old: ReplicaSetOptions,
  fresh: ReplicaSetOptions,
  pods: (sets: { readonly old: ReplicaSet; readonly fresh: ReplicaSet }) => readonly Pod[] = () => [],
) {
  const deployment = deploymentOf({ image: 'api:2', ...overrides });
  const sets = { old: replicaSetOf(deployment, old), fresh: replicaSetOf(deployment, { ...NEW, ...fresh }) };
  const plan = planOf(deployment, [sets.old, sets.fresh], pods(sets));
  const { name } = sets.fresh.metadata;
  return { plan, steady: brief(plan.steady, name), batch: brief(plan.batch, name), ...sets };
}
