/** Commands that messages tell people to run, run as they are printed. */

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

import { findBinary } from '../../local/binaries.ts';

/** Runs it in a shell, with the repository's own kubectl. @throws when it fails */
export async function runPrinted(command: string, kubeconfig: string, home: string): Promise<void> {
  await promisify(execFile)('/bin/sh', ['-ec', `kubectl() { "$KUBECTL" "$@"; }\n${command}`], {
    cwd: home,
    env: { KUBECONFIG: kubeconfig, KUBECTL: await findBinary('kubectl'), HOME: home },
  });
}

/** The command of a refusal that lets go of the other owner of a field; `none` where it names none. */
export function patchIn(refusal: string | undefined): string {
  return /kubectl patch .*?(?= \(then)/.exec(refusal ?? '')?.[0] ?? 'none';
}
