/** Plays that mostly wait, a few at a time: each is a test of its own, and all of them take little longer than the longest. */

import { afterAll } from '@jest/globals';

type Play = () => Promise<void>;

interface Entry {
  readonly play: Play;
  readonly isLeftOut: () => boolean;
  readonly settle: (end: Promise<void>) => void;
}

/** Bodies of tests that are none of this run. */
const leftOut = new WeakSet<object>();

/** Whoever makes no test of a body says so: the lane passes over its play. */
export function leaveOut(body: object): void {
  leftOut.add(body);
}

/**
 * Answers what makes a test body of a play. The first body that runs starts its own and all behind it, in the order of their
 * declaration and `width` at a time (those before it were not selected); each body ends as its own play does. Declares a hook: after the last
 * selected test no other play begins.
 */
export function useLanes(width: number): (play: Play) => Play {
  const entries: Entry[] = [];
  let next = 0;
  let isStarted = false;

  async function lane(): Promise<void> {
    for (let entry = entries[next]; entry !== undefined; entry = entries[next]) {
      next += 1;
      if (entry.isLeftOut()) continue;
      const end = entry.play();
      entry.settle(end);
      await Promise.allSettled([end]);
    }
  }

  afterAll(() => {
    next = entries.length;
  });

  return (play) => {
    const own = entries.length;
    const ended = new Promise<void>((resolve) => {
      entries.push({ play, isLeftOut: () => leftOut.has(body), settle: resolve });
    });
    // Whoever is not waited for (a test that was not selected) must not end the process.
    ended.catch(() => undefined);
    const body = async () => {
      if (!isStarted) {
        isStarted = true;
        next = own;
        for (let number = 0; number < width; number += 1) void lane();
      }
      await ended;
    };
    return body;
  };
}
