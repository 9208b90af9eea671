/** The places at which a worker can be killed, as a recorded run shows them. */

import type { Side } from '../support/api-proxy.ts';

export interface CrashSite {
  readonly layer: 'apiserver' | 'temporal';
  /** What the request does, the same in every run of the scenario. */
  readonly key: string;
  /** What sort of request it is, without names. */
  readonly kind: string;
  /** From 1, over the requests with this key. */
  readonly occurrence: number;
  readonly side: Side;
}

export function describeSite({ key, occurrence, side }: CrashSite): string {
  return `${side} ${key} #${String(occurrence)}`;
}

export function isSameSite(a: CrashSite, b: CrashSite): boolean {
  return a.layer === b.layer && a.key === b.key && a.occurrence === b.occurrence && a.side === b.side;
}

/** How often a worker asks for work is by the clock: the first time alone is in each run. */
const ASKS = /^Poll/;

/**
 * A few sites that reach every kind of request: of each the first `before` and the last `after` in turn, of `both` the two.
 */
export function sampleOf<T extends CrashSite>(sites: readonly T[], both?: RegExp): readonly T[] {
  const sample: T[] = [];
  for (const [index, kind] of [...new Set(sites.map((site) => site.kind))].sort().entries()) {
    const ofKind = sites.filter((site) => site.kind === kind);
    const before = ofKind.find(({ side }) => side === 'before');
    const isAfter = ({ side }: CrashSite) => side === 'after';
    const after = ASKS.test(kind) ? ofKind.find(isAfter) : ofKind.findLast(isAfter);
    const sides = [before, after].filter((site) => site !== undefined);
    const wanted =
      both?.test(kind) === true || sides.length === 1 ? sides : sides.slice(index % 2, (index % 2) + 1);
    sample.push(...wanted);
  }
  return sample;
}

/** Runs jobs, a few at a time, in their order; each is told its lane, from 0. Resolves with their results, in their order. */
export async function inParallel<T, R>(
  items: readonly T[],
  limit: number,
  job: (item: T, lane: number) => Promise<R>,
): Promise<readonly R[]> {
  const results: R[] = [];
  let next = 0;
  const work = async (lane: number) => {
    for (let index = next++; index < items.length; index = next++) {
      results[index] = await job(items[index] as T, lane);
    }
  };
  await Promise.all(Array.from({ length: limit }, async (_, lane) => await work(lane)));
  return results;
}
