/** What `/readyz` judges a replica by: a leader sees what it keeps, and one that stands by could take over. */

import type { SourceHealth } from '../kubernetes/watch-source.ts';
import type { Check } from './http-server.ts';

/** A watch that has been silent for longer is not to be relied on. */
const SILENT_MS = 90_000;
/** Lists of one collection that fail in a row, some seconds: an apiserver that has just started answers the next one. */
const MANY_FAILURES = 3;

/** The Lease fails to be read since then (milliseconds since the epoch), for this reason. */
export interface LeaseTrouble {
  readonly since: number;
  readonly message: string;
}

/** A few tries, of which each takes two seconds at most. */
const LEASE_UNREAD_MS = 15_000;

/** Not well while the Lease cannot be read: who does not see it cannot take over. `now` in milliseconds since the epoch. */
export function standbyCheck(trouble: LeaseTrouble | undefined, now: number): Check {
  const forMs = trouble === undefined ? 0 : now - trouble.since;
  if (trouble === undefined || forMs <= LEASE_UNREAD_MS) return { name: 'standby', ok: true };
  const message = `could not take over, for ${String(Math.floor(forMs / 1_000))} s: ${trouble.message}`;
  return { name: 'standby', ok: false, message };
}

/**
 * Not well while a collection is silent, or cannot be listed at all: a leader keeps nothing before it has listed each. `health` has
 * no sources in a replica that does not lead. `now` in milliseconds since the epoch.
 */
export function watchCheck(health: readonly SourceHealth[], now: number): Check {
  const unlisted = health.filter(({ synced, failures }) => !synced && failures >= MANY_FAILURES);
  const silent = health.filter(
    ({ synced, connected, lastContact }) => synced && !connected && now - lastContact > SILENT_MS,
  );
  const nameOf = ({ resource, namespace }: SourceHealth) =>
    namespace === undefined ? resource : `${resource} in ${namespace}`;
  const problems = [
    ...(unlisted.length === 0
      ? []
      : [
          `leads and keeps nothing, for it cannot list ${unlisted.map((one) => `${nameOf(one)} (${one.lastError ?? 'no answer'})`).join(', ')}: ` +
            'install the manifests of this version, or grant what `fairlead check --worker` names',
        ]),
    ...(silent.length === 0 ? [] : [`silent: ${silent.map(nameOf).join(', ')}`]),
  ];
  return {
    name: 'watches',
    ok: problems.length === 0,
    ...(problems.length > 0 && { message: problems.join('; ') }),
  };
}
