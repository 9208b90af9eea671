/** Rules of Fairlead's own settings; the same for both workload APIs. */

import { IN_PLACE_GATE } from '../../../planners/names.ts';
import { joined, literal, literals, refusedIf, unsupported } from '../cel.ts';
import { NOT_READY_NODES, ON_DEADLINE, POD_REPLACEMENT_POLICIES, POD_UPDATE_POLICIES } from '../fields.ts';
import { LABEL_KEY, NODE_SETTINGS } from '../policy-view.ts';
import type { PolicyView, Setting, Variable } from '../policy-view.ts';
import { surgeRules } from './daemonset.ts';

const MAX_UNAVAILABLE = '^([1-9][0-9]{0,8}|([1-9][0-9]?|100)%)$';
/** Also for a number of nodes. */
const SECONDS = '^[0-9]{1,9}$';
/** What means nothing without a rolling update. */
const OF_ROLLING_UPDATES: readonly Setting[] = [
  ...NODE_SETTINGS,
  'maxUnavailable',
  'podUpdatePolicy',
  'gracePeriodSeconds',
];
const LABEL_VALUE = '([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?';
/** DNS subdomains of labels have no more characters than this; told apart because RE2 cannot say both of one text. */
const SHORT_PREFIX = '^([^/]{1,253}/)?[^/]*$';
const POSITIVE_SECONDS = '^[1-9][0-9]{0,8}$';
/** Of a field: also 2147483647, upstream's word for no deadline. */
const DEADLINE_SECONDS = '^[1-9][0-9]{0,9}$';

/** Budget, in-place policy and deadline (design §2, §3 "Budget"; A37). */
export function ownSettingRules(view: PolicyView): readonly Variable[] {
  const { place, settings } = view;
  return [
    ...(settings.includes('maxUnavailable') ? maxUnavailableRules(view) : []),
    ...(settings.includes('partition') ? partitionRules(view) : []),
    ...(settings.includes('notReadyNodes') ? [...nodeRules(view), ...surgeRules()] : []),
    ...(settings.includes('podUpdatePolicy') ? inPlaceRules(view) : []),
    ...(settings.includes('podReplacementPolicy') ? podReplacementRules(view) : []),
    ...OF_ROLLING_UPDATES.filter((name) => settings.includes(name)).map((name) => ({
      name: `${name}NeedsRollingUpdate`,
      expression: refusedIf(
        `${isSet(name)} && variables.strategyType == "OnDelete"`,
        literal(
          `${place[name]}: Forbidden: only allowed for updateStrategy 'RollingUpdate'; ` +
            'remove it or set spec.updateStrategy.type: RollingUpdate',
        ),
      ),
    })),
    ...deadlineRules(view),
  ];
}

function inPlaceRules(view: PolicyView): readonly Variable[] {
  const { place } = view;
  return [
    {
      name: 'podUpdatePolicySupported',
      expression: refusedIf(
        `${isSet('podUpdatePolicy')} && !(variables.podUpdatePolicy in ${literals(POD_UPDATE_POLICIES)})`,
        unsupported(place.podUpdatePolicy, 'variables.podUpdatePolicy', POD_UPDATE_POLICIES),
      ),
    },
    {
      name: 'readinessGatePresent',
      expression: refusedIf(
        `variables.podUpdatePolicy.startsWith("InPlace") && !variables.podSpec.?readinessGates.orValue([])` +
          `.exists(g, g.conditionType == ${literal(IN_PLACE_GATE)})`,
        joined(
          literal(`spec.template.spec.readinessGates: Required value: ${place.podUpdatePolicy} `),
          'variables.podUpdatePolicy',
          literal(
            ` needs the readiness gate ${IN_PLACE_GATE}, which keeps a pod out of its Services while its containers ` +
              `restart; add "- conditionType: ${IN_PLACE_GATE}" to spec.template.spec.readinessGates`,
          ),
        ),
      ),
    },
    {
      name: 'gracePeriodFormat',
      expression: refusedIf(
        `${isSet('gracePeriodSeconds')} && ${fails('gracePeriodSeconds', SECONDS)}`,
        joined(invalid(view, 'gracePeriodSeconds'), literal('must be a whole number of seconds, 0 or more')),
      ),
    },
  ];
}

