/**
 * A Temporal in this process behind the real client: it keeps the runs that it is told to start, runs nothing, and can be made
 * to be away, call by call. Everything that needs no fault is tested against a real server.
 */

import { Client } from '@temporalio/client';
import type { ConnectionLike, Workflow } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import { msNumberToTs } from '@temporalio/common/lib/time.js';
import { temporal } from '@temporalio/proto';

import { trusted } from '../../kubernetes/values.ts';

type StartRequest = temporal.api.workflowservice.v1.StartWorkflowExecutionRequest;
type SignalRequest = temporal.api.workflowservice.v1.SignalWorkflowExecutionRequest;
type CancelRequest = temporal.api.workflowservice.v1.RequestCancelWorkflowExecutionRequest;
type ExecutionRequest = temporal.api.workflowservice.v1.DescribeWorkflowExecutionRequest;
type CloseEvent = temporal.api.history.v1.IHistoryEvent;

const { WorkflowExecutionStatus: STATUS } = temporal.api.enums.v1;

export interface SmallRun {
  readonly workflowId: string;
  readonly runId: string;
  /** Of one that has continued as new. */
  firstRunId?: string;
  readonly memo: StartRequest['memo'];
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  closedAt?: number;
  status: temporal.api.enums.v1.WorkflowExecutionStatus;
  /** Names of the signals that it got. */
  readonly signals: string[];
  cancelRequested: boolean;
  readonly ended: Promise<CloseEvent>;
  readonly end: (event: CloseEvent) => void;
}

type Call = 'start' | 'signal' | 'cancel' | 'describe' | 'list';

