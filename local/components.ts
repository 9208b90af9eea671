/** Command lines of the six components. Every choice that differs from a default says why. */

import { readdirSync } from 'node:fs';
import { join } from 'node:path';

import { SEARCH_ATTRIBUTES } from '../workflows/search-attributes.ts';
import type { ComponentName, InstanceRecord } from './instance.ts';
import type { InstanceLayout } from './layout.ts';
import { MANAGED_NODE } from './nodes.ts';
import { packageRoot } from './package-root.ts';

/** Design §1: the controllers that Fairlead takes the place of when it owns `apps/v1` itself. */
const REPLACED_CONTROLLERS = ['daemonset-controller', 'statefulset-controller', 'deployment-controller'];

/**
 * A stock dev server polls its queues 20 times a second and fires timers to the second: 100 ms an activity, 1 s a timer.
 * With these it is 10 ms each.
 */
const TEMPORAL_SETTINGS = [
  'history.transferProcessorMaxPollRPS=2000',
  'history.timerProcessorMaxPollRPS=2000',
  'history.visibilityProcessorMaxPollRPS=2000',
  'history.timerProcessorMaxTimeShift="1ms"',
];

/** One fsync a commit makes SQLite ten times slower under load; WAL survives a killed process all the same. */
const SQLITE_PRAGMAS = ['journal_mode=wal', 'synchronous=1'];

/** Pods of all nodes share it: room for four million addresses. */
const POD_NETWORK = '10.64.0.0/10';

export type ComponentArguments = (record: InstanceRecord, layout: InstanceLayout) => readonly string[];

function flags(values: Readonly<Record<string, string | number | boolean>>): readonly string[] {
  return Object.entries(values).map(([name, value]) => `--${name}=${value}`);
}

function etcd({ ports }: InstanceRecord, layout: InstanceLayout): readonly string[] {
  const client = `https://127.0.0.1:${ports.etcd}`;
  // One member talks to nobody: port 0 is never used and never told.
  const peer = 'https://127.0.0.1:0';
  return flags({
    name: 'fairlead',
    'data-dir': layout.etcdData,
    'listen-client-urls': client,
    'advertise-client-urls': client,
    'listen-peer-urls': peer,
    'initial-advertise-peer-urls': peer,
    'initial-cluster': `fairlead=${peer}`,
    'client-cert-auth': true,
    'trusted-ca-file': layout.caFile,
    'cert-file': layout.certificate('server'),
    'key-file': layout.key('server'),
    'peer-client-cert-auth': true,
    'peer-trusted-ca-file': layout.caFile,
    'peer-cert-file': layout.certificate('server'),
    'peer-key-file': layout.key('server'),
    // A killed process loses nothing by it; only a machine that loses power would.
    'unsafe-no-fsync': true,
    'quota-backend-bytes': 8 * 1024 ** 3,
    'log-level': 'warn',
  });
}

function featureGates({ featureGates: gates = {} }: InstanceRecord): readonly string[] {
  const settings = Object.entries(gates).map(([gate, on]) => `${gate}=${on}`);
  return settings.length === 0 ? [] : flags({ 'feature-gates': settings.join(',') });
}

function apiserver(record: InstanceRecord, layout: InstanceLayout): readonly string[] {
  const { ports } = record;
  const own = flags({
    'bind-address': '127.0.0.1',
    'advertise-address': '127.0.0.1',
    'secure-port': ports.apiserver,
    // Endpoints on a loopback address are refused, and nothing in this cluster would use them.
    'endpoint-reconciler-type': 'none',
    'etcd-servers': `https://127.0.0.1:${ports.etcd}`,
    'etcd-cafile': layout.caFile,
    'etcd-certfile': layout.certificate('etcd-client'),
    'etcd-keyfile': layout.key('etcd-client'),
    'client-ca-file': layout.caFile,
    'tls-cert-file': layout.certificate('server'),
    'tls-private-key-file': layout.key('server'),
    'service-account-issuer': 'https://kubernetes.default.svc',
    'service-account-key-file': join(layout.pki, 'service-accounts.pub'),
    'service-account-signing-key-file': join(layout.pki, 'service-accounts.key'),
    'service-cluster-ip-range': '10.0.0.0/16',
    'authorization-mode': 'RBAC',
    // Off by default upstream, on in hardened clusters: whoever sets blockOwnerDeletion needs the permission for it.
    'enable-admission-plugins': 'OwnerReferencesPermissionEnforcement',
    'allow-privileged': true,
    'audit-policy-file': layout.auditPolicy,
    'audit-log-path': layout.auditLog,
    'audit-log-format': 'json',
    // A line is in the file before its answer is sent: a checker that reads the file misses nothing.
    'audit-log-mode': 'blocking',
    'audit-log-maxsize': 1024,
    'audit-log-maxbackup': 2,
    'max-requests-inflight': 1600,
    'max-mutating-requests-inflight': 800,
    profiling: false,
    v: 1,
  });
  return [...own, ...featureGates(record)];
}

