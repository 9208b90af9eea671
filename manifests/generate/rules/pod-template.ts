/**
 * What upstream checks in Go for pod templates (pkg/apis/core/validation) and no schema can say: what refers to what, and
 * what excludes what. Without it a mistake would only show as pods that cannot be created.
 */

import { literal, refusedIf } from '../cel.ts';
import type { Variable } from '../policy-view.ts';
import { containerRules } from './containers.ts';

const MAX_ANNOTATION_BYTES = 262_144;

/** Helpers and rules; all are silent while the template does not change, as upstream's are for what it once accepted. */
export function podTemplateRules(): {
  readonly helpers: readonly Variable[];
  readonly refusals: readonly Variable[];
} {
  return {
    helpers: [
      {
        name: 'templateChanged',
        expression: 'oldObject == null || variables.template != variables.oldSpec.template',
      },
      {
        name: 'containers',
        expression:
          '!variables.templateChanged ? dyn([]) : dyn(' +
          'variables.podSpec.containers.transformList(i, c, ' +
          '{"path": dyn("spec.template.spec.containers[" + string(i) + "]"), "it": c, "runs": dyn(true)}) + ' +
          'variables.podSpec.?initContainers.orValue([]).transformList(i, c, ' +
          '{"path": dyn("spec.template.spec.initContainers[" + string(i) + "]"), "it": c, ' +
          '"runs": dyn(c.?restartPolicy.orValue("") == "Always")}))',
      },
      {
        name: 'volumeNames',
        expression:
          'variables.podSpec.?volumes.orValue([]).map(v, v.name) + ' +
          'variables.spec.?volumeClaimTemplates.orValue([]).map(v, v.?metadata.?name.orValue(""))',
      },
    ],
    refusals: [...metadataRules(), ...podRules(), ...containerRules()],
  };
}

function badKeys(owner: string, field: string, what: string): string {
  return (
    `!variables.templateChanged ? [] : ${owner}.map(k, format.qualifiedName().validate(k).hasValue(), ` +
    `"${field}: Invalid value: \\"" + k + "\\": not ${what} key (an optional DNS name and '/', then letters, digits, '-', '_' or '.')")`
  );
}

function metadataRules(): readonly Variable[] {
  const annotations = 'variables.template.?metadata.?annotations.orValue({})';
  return [
    {
      name: 'templateLabels',
      expression: badKeys(
        'variables.template.?metadata.?labels.orValue({})',
        'spec.template.metadata.labels',
        'a label',
      ),
    },
    {
      name: 'templateAnnotations',
      expression: badKeys(
        `${annotations}.map(k, k.lowerAscii())`,
        'spec.template.metadata.annotations',
        'an annotation',
      ),
    },
    {
      name: 'templateAnnotationSize',
      expression: refusedIf(
        `variables.templateChanged && ${annotations}.map(k, size(bytes(k)) + size(bytes(${annotations}[k]))).sum() > ${MAX_ANNOTATION_BYTES}`,
        literal(
          `spec.template.metadata.annotations: Too long: may not be more than ${MAX_ANNOTATION_BYTES} bytes`,
        ),
      ),
    },
    {
      name: 'nodeSelectorKeys',
      expression: badKeys(
        'variables.podSpec.?nodeSelector.orValue({})',
        'spec.template.spec.nodeSelector',
        'a label',
      ),
    },
  ];
}

function podRules(): readonly Variable[] {
  const sources = 'v.filter(k, k != "name")';
  return [
    {
      name: 'noEphemeralContainers',
      expression: refusedIf(
        'variables.podSpec.?ephemeralContainers.orValue([]).size() > 0',
        literal(
          'spec.template.spec.ephemeralContainers: Forbidden: ephemeral containers not allowed in pod template',
        ),
      ),
    },
    {
      name: 'namesOfInitContainers',
      expression:
        '!variables.templateChanged ? [] : variables.podSpec.?initContainers.orValue([]).transformList(i, c, ' +
        'variables.podSpec.containers.exists(d, d.name == c.name), ' +
        '"spec.template.spec.initContainers[" + string(i) + "].name: Duplicate value: \\"" + c.name + "\\"")',
    },
    {
      name: 'volumeSources',
      expression:
        '!variables.templateChanged ? [] : variables.podSpec.?volumes.orValue([]).transformList(i, v, ' +
        `${sources}.size() > 1, "spec.template.spec.volumes[" + string(i) + "]: Forbidden: may not specify more than 1 ` +
        `volume type, and it has " + ${sources}.join(", "))`,
    },
    {
      name: 'tolerations',
      expression:
        '!variables.templateChanged ? [] : variables.podSpec.?tolerations.orValue([]).transformList(i, t, ' +
        't.?operator.orValue("Equal") == "Exists" && t.?value.orValue("") != "" || ' +
        't.?key.orValue("") == "" && t.?operator.orValue("Equal") != "Exists", ' +
        '"spec.template.spec.tolerations[" + string(i) + "]: Invalid value: " + (t.?key.orValue("") == "" ' +
        '? "operator must be Exists when `key` is empty, which means \'match all values and all keys\'" ' +
        ': "value must be empty when `operator` is \'Exists\'"))',
    },
    {
      name: 'dnsConfig',
      expression: refusedIf(
        'variables.templateChanged && variables.podSpec.?dnsPolicy.orValue("") == "None" && ' +
          'variables.podSpec.?dnsConfig.?nameservers.orValue([]).size() == 0',
        literal(
          'spec.template.spec.dnsConfig.nameservers: Required value: must provide at least one DNS nameserver when `dnsPolicy` is None',
        ),
      ),
    },
    {
      name: 'readinessGateNames',
      expression:
        '!variables.templateChanged ? [] : variables.podSpec.?readinessGates.orValue([])' +
        '.map(g, format.qualifiedName().validate(g.conditionType).hasValue(), ' +
        '"spec.template.spec.readinessGates: Invalid value: \\"" + g.conditionType + "\\": not a condition name")',
    },
  ];
}