function podReplacementRules({ place }: PolicyView): readonly Variable[] {
  return [
    {
      name: 'podReplacementPolicySupported',
      expression: refusedIf(
        `${isSet('podReplacementPolicy')} && !(variables.podReplacementPolicy in ${literals(POD_REPLACEMENT_POLICIES)})`,
        unsupported(place.podReplacementPolicy, 'variables.podReplacementPolicy', POD_REPLACEMENT_POLICIES),
      ),
    },
  ];
}

function maxUnavailableRules(view: PolicyView): readonly Variable[] {
  const { place } = view;
  return [
    {
      name: 'maxUnavailableFormat',
      expression: refusedIf(
        `${isSet('maxUnavailable')} && ${fails('maxUnavailable', MAX_UNAVAILABLE)}`,
        joined(
          invalid(view, 'maxUnavailable'),
          literal(
            'must be a whole number of at least 1 or a percentage from 1% to 100%' +
              (view.api === 'apps' ? '' : ' (a number without quotes, a percentage with its %)'),
          ),
        ),
      ),
    },
    {
      // Parallel is what makes more than one at a time well defined (seed 003).
      name: 'maxUnavailableNeedsParallel',
      expression: refusedIf(
        `${isSet('maxUnavailable')} && variables.maxUnavailable != "1" && variables.podManagementPolicy != "Parallel"`,
        joined(
          literal(`${place.maxUnavailable}: Forbidden: `),
          shown('maxUnavailable'),
          literal(' needs spec.podManagementPolicy Parallel, and it is '),
          'variables.podManagementPolicy',
          literal(
            '; use 1, or create the object again with podManagementPolicy: Parallel ' +
              '(kubectl delete --cascade=orphan keeps the pods)',
          ),
        ),
      ),
    },
  ];
}

function partitionRules(view: PolicyView): readonly Variable[] {
  return [
    {
      name: 'partitionFormat',
      expression: refusedIf(
        `${isSet('partition')} && ${fails('partition', SECONDS)}`,
        joined(invalid(view, 'partition'), literal('must be a whole number of nodes, 0 or more')),
      ),
    },
  ];
}

/** What no schema says, and what the schema of the spec says of these fields: annotations have none. */
function nodeRules(view: PolicyView): readonly Variable[] {
  const { place, api } = view;
  return [
    {
      name: 'notReadyNodesSupported',
      expression: refusedIf(
        `${isSet('notReadyNodes')} && !(variables.notReadyNodes in ${literals(NOT_READY_NODES)})`,
        unsupported(place.notReadyNodes, 'variables.notReadyNodes', NOT_READY_NODES),
      ),
    },
    {
      name: 'nodeSelectorFormat',
      expression: refusedIf(
        `${isSet('nodeSelector')} && !variables.nodeSelector.split(",").all(label, ` +
          `${matchesBoth('label', `^${LABEL_KEY}=${LABEL_VALUE}$`)})`,
        joined(
          invalid(view, 'nodeSelector'),
          literal('must be labels of nodes, such as canary=true,disk=ssd'),
        ),
      ),
    },
    {
      name: 'topologyKeyFormat',
      expression: refusedIf(
        `${isSet('topologyKey')} && !(${matchesBoth('variables.topologyKey', `^${LABEL_KEY}$`)})`,
        joined(
          invalid(view, 'topologyKey'),
          literal('must be the key of a label of nodes, such as topology.kubernetes.io/zone'),
        ),
      ),
    },
    ...(api === 'apps'
      ? [
          ...(['drainTimeoutSeconds', 'prePullTimeoutSeconds'] as const).map((name) => ({
            name: `${name}Format`,
            expression: refusedIf(
              `${isSet(name)} && ${fails(name, POSITIVE_SECONDS)}`,
              joined(invalid(view, name), literal('must be a whole number of seconds greater than 0')),
            ),
          })),
          {
            name: 'prePullNodesFormat',
            expression: refusedIf(
              `${isSet('prePullNodes')} && ${fails('prePullNodes', SECONDS)}`,
              joined(invalid(view, 'prePullNodes'), literal('must be a whole number of nodes, 0 or more')),
            ),
          },
          {
            name: 'prePullTimeoutNeedsNodes',
            expression: refusedIf(
              `${isSet('prePullTimeoutSeconds')} && !(${isSet('prePullNodes')})`,
              literal(
                `${place.prePullNodes}: Required value: without it nothing is pulled, and ${place.prePullTimeoutSeconds} means nothing`,
              ),
            ),
          },
        ]
      : []),
  ];
}

