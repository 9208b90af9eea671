/** What upstream checks in Go for DaemonSets and no schema can say (pkg/apis/apps/validation, C3). */

import { literal, refusedIf } from '../cel.ts';
import type { Variable } from '../policy-view.ts';
import { SELECTOR_IMMUTABLE, selectorRules } from './selector.ts';

const ROLLING = 'variables.spec.?updateStrategy.?rollingUpdate';
const UNAVAILABLE = `${ROLLING}.?maxUnavailable.orValue(dyn(1))`;
const SURGE = `${ROLLING}.?maxSurge.orValue(dyn(0))`;

/** Rules of the object, apart from its pod template. */
export function daemonSetRules(): readonly Variable[] {
  return [
    ...selectorRules('daemonset'),
    SELECTOR_IMMUTABLE,
    ...(['maxUnavailable', 'maxSurge'] as const).map((field) => ({
      name: `${field}Amount`,
      expression: refusedIf(
        `!${isAmount(`${ROLLING}.?${field}.orValue(dyn(0))`)}`,
        literal(
          `spec.updateStrategy.rollingUpdate.${field}: Invalid value: must be a whole number of nodes or a percentage ` +
            'from 0% to 100% (a number without quotes, a percentage with its %)',
        ),
      ),
    })),
    {
      name: 'oneOfUnavailableAndSurge',
      expression: refusedIf(
        `variables.strategyType == "RollingUpdate" && ${isZero(UNAVAILABLE)} && ${isZero(SURGE)}`,
        literal(
          'spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: 0: cannot be 0 when maxSurge is 0; ' +
            'set one of them to 1 or more',
        ),
      ),
    },
    {
      name: 'notUnavailableAndSurge',
      expression: refusedIf(
        `!${isZero(UNAVAILABLE)} && !${isZero(SURGE)}`,
        literal(
          'spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: may not be set when maxUnavailable is non-zero; ' +
            'set maxUnavailable: 0 for a rollout by surge',
        ),
      ),
    },
  ];
}

/** What a surge cannot do, with settings of ours: rules of both workload APIs. */
export function surgeRules(): readonly Variable[] {
  return [
    {
      name: 'surgeNeedsNoDrain',
      expression: refusedIf(
        `!${isZero(SURGE)} && (${ROLLING}.?drain.hasValue() || variables.drainTimeoutSeconds != "")`,
        literal(
          'spec.updateStrategy.rollingUpdate.maxSurge: Forbidden: a node is drained for a pod that is replaced, and with a surge ' +
            'none is; set maxSurge: 0 or remove the drain',
        ),
      ),
    },
    {
      name: 'surgeNeedsReCreate',
      expression: refusedIf(
        `!${isZero(SURGE)} && variables.podUpdatePolicy.startsWith("InPlace")`,
        literal(
          'spec.updateStrategy.rollingUpdate.maxSurge: Forbidden: a pod that is updated in place has no second one beside it; ' +
            'set maxSurge: 0 or podUpdatePolicy: ReCreate',
        ),
      ),
    },
  ];
}

function isAmount(value: string): string {
  return `(type(${value}) == int ? ${value} >= 0 : string(${value}).matches("^([0-9]|[1-9][0-9]|100)%$"))`;
}

function isZero(value: string): string {
  return `(string(${value}) in ["0", "0%"])`;
}
