/** What upstream checks in Go for Deployments and no schema can say (pkg/apis/apps/validation, C3). */

import { literal, refusedIf } from '../cel.ts';
import type { Variable } from '../policy-view.ts';
import { SELECTOR_IMMUTABLE, selectorRules } from './selector.ts';

const STRATEGY = 'variables.spec.?strategy';
const ROLLING = `${STRATEGY}.?rollingUpdate`;
const DEFAULT = '"25%"';

/** Rules of the object, apart from its pod template. */
export function deploymentRules(): readonly Variable[] {
  return [
    ...selectorRules('deployment'),
    SELECTOR_IMMUTABLE,
    {
      name: 'rollingUpdateOfRecreate',
      expression: refusedIf(
        `${STRATEGY}.?type.orValue("RollingUpdate") == "Recreate" && ${ROLLING}.hasValue()`,
        literal(
          "spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'; " +
            'to change to Recreate set spec.strategy.rollingUpdate to null in the same change',
        ),
      ),
    },
    {
      name: 'maxUnavailableAmount',
      expression: refusedIf(
        `!${isAmount(amountOf('maxUnavailable'), '([0-9]|[1-9][0-9]|100)')}`,
        literal(
          'spec.strategy.rollingUpdate.maxUnavailable: Invalid value: must be a whole number of pods or a percentage ' +
            'from 0% to 100% (a number without quotes, a percentage with its %)',
        ),
      ),
    },
    {
      name: 'maxSurgeAmount',
      expression: refusedIf(
        `!${isAmount(amountOf('maxSurge'), '[0-9]{1,9}')}`,
        literal(
          'spec.strategy.rollingUpdate.maxSurge: Invalid value: must be a whole number of pods or a percentage ' +
            '(a number without quotes, a percentage with its %)',
        ),
      ),
    },
    {
      name: 'oneOfUnavailableAndSurge',
      expression: refusedIf(
        `${isZero(amountOf('maxUnavailable'))} && ${isZero(amountOf('maxSurge'))}`,
        literal(
          'spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` is 0; ' +
            'set one of them to 1 or more',
        ),
      ),
    },
  ];
}

function amountOf(field: string): string {
  return `${ROLLING}.?${field}.orValue(dyn(${DEFAULT}))`;
}

function isAmount(value: string, percent: string): string {
  return `(type(${value}) == int ? ${value} >= 0 : string(${value}).matches("^${percent}%$"))`;
}

function isZero(value: string): string {
  return `(string(${value}) in ["0", "0%"])`;
}