export class SmallTemporal {
  readonly client: Client;
  /** Oldest first. */
  readonly runs: SmallRun[] = [];
  /** Calls that get no answer. */
  readonly away = new Set<Call>();
  /** Calls that are refused, with the server's words. */
  readonly refuses = new Map<Call, string>();
  /** Every call that was answered or not: `signal objectChanged`, `cancel`. */
  readonly calls: string[] = [];
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
    const scoped = async <R>(_: unknown, call: () => Promise<R>): Promise<R> => await call();
    const connection = {
      workflowService: {
        startWorkflowExecution: (request: StartRequest) => this.#start(request),
        signalWorkflowExecution: (request: SignalRequest) => this.#signal(request),
        requestCancelWorkflowExecution: (request: CancelRequest) => this.#cancel(request),
        describeWorkflowExecution: (request: ExecutionRequest) => this.#describe(request),
        listWorkflowExecutions: () => this.#list(),
        getWorkflowExecutionHistory: (request: ExecutionRequest) => this.#awaitEnd(request),
      },
      plugins: [],
      withDeadline: scoped,
      withAbortSignal: scoped,
      withMetadata: scoped,
    };
    this.client = new Client({ connection: trusted<ConnectionLike>(connection) });
  }

  /** A run that was there before: as another leader would have started it. */
  async open(workflowId: string, memo: Readonly<Record<string, string>>): Promise<SmallRun> {
    await this.client.workflow.start<Workflow>('rollout', { workflowId, taskQueue: 'q', memo });
    this.calls.pop();
    return this.newest(workflowId);
  }

  newest(workflowId: string): SmallRun {
    const run = this.runs.findLast((one) => one.workflowId === workflowId);
    if (run === undefined) throw failure(5, `no run of ${workflowId}`);
    return run;
  }

  complete(run: SmallRun, result: unknown): void {
    const payload = defaultPayloadConverter.toPayload(result);
    this.#close(run, STATUS.WORKFLOW_EXECUTION_STATUS_COMPLETED, {
      workflowExecutionCompletedEventAttributes: { result: { payloads: [payload] } },
    });
  }

  closeCancelled(run: SmallRun): void {
    this.#close(run, STATUS.WORKFLOW_EXECUTION_STATUS_CANCELED, {
      workflowExecutionCanceledEventAttributes: {},
    });
  }

  terminate(run: SmallRun): void {
    this.#close(run, STATUS.WORKFLOW_EXECUTION_STATUS_TERMINATED, {
      workflowExecutionTerminatedEventAttributes: { reason: 'clicked' },
    });
  }

  /** As `temporal workflow pause` does. */
  pause(run: SmallRun): void {
    run.status = STATUS.WORKFLOW_EXECUTION_STATUS_PAUSED;
  }

  #close(run: SmallRun, status: SmallRun['status'], event: CloseEvent): void {
    run.status = status;
    run.closedAt = this.#now();
    run.end(event);
  }

  #called(call: Call, what = ''): void {
    this.calls.push(`${call}${what}`);
    if (this.away.has(call)) throw failure(14, 'no server');
    const words = this.refuses.get(call);
    if (words !== undefined) throw failure(3, words);
  }

  #open(workflowId: string, firstRunId: string): SmallRun {
    const run = this.newest(workflowId);
    const isOther = firstRunId !== '' && run.runId !== firstRunId;
    if (isOther || !isOpen(run)) throw failure(5, 'workflow execution already completed');
    return run;
  }

  async #start(request: StartRequest): Promise<{ readonly runId: string }> {
    this.#called('start');
    const { workflowId, memo } = request;
    if (this.runs.some((run) => run.workflowId === workflowId && isOpen(run)))
      throw failure(6, 'already started');
    let end: (event: CloseEvent) => void = () => undefined;
    const ended = new Promise<CloseEvent>((resolve) => {
      end = resolve;
    });
    const runId = `run-${String(this.runs.length + 1)}`;
    const status = STATUS.WORKFLOW_EXECUTION_STATUS_RUNNING;
    const startedAt = this.#now();
    this.runs.push({
      workflowId,
      runId,
      memo,
      startedAt,
      status,
      signals: [],
      cancelRequested: false,
      ended,
      end,
    });
    return { runId };
  }

  async #signal({ workflowExecution, signalName }: SignalRequest): Promise<object> {
    this.#called('signal', ` ${signalName}`);
    this.#open(workflowExecution?.workflowId ?? '', '').signals.push(signalName);
    return {};
  }

  async #cancel({ workflowExecution, firstExecutionRunId }: CancelRequest): Promise<object> {
    this.#called('cancel');
    this.#open(workflowExecution?.workflowId ?? '', firstExecutionRunId).cancelRequested = true;
    return {};
  }

  async #describe({ execution }: ExecutionRequest): Promise<object> {
    this.#called('describe');
    const run = this.newest(execution?.workflowId ?? '');
    return {
      workflowExecutionInfo: describe(run),
      workflowExtendedInfo: { cancelRequested: run.cancelRequested },
    };
  }

  async #list(): Promise<object> {
    this.#called('list');
    return { executions: this.runs.filter(isOpen).map(describe) };
  }

  async #awaitEnd({ execution }: ExecutionRequest): Promise<object> {
    const run = this.runs.find(({ runId }) => runId === execution?.runId);
    if (run === undefined) throw failure(5, 'not found');
    return { history: { events: [await run.ended] } };
  }
}

function isOpen(run: SmallRun): boolean {
  return run.closedAt === undefined;
}

function describe(run: SmallRun): object {
  const { workflowId, runId, firstRunId = runId, memo, status } = run;
  return {
    execution: { workflowId, runId },
    type: { name: 'rollout' },
    firstRunId,
    taskQueue: 'q',
    status,
    historyLength: { toNumber: () => 1 },
    startTime: msNumberToTs(run.startedAt),
    ...(run.closedAt !== undefined && { closeTime: msNumberToTs(run.closedAt) }),
    memo,
  };
}

/** As gRPC reports it. */
function failure(code: number, details: string): Error {
  return Object.assign(new Error(`${String(code)} ${details}`), {
    code,
    details,
    metadata: { get: () => [] },
  });
}
