/**
 * A history as it is kept in a file: the messages of Temporal's protocol as plain JSON, without what names a machine. (The SDK's own
 * conversion wants one copy of protobufjs among all packages, which npm does not always install.)
 */

import proto from '@temporalio/proto';

type History = ReturnType<typeof messages.History.fromObject>;

const messages = proto.temporal.api.history.v1;

export interface RecordedHistory {
  readonly workflowId: string;
  readonly history: unknown;
}

interface Events {
  readonly events?: readonly {
    readonly eventType?: string;
    readonly workflowExecutionStartedEventAttributes?: { readonly workflowType?: { readonly name?: string } };
  }[];
}

/** Replay looks at none of them, and all tell where a history was made. */
const TRACES: Readonly<Record<string, string>> = { identity: 'worker', stackTrace: '' };
const STICKY_QUEUE = { name: 'sticky', kind: 'TASK_QUEUE_KIND_STICKY' };

/** For a file. */
export function historyToJson(history: Parameters<typeof messages.History.encode>[0]): unknown {
  // Through the wire format: a message that came from the server may hold what JSON has no word for.
  const decoded = messages.History.decode(messages.History.encode(history).finish());
  return withoutTraces(messages.History.toObject(decoded, { longs: String, enums: String, bytes: String }));
}

/** For replay. */
export function historyFromJson(json: unknown): History {
  return messages.History.fromObject(json as object);
}

/** The same, without the names of machines and the paths in stack traces. */
function withoutTraces(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.map(withoutTraces);
  }
  if (typeof value !== 'object' || value === null) {
    return value;
  }
  if ('kind' in value && value.kind === STICKY_QUEUE.kind) {
    return { ...value, ...STICKY_QUEUE };
  }
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, TRACES[key] ?? withoutTraces(inner)]),
  );
}

/** `WORKFLOW_EXECUTION_STARTED`, `ACTIVITY_TASK_SCHEDULED`, … */
export function eventTypes(history: unknown): readonly string[] {
  return ((history as Events).events ?? []).map(({ eventType = '' }) => eventType.replace('EVENT_TYPE_', ''));
}

/** The type of the workflow that made the history. */
export function workflowType(history: unknown): string | undefined {
  const first = (history as Events).events?.[0];
  return first?.workflowExecutionStartedEventAttributes?.workflowType?.name;
}

/** Whether all of `wanted` are there, in this order, with anything between. */
export function holdsInOrder(types: readonly string[], wanted: readonly string[]): boolean {
  let next = 0;
  for (const type of types) {
    if (type === wanted[next]) {
      next += 1;
    }
  }
  return next === wanted.length;
}
