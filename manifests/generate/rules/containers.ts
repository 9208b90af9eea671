/** Rules of single containers; `variables.containers` holds them all as {path, it, runs} (pkg/apis/core/validation). */

import type { Variable } from '../policy-view.ts';

/** One check of a thing in a list: holds, or the end of the message after the thing's path. Both are CEL. */
interface Check {
  readonly holds: string;
  readonly otherwise: string;
}

const PROBES = ['livenessProbe', 'readinessProbe', 'startupProbe'] as const;
/** Rules of every container and init container of a template. */
export function containerRules(): readonly Variable[] {
  return [
    { name: 'containerRules', expression: eachContainer(containerChecks()) },
    { name: 'containerProbes', expression: eachContainer(PROBES.flatMap((probe) => probeChecks(probe))) },
    { name: 'containerResources', expression: eachContainer(resourceChecks()) },
    { name: 'containerEnv', expression: envRule() },
    { name: 'containerMounts', expression: mountRule() },
    { name: 'containerDevices', expression: inEach('volumeDevices', 'e', notFound('')) },
  ];
}

function containerChecks(): readonly Check[] {
  return [
    { holds: 'x.it.?image.orValue("") != ""', otherwise: '".image: Required value"' },
    {
      holds:
        'x.path.contains(".initContainers[") ? x.it.?restartPolicy.orValue("Always") == "Always" || x.it.?restartPolicyRules.hasValue() ' +
        ': true',
      otherwise:
        '".restartPolicy: Unsupported value: \\"" + x.it.restartPolicy + "\\": supported values: \\"Always\\""',
    },
    ...(['lifecycle', ...PROBES] as const).map((field) => ({
      holds: `x.runs || !x.it.?${field}.hasValue()`,
      otherwise: `".${field}: Forbidden: may not be set for init containers without restartPolicy=Always"`,
    })),
    {
      holds:
        'x.it.?ports.orValue([]).all(p, p.?name.orValue("") == "" || ' +
        'x.it.ports.filter(o, o.?name.orValue("") == p.name).size() == 1)',
      otherwise: '".ports: Duplicate value: two ports have the same name"',
    },
    {
      holds: 'x.it.?ports.orValue([]).all(p, p.?name.orValue("") == "" || p.name.matches("[a-z]"))',
      otherwise: '".ports: Invalid value: a port name must contain at least one letter (a-z)"',
    },
    {
      holds:
        '!variables.podSpec.?hostNetwork.orValue(false) || ' +
        'x.it.?ports.orValue([]).all(p, p.?hostPort.orValue(0) == 0 || p.hostPort == p.containerPort)',
      otherwise: '".ports: Invalid value: hostPort must match containerPort when `hostNetwork` is true"',
    },
    {
      holds:
        'x.it.?envFrom.orValue([]).all(e, [e.?configMapRef.hasValue(), e.?secretRef.hasValue()].filter(h, h).size() == 1)',
      otherwise:
        '".envFrom: Invalid value: each entry must have exactly one of `configMapRef` or `secretRef`"',
    },
  ];
}

function probeChecks(probe: string): readonly Check[] {
  const value = `x.it.?${probe}`;
  const kinds = ['exec', 'httpGet', 'tcpSocket', 'grpc'].map((kind) => `${value}.?${kind}.hasValue()`);
  return [
    {
      holds: `!${value}.hasValue() || [${kinds.join(', ')}].filter(h, h).size() > 0`,
      otherwise: `".${probe}: Required value: must specify a handler type (exec, httpGet, tcpSocket or grpc)"`,
    },
    {
      holds: `[${kinds.join(', ')}].filter(h, h).size() < 2`,
      otherwise: `".${probe}: Forbidden: may not specify more than 1 handler type"`,
    },
    ...(probe === 'readinessProbe'
      ? [
          {
            holds: `!${value}.?terminationGracePeriodSeconds.hasValue()`,
            otherwise: `".${probe}.terminationGracePeriodSeconds: Invalid value: must not be set for readinessProbes"`,
          },
        ]
      : [
          {
            holds: `${value}.?successThreshold.orValue(1) in [0, 1]`,
            otherwise: `".${probe}.successThreshold: Invalid value: " + string(${value}.?successThreshold.orValue(1)) + ": must be 1"`,
          },
        ]),
  ];
}

