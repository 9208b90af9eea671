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

/** An event in a line: `ACTIVITY_TASK_COMPLETED`, and what it carries of payloads. */
export function describeEvents(history: unknown): readonly string[] {
  return ((history as Events).events ?? []).map((event) =>
    [(event.eventType ?? '').replace('EVENT_TYPE_', ''), ...payloadsOf(event)].join(' '),
  );
}

function payloadsOf(value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null) return [];
  if ('data' in value && 'metadata' in value && typeof value.data === 'string') {
    return [Buffer.from(value.data, 'base64').toString()];
  }
  return Object.values(value).flatMap(payloadsOf);
}

/** The type of the workflow that made the history. */
export function workflowType(history: unknown): string | undefined {
  const first = (history as Events).events?.[0];
  return first?.workflowExecutionStartedEventAttributes?.workflowType?.name;
}

/** What a history must hold to be what its name says. */
export interface Contents {
  /** Events in their order, with anything between: the type, and after a blank some of what it carries. */
  readonly holds: readonly string[];
  /** What no event carries. */
  readonly lacks?: string;
}

/** What the history lacks, or has and must not have; undefined where it is what its name says. */
export function wrongIn(history: unknown, { holds, lacks }: Contents): string | undefined {
  const events = describeEvents(history);
  let next = 0;
  for (const event of events) {
    const wanted = holds[next];
    if (wanted === undefined) break;
    const [type = '', ...words] = wanted.split(' ');
    if (event.split(' ')[0] === type && event.includes(words.join(' '))) next += 1;
  }
  if (next < holds.length) return `no ${holds.slice(next).join(', then ')}`;
  return lacks !== undefined && events.some((event) => event.includes(lacks)) ? `has ${lacks}` : undefined;
}
