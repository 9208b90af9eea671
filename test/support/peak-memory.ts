/** How much memory the processes of a fetch have: their own peaks, as the kernel keeps them. Linux only. */

import { readFile, readdir } from 'node:fs/promises';

/** What a fetch runs; the test's own git server, which this process has started too, runs others. */
const FETCHING = /\0(?:fetch|index-pack|unpack-objects|rev-list)\0|git-remote-https/;

/** Between looks: a fetch that fails at once is there for some tens of milliseconds. */
const LOOK_MS = 5;

/** Bytes of the largest process of a fetch that this process has started, while the work was done. */
export async function peakOfFetch(work: () => Promise<unknown>): Promise<number> {
  let peak = 0;
  const over = new AbortController();
  const watching = (async () => {
    while (!over.signal.aborted) {
      peak = Math.max(peak, await largestUnder(process.pid));
      await new Promise((resolve) => {
        setTimeout(resolve, LOOK_MS);
      });
    }
  })();
  try {
    await work();
  } finally {
    over.abort();
    await watching;
  }
  return peak;
}

/** Of the processes below this one only: looking through all of a busy machine takes longer than a fetch. */
async function largestUnder(ancestor: number): Promise<number> {
  const children = await childrenOf(ancestor);
  const each = await Promise.all(
    children.map(async (pid) => Math.max(await peakOf(pid), await largestUnder(pid))),
  );
  return Math.max(0, ...each);
}

async function childrenOf(pid: number): Promise<readonly number[]> {
  const threads = await readdir(`/proc/${String(pid)}/task`).catch(hasEnded([]));
  const lists = await Promise.all(
    threads.map(async (thread) => await read(`/proc/${String(pid)}/task/${thread}/children`)),
  );
  return lists.flatMap((list) => list.split(' ').filter((one) => one !== '')).map(Number);
}

/** 0 of what is no process of a fetch. */
async function peakOf(pid: number): Promise<number> {
  if (!FETCHING.test(await read(`/proc/${String(pid)}/cmdline`))) return 0;
  const status = await read(`/proc/${String(pid)}/status`);
  return Number(/^VmHWM:\s*(\d+)/m.exec(status)?.[1] ?? 0) * 1024;
}

async function read(file: string): Promise<string> {
  return await readFile(file, 'utf8').catch(hasEnded(''));
}

/** What a process that has ended meanwhile tells. */
function hasEnded<T>(nothing: T): (error: unknown) => T {
  return (error) => {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ESRCH') return nothing;
    throw error;
  };
}
