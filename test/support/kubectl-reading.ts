/** What kubectl itself reads in files of manifests. */

import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The objects of one file, each as the text of its JSON, or the words with which kubectl refused it. */
export type Reading = { readonly objects: readonly string[] } | { readonly refused: string };

/** The name of an object that stands after every file, so that it is known which objects are whose. */
const END = 'end-of-file';
/** A file that is refused by its name, so that it is known which refusals are whose: some name no file. */
const REFUSED = 'refused.yaml';

/**
 * `kubectl create --dry-run=client -o json` of all of them in one call: kubectl reads the files of a directory in the order of their
 * names, and goes on after one that it refuses. Expects that no object is called like the marker.
 */
export async function readByKubectl(
  kubectl: string,
  kubeconfig: string,
  texts: readonly string[],
): Promise<readonly Reading[]> {
  const directory = await mkdtemp(join(tmpdir(), 'fairlead-yaml-'));
  try {
    const marker = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: END } });
    await Promise.all(
      texts.flatMap((text, index) => {
        const path = join(directory, String(index).padStart(6, '0'));
        const files = { 'a.yaml': text, 'b.yaml': marker, [REFUSED]: 'no object' };
        return Object.entries(files).map(([name, content]) => writeFile(`${path}-${name}`, content));
      }),
    );
    const words = ['create', '--dry-run=client', '--validate=false', '-o', 'json', '-f', directory];
    const { stdout, stderr } = await run(kubectl, [...words, '--kubeconfig', kubeconfig]);
    // Objects stand one after the other, each with its brackets in the first column.
    const objects = groupsOf(stdout.split(/(?<=^}\n)/m), (text) => text.includes(`"name": "${END}"`));
    const refusals = groupsOf(stderr.split(BEGIN), (text) => text.includes(REFUSED));
    if (objects.length !== texts.length || refusals.length !== texts.length)
      throw new Error(`kubectl did not read all files: ${stderr}`);
    return texts.map((_, index) => {
      const refused = refusals[index]?.join('').replaceAll(directory, '').trim() ?? '';
      return refused === '' ? { objects: objects[index] ?? [] } : { refused };
    });
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** Where kubectl begins to tell of another refusal; what it says may have several lines. */
const BEGIN = /^(?=error parsing |unable to |resource mapping not found |error: |error )/m;

/** What stands before each end. */
function groupsOf(
  items: readonly string[],
  isEnd: (item: string) => boolean,
): readonly (readonly string[])[] {
  const groups: string[][] = [];
  let open: string[] = [];
  for (const item of items) {
    if (isEnd(item)) {
      groups.push(open);
      open = [];
    } else open.push(item);
  }
  return groups;
}

/** Exit code 1 means that some file was refused; which, stands on standard error. */
function run(program: string, words: readonly string[]): Promise<{ stdout: string; stderr: string }> {
  return new Promise((resolve, reject) => {
    execFile(program, words, { maxBuffer: 1024 ** 3 }, (error, stdout, stderr) => {
      if (error !== null && error.code !== 1) reject(error);
      else resolve({ stdout, stderr });
    });
  });
}
