/** Crashes at many places, several at a time. */

import type { CrashArena, CrashLane, CrashRun } from './crash-arena.ts';
import type { CrashScenario } from './crash-play.ts';
import type { CrashSite } from './crash-sites.ts';
import { failedCrash, judgeCrash } from './crash-verdict.ts';
import type { CrashVerdict } from './crash-verdict.ts';

export interface CrashCase {
  readonly scenario: CrashScenario;
  readonly clean: CrashRun;
  readonly site: CrashSite;
}

export interface CampaignOptions {
  /** Runs at a time. */
  readonly parallel: number;
  /** A place that a run does not come by (counters of the status coalesce) is tried this often. */
  readonly tries: number;
  /** Judge the time that the worker needs to resume as well. */
  readonly inTime: boolean;
  readonly onVerdict?: (verdict: CrashVerdict) => void;
}

/** Lanes take the arenas in turn, and the cases one by one; each knows the case after the one that it runs. Verdicts are in the order of the cases. */
export async function runCampaign(
  arenas: readonly CrashArena[],
  cases: readonly CrashCase[],
  options: CampaignOptions,
): Promise<readonly CrashVerdict[]> {
  const verdicts: CrashVerdict[] = [];
  let taken = 0;
  const take = () => ({ index: taken, one: cases[taken++] });
  const work = async (arena: CrashArena) => {
    const lane = arena.lane();
    try {
      let next = take();
      while (next.one !== undefined) {
        const { index, one } = next;
        next = take();
        const verdict = await crash(lane, one, next.one, options);
        options.onVerdict?.(verdict);
        verdicts[index] = verdict;
      }
    } finally {
      await lane.close();
    }
  };
  const lanes = Array.from({ length: options.parallel }, (_, number) => arenas[number % arenas.length]);
  await Promise.all(lanes.map(async (arena) => await work(arena as CrashArena)));
  return verdicts;
}

async function crash(
  lane: CrashLane,
  { scenario, clean, site }: CrashCase,
  next: CrashCase | undefined,
  { tries, inTime }: CampaignOptions,
): Promise<CrashVerdict> {
  try {
    for (let tried = 1; ; tried += 1) {
      const run = await lane.run(scenario, { site, wanted: clean.end, next: next?.scenario });
      const verdict = judgeCrash(site, clean, run, inTime);
      if (verdict.reached || verdict.faults.length > 0 || tried === tries) {
        return verdict;
      }
    }
  } catch (error) {
    return failedCrash(site, error);
  }
}
