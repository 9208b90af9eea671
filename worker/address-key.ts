/** Who is at the other end of a connection, as far as limits go. */

import { isIPv6 } from 'node:net';

const GROUPS = 8;
/** Whoever is given IPv6 addresses is given 2^64 of them at least. */
const NETWORK_GROUPS = 4;

/** An IPv4 address as it is, also one that is written as IPv6; of any other IPv6 address the network that its owner has to himself (/64). */
export function addressKey(address: string): string {
  const [bare = ''] = address.split('%', 1);
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(bare)?.[1];
  if (mapped !== undefined) return mapped;
  if (!isIPv6(bare)) return bare;
  const [head = [], tail] = bare
    .split('::', 2)
    .map((part) => part.split(':').filter((group) => group !== ''));
  const zeros = tail === undefined ? 0 : Math.max(0, GROUPS - head.length - tail.length);
  const groups = [...head, ...Array<string>(zeros).fill('0'), ...(tail ?? [])];
  const network = groups.slice(0, NETWORK_GROUPS).map((group) => parseInt(group, 16).toString(16));
  return `${network.join(':')}::/64`;
}
