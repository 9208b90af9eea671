/** Events of operators' wishes, told when the object shows them: whoever wrote them, by whatever means. */

import { describePinned } from '../kubernetes/wish-annotations.ts';
import type { Pin, Wish, Workload } from '../planners/workload.ts';

export interface WishEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: 'RolloutPaused' | 'RolloutResumed' | 'RolloutAborted' | 'RolloutUndone' | 'RolledBack';
  readonly message: string;
}

/**
 * What has changed between two states of one workload. Nothing is told of a state that was met first: it is not news, except for a
 * pause that the status does not tell of yet, which came while nobody led.
 * @param pauseIsTold Whether the status that was read knows of the pause.
 */
export function wishEvents(
  before: Workload | undefined,
  now: Workload,
  pauseIsTold: boolean,
): readonly WishEvent[] {
  if (before === undefined || before.ref.uid !== now.ref.uid) {
    return now.paused === undefined || pauseIsTold ? [] : [pauseEvent(now.paused)];
  }
  const events: WishEvent[] = [];
  if (before.paused === undefined && now.paused !== undefined) {
    events.push(pauseEvent(now.paused));
  } else if (before.paused !== undefined && now.paused === undefined) {
    events.push({ type: 'Normal', reason: 'RolloutResumed', message: 'resumed' });
  }
  if (now.pinned !== undefined && now.pinned.at !== before.pinned?.at) {
    events.push(pinEvent(now.pinned));
  }
  return events;
}

function pauseEvent(paused: Wish): WishEvent {
  return { type: 'Normal', reason: 'RolloutPaused', message: `paused${describe(paused)}` };
}

function pinEvent(pin: Pin): WishEvent {
  const way = `${describePinned(pin)}${describe(pin)}`;
  if (pin.verb === 'abort') {
    return { type: 'Warning', reason: 'RolloutAborted', message: `aborted: ${way}` };
  }
  if (pin.verb === 'deadline') {
    return { type: 'Warning', reason: 'RolledBack', message: `rolled back: ${way}` };
  }
  return { type: 'Normal', reason: 'RolloutUndone', message: `undone: ${way}` };
}

function describe({ by, reason }: Wish): string {
  return `${by === undefined ? '' : ` by ${by}`}${reason === undefined ? '' : `: ${reason}`}`;
}
