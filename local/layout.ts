import { join } from 'node:path';

import type { ComponentName } from './instance.ts';

/** Every path of one instance; all of them are below its directory, which `down` removes as a whole. */
export interface InstanceLayout {
  readonly directory: string;
  readonly pki: string;
  readonly kubeconfigs: string;
  readonly logs: string;
  readonly etcdData: string;
  readonly temporalDatabase: string;
  readonly auditLog: string;
  readonly auditPolicy: string;
  readonly schedulerConfig: string;
  /** Home and working directory of the components: they read no configuration of the user's. */
  readonly home: string;
  readonly kubeconfig: string;
  readonly caFile: string;
  readonly certificate: (name: string) => string;
  readonly key: (name: string) => string;
  readonly log: (component: ComponentName) => string;
}

export function instanceLayout(directory: string): InstanceLayout {
  const pki = join(directory, 'pki');
  const logs = join(directory, 'logs');
  return {
    directory,
    pki,
    kubeconfigs: join(directory, 'kubeconfigs'),
    logs,
    etcdData: join(directory, 'etcd'),
    temporalDatabase: join(directory, 'temporal', 'temporal.db'),
    auditLog: join(logs, 'audit.log'),
    auditPolicy: join(directory, 'audit-policy.yaml'),
    schedulerConfig: join(directory, 'scheduler.yaml'),
    home: join(directory, 'home'),
    kubeconfig: join(directory, 'kubeconfig'),
    caFile: join(pki, 'ca.crt'),
    certificate: (name) => join(pki, `${name}.crt`),
    key: (name) => join(pki, `${name}.key`),
    log: (component) => join(logs, `${component}.log`),
  };
}
