/** How many pods of a Deployment may be missing, and how many may be too many (C3, ResolveFenceposts). */

import { resolveIntOrPercent } from './int-or-percent.ts';
import type { Deployment } from './workload.ts';

export interface DeploymentBudget {
  readonly maxSurge: number;
  readonly maxUnavailable: number;
  /** What is wrong with a value that cannot be read; the default is used then. */
  readonly problem?: string;
}

const DEFAULT = '25%';

/**
 * Surge rounded up, unavailable down; both 0 mean that one may be unavailable, or nothing could ever happen (C3). Never more
 * unavailable than there are; Recreate takes all of them and has no surge.
 */
export function deploymentBudgetOf(deployment: Deployment): DeploymentBudget {
  const { replicas, strategy } = deployment;
  if (strategy === 'Recreate') return { maxSurge: 0, maxUnavailable: replicas };
  const problems: string[] = [];
  const amount = (name: 'maxSurge' | 'maxUnavailable', rounding: 'up' | 'down') => {
    try {
      return resolveIntOrPercent(deployment[name], replicas, rounding);
    } catch (error) {
      problems.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
      return resolveIntOrPercent(DEFAULT, replicas, rounding);
    }
  };
  const maxSurge = amount('maxSurge', 'up');
  const asked = amount('maxUnavailable', 'down');
  const maxUnavailable = Math.min(maxSurge === 0 && asked === 0 ? 1 : asked, replicas);
  const [problem] = problems;
  return { maxSurge, maxUnavailable, ...(problem !== undefined && { problem }) };
}
