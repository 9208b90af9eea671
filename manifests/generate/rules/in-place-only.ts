/**
 * podUpdatePolicy InPlaceOnly: a template may change only in what a running pod can take over, which is container images
 * (also of sidecars), cpu and memory (resize), labels and annotations. The rule compares whole objects and names what
 * differs, so that a field that Kubernetes adds later is covered too (A37, and A38 for the hole of comparing paths).
 */

import { changedKeys, joined, literal, refusedIf } from '../cel.ts';
import type { PolicyView, Variable } from '../policy-view.ts';
import { CONTAINER, METADATA, POD_SPEC, withoutDefaults } from '../template-defaults.ts';

const LISTS = [
  { list: 'containers', name: 'Containers' },
  { list: 'initContainers', name: 'InitContainers' },
] as const;

const QOS_RESOURCES = '["cpu", "memory"]';

/** Helpers, and one rule for each part of the template that must stay as it is. */
export function inPlaceOnlyRules(view: PolicyView): {
  readonly helpers: readonly Variable[];
  readonly refusals: readonly Variable[];
} {
  const policy = view.place.podUpdatePolicy;
  const why = literal(
    `: Forbidden: ${policy} InPlaceOnly lets only images, cpu and memory of containers and the template's labels and ` +
      `annotations change; take the change back, or set ${policy} to InPlaceIfPossible, which replaces the pods`,
  );
  return {
    helpers: [
      {
        name: 'inPlaceOnly',
        expression:
          'oldObject != null && variables.podUpdatePolicy == "InPlaceOnly" && ' +
          'variables.template != variables.oldSpec.template',
      },
      {
        // One expression for both, new and old: the apiserver compiles each of them, and these are its longest.
        name: 'comparedPods',
        expression:
          '!variables.inPlaceOnly ? [] : ' +
          `[variables.podSpec, variables.oldSpec.template.spec].map(p, ${comparable('p')})`,
      },
      { name: 'newQos', expression: qosClass('variables.podSpec') },
      { name: 'oldQos', expression: qosClass('variables.oldSpec.template.spec') },
      ...LISTS.flatMap(({ list, name }) => [
        { name: `new${name}`, expression: `variables.podSpec.?${list}.orValue([])` },
        {
          name: `old${name}`,
          expression: `variables.inPlaceOnly ? variables.oldSpec.template.spec.?${list}.orValue([]) : dyn([])`,
        },
        {
          name: `same${name}`,
          expression:
            `variables.inPlaceOnly && ` +
            `variables.new${name}.map(c, c.name) == variables.old${name}.map(c, c.name)`,
        },
      ]),
      { name: 'containerPairs', expression: containerPairs() },
    ],
    refusals: [
      {
        name: 'inPlacePodSpec',
        expression:
          '!variables.inPlaceOnly ? [] : ' +
          `(${changedKeys('variables.comparedPods[0]', 'variables.comparedPods[1]')})` +
          `.map(k, "spec.template.spec." + k + ${why})`,
      },
      {
        name: 'inPlaceMetadata',
        expression:
          '!variables.inPlaceOnly ? [] : ' +
          `[[${metadataOf('variables.template')}, ${metadataOf('variables.oldSpec.template')}]]` +
          `.map(p, ${changedKeys('p[0]', 'p[1]')})[0].map(k, "spec.template.metadata." + k + ${why})`,
      },
      environmentRule(policy),
      resourceEnvironmentRule(policy),
      ...LISTS.map(({ list, name }) => ({
        name: `inPlace${name}Names`,
        expression: refusedIf(
          `variables.inPlaceOnly && !variables.same${name}`,
          joined(literal(`spec.template.spec.${list} (added, removed, renamed or reordered)`), why),
        ),
      })),
      { name: 'inPlaceContainers', expression: containerRule(why) },
      { name: 'inPlaceResources', expression: resourcesRule() },
      {
        name: 'inPlaceQos',
        expression: refusedIf(
          'variables.inPlaceOnly && variables.newQos != variables.oldQos',
          literal(
            `spec.template.spec.containers: Forbidden: these resources change the QoS class of the pods, which no pod can ` +
              `do in place; keep requests and limits equal where they were (Guaranteed), or set ${policy} to InPlaceIfPossible`,
          ),
        ),
      },
    ],
  };
}

/** Template metadata that a running pod cannot take over. */
function metadataOf(template: string): string {
  const rest = `${template}.?metadata.orValue({}).transformMap(k, v, !(k in ["labels", "annotations", "creationTimestamp"]), v)`;
  return withoutDefaults(rest, METADATA);
}

