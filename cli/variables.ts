/** What variables may say that a verb reads. */

import { ConfigurationError } from '../kubernetes/configuration-error.ts';
import { nonEmpty } from '../kubernetes/values.ts';

/** As Temporal's SDK takes it, which answers anything else as if no server did; without a port it is 7233. */
const ADDRESS = /^(?:\[[0-9a-f.:]+\]|[^:/\s]+)(?::(?<port>\d{1,5}))?$/i;
const LAST_PORT = 65_535;

/** @throws ConfigurationError when TEMPORAL_ADDRESS is set, and is no address of a server */
export function checkTemporalAddress(environment: Readonly<Record<string, string | undefined>>): void {
  const address = nonEmpty(environment['TEMPORAL_ADDRESS']);
  if (address === undefined) return;
  const match = ADDRESS.exec(address);
  if (match !== null && Number(match.groups?.['port'] ?? 1) <= LAST_PORT) return;
  throw new ConfigurationError(
    `TEMPORAL_ADDRESS "${address}": expected HOST:PORT, like localhost:7233 or [::1]:7233`,
  );
}
