/**
 * What upstream's tests take for kubectl. No container runs in the embedded cluster; the tests that break and mend a readiness
 * probe by `kubectl exec` reach the simulated kubelet here: the command becomes the annotation that it honours
 * (docs/simulated-pods.md). Any other `exec` fails, as what it would do cannot be; everything else is kubectl's own.
 *
 * Arguments: the path of kubectl, then those of kubectl.
 */

import { spawnSync } from 'node:child_process';

/** How each of upstream's commands changes the answer of the pod's readiness probe. */
const PROBE_COMMANDS: readonly { readonly pattern: RegExp; readonly probe: 'failing' | 'passing' }[] = [
  // StatefulSet: the page that the probe asks for is moved back, or away.
  { pattern: /^mv -v \/tmp\/\S+ \/ /, probe: 'passing' },
  { pattern: /^mv -v \/\S+ \/tmp\/ /, probe: 'failing' },
  // StatefulSet: the file that the probe waits for.
  { pattern: /^dd if=\/dev\/zero of=\/data\/statefulset-continue /, probe: 'passing' },
  // DaemonSet: the probe wants this file to be empty.
  { pattern: /^echo 0 > \/var\/tmp\/ready$/, probe: 'failing' },
];

const [kubectl = 'kubectl', ...words] = process.argv.slice(2);
process.exitCode = main(words);

function main(given: readonly string[]): number {
  const verb = given.indexOf('exec');
  if (verb === -1) return callKubectl(given);
  const end = given.indexOf('--', verb);
  const command = given.at(-1) ?? '';
  const found = end === -1 ? undefined : PROBE_COMMANDS.find(({ pattern }) => pattern.test(command));
  if (found === undefined) {
    process.stderr.write(`no container runs in this cluster: cannot execute ${JSON.stringify(command)}\n`);
    return 1;
  }
  // `exec [-c CONTAINER] POD -- …`
  const pod = given[end - 1] ?? '';
  const annotation = `sim.fairlead.dev/readiness-probe=${found.probe}`;
  return callKubectl([...given.slice(0, verb), 'annotate', 'pod', pod, '--overwrite', annotation]);
}

function callKubectl(given: readonly string[]): number {
  const { status, error } = spawnSync(kubectl, given, { stdio: 'inherit' });
  if (error !== undefined) throw error;
  return status ?? 1;
}
