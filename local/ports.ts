/** Free TCP ports on the loopback interface. */

import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

// Below the range that kernels give to outgoing connections: a port stays ours while its server restarts.
const LOWEST = 15_000;
const HIGHEST = 32_000;
const ATTEMPTS = 200;

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => {
      resolve(false);
    });
    server.listen({ host: '127.0.0.1', port, exclusive: true }, () => {
      server.close(() => {
        resolve(true);
      });
    });
  });
}

/** Picks `count` different free ports at random. Rejects if the machine has next to none left. */
export async function findFreePorts(count: number): Promise<readonly number[]> {
  const ports = new Set<number>();
  for (let attempt = 0; attempt < ATTEMPTS && ports.size < count; attempt += 1) {
    const port = randomInt(LOWEST, HIGHEST);
    if (!ports.has(port) && (await isFree(port))) ports.add(port);
  }
  if (ports.size < count) {
    throw new Error(`no ${count} free ports between ${LOWEST} and ${HIGHEST} on 127.0.0.1; see: ss -ltn`);
  }
  return [...ports];
}
