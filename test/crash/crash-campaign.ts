/** Crashes at many places, several at a time. */

import type { CrashArena, CrashRun } from './crash-arena.ts';
import type { CrashScenario } from './crash-play.ts';
import { inParallel } from './crash-sites.ts';
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

/** Lanes take the arenas in turn. */
export async function runCampaign(
  arenas: readonly CrashArena[],
  cases: readonly CrashCase[],
  options: CampaignOptions,
): Promise<readonly CrashVerdict[]> {
  return await inParallel(cases, options.parallel, async (one, lane) => {
    const verdict = await crash(arenas[lane % arenas.length] as CrashArena, one, options);
    options.onVerdict?.(verdict);
    return verdict;
  });
}

async function crash(
  arena: CrashArena,
  { scenario, clean, site }: CrashCase,
  { tries, inTime }: CampaignOptions,
): Promise<CrashVerdict> {
  try {
    for (let tried = 1; ; tried += 1) {
      const verdict = judgeCrash(site, clean, await arena.run(scenario, { site, wanted: clean.end }), inTime);
      if (verdict.reached || verdict.faults.length > 0 || tried === tries) {
        return verdict;
      }
    }
  } catch (error) {
    return failedCrash(site, error);
  }
}
