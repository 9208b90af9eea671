/** What `rolling-update --dry-run` says: the same document and one sentence, whatever the command would do. Pure. */

import type { ControllerManifest } from '../planners/rolling-update-record.ts';
import type { Refused } from '../planners/rolling-update-refusals.ts';
import type { RollbackDecision } from '../planners/rolling-update-rollback.ts';
import type { StartDecision } from '../planners/rolling-update-start.ts';
import { nextManifest } from '../planners/rolling-update-definition.ts';
import { inReplicas, sizeOf } from '../planners/replication-controller.ts';
import type { UpdateView } from '../planners/rolling-update-view.ts';
import type { Document } from './structured.ts';
import { CLI_API_VERSION } from './structured.ts';

export interface UpdatePlanDocument extends Document {
  readonly kind: 'RollingUpdatePlan';
  /** `attach`: what is asked for is under way; `none`: it is done. */
  readonly action: 'begin' | 'attach' | 'rollback' | 'none';
  readonly namespace: string;
  readonly name: string;
  /** Name of the next controller, and the one under which it stays: absent where none is known. */
  readonly next?: string;
  readonly to?: string;
  readonly desired?: number;
  /** The next controller, where it is known in full. */
  readonly controller?: ControllerManifest;
  readonly message: string;
}

/** Of a command that rolls something out. */
export function planStart(view: UpdateView, decision: Exclude<StartDecision, Refused>): UpdatePlanDocument {
  const { name, old, record } = view;
  switch (decision.do) {
    case 'finished':
      return { ...about(view), action: 'none', message: `nothing to do: ${decision.message}` };
    case 'attach':
      return {
        ...about(view),
        action: 'attach',
        ...underWay(view),
        ...(record !== undefined && { controller: nextManifest(record, view.state.desired) }),
        message: `the update of ${name} is in progress`,
      };
    case 'begin': {
      const { data, desired } = decision;
      const { next, to } = data;
      const end = to === next ? '' : `, which then becomes ${to}`;
      const present = old === undefined ? desired : sizeOf(old);
      const now = present === desired ? '' : ` (${String(present)} now)`;
      return {
        ...about(view),
        action: 'begin',
        next,
        to,
        desired,
        controller: nextManifest(data, desired),
        message: `${name} would be replaced by ${next} with ${inReplicas(desired)}${now}${end}`,
      };
    }
  }
}

/** Of `--rollback`. */
export function planRollback(
  view: UpdateView,
  decision: Exclude<RollbackDecision, Refused>,
): UpdatePlanDocument {
  const { name } = view;
  const isTurned = decision.do === 'attach';
  const { next, desired } = underWay(view);
  return {
    ...about(view),
    action: isTurned ? 'attach' : 'rollback',
    ...(next !== undefined && { next }),
    to: name,
    desired,
    message: isTurned
      ? `the update of ${name} is being rolled back already`
      : `${next === undefined ? '' : `${next} would shrink and `}${name} ${next === undefined ? 'would ' : ''}grow again`,
  };
}

function about({ name, namespace }: UpdateView) {
  return { apiVersion: CLI_API_VERSION, kind: 'RollingUpdatePlan', namespace, name } as const;
}

function underWay({ nextController, record, keepsName, name, state: { desired } }: UpdateView) {
  const next = nextController?.metadata.name ?? record?.next;
  return { ...(next !== undefined && { next }), to: keepsName && next !== undefined ? next : name, desired };
}
