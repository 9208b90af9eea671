/** Free TCP ports on the loopback interface. */

import { randomInt } from 'node:crypto';
import type { Server } from 'node:net';
import { createServer } from 'node:net';

// Below the range that kernels give to outgoing connections: a port stays ours while its server restarts.
const LOWEST = 15_000;
const HIGHEST = 31_000;
const ATTEMPTS = 200;
/** Ports that are given out together, behind one that is listened on meanwhile: of two processes only one can. */
const BLOCK = 16;
/** Until whoever asked has its servers listen. */
const HELD_MS = 60_000;

/** Undefined: somebody else listens there. */
function listen(port: number): Promise<Server | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => {
      resolve(undefined);
    });
    server.listen({ host: '127.0.0.1', port, exclusive: true }, () => {
      resolve(server);
    });
  });
}

async function isFree(port: number): Promise<boolean> {
  const server = await listen(port);
  if (server === undefined) return false;
  await new Promise((resolve) => server.close(resolve));
  return true;
}

/** The ports of the block from `first` on, which nobody else gets for a minute; undefined if somebody has it, or uses one of them. */
export async function claimBlock(first: number): Promise<readonly number[] | undefined> {
  const guard = await listen(first);
  if (guard === undefined) return undefined;
  const ports = Array.from({ length: BLOCK - 1 }, (_, index) => first + 1 + index);
  for (const port of ports) {
    if (await isFree(port)) continue;
    guard.close();
    return undefined;
  }
  guard.unref();
  setTimeout(() => guard.close(), HELD_MS).unref();
  return ports;
}

/**
 * Picks `count` (15 at most) free ports at random, which no other process that asks here gets for a minute, or as long as one of them is
 * in use. Rejects if the machine has next to none left.
 */
export async function findFreePorts(count: number): Promise<readonly number[]> {
  if (count >= BLOCK) throw new RangeError(`${count} ports: at most ${BLOCK - 1} at once`);
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const ports = await claimBlock(LOWEST + BLOCK * randomInt((HIGHEST - LOWEST) / BLOCK));
    if (ports !== undefined) return ports.slice(0, count);
  }
  throw new Error(`no ${count} free ports between ${LOWEST} and ${HIGHEST} on 127.0.0.1; see: ss -ltn`);
}
