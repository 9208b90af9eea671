/** docs/conformance.md: written from the kept results, never by hand. */

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { packageRoot } from '../local/package-root.ts';
import { VERSIONS } from '../local/versions.ts';
import { whyNot } from './reasons.ts';
import { readResults } from './results.ts';
import type { KeptResult } from './results.ts';
import type { UpstreamTest } from './upstream-tests.ts';

const HEAD = `# Conformance

Written by \`npm run conformance\` from \`conformance/results/\`; not edited by hand.

The judges are upstream's own end-to-end tests of sig-apps, of Kubernetes ${VERSIONS.kubernetes}, built from the module proxy and not
changed in any way. Each runs in a process of its own, in an embedded control plane with four simulated nodes. *built-in* is
kube-controller-manager with all its controllers; *Fairlead* is a worker with \`FAIRLEAD_WORKLOAD_API=apps/v1\` beside a
kube-controller-manager without those of DaemonSet, StatefulSet and Deployment. Only a test that is green with the built-in
controllers judges Fairlead. \`kubectl exec\` of the commands by which the tests break and mend a readiness probe is given to the
simulated kubelet (\`conformance/kubectl.ts\`).
`;

type Results = ReadonlyMap<string, KeptResult>;

/** Writes the document anew. Resolves with its path below the repository. */
export async function writeDocument(tests: readonly UpstreamTest[]): Promise<string> {
  const baseline = await readResults('baseline');
  const fairlead = await readResults('fairlead');
  const parts = [
    HEAD,
    summary(tests, baseline, fairlead),
    '## Tests\n',
    table(tests.map((test) => rowOf(test, baseline, fairlead))),
  ];
  await writeFile(join(packageRoot(), 'docs', 'conformance.md'), parts.join('\n'));
  return 'docs/conformance.md';
}

function summary(tests: readonly UpstreamTest[], baseline: Results, fairlead: Results): string {
  const count = (results: Results, some: readonly UpstreamTest[]) =>
    some.filter(({ name }) => results.get(name)?.state === 'passed').length;
  const marked = tests.filter(({ conformance }) => conformance);
  const others = tests.filter(({ conformance }) => !conformance);
  const row = (title: string, some: readonly UpstreamTest[]) =>
    `| ${title} | ${String(some.length)} | ${String(count(baseline, some))} | ${String(count(fairlead, some))} |`;
  return [
    '| | tests | green, built-in | green, Fairlead |',
    '| --- | --- | --- | --- |',
    row('marked [Conformance]', marked),
    row('others', others),
    '',
  ].join('\n');
}

function rowOf({ name }: UpstreamTest, baseline: Results, fairlead: Results): readonly string[] {
  const before = baseline.get(name);
  const ours = fairlead.get(name);
  const remark = ours?.state === 'failed' ? ours.reason : before?.state === 'passed' ? '' : whyNot(name);
  return [name, stateOf(before), stateOf(ours), remark ?? before?.reason ?? ''];
}

const WORDS = { passed: 'green', failed: 'red', skipped: 'not run' } as const;

function stateOf(result: KeptResult | undefined): string {
  return result === undefined ? '' : WORDS[result.state];
}

function table(rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  const head = ['test', 'built-in', 'Fairlead', 'remark'];
  return `${[line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')}\n`;
}
