/** Builds ValidatingAdmissionPolicies: every rule is a variable that lists its refusals, and one validation joins them all. */

import { GROUP } from '../../planners/names.ts';
import type { WorkloadDefinition } from './kinds.ts';
import { annotationView, specView } from './policy-view.ts';
import type { PolicyApi, PolicyView, Variable } from './policy-view.ts';
import { annotationRules } from './rules/annotations.ts';
import { inPlaceOnlyRules } from './rules/in-place-only.ts';
import { ownSettingRules } from './rules/own-settings.ts';
import { podTemplateRules } from './rules/pod-template.ts';
import { ZEROS } from './template-defaults.ts';

/** Characters of all refusals together; the apiserver drops a message of more than 5 KiB. */
const MESSAGE_LENGTH = 1200;

const VALIDATION = {
  expression: 'variables.refusals.size() == 0',
  messageExpression:
    '[variables.refusals.join("; ").replace("\\n", " ").replace("\\r", " ")]' +
    `.map(t, t.size() > ${MESSAGE_LENGTH} ? t.substring(0, ${MESSAGE_LENGTH}) + "…" : t)[0]`,
  message: 'spec: Invalid value: more is wrong than can be printed; change less at a time to see what',
  reason: 'Invalid',
};

/** Variables that rules of every kind and API use. */
const COMMON: readonly Variable[] = [
  ZEROS,
  { name: 'spec', expression: 'dyn(object.spec)' },
  { name: 'oldSpec', expression: 'oldObject == null ? dyn({}) : dyn(oldObject.spec)' },
  { name: 'template', expression: 'variables.spec.template' },
  { name: 'podSpec', expression: 'variables.template.spec' },
  { name: 'annotations', expression: 'dyn(object.metadata).?annotations.orValue({})' },
  {
    name: 'oldAnnotations',
    expression: 'oldObject == null ? dyn({}) : dyn(oldObject.metadata).?annotations.orValue({})',
  },
  { name: 'strategyType', expression: 'variables.spec.?updateStrategy.?type.orValue("RollingUpdate")' },
  { name: 'podManagementPolicy', expression: 'variables.spec.?podManagementPolicy.orValue("OrderedReady")' },
  { name: 'minReadySeconds', expression: 'variables.spec.?minReadySeconds.orValue(0)' },
];

/** The policy of one kind in one API, and its binding. */
export function validatingPolicy(workload: WorkloadDefinition, api: PolicyApi): readonly object[] {
  const { settings, nativeSettings = [] } = workload;
  const annotated = settings.filter((name) => !nativeSettings.includes(name));
  const view = api === 'apps' ? annotationView(annotated) : specView(settings);
  const rules = rulesOf(workload, view);
  const name = `fairlead-${workload.plural}.${api === 'apps' ? 'apps' : GROUP}`;
  const labels = { 'app.kubernetes.io/part-of': 'fairlead' };
  const policy = {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name, labels },
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: {
        resourceRules: [
          // No subresources: status and scale are written while a workload is already what it is.
          {
            apiGroups: [api],
            apiVersions: ['*'],
            operations: ['CREATE', 'UPDATE'],
            resources: [workload.plural],
          },
        ],
      },
      matchConditions: matchConditions(api),
      variables: [
        ...COMMON,
        ...view.variables,
        ...rules.helpers,
        ...rules.refusals,
        {
          name: 'refusals',
          expression: rules.refusals.map((refusal) => `variables.${refusal.name}`).join(' + '),
        },
      ],
      validations: [VALIDATION],
    },
  };
  const binding = {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name, labels },
    spec: { policyName: name, validationActions: ['Deny'] },
  };
  return [policy, binding];
}

interface Rules {
  readonly helpers: readonly Variable[];
  readonly refusals: readonly Variable[];
}

/** Native objects were validated by the apiserver's own code; ours need the rest as well. */
function rulesOf(workload: WorkloadDefinition, view: PolicyView): Rules {
  const inPlace = view.settings.includes('podUpdatePolicy')
    ? inPlaceOnlyRules(view)
    : { helpers: [], refusals: [] };
  const shared = [...ownSettingRules(view), ...annotationRules(view)];
  if (view.api === 'apps') return { helpers: inPlace.helpers, refusals: [...shared, ...inPlace.refusals] };
  const pods = podTemplateRules();
  return {
    helpers: [...inPlace.helpers, ...pods.helpers],
    refusals: [...workload.rules, ...pods.refusals, ...shared, ...inPlace.refusals],
  };
}

/**
 * When a policy looks at all. An object that is being deleted must be able to lose its finalizers, and one that was
 * accepted under an older policy must be able to change its labels. A native object concerns Fairlead's policy only if it
 * carries an annotation of ours, so that nothing here can stand in the way of anyone else's workloads.
 */
function matchConditions(api: PolicyApi): readonly object[] {
  const ours = `exists(k, k.startsWith("${GROUP}/"))`;
  return [
    { name: 'not-being-deleted', expression: '!has(object.metadata.deletionTimestamp)' },
    {
      name: 'changed',
      expression:
        'oldObject == null || object.spec != oldObject.spec || ' +
        'object.metadata.?annotations.orValue({}) != oldObject.metadata.?annotations.orValue({})',
    },
    ...(api === 'apps'
      ? [
          {
            name: 'speaks-of-fairlead',
            expression:
              `object.metadata.?annotations.orValue({}).${ours} || ` +
              `object.spec.template.?metadata.?annotations.orValue({}).${ours}`,
          },
        ]
      : []),
  ];
}
