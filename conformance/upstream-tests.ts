/** Upstream's end-to-end tests as a program: which there are, and one of them run in a process of its own. */

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { errorCode, trusted } from '../kubernetes/values.ts';

/** What stands first in the name of each test of a kind. */
const KINDS = [
  'ControllerRevision',
  'Daemon set',
  'Deployment',
  'ReplicaSet',
  'ReplicationController',
  'StatefulSet',
] as const;

/** Upstream's own bounds are up to ten minutes a step; whoever takes longer than this hangs. */
const TEST_TIMEOUT_MINUTES = 25;

const run = promisify(execFile);

export interface UpstreamTest {
  /** As upstream calls it, without `[sig-apps]`: unique, and the same from run to run. */
  readonly name: string;
  /** One of those that a cluster must pass to call itself Kubernetes. */
  readonly conformance: boolean;
  /** Not beside others. */
  readonly serial: boolean;
}

export interface TestResult {
  readonly name: string;
  readonly conformance: boolean;
  readonly state: 'passed' | 'failed' | 'skipped';
  /** Wall clock, seconds. */
  readonly seconds: number;
  /** Why it was skipped, or the first line of why it failed. */
  readonly reason?: string;
}

/** Where a test runs. */
export interface Surroundings {
  /** Path of the program. */
  readonly program: string;
  /** Path of the administrator's kubeconfig. */
  readonly kubeconfig: string;
  /** Path of what the tests take for kubectl. */
  readonly kubectl: string;
  readonly nodes: number;
  readonly signal: AbortSignal;
}

/** Of ginkgo's report, what is read here. */
interface SpecReport {
  readonly ContainerHierarchyTexts: readonly string[] | null;
  readonly LeafNodeText: string;
  readonly LeafNodeType: string;
  readonly State: string;
  readonly Failure?: { readonly Message?: string };
}

const PREFIX = '[sig-apps] ';

function fullName({ ContainerHierarchyTexts, LeafNodeText }: SpecReport): string {
  return [...(ContainerHierarchyTexts ?? []), LeafNodeText].join(' ');
}

async function specsOf(report: string): Promise<readonly SpecReport[]> {
  const suites = trusted<readonly { readonly SpecReports: readonly SpecReport[] | null }[]>(
    JSON.parse(await readFile(report, 'utf8')),
  );
  return suites.flatMap(({ SpecReports }) => SpecReports ?? []);
}

/** All tests of the kinds that Fairlead keeps, and of those that it drives; sorted by name. */
export async function listTests(program: string): Promise<readonly UpstreamTest[]> {
  const directory = await mkdtemp(join(tmpdir(), 'fairlead-conformance-'));
  try {
    const report = join(directory, 'report.json');
    // It is read, not used: nothing is asked of a server in a dry run.
    const kubeconfig = join(directory, 'kubeconfig');
    await writeFile(kubeconfig, 'apiVersion: v1\nkind: Config\n');
    await run(
      program,
      [
        '--provider=skeleton',
        `--kubeconfig=${kubeconfig}`,
        '--ginkgo.dry-run',
        `--ginkgo.json-report=${report}`,
      ],
      { maxBuffer: 64 * 1024 ** 2 },
    );
    const names = (await specsOf(report))
      .filter(({ LeafNodeType }) => LeafNodeType === 'It')
      .map((spec) => fullName(spec))
      .filter((name) => KINDS.some((kind) => `${name} `.startsWith(`${PREFIX}${kind} `)));
    return names.toSorted().map((name) => ({
      name: name.slice(PREFIX.length),
      conformance: name.includes('[Conformance]'),
      serial: name.includes('[Serial]'),
    }));
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

function escaped(text: string): string {
  return text.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`);
}

/** Runs one test; its output goes to `log`. Rejects only if the program does not report. */
export async function runTest(test: UpstreamTest, where: Surroundings, log: string): Promise<TestResult> {
  const { program, kubeconfig, kubectl, nodes, signal } = where;
  const started = performance.now();
  const report = `${log}.json`;
  const output = await open(log, 'w');
  try {
    const child = spawn(
      program,
      [
        '--provider=skeleton',
        `--kubeconfig=${kubeconfig}`,
        `--kubectl-path=${kubectl}`,
        `--num-nodes=${String(nodes)}`,
        '--allowed-not-ready-nodes=0',
        '--e2e-verify-service-account=false',
        '--dump-logs-on-failure=false',
        `--ginkgo.focus=${escaped(`${PREFIX}${test.name}`)}$`,
        `--ginkgo.timeout=${String(TEST_TIMEOUT_MINUTES)}m`,
        `--ginkgo.json-report=${report}`,
        '--ginkgo.no-color',
        '--ginkgo.v',
      ],
      { stdio: ['ignore', output.fd, output.fd], signal },
    );
    await once(child, 'close');
  } finally {
    await output.close();
  }
  return { ...verdictOf(await ranSpecs(report, log), test), seconds: (performance.now() - started) / 1000 };
}

async function ranSpecs(report: string, log: string): Promise<readonly SpecReport[]> {
  try {
    const specs = await specsOf(report);
    await rm(report);
    return specs;
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
    throw new Error(`the tests ended without a report; see ${log}`, { cause: error });
  }
}

function verdictOf(specs: readonly SpecReport[], test: UpstreamTest): Omit<TestResult, 'seconds'> {
  const { name, conformance } = test;
  // Those out of focus are reported as skipped too.
  const spec = specs.find((one) => one.LeafNodeType === 'It' && fullName(one) === `${PREFIX}${name}`);
  if (spec === undefined) throw new Error(`the report does not tell of "${name}"`);
  const [reason = ''] = (spec.Failure?.Message ?? '').split('\n').filter((line) => line.trim() !== '');
  if (spec.State === 'passed') return { name, conformance, state: 'passed' };
  const state = spec.State === 'skipped' ? 'skipped' : 'failed';
  return { name, conformance, state, reason: withoutPlaces(reason.trim()) };
}

/** Results are kept: of paths the last name, and no ports, which say nothing anywhere else. */
function withoutPlaces(reason: string): string {
  return reason.replaceAll(/(?:\/[\w.@-]+)+\/([\w.@-]+)/g, '$1').replaceAll(/(https?:\/\/[\w.]+):\d+/g, '$1');
}
