/** What upstream checks in Go of the selector and the strategy of every workload (C16; pkg/apis/apps/validation). */

import { literal, refusedIf } from '../cel.ts';
import type { Variable } from '../policy-view.ts';
import { SELECTOR, withoutDefaults } from '../template-defaults.ts';

const LABELS_OF_TEMPLATE = 'variables.template.?metadata.?labels.orValue({})';

/** To keep the pods would leave them, and what they are of, to nobody. */
export const OTHER_SELECTOR =
  'no pod is adopted by another selector: give the object another name, or delete it with its pods and create it again';

/** Of kinds that may change most of their spec; a StatefulSet names what it may change (S20). */
export const SELECTOR_IMMUTABLE: Variable = {
  name: 'selectorImmutable',
  expression: refusedIf(
    `oldObject != null && ${withoutDefaults('variables.spec.selector', SELECTOR)} != ${withoutDefaults('variables.oldSpec.selector', SELECTOR)}`,
    literal(`spec.selector: Invalid value: field is immutable; ${OTHER_SELECTOR}`),
  ),
};

/** `kind` in lower case, as the apiserver words it. */
export function selectorRules(kind: string): readonly Variable[] {
  return [
    {
      name: 'selectorNotEmpty',
      expression: refusedIf(
        'variables.spec.selector.?matchLabels.orValue({}).size() + variables.spec.selector.?matchExpressions.orValue([]).size() == 0',
        literal(
          `spec.selector: Invalid value: {}: empty selector is invalid for ${kind}; ` +
            'name labels of spec.template.metadata.labels in spec.selector.matchLabels',
        ),
      ),
    },
    {
      name: 'selectorKeys',
      expression:
        'variables.spec.selector.?matchLabels.orValue({})' +
        '.map(k, format.qualifiedName().validate(k).hasValue(), "spec.selector.matchLabels: Invalid value: \\"" + k + "\\": not a label key")',
    },
    {
      name: 'selectorValues',
      expression:
        'variables.spec.selector.?matchExpressions.orValue([]).transformList(i, e, ' +
        '(e.operator in ["In", "NotIn"]) == (e.?values.orValue([]).size() > 0) ? "" : ' +
        '"spec.selector.matchExpressions[" + string(i) + "].values: " + ((e.operator in ["In", "NotIn"]) ' +
        "? \"Required value: must be specified when `operator` is 'In' or 'NotIn'\" " +
        ': "Forbidden: may not be specified when `operator` is \'Exists\' or \'DoesNotExist\'")).filter(t, t != "")',
    },
    {
      name: 'selectorMatchesTemplate',
      expression: refusedIf(
        `!variables.spec.selector.?matchLabels.orValue({}).all(k, v, ${LABELS_OF_TEMPLATE}[?k] == optional.of(v)) || ` +
          '!variables.spec.selector.?matchExpressions.orValue([]).all(e, ' +
          `e.operator == "In" ? (e.key in ${LABELS_OF_TEMPLATE} && ${LABELS_OF_TEMPLATE}[e.key] in e.?values.orValue([])) : ` +
          `e.operator == "NotIn" ? !(e.key in ${LABELS_OF_TEMPLATE} && ${LABELS_OF_TEMPLATE}[e.key] in e.?values.orValue([])) : ` +
          `(e.key in ${LABELS_OF_TEMPLATE}) == (e.operator == "Exists"))`,
        literal(
          'spec.template.metadata.labels: Invalid value: `selector` does not match template `labels`; ' +
            'give the template every label that spec.selector asks for',
        ),
      ),
    },
    {
      name: 'rollingUpdateOnly',
      expression: refusedIf(
        'variables.strategyType == "OnDelete" && variables.spec.?updateStrategy.?rollingUpdate.hasValue()',
        literal(
          "spec.updateStrategy.rollingUpdate: Invalid value: only allowed for updateStrategy 'RollingUpdate'; " +
            'to change to OnDelete set spec.updateStrategy.rollingUpdate to null in the same change',
        ),
      ),
    },
  ];
}
