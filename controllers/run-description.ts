/** How a run shows itself in the Temporal UI from its first second: memo, search attributes, summary, details. */

import { SearchAttributeType, TypedSearchAttributes, defineSearchAttributeKey } from '@temporalio/common';

import type { Workload } from '../planners/workload.ts';
import type { RolloutInput } from '../workflows/messages.ts';
import type { SearchAttributeName } from '../workflows/search-attributes.ts';
import type { Observation } from './plan-feed.ts';
import { retryMark } from './run-state.ts';

/** The part of the start options that shows the run to operators. */
export interface RunDescription {
  readonly memo: Readonly<Record<string, string>>;
  readonly typedSearchAttributes: TypedSearchAttributes;
  readonly staticSummary: string;
  readonly staticDetails: string;
}

/** The server refuses longer summaries, bytes; reasons of operators may hold anything. */
const SUMMARY_LIMIT = 390;

/** Everything of `client.workflow.start` that describes the run. The memo is what a new leader knows the run by. */
export function startOptions(input: RolloutInput, observation: Observation): RunDescription {
  const { workload: ref, target, cluster } = input;
  const values: Record<SearchAttributeName, string | undefined> = {
    KubeCluster: cluster,
    WorkloadKind: ref.kind,
    WorkloadNamespace: ref.namespace,
    WorkloadName: ref.name,
    WorkloadRevision: observation.plan.updateRevision,
    RolloutPhase: 'Progressing',
    GitCommit: input.commit,
  };
  const retry = retryMark(observation.workload);
  const attributes = input.searchAttributes.flatMap((name) => {
    const value = values[name];
    return value === undefined
      ? []
      : [{ key: defineSearchAttributeKey(name, SearchAttributeType.KEYWORD), value }];
  });
  return {
    memo: {
      uid: ref.uid,
      target,
      clusterUid: input.clusterUid,
      ...(retry !== '' && { grantedRetry: retry }),
    },
    typedSearchAttributes: new TypedSearchAttributes(attributes),
    staticSummary: clipBytes(summary(observation, input), SUMMARY_LIMIT),
    staticDetails: details(observation, input),
  };
}

function summary({ plan, workload }: Observation, input: RolloutInput): string {
  const { progress } = plan;
  const revision = plan.updateRevision === undefined ? 'new revision' : `revision ${plan.updateRevision}`;
  const commit = input.commit === undefined ? '' : `, commit ${input.commit.slice(0, 8)}`;
  const cause = input.reason === undefined ? '' : `, ${causeOf(input)}`;
  return (
    `${workload.ref.kind} ${workload.ref.namespace}/${workload.ref.name} → ${revision}: ` +
    `${images(workload)}, ${String(progress.target)} ${progress.target === 1 ? 'pod' : 'pods'}, maxUnavailable ${String(progress.maxUnavailable)}${commit}${cause}`
  );
}

function details({ workload, plan }: Observation, input: RolloutInput): string {
  const rows = [
    [
      'Workload',
      `${workload.ref.kind}.${workload.ref.group} \`${workload.ref.namespace}/${workload.ref.name}\``,
    ],
    ['uid', `\`${workload.ref.uid}\``],
    ['Pods to update', String(plan.progress.target - plan.progress.updated)],
    ['Commit', input.commit === undefined ? 'not from git' : `\`${input.commit}\``],
    ...(input.repository === undefined ? [] : [['Repository', input.repository]]),
    ...(input.reason === undefined ? [] : [['Cause', causeOf(input)]]),
    ['On deadline', input.onDeadline],
  ];
  // The UI's frame is a line too short; the last one is an empty one (U+00A0).
  return [
    '| | |',
    '|---|---|',
    ...rows.map(([name, value]) => `| ${String(name)} | ${String(value)} |`),
    '',
    '\u00a0',
  ].join('\n');
}

/** `undo: leaks memory (alice)` */
function causeOf({ by, reason = '' }: RolloutInput): string {
  return by === undefined ? reason : `${reason} (${by})`;
}

/** `web:1.30`; of many containers the first two. */
function images({ template }: Workload): string {
  const all = template.spec.containers.map(({ image = '' }) => image.split('/').at(-1) ?? '');
  return `${all.slice(0, 2).join(', ')}${all.length > 2 ? ', …' : ''}`;
}

/** As much of the text as fits, without half a character. */
export function clipBytes(text: string, limit: number): string {
  const bytes = Buffer.from(text);
  return bytes.length <= limit
    ? text
    : bytes
        .subarray(0, limit)
        .toString()
        .replace(/\uFFFD+$/, '');
}
