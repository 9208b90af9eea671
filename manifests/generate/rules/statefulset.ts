/** What upstream checks in Go for StatefulSets and no schema can say (S20, C16; pkg/apis/apps/validation). */

import { changedKeys, joined, literal, literals, refusedIf } from '../cel.ts';
import { COMMON_FIELDS } from '../fields.ts';
import type { Variable } from '../policy-view.ts';
import { IMMUTABLE, withoutDefaults } from '../template-defaults.ts';
import { OTHER_SELECTOR, selectorRules } from './selector.ts';

/** Everything else in spec is immutable (S20). */
const MUTABLE = [
  'replicas',
  'ordinals',
  'template',
  'updateStrategy',
  'revisionHistoryLimit',
  'persistentVolumeClaimRetentionPolicy',
  'minReadySeconds',
  ...Object.keys(COMMON_FIELDS),
] as const;

/** Pods carry the name of their revision, `<set>-<up to 10 characters>`, in a label, and a label holds 63. */
const NAME_LENGTH = 52;

/** Rules of the object, apart from its pod template. */
export function statefulSetRules(): readonly Variable[] {
  const fixed = `s.transformMap(k, v, !(k in ${literals(MUTABLE)}), v)`;
  return [
    {
      name: 'nameUsable',
      expression: refusedIf(
        `oldObject == null && (object.metadata.name.size() > ${NAME_LENGTH} || !object.metadata.name.matches("^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"))`,
        joined(
          literal('metadata.name: Invalid value: "'),
          'object.metadata.name',
          literal(
            `": must be lower case letters, digits and '-', and no more than ${NAME_LENGTH} characters: ` +
              'it is the beginning of host names and of the label controller-revision-hash, which hold 63',
          ),
        ),
      ),
    },
    ...selectorRules('statefulset'),
    {
      name: 'immutableFields',
      expression:
        'oldObject == null ? [] : ' +
        `[[variables.spec, variables.oldSpec].map(s, ${withoutDefaults(fixed, IMMUTABLE)})]` +
        `.map(p, (${changedKeys('p[0]', 'p[1]')}).map(k, "spec." + k).join(", "))` +
        '.map(fields, fields != "", fields + ": Forbidden: updates to statefulset spec for fields other than ' +
        `${MUTABLE.slice(0, -1)
          .map((field) => `'${field}'`)
          .join(', ')} and '${MUTABLE.at(-1)}' are forbidden; " + ` +
        `(fields.contains("spec.selector") ? "${OTHER_SELECTOR}" : ` +
        '"kubectl delete --cascade=orphan keeps the pods, then create the object again"))',
    },
    ...claimRules(),
  ];
}

/** Claims that could not be made would only show as pods that never start. Immutable, so checked at creation only. */
function claimRules(): readonly Variable[] {
  const claims = 'variables.spec.?volumeClaimTemplates.orValue([])';
  const path = '"spec.volumeClaimTemplates[" + string(i) + "]';
  const checks = [
    [
      `!format.dns1123Label().validate(c.?metadata.?name.orValue("")).hasValue()`,
      `${path}.metadata.name: Invalid value: \\"" + c.?metadata.?name.orValue("") + "\\": a lower case name is required: volumeMounts refer to it"`,
    ],
    [
      'c.?spec.?accessModes.orValue([]).size() > 0',
      `${path}.spec.accessModes: Required value: at least 1 access mode is required"`,
    ],
    [
      'c.?spec.?resources.?requests[?"storage"].hasValue()',
      `${path}.spec.resources[storage]: Required value"`,
    ],
  ] as const;
  const texts = checks.map(([holds, text]) => `(${holds}) ? "" : ${text}`);
  return [
    {
      name: 'claimTemplates',
      expression:
        `oldObject != null ? [] : ${claims}.transformList(i, c, ` +
        `[${texts.join(', ')}].filter(t, t != "").join("; ")).filter(t, t != "")`,
    },
    {
      name: 'claimTemplateNames',
      expression: refusedIf(
        `oldObject == null && !${claims}.all(c, ${claims}.filter(d, d.?metadata.?name == c.?metadata.?name).size() == 1)`,
        literal('spec.volumeClaimTemplates: Invalid value: two templates have the same metadata.name'),
      ),
    },
  ];
}