/** Field paths, as an environment names them, of labels or annotations that differ. */
function changedPaths(kind: string): string {
  const [newer = '', older = ''] = ['variables.template', 'variables.oldSpec.template'].map(
    (template) => `${template}.?metadata.?${kind}.orValue({})`,
  );
  return `[[${newer}, ${older}]].map(p, ${changedKeys('p[0]', 'p[1]')})[0].map(k, "metadata.${kind}['" + k + "']")`;
}

/**
 * A label or annotation that the environment of a container was made from needs a restart of that container (A22). Init containers
 * count as well: sidecars run on, and the planner counts them all.
 */
function environmentRule(policy: string): Variable {
  return {
    name: 'inPlaceEnvironment',
    expression:
      `!variables.inPlaceOnly ? [] : [${changedPaths('labels')} + ${changedPaths('annotations')}].map(changed, ` +
      `variables.containerPairs.map(q, (${restarted('q')}) ? "" : q[1].?env.orValue([])` +
      '.map(e, e.?valueFrom.?fieldRef.?fieldPath.orValue("") in changed, ' +
      `"spec.template." + e.valueFrom.fieldRef.fieldPath + ${heldBy('q', policy)}).join("; ")).filter(t, t != ""))[0]`,
  };
}

/** The same of an amount of cpu or memory, of its own container or of another one: it changes without a restart, the environment does not. */
function resourceEnvironmentRule(policy: string): Variable {
  const source = 'e.valueFrom.resourceFieldRef';
  const read = `[${source}.?containerName.orValue("")].map(n, n == "" ? q[1].name : n)[0]`;
  const paths =
    `variables.containerPairs.filter(p, p[1].name == ${read} && ${amountChanged('p', `[${source}.resource.split(".")]`)})` +
    `.map(p, p[0] + ".resources." + ${source}.resource + ${heldBy('q', policy)}).join("; ")`;
  return {
    name: 'inPlaceResourceEnvironment',
    expression:
      `!variables.inPlaceOnly ? [] : variables.containerPairs.map(q, (${restarted('q')}) ? "" : q[1].?env.orValue([])` +
      `.map(e, e.?valueFrom.?resourceFieldRef.hasValue(), ${paths}).filter(t, t != "").join("; ")).filter(t, t != "")`,
  };
}

function heldBy(pair: string, policy: string): string {
  return (
    `": Forbidden: the environment of container " + ${pair}[1].name + ` +
    `" holds it, and only a restart of that container changes its environment; change its image as well, or set ` +
    `${policy} to InPlaceIfPossible"`
  );
}

/** Whether the change restarts the container: by another image, or by a resize whose policy asks for it. */
function restarted(pair: string): string {
  const resized = amountChanged(pair, '[[dyn("requests"), z.resourceName], [dyn("limits"), z.resourceName]]');
  return (
    `${pair}[1].?image != ${pair}[2].?image || ${pair}[1].?resizePolicy.orValue([])` +
    `.exists(z, z.?restartPolicy.orValue("") == "RestartContainer" && ${resized})`
  );
}

/** Whether one of these amounts differs, each given by its kind and resource; a missing request is the limit. */
function amountChanged(pair: string, paths: string): string {
  const effective = (container: string): string =>
    amount(`${container}.?resources[?k[0]][?k[1]].or(${container}.?resources.?limits[?k[1]])`);
  return `${paths}.exists(k, ${effective(`${pair}[1]`)}.compareTo(${effective(`${pair}[2]`)}) != 0)`;
}

/** A pod spec without its containers, ready to be compared. `serviceAccount` is an alias. */
function comparable(podSpec: string): string {
  const rest =
    `[${podSpec}.?serviceAccountName.orValue("")].map(n, ${podSpec}.transformMapEntry(k, v, ` +
    '!(k in ["containers", "initContainers", n == "" ? "serviceAccountName" : "serviceAccount"]), ' +
    '{k == "serviceAccount" ? "serviceAccountName" : k: v}))[0]';
  return withoutDefaults(rest, POD_SPEC);
}

/** Containers of both lists, each with what it was: `[path, new, old]`; none of a list whose names differ. */
function containerPairs(): string {
  const pairs = LISTS.map(
    ({ list, name }) =>
      `(!variables.same${name} ? [] : variables.new${name}.transformList(i, c, ` +
      `[dyn("spec.template.spec.${list}[" + string(i) + "]"), c, variables.old${name}[i]]))`,
  );
  return pairs.join(' + ');
}

