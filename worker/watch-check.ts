/** Whether a leader sees what it keeps, for `/readyz`. */

import type { SourceHealth } from '../kubernetes/watch-source.ts';
import type { Check } from './http-server.ts';

/** A watch that has been silent for longer is not to be relied on. */
const SILENT_MS = 90_000;
/** Lists of one collection that fail in a row, some seconds: an apiserver that has just started answers the next one. */
const MANY_FAILURES = 3;

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
