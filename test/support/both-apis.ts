/** One play in several workload APIs at once: mostly waiting, it takes little longer than in one. */

import type { WorkloadApi } from '../../kubernetes/workload-api.ts';

/** Plays it on each side, and waits for all of them. @throws an error that names the APIs in which it failed, caused by the first of them */
export async function playOnAll<T extends { readonly api: WorkloadApi }>(
  sides: readonly T[],
  play: (side: T) => Promise<void>,
): Promise<void> {
  const ends = await Promise.allSettled(sides.map(play));
  const failed = ends.flatMap((end, index) =>
    end.status === 'rejected' ? [{ api: sides[index]?.api, cause: end.reason as unknown }] : [],
  );
  const [first] = failed;
  if (first !== undefined)
    throw new Error(`in ${failed.map(({ api }) => api).join(' and ')}`, { cause: first.cause });
}
