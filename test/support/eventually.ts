/** Waiting for a condition with a deadline. */

import { patient } from './patience.ts';

/** Resolves as soon as the condition holds; asked every 5 ms. Rejects after the deadline, saying for what it waited. */
export async function eventually(what: string, condition: () => boolean, deadlineMs = 4000): Promise<void> {
  const end = performance.now() + patient(deadlineMs);
  while (!condition()) {
    if (performance.now() > end)
      throw new Error(`within ${String(patient(deadlineMs))} ms it did not happen that ${what}`);
    await new Promise((resolve) => {
      setTimeout(resolve, 5);
    });
  }
}

const LOOK_MS = 50;

/** Between looks that are whole commands, each with connections of its own: what they cost the processor others would wait for. */
export const COMMAND_LOOK_MS = 250;

/**
 * Looks, for what sends no event, until something is found: each look is a request to a server.
 * Rejects after the deadline, saying for what it waited and what `describe` tells of the last look.
 */
export async function found<T>(
  what: string,
  look: () => Promise<T | undefined>,
  deadlineMs = 30_000,
  describe: () => string = () => '',
  pauseMs = LOOK_MS,
): Promise<T> {
  const end = performance.now() + patient(deadlineMs);
  for (;;) {
    const seen = await look();
    if (seen !== undefined) return seen;
    if (performance.now() > end) {
      const last = describe();
      throw new Error(
        `within ${String(patient(deadlineMs))} ms it did not happen that ${what}${last === '' ? '' : `: ${last}`}`,
      );
    }
    await new Promise((resolve) => {
      setTimeout(resolve, pauseMs);
    });
  }
}
