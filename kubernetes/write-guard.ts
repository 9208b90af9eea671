/** Guards of writes: what a client asks, synchronously, right before a mutating request is put on the wire. */

/** This process may not write now. Retrying elsewhere or later is right; nothing has been sent. */
export class WriteRefusedError extends Error {
  override name = 'WriteRefusedError';
}

/** Milliseconds of a clock that also counts the time in which the process was suspended. */
export type ElapsedClock = () => number;

/**
 * A stopwatch started now. It answers the larger of what the monotonic and the wall clock saw pass: the monotonic clock
 * stands still while a machine is suspended, the wall clock may be set back. Too large an answer only refuses a write.
 */
export function startStopwatch(
  monotonic: ElapsedClock = () => performance.now(),
  wall: ElapsedClock = () => Date.now(),
): ElapsedClock {
  const monotonicStart = monotonic();
  const wallStart = wall();
  return () => Math.max(monotonic() - monotonicStart, wall() - wallStart);
}

/**
 * The guard of one activity: no write starts after 70 % of its startToClose (design "One writer"), when the server may
 * soon hand the work to another attempt.
 * @param elapsed Stopwatch started when the attempt started.
 */
export function startToCloseGuard(startToCloseMs: number, elapsed: ElapsedClock): () => void {
  const limit = startToCloseMs * 0.7;
  return () => {
    const passed = elapsed();
    if (passed > limit) {
      throw new WriteRefusedError(
        `write refused: ${Math.round(passed)} ms of the attempt's ${startToCloseMs} ms have passed, ` +
          `and no write starts after 70 %; the next attempt goes on`,
      );
    }
  };
}