function controllerManager(record: InstanceRecord, layout: InstanceLayout): readonly string[] {
  const disabled = [
    // Volumes are simulated; nothing is ever attached.
    'persistentvolume-attach-detach-controller',
    ...(record.workloadApi === 'apps/v1' ? REPLACED_CONTROLLERS : []),
  ];
  const own = flags({
    kubeconfig: join(layout.kubeconfigs, 'kube-controller-manager'),
    controllers: ['*', ...disabled.map((name) => `-${name}`)].join(','),
    'use-service-account-credentials': true,
    'service-account-private-key-file': join(layout.pki, 'service-accounts.key'),
    'root-ca-file': layout.caFile,
    'leader-elect': false,
    'secure-port': 0,
    // A simulated node reports its status every five minutes, and nothing between (a kubelet renews a lease).
    'node-monitor-grace-period': '15m',
    // 20 a second would be the bottleneck of every comparison with the built-in controllers.
    'kube-api-qps': 1000,
    'kube-api-burst': 2000,
    profiling: false,
    v: 1,
  });
  return [...own, ...featureGates(record)];
}

function scheduler(_record: InstanceRecord, layout: InstanceLayout): readonly string[] {
  return flags({ config: layout.schedulerConfig, 'secure-port': 0, v: 1 });
}

function kwok(_record: InstanceRecord, layout: InstanceLayout): readonly string[] {
  const stages = join(packageRoot(), 'local', 'stages');
  const files = readdirSync(stages)
    .filter((file) => file.endsWith('.yaml'))
    .toSorted();
  return [
    ...files.map((file) => `--config=${join(stages, file)}`),
    ...flags({
      kubeconfig: join(layout.kubeconfigs, 'kwok'),
      cidr: POD_NETWORK,
      'node-ip': '127.0.0.1',
      'manage-nodes-with-annotation-selector': `${MANAGED_NODE}=fake`,
      // With leases kwok drops what happens to a pod before its own watch shows that it holds the lease of the pod's node, for good.
      'node-lease-duration-seconds': 0,
      v: 'WARN',
    }),
  ];
}

function temporal({ ports }: InstanceRecord, layout: InstanceLayout): readonly string[] {
  return [
    'server',
    'start-dev',
    ...flags({
      ip: '127.0.0.1',
      port: ports.temporal,
      'ui-port': ports.temporalUi,
      'http-port': ports.temporalHttp,
      'metrics-port': ports.temporalMetrics,
      'db-filename': layout.temporalDatabase,
      'log-level': 'warn',
    }),
    ...SQLITE_PRAGMAS.flatMap((pragma) => ['--sqlite-pragma', pragma]),
    ...TEMPORAL_SETTINGS.flatMap((setting) => ['--dynamic-config-value', setting]),
    ...SEARCH_ATTRIBUTES.flatMap((name) => ['--search-attribute', `${name}=Keyword`]),
  ];
}

export const COMPONENT_ARGUMENTS: Readonly<Record<ComponentName, ComponentArguments>> = {
  etcd,
  'kube-apiserver': apiserver,
  'kube-controller-manager': controllerManager,
  'kube-scheduler': scheduler,
  kwok,
  temporal,
};

/** KubeSchedulerConfiguration: no leader election, no client limit, short back-off. */
export function schedulerConfiguration(layout: InstanceLayout): string {
  return JSON.stringify({
    apiVersion: 'kubescheduler.config.k8s.io/v1',
    kind: 'KubeSchedulerConfiguration',
    clientConnection: { kubeconfig: join(layout.kubeconfigs, 'kube-scheduler'), qps: 1000, burst: 2000 },
    leaderElection: { leaderElect: false },
    podInitialBackoffSeconds: 1,
    podMaxBackoffSeconds: 2,
  });
}