function resourceChecks(): readonly Check[] {
  const requests = 'x.it.?resources.?requests.orValue({})';
  const limits = 'x.it.?resources.?limits.orValue({})';
  return [
    ...[
      ['requests', requests],
      ['limits', limits],
    ].map(([field = '', list = '']) => ({
      holds: `${list}.all(r, sign(${amount(list)}) >= 0)`,
      otherwise: `".resources.${field}: Invalid value: must be greater than or equal to 0"`,
    })),
    ...[
      ['requests', requests],
      ['limits', limits],
    ].map(([field = '', list = '']) => ({
      holds: `${list}.all(r, ${IS_RESOURCE_NAME})`,
      otherwise:
        `".resources.${field}: Invalid value: " + ${list}.map(r, !(${IS_RESOURCE_NAME}), r).join(", ") + ` +
        '": must be a standard resource type (cpu, memory, ephemeral-storage, hugepages-…) or fully qualified (example.com/name)"',
    })),
    {
      holds: `${requests}.all(r, !(r in ${limits}) || ${amount(requests)}.compareTo(${amount(limits)}) <= 0)`,
      otherwise:
        `".resources.requests: Invalid value: " + ${requests}.map(r, r in ${limits} && ` +
        `${amount(requests)}.compareTo(${amount(limits)}) > 0, r).join(", ") + ": must be less than or equal to the limit"`,
    },
  ];
}

const IS_RESOURCE_NAME =
  '(r in ["cpu", "memory", "ephemeral-storage"] || r.startsWith("hugepages-") || r.contains("/"))';

function envRule(): string {
  const sources = ['fieldRef', 'resourceFieldRef', 'configMapKeyRef', 'secretKeyRef', 'fileKeyRef'];
  const count = `[${sources.map((source) => `e.?valueFrom.?${source}.hasValue()`).join(', ')}].filter(h, h).size()`;
  const text =
    'e.?value.orValue("") != "" && e.?valueFrom.hasValue() ? "].valueFrom: Invalid value: may not be specified when `value` is not empty" : ' +
    `(e.?valueFrom.hasValue() && ${count} != 1 ? "].valueFrom: Invalid value: must specify exactly one of: ` +
    `${sources.map((source) => `\`${source}\``).join(', ')}" : "")`;
  return inEach('env', 'e', text);
}

function mountRule(): string {
  return inEach(
    'volumeMounts',
    'e',
    notFound(
      '(e.?subPath.orValue("") != "" && e.?subPathExpr.orValue("") != "" ? "].subPathExpr: Invalid value: subPathExpr and subPath are mutually exclusive" : ' +
        '(e.?subPath.orValue("").matches("(^/|(^|/)[.][.](/|$))") ? "].subPath: Invalid value: must be a relative path without \'..\'" : ""))',
    ),
  );
}

/** A mount or device must name a volume or a claim template; then `otherwise` (CEL) decides. */
function notFound(otherwise: string): string {
  return (
    '!(e.name in variables.volumeNames) ? "].name: Not found: \\"" + e.name + "\\"; it must name one of spec.template.spec.volumes or ' +
    `spec.volumeClaimTemplates" : ${otherwise === '' ? '""' : otherwise}`
  );
}

/** A refusal for each entry of a list inside each container for which `text` (CEL) is not empty. */
function inEach(list: string, item: string, text: string): string {
  return (
    `variables.containers.map(x, x.it.?${list}.orValue([]).transformList(j, ${item}, [${text}].map(t, t == "" ? "" : ` +
    `x.path + ".${list}[" + string(j) + t)[0]).filter(t, t != "").join("; ")).filter(t, t != "")`
  );
}

function eachContainer(checks: readonly Check[]): string {
  const texts = checks.map(({ holds, otherwise }) => `(${holds}) ? "" : x.path + ${otherwise}`);
  return `variables.containers.map(x, [${texts.join(',\n')}].filter(t, t != "").join("; ")).filter(t, t != "")`;
}

function amount(list: string): string {
  return `quantity(string(${list}[r]))`;
}
