/** Names the gRPC calls of a worker by what they are about: the type of the activity, the kind of workflow task. */

import type { IncomingHttpHeaders } from 'node:http2';
import { gunzipSync } from 'node:zlib';

import proto from '@temporalio/proto';

export interface CallName {
  /** `RespondActivityTaskCompleted updateBatch`, `PollWorkflowTaskQueue`, `StartWorkflowExecution`. */
  readonly key: string;
  /** The gRPC method alone. */
  readonly method: string;
}

const { temporal } = proto;
const service = temporal.api.workflowservice.v1;

const ENDINGS = {
  RespondActivityTaskCompleted: service.RespondActivityTaskCompletedRequest,
  RespondActivityTaskFailed: service.RespondActivityTaskFailedRequest,
  RespondActivityTaskCanceled: service.RespondActivityTaskCanceledRequest,
} as const;

/** Calls of clients that change something. */
const CLIENT_CALLS = new Set([
  'StartWorkflowExecution',
  'SignalWorkflowExecution',
  'SignalWithStartWorkflowExecution',
  'RequestCancelWorkflowExecution',
  'TerminateWorkflowExecution',
]);

export class TemporalCallNames {
  /** Type of the activity by task token: an answer names the token only. */
  readonly #activities = new Map<string, string>();

  /** Of a complete request; undefined if the call changes nothing, or if only its answer tells (polls). */
  ofRequest(method: string, body: Buffer, headers: IncomingHttpHeaders): CallName | undefined {
    if (CLIENT_CALLS.has(method)) {
      return { key: method, method };
    }
    switch (method) {
      case 'RespondActivityTaskCompleted':
      case 'RespondActivityTaskFailed':
      case 'RespondActivityTaskCanceled': {
        const { taskToken } = ENDINGS[method].decode(message(body, headers));
        const token = Buffer.from(taskToken).toString('base64');
        const activity = this.#activities.get(token) ?? 'unknown';
        this.#activities.delete(token);
        return { key: `${method} ${activity}`, method };
      }
      case 'RespondWorkflowTaskCompleted': {
        const { commands } = service.RespondWorkflowTaskCompletedRequest.decode(message(body, headers));
        const types = commands.map(({ commandType }) =>
          (temporal.api.enums.v1.CommandType[commandType ?? 0] ?? '')
            .replace('COMMAND_TYPE_', '')
            .toLowerCase(),
        );
        return { key: [method, ...new Set(types)].join(' '), method };
      }
      case 'RespondWorkflowTaskFailed':
        return { key: method, method };
      default:
        return undefined;
    }
  }

  /** Of a complete answer: a poll that brought a task. */
  ofAnswer(method: string, body: Buffer, headers: IncomingHttpHeaders): CallName | undefined {
    if (method === 'PollActivityTaskQueue') {
      const { taskToken, activityType } = service.PollActivityTaskQueueResponse.decode(
        message(body, headers),
      );
      if (taskToken.length === 0) {
        return undefined;
      }
      const name = activityType?.name ?? 'unknown';
      this.#activities.set(Buffer.from(taskToken).toString('base64'), name);
      return { key: `${method} ${name}`, method };
    }
    if (method === 'PollWorkflowTaskQueue') {
      const { taskToken, query, queries } = service.PollWorkflowTaskQueueResponse.decode(
        message(body, headers),
      );
      const isQuery = query != null || Object.keys(queries).length > 0;
      return taskToken.length === 0 || isQuery ? undefined : { key: method, method };
    }
    return undefined;
  }
}

/** The one message of a unary call: a flag, four bytes of length, then the message, compressed if the flag says so. */
function message(body: Buffer, headers: IncomingHttpHeaders): Buffer {
  if (body.length < 5) {
    return Buffer.alloc(0);
  }
  const payload = body.subarray(5, 5 + body.readUInt32BE(1));
  if (body[0] === 0) {
    return payload;
  }
  const encoding = String(headers['grpc-encoding'] ?? '');
  if (encoding !== 'gzip') {
    throw new Error(`compressed by ${encoding}, which this proxy does not read`);
  }
  return gunzipSync(payload);
}
