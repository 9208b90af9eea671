/** How much memory the processes of a fetch have: their own peaks, as the kernel keeps them. Linux only. */

import { readFile, readdir } from 'node:fs/promises';

/** What a fetch runs; the test's own git server, which this process has started too, runs others. */
const FETCHING = /\0(?:fetch|index-pack|unpack-objects|rev-list)\0|git-remote-https/;

/** Bytes of the largest process of a fetch that this process has started, while the work was done. */
export async function peakOfFetch(work: () => Promise<unknown>): Promise<number> {
  let peak = 0;
  const over = new AbortController();
  const watching = (async () => {
    while (!over.signal.aborted) {
      peak = Math.max(peak, await largestUnder(process.pid));
      await new Promise((resolve) => {
        setTimeout(resolve, 25);
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

async function largestUnder(ancestor: number): Promise<number> {
  const names = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const read = await Promise.all(
    names.map(async (name) => {
      // One that has ended meanwhile has nothing to tell.
      const file = async (what: string) => await readFile(`/proc/${name}/${what}`, 'utf8').catch(() => '');
      return { command: await file('cmdline'), status: await file('status') };
    }),
  );
  const number = (text: string, field: string): number =>
    Number(new RegExp(`^${field}:\\s*(\\d+)`, 'm').exec(text)?.[1] ?? 0);
  const parents = new Map(read.map(({ status }) => [number(status, 'Pid'), number(status, 'PPid')]));
  const isUnder = (pid: number): boolean => {
    for (let at = parents.get(pid); at !== undefined && at !== 0; at = parents.get(at))
      if (at === ancestor) return true;
    return false;
  };
  const own = read.filter(({ command, status }) => FETCHING.test(command) && isUnder(number(status, 'Pid')));
  return Math.max(0, ...own.map(({ status }) => number(status, 'VmHWM') * 1024));
}
