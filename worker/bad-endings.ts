/** What is told of a run that ended without its last activity (it was terminated, or failed): an Event, and an attempt of the revision. */

import type { Logger } from 'pino';

import type { EventRecorder } from '../controllers/events.ts';
import type { BadEnding } from '../controllers/run-endings.ts';
import { toMessage } from '../kubernetes/api-error.ts';
import { recordAttempt } from '../kubernetes/attempts.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { rolloutCause } from '../kubernetes/template-change.ts';
import { workloadKey } from '../kubernetes/workload-key.ts';
import type { Workload } from '../planners/workload.ts';
import { rolloutWorkflowId } from '../workflows/messages.ts';

export interface BadEndingsOptions {
  /** Guarded by the Lease. */
  readonly client: KubernetesClient;
  /** Name of the cluster in workflow ids. */
  readonly cluster: string;
  readonly events: EventRecorder;
  readonly log: Logger;
}

export class BadEndings {
  readonly #options: BadEndingsOptions;

  constructor(options: BadEndingsOptions) {
    this.#options = options;
  }

  /** The Event, and a line of log. */
  report(workload: Workload, { reason, message }: BadEnding): void {
    const { kind, namespace, name } = workload.ref;
    this.#options.log.warn({ workload: workloadKey(kind, namespace, name), reason }, message);
    this.#options.events.record(workload, 'Warning', reason, message);
  }

  /** The attempt. @returns whether it is news; also where it could not be written, which is logged */
  async record(workload: Workload, revision: string, ending: BadEnding): Promise<boolean> {
    const { client, cluster, log } = this.#options;
    const { commit, by, reason } = rolloutCause(workload);
    const cause = { ...(by !== undefined && { by }), ...(reason !== undefined && { reason }) };
    try {
      return await recordAttempt(client, workload.ref, revision, {
        runId: ending.runId,
        workflowId: rolloutWorkflowId(cluster, workload.ref),
        startedAt: new Date(ending.startedAt).toISOString(),
        endedAt: new Date(ending.closedAt).toISOString(),
        outcome: ending.reason === 'RunTerminated' ? 'Terminated' : 'Failed',
        ...cause,
        endedBecause: ending.message,
        ...(commit !== undefined && { commit }),
      });
    } catch (error) {
      log.warn({ error: toMessage(error) }, 'attempt not recorded');
      return true;
    }
  }
}
