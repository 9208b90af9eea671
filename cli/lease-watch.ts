/** Whether anybody acts, told while a verb waits: that a leader has died is seen long before its Lease expires. */

import { pause } from '../kubernetes/backoff.ts';
import { formatAge } from './durations.ts';
import type { LeaseState } from './lease.ts';
import { describeFree, glanceAtLease, leaseName, whyNamespaceNotKept } from './lease.ts';
import type { Session } from './session.ts';

/** A leader renews each second: one that has not for so long, milliseconds, has died, or cannot reach the apiserver. */
const SILENCE_MS = 4_000;
const OVERDUE_MS = 1_500;
const LOOK_MS = 250;

/** Said when it is so again. */
export const ACTS_AGAIN = 'a worker acts again';

export class LeaseWatch {
  readonly #session: Session;
  #renewedAt: string | undefined;
  /** Milliseconds since the epoch, by the clock here: those of other machines may be wrong. */
  #changedAt: number;
  #silence = 0;
  /** It was renewed while this watched: before that the silence is as long as the look, at least. */
  #isSeen = false;

  constructor(session: Session) {
    this.#session = session;
    this.#changedAt = session.io.now();
  }

  /** A renewal was missing at the last look: it is worth looking again soon. */
  get isOverdue(): boolean {
    return this.#silence > OVERDUE_MS;
  }

  /** One look. Why nobody acts, in one clause; undefined while somebody does, and where it is not known. */
  async look(): Promise<string | undefined> {
    const lease = await glanceAtLease(this.#session);
    const silent = this.#silenceOf(lease);
    if (silent !== undefined || lease.state !== 'held') return silent;
    return whyNamespaceNotKept(lease, this.#session.namespace, leaseName(this.#session));
  }

  /** As {@link look}, for what is in no namespace: a repository is followed by whoever leads. */
  async lookForLeader(): Promise<string | undefined> {
    return this.#silenceOf(await glanceAtLease(this.#session));
  }

  #silenceOf(lease: LeaseState): string | undefined {
    const name = leaseName(this.#session);
    if (lease.state === 'free') {
      this.#silence = 0;
      return describeFree(lease, name);
    }
    if (lease.state === 'unknown') return undefined;
    const now = this.#session.io.now();
    if (lease.renewedAt !== this.#renewedAt) {
      this.#isSeen = this.#renewedAt !== undefined;
      this.#renewedAt = lease.renewedAt;
      this.#changedAt = now;
    }
    this.#silence = now - this.#changedAt;
    if (this.#silence < SILENCE_MS) return undefined;
    return `the worker ${lease.holder} holds the Lease ${name}, but has not renewed it for ${this.#howLong(lease)}`;
  }

  /** What was seen here, and where that is less than all, what the holder wrote: whose clock that is, is said. */
  #howLong({ renewedAt }: LeaseState & { readonly state: 'held' }): string {
    const seen = formatAge(this.#silence);
    if (this.#isSeen) return seen;
    const last = Date.parse(renewedAt ?? '');
    if (Number.isNaN(last)) return `at least ${seen}`;
    return `at least ${seen} (last at ${new Date(last).toISOString().slice(0, 19)}Z, by its own clock)`;
  }
}

/**
 * Why nobody acts, for a verb that looks only once: it waits for the next renewal, which comes within a second. A Lease that was
 * renewed a moment ago says nothing, its holder may have died since.
 * @returns one clause; undefined when somebody acts
 */
export async function whyNobodyActs(session: Session): Promise<string | undefined> {
  return await whyAfterRenewal(session, async (watch) => await watch.look());
}

/** {@link whyNobodyActs}, for what is in no namespace. */
export async function whyNobodyLeads(session: Session): Promise<string | undefined> {
  return await whyAfterRenewal(session, async (watch) => await watch.lookForLeader());
}

async function whyAfterRenewal(
  session: Session,
  look: (watch: LeaseWatch) => Promise<string | undefined>,
): Promise<string | undefined> {
  const { io } = session;
  const watch = new LeaseWatch(session);
  const first = await glanceAtLease(session);
  const why = await look(watch);
  if (why !== undefined || first.state !== 'held') return why;
  for (const until = io.now() + SILENCE_MS + LOOK_MS; io.now() < until && !io.interrupted.aborted;) {
    await pause(LOOK_MS, io.interrupted);
    const now = await glanceAtLease(session);
    if (now.state !== 'held' || now.renewedAt !== first.renewedAt) break;
  }
  return await look(watch);
}