/** One refusal for each container, naming each of its fields. An init container that is no sidecar has run already. */
function containerRule(why: string): string {
  const free = `!p[0].startsWith("spec.template.spec.init") || p[1].?restartPolicy.orValue("") == "Always"`;
  const compared = withoutDefaults(
    `c.transformMap(k, v, k != "imagePullPolicy" && !((k == "image" || k == "resources") && (${free})), v)`,
    CONTAINER,
  );
  // The default of imagePullPolicy follows the tag: default → default is no change, whatever the tags are (A20).
  const [newer, older] = ['p[1]', 'p[2]'] as const;
  const pullPolicy =
    `${pullPolicyOf(newer)} != ${pullPolicyOf(older)} && ` +
    `!(${pullPolicyOf(newer)} == ${defaultPullPolicy(newer)} && ${pullPolicyOf(older)} == ${defaultPullPolicy(older)})`;
  const changed =
    `[[${newer}, ${older}].map(c, ${compared})].map(q, ${changedKeys('q[0]', 'q[1]')})[0] + ` +
    `((${pullPolicy}) ? ["imagePullPolicy"] : [])`;
  return (
    // What costs much is not done where nothing differs: a rollout mostly changes one container.
    `variables.containerPairs.filter(p, p[1] != p[2]).map(p, (${changed}).map(k, p[0] + "." + k).join(", "))` +
    `.map(paths, paths != "", paths + ${why})`
  );
}

/** Kubelet resizes cpu and memory; it can change an amount or add one, but not take one away (in-place 9). */
function resourcesRule(): string {
  const [newer, older] = ['p[1].?resources', 'p[2].?resources'] as const;
  const path = 'p[0] + ".resources';
  const others = (kind: string): string =>
    `[${newer}, ${older}].map(s, s.?${kind}.orValue({})` +
    `.transformMap(k, v, !(k in ${QOS_RESOURCES}), quantity(string(v)).asApproximateFloat()))`;
  const changed = (kind: string): string => `[${others(kind)}].exists(s, s[0] != s[1])`;
  const removed =
    `${QOS_RESOURCES}.map(r, ${older}.?requests[?r].hasValue() && ` +
    `!${newer}.?requests[?r].hasValue() && !${newer}.?limits[?r].hasValue(), "requests." + r) + ` +
    `${QOS_RESOURCES}.map(r, ${older}.?limits[?r].hasValue() && !${newer}.?limits[?r].hasValue(), "limits." + r)`;
  const paths =
    `[(${newer}.?claims.orValue([]) != ${older}.?claims.orValue([]) || ${changed('requests')} || ${changed('limits')}) ` +
    `? ${path}: Forbidden: only cpu and memory can be resized in place" : "", ` +
    `[${removed}].map(r, r.size() > 0 ? ${path}." + r.join(", ") + ": Forbidden: a pod that has it cannot lose it in place; ` +
    `change the amount instead" : "")[0]]`;
  return `variables.containerPairs.map(p, ${paths}.filter(t, t != "").join("; ")).filter(t, t != "")`;
}

function pullPolicyOf(container: string): string {
  return `${container}.?imagePullPolicy.orValue(${defaultPullPolicy(container)})`;
}

/** `Always` for `:latest` and for no tag at all, `IfNotPresent` for any other tag and for a digest. */
function defaultPullPolicy(container: string): string {
  const image = `${container}.?image.orValue("")`;
  return `(${image}.matches("(^|/)[^/:@]+$") || ${image}.matches(":latest(@[^/]*)?$") ? "Always" : "IfNotPresent")`;
}

/** As kubelet and apiserver compute it: from cpu and memory of all containers; a request defaults to the limit. */
function qosClass(podSpec: string): string {
  const all = `(${podSpec}.containers + ${podSpec}.?initContainers.orValue([]))`;
  const limit = 'c.?resources.?limits[?r]';
  const request = 'c.?resources.?requests[?r]';
  const none = `${all}.all(c, ${QOS_RESOURCES}.all(r, sign(${amount(limit)}) == 0 && sign(${amount(request)}) == 0))`;
  const equal =
    `${all}.all(c, ${QOS_RESOURCES}.all(r, sign(${amount(limit)}) == 1 && ` +
    `${amount(limit)}.compareTo(${amount(`${request}.or(${limit})`)}) == 0))`;
  return `(${none} ? "BestEffort" : (${equal} ? "Guaranteed" : "Burstable"))`;
}

function amount(value: string): string {
  return `quantity(string(${value}.orValue(dyn("0"))))`;
}
