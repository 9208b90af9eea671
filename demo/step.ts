/** A story of steps, each judged by what the cluster and Temporal say. */

import { toMessage } from '../kubernetes/api-error.ts';
import type { Stage } from './stage.ts';

export interface Step {
  /** For the closing table. */
  readonly name: string;
  readonly title: string;
  /** What it must bring about, in a few words. */
  readonly expected: string;
  /** Does it and looks at what became of it. Resolves with what was seen, rejects when it is not what was expected. */
  readonly play: (stage: Stage) => Promise<string>;
}

export interface StepResult {
  readonly name: string;
  readonly expected: string;
  readonly seen: string;
  readonly milliseconds: number;
  readonly ok: boolean;
}

/** Plays the steps in order; after one that failed the rest is not played. Rejects only when the demo was interrupted. */
export async function playSteps(
  stage: Stage,
  steps: readonly Step[],
  interrupted: AbortSignal,
): Promise<readonly StepResult[]> {
  const { screen } = stage;
  const { good, bad } = screen.colors;
  const results: StepResult[] = [];
  for (const [index, { name, title, expected, play }] of steps.entries()) {
    if (results.some(({ ok }) => !ok)) {
      results.push({ name, expected, seen: 'not played', milliseconds: 0, ok: false });
      continue;
    }
    screen.head(`${String(index + 1)}/${String(steps.length)}  ${title}`);
    const begun = performance.now();
    try {
      const seen = await play(stage);
      results.push({ name, expected, seen, milliseconds: performance.now() - begun, ok: true });
      screen.say(good(`  ✔ ${seen}`));
    } catch (error) {
      if (interrupted.aborted) throw error;
      const seen = toMessage(error);
      results.push({ name, expected, seen, milliseconds: performance.now() - begun, ok: false });
      screen.say(bad(`  ✗ ${seen}`));
    }
  }
  return results;
}

/** Rejects a step: what was seen is not what it must bring about. */
export function check(condition: boolean, seen: string): asserts condition {
  if (!condition) throw new Error(seen);
}