function deadlineRules(view: PolicyView): readonly Variable[] {
  const { place, settings } = view;
  const hasDeadline = settings.includes('progressDeadlineSeconds');
  return [
    ...(hasDeadline ? lengthOfDeadlineRules(view) : []),
    {
      name: 'onDeadlineSupported',
      expression: refusedIf(
        `${isSet('onDeadline')} && !(variables.onDeadline in ${literals(ON_DEADLINE)})`,
        unsupported(place.onDeadline, 'variables.onDeadline', ON_DEADLINE),
      ),
    },
    ...(hasDeadline
      ? [
          {
            name: 'onDeadlineNeedsDeadline',
            expression: refusedIf(
              `variables.onDeadline in ["Pause", "Rollback"] && !(${isSet('progressDeadlineSeconds')})`,
              joined(
                literal(
                  `${place.progressDeadlineSeconds}: Required value: without a deadline ${place.onDeadline} `,
                ),
                'variables.onDeadline',
                literal(' would never happen'),
              ),
            ),
          },
        ]
      : []),
  ];
}

function lengthOfDeadlineRules(view: PolicyView): readonly Variable[] {
  const seconds = view.api === 'apps' ? POSITIVE_SECONDS : DEADLINE_SECONDS;
  return [
    {
      name: 'progressDeadlineFormat',
      expression: refusedIf(
        `${isSet('progressDeadlineSeconds')} && ${fails('progressDeadlineSeconds', seconds)}`,
        joined(
          invalid(view, 'progressDeadlineSeconds'),
          literal('must be a whole number of seconds greater than 0'),
        ),
      ),
    },
    {
      name: 'progressDeadlineLongEnough',
      expression: refusedIf(
        `variables.progressDeadlineSeconds.matches(${literal(seconds)}) && ` +
          'int(variables.progressDeadlineSeconds) <= variables.minReadySeconds',
        joined(
          invalid(view, 'progressDeadlineSeconds'),
          literal('must be greater than minReadySeconds ('),
          'string(variables.minReadySeconds)',
          literal('), or every rollout would miss it'),
        ),
      ),
    },
  ];
}

function isSet(name: Setting): string {
  return `variables.${name} != ""`;
}

/** CEL: the text has this form, and no prefix that is too long. */
function matchesBoth(text: string, pattern: string): string {
  return `${text}.matches(${literal(pattern)}) && ${text}.matches(${literal(SHORT_PREFIX)})`;
}

function fails(name: Setting, pattern: string): string {
  return `!variables.${name}.matches(${literal(pattern)})`;
}

/** The value as a message shows it: numbers bare, text in quotes. */
function shown(name: Setting): string {
  const value = `variables.${name}`;
  return `(${value}.matches("^-?[0-9]+$") || ${value}.startsWith("\\"") ? ${value} : "\\"" + ${value} + "\\"")`;
}

function invalid(view: PolicyView, name: Setting): string {
  return joined(literal(`${view.place[name]}: Invalid value: `), shown(name), literal(': '));
}
