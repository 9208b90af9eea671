/**
 * Anybody may send a signal, in any encoding. The SDK decodes it before any handler sees it, and what it cannot decode fails the workflow
 * task, again and again: the run would hear no cancellation either. So that is taken for a signal without payload.
 */

import { defaultPayloadConverter } from '@temporalio/common';
import type { ActivateInput, WorkflowInterceptorsFactory } from '@temporalio/workflow';

/** Of the workflow bundle. What is no signal fails as before: inputs and results of ours are always readable. */
export const interceptors: WorkflowInterceptorsFactory = () => ({
  internals: [
    {
      activate(input, next) {
        emptyUnreadable(input);
        next(input);
      },
    },
  ],
});

/** Takes the payload from each signal that holds one that cannot be decoded. */
function emptyUnreadable({ activation }: ActivateInput): void {
  for (const { signalWorkflow: signal } of activation.jobs ?? []) {
    if (signal?.input?.every(isReadable) === false) signal.input = [];
  }
}

function isReadable(payload: Parameters<typeof defaultPayloadConverter.fromPayload>[0]): boolean {
  try {
    defaultPayloadConverter.fromPayload(payload);
    return true;
  } catch {
    return false;
  }
}
