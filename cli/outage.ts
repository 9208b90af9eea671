/** An apiserver that is away for a moment, told by all verbs that wait: once it has answered, only their own limit ends the wait. */

import { isGone, isTransient, toMessage } from '../kubernetes/api-error.ts';
import { backoffMs } from '../kubernetes/backoff.ts';

const FIRST_WAIT_MS = 250;
const LAST_WAIT_MS = 5_000;

export class Outage {
  readonly #tell: (what: string | undefined) => void;
  #hasAnswered = false;
  #failures = 0;
  #why: string | undefined;

  /** @param tell Told what the matter is at each failure, and undefined at each answer. */
  constructor(tell: (what: string | undefined) => void = () => undefined) {
    this.#tell = tell;
  }

  /** Why nothing was learned at the last try, in one clause; undefined after an answer. */
  get why(): string | undefined {
    return this.#why;
  }

  /** Milliseconds until the next try is worth it; 0 after an answer. */
  get waitMs(): number {
    return this.#failures === 0 ? 0 : backoffMs(this.#failures, FIRST_WAIT_MS, LAST_WAIT_MS);
  }

  answered(): void {
    this.#hasAnswered = true;
    this.#failures = 0;
    this.#why = undefined;
    this.#tell(undefined);
  }

  /** @throws the error, where nothing was answered before, and where trying again will not mend it */
  failed(error: unknown): void {
    if (!this.#hasAnswered || !(isTransient(error) || isGone(error))) throw error;
    this.#failures += 1;
    this.#why = `the cluster cannot be looked at now: ${toMessage(error)}`;
    this.#tell(this.#why);
  }

  /**
   * What `read` gives; undefined while the apiserver is away: there is no news then.
   * @throws as {@link failed}
   */
  async read<T extends object>(read: () => Promise<T>): Promise<T | undefined> {
    try {
      const value = await read();
      this.answered();
      return value;
    } catch (error) {
      this.failed(error);
      return undefined;
    }
  }
}

/** What was seen, or why nothing was. */
type Glance<T> = { readonly value: T } | { readonly unseen: string };

/**
 * A look after a write, which stands whatever becomes of the look.
 * @throws the error, where trying again will not mend it, and after Ctrl-C
 */
export async function lookAfterWrite<T>(
  interrupted: AbortSignal,
  look: () => Promise<T>,
): Promise<Glance<T>> {
  try {
    return { value: await look() };
  } catch (error) {
    if (interrupted.aborted || !isTransient(error)) throw error;
    return { unseen: toMessage(error) };
  }
}
