/** Every version of the embedded control plane, in one place. The go.mod files in `toolchain/` must agree (tested). */

export const VERSIONS = {
  kubernetes: '1.36.3',
  etcd: '3.7.3',
  kwok: '0.8.0',
  /** Server 1.29.1, UI 2.42.1. Newer CLIs need an unpublished sub-module and cannot be built from the module proxy. */
  temporal: '1.5.1',
} as const;

export type Product = keyof typeof VERSIONS;

export const BINARY_NAMES = [
  'etcd',
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
  'kwok',
  'temporal',
] as const;

export type BinaryName = (typeof BINARY_NAMES)[number];

/** Upstream's tests and the kubectl of their release: only `npm run conformance` needs them. */
export const CONFORMANCE_NAMES = ['sig-apps-e2e', 'kubectl'] as const;

/** Every program that can be found. */
export type ProgramName = BinaryName | (typeof CONFORMANCE_NAMES)[number];

/** How one program is recognised, fetched and built. */
export interface BinarySource {
  readonly product: Product;
  /** Names a program to use as it is, whatever its version. */
  readonly environmentVariable: string;
  /** Folder of the go.mod that it is built from, below the package root. */
  readonly module: string;
  /** Go package of the program. */
  readonly goPackage: string;
  /** Values that the upstream build stamps into the program. */
  readonly linkerValues: Readonly<Record<string, string>>;
  readonly versionArguments: readonly string[];
  /** The program's answer to `versionArguments` starts or continues with this. */
  readonly versionPattern: RegExp;
  /** Wall clock of a first build on two cores, seconds; only for the progress line. */
  readonly buildSeconds: number;
}

const kubernetesValues = {
  'k8s.io/component-base/version.gitVersion': `v${VERSIONS.kubernetes}`,
  'k8s.io/component-base/version.gitMajor': VERSIONS.kubernetes.split('.')[0] ?? '',
  'k8s.io/component-base/version.gitMinor': VERSIONS.kubernetes.split('.')[1] ?? '',
  'k8s.io/component-base/version.gitTreeState': 'clean',
};

function kubernetesProgram(name: string, environmentVariable: string, buildSeconds: number): BinarySource {
  return {
    product: 'kubernetes',
    module: 'local/toolchain/kubernetes',
    environmentVariable,
    goPackage: `k8s.io/kubernetes/cmd/${name}`,
    linkerValues: kubernetesValues,
    versionArguments: ['--version'],
    versionPattern: new RegExp(`^Kubernetes v${VERSIONS.kubernetes.replaceAll('.', '\\.')}\\b`, 'm'),
    buildSeconds,
  };
}

export const BINARY_SOURCES: Readonly<Record<ProgramName, BinarySource>> = {
  etcd: {
    product: 'etcd',
    module: 'local/toolchain/etcd',
    environmentVariable: 'FAIRLEAD_ETCD',
    goPackage: 'go.etcd.io/etcd/server/v3',
    linkerValues: {},
    versionArguments: ['--version'],
    versionPattern: new RegExp(`^etcd Version: ${VERSIONS.etcd.replaceAll('.', '\\.')}$`, 'm'),
    buildSeconds: 40,
  },
  'kube-apiserver': kubernetesProgram('kube-apiserver', 'FAIRLEAD_KUBE_APISERVER', 200),
  'kube-controller-manager': kubernetesProgram(
    'kube-controller-manager',
    'FAIRLEAD_KUBE_CONTROLLER_MANAGER',
    60,
  ),
  'kube-scheduler': kubernetesProgram('kube-scheduler', 'FAIRLEAD_KUBE_SCHEDULER', 30),
  kwok: {
    product: 'kwok',
    module: 'local/toolchain/kwok',
    environmentVariable: 'FAIRLEAD_KWOK',
    goPackage: 'sigs.k8s.io/kwok/cmd/kwok',
    linkerValues: {},
    versionArguments: ['--version'],
    versionPattern: new RegExp(`^kwok version v${VERSIONS.kwok.replaceAll('.', '\\.')}\\b`, 'm'),
    buildSeconds: 60,
  },
  temporal: {
    product: 'temporal',
    module: 'local/toolchain/temporal',
    environmentVariable: 'FAIRLEAD_TEMPORAL',
    goPackage: 'github.com/temporalio/cli/cmd/temporal',
    linkerValues: { 'github.com/temporalio/cli/temporalcli.Version': VERSIONS.temporal },
    versionArguments: ['--version'],
    versionPattern: new RegExp(`^temporal version ${VERSIONS.temporal.replaceAll('.', '\\.')}\\b`, 'm'),
    buildSeconds: 120,
  },
  'sig-apps-e2e': {
    product: 'kubernetes',
    module: 'conformance/upstream',
    environmentVariable: 'FAIRLEAD_SIG_APPS_E2E',
    goPackage: '.',
    linkerValues: kubernetesValues,
    versionArguments: ['--version'],
    versionPattern: new RegExp(`^sig-apps-e2e v${VERSIONS.kubernetes.replaceAll('.', '\\.')}$`, 'm'),
    buildSeconds: 300,
  },
  kubectl: {
    ...kubernetesProgram('kubectl', 'FAIRLEAD_KUBECTL', 30),
    module: 'conformance/upstream',
    versionArguments: ['version', '--client'],
    versionPattern: new RegExp(`^Client Version: v${VERSIONS.kubernetes.replaceAll('.', '\\.')}$`, 'm'),
  },
};
