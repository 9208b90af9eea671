/** Prometheus metrics of one worker process, with bounded labels. */

import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';

import type { RequestRecord } from '../kubernetes/client.ts';

export class Metrics {
  readonly registry = new Registry();
  readonly leader = new Gauge({
    name: 'fairlead_leader',
    help: '1 while this replica holds the Lease',
    registers: [this.registry],
  });
  readonly temporalUp = new Gauge({
    name: 'fairlead_temporal_reachable',
    help: '1 while Temporal answers',
    registers: [this.registry],
  });
  readonly reconciles = new Counter({
    name: 'fairlead_reconciles_total',
    help: 'Reconciles by kind and result',
    labelNames: ['kind', 'result'] as const,
    registers: [this.registry],
  });
  readonly planSeconds = new Histogram({
    name: 'fairlead_plan_duration_seconds',
    help: 'Time to plan one workload',
    labelNames: ['kind'] as const,
    buckets: [0.001, 0.005, 0.02, 0.1, 0.5],
    registers: [this.registry],
  });
  readonly actions = new Counter({
    name: 'fairlead_actions_total',
    help: 'Writes of plans by kind, purpose and outcome',
    labelNames: ['kind', 'purpose', 'outcome'] as const,
    registers: [this.registry],
  });
  readonly rolloutsStarted = new Counter({
    name: 'fairlead_rollouts_started_total',
    help: 'Rollout runs started by kind',
    labelNames: ['kind'] as const,
    registers: [this.registry],
  });
  readonly eventsLost = new Counter({
    name: 'fairlead_events_lost_total',
    help: 'Kubernetes Events that could not be written',
    registers: [this.registry],
  });
  readonly looks = new Counter({
    name: 'fairlead_repository_looks_total',
    help: 'Looks at repositories by result',
    labelNames: ['repository', 'result'] as const,
    registers: [this.registry],
  });
  readonly lookSeconds = new Histogram({
    name: 'fairlead_repository_look_duration_seconds',
    help: 'Time of a look at a repository',
    labelNames: ['repository'] as const,
    buckets: [0.01, 0.1, 0.5, 2, 10, 30],
    registers: [this.registry],
  });
  readonly drifted = new Gauge({
    name: 'fairlead_drifted_objects',
    help: 'Objects that are not as their repository wants them',
    labelNames: ['repository'] as const,
    registers: [this.registry],
  });
  readonly healed = new Counter({
    name: 'fairlead_drift_corrections_total',
    help: 'Objects that were asked to be put back',
    labelNames: ['repository'] as const,
    registers: [this.registry],
  });
  readonly webhooks = new Counter({
    name: 'fairlead_webhooks_total',
    help: 'Requests to /hook by result',
    labelNames: ['result'] as const,
    registers: [this.registry],
  });
  readonly #requests = new Histogram({
    name: 'fairlead_kubernetes_request_duration_seconds',
    help: 'Requests to the apiserver by method, resource and status',
    labelNames: ['method', 'resource', 'status'] as const,
    buckets: [0.005, 0.02, 0.1, 0.5, 2, 10],
    registers: [this.registry],
  });

  constructor() {
    collectDefaultMetrics({ register: this.registry });
  }

  /** Hook of the Kubernetes client. */
  request(record: RequestRecord): void {
    const labels = { method: record.method, resource: record.resource, status: String(record.status) };
    this.#requests.observe(labels, record.durationMs / 1000);
  }
}
