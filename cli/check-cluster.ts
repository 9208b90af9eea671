/** The checks of the cluster: kubeconfig, apiserver, CRDs, permissions, who leads. */

import { ApiError, isForbidden, toMessage } from '../kubernetes/api-error.ts';
import { Discovery } from '../kubernetes/discovery.ts';
import { GROUP } from '../planners/names.ts';
import { groupVersion } from '../kubernetes/workload-api.ts';
import type { Kept } from '../kubernetes/lease.ts';
import { holderOf } from '../kubernetes/lease.ts';
import { findRivals } from '../kubernetes/rival-leases.ts';
import type { CheckItem } from './check-item.ts';
import type { AccessRule } from './permissions.ts';
import { operatorRules, workerRules, describeRule, reviewAccess } from './permissions.ts';
import { EXIT } from './exit-codes.ts';
import { describeFailure, missingPermission } from './failures.ts';
import type { Call } from './io.ts';
import { describeFree, describeKept, isFresh, leaseName, readLease } from './lease.ts';
import type { Session } from './session.ts';
import { REQUEST_TIMEOUT_MS, connectionOf, withSession } from './session.ts';
import { whoAmI } from './who-am-i.ts';
import { KINDS } from './workload-argument.ts';

/** All checks, as far as the earlier ones allow. @param worker Also what the worker's identity needs. */
export async function checkCluster(call: Call, worker: boolean): Promise<readonly CheckItem[]> {
  const kubeconfig = await checkKubeconfig(call);
  if (kubeconfig.outcome === 'failed') return [kubeconfig];
  return await withSession(call, async (session) => {
    const reachable = await checkReachable(session);
    if (reachable.outcome === 'failed') return [kubeconfig, reachable];
    try {
      const rest = await Promise.all([
        checkKinds(session),
        checkPermissions(session, worker),
        checkLeader(session),
      ]);
      return [kubeconfig, reachable, ...rest.flat()];
    } catch (error) {
      // It answered a moment ago.
      const { message, exitCode } = describeFailure(error);
      const [found = '', ...next] = message.split('\n');
      const mend = next.map((line) => line.trim()).join('\n');
      return [kubeconfig, { ...reachable, outcome: 'failed', found, ...(mend !== '' && { mend }), exitCode }];
    }
  });
}

async function checkKubeconfig(call: Call): Promise<CheckItem> {
  const item = { id: 'kubeconfig', what: 'kubeconfig' } as const;
  try {
    const { source, context } = await connectionOf(call);
    return { ...item, outcome: 'ok', found: `${source}, context ${context}` };
  } catch (error) {
    return { ...item, outcome: 'failed', found: toMessage(error), exitCode: EXIT.kubernetesUnreachable };
  }
}

async function checkReachable(session: Session): Promise<CheckItem> {
  const item = { id: 'kubernetes.reachable', what: 'apiserver' } as const;
  const { client, connection } = session;
  try {
    const { gitVersion } = await client.request<{ readonly gitVersion?: string }>({
      method: 'GET',
      path: '/version',
      timeoutMs: REQUEST_TIMEOUT_MS,
    });
    return { ...item, outcome: 'ok', found: `${connection.server}, ${gitVersion ?? 'unknown version'}` };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return {
      ...item,
      outcome: 'failed',
      found: error.message,
      mend: 'kubectl cluster-info   # or start one: fairlead local up',
      exitCode: EXIT.kubernetesUnreachable,
    };
  }
}

async function checkKinds({ client, api }: Session): Promise<readonly CheckItem[]> {
  const discovery = new Discovery(client);
  const served = await Promise.all(
    KINDS.map(async (kind) => ({
      kind,
      type: await discovery.find(api, kind, { timeoutMs: REQUEST_TIMEOUT_MS }),
    })),
  );
  return served.map(({ kind, type }) => {
    const item = { id: `kubernetes.kinds.${kind}`, what: `${kind} of ${api}` };
    if (type !== undefined) return { ...item, outcome: 'ok', found: 'served' };
    const mend =
      groupVersion(api).group === GROUP
        ? 'kubectl apply --server-side -f manifests/crds   # or use native kinds: --workload-api apps/v1'
        : undefined;
    return { ...item, outcome: 'failed', found: 'is not served', ...(mend !== undefined && { mend }) };
  });
}

async function checkPermissions(session: Session, worker: boolean): Promise<readonly CheckItem[]> {
  const user = (await whoAmI(session)) ?? 'you';
  const { group } = groupVersion(session.api);
  const { namespace, leaseNamespace } = session;
  return [
    await checkRules(
      session,
      user,
      'operator',
      `${user} may look at rollouts and steer them`,
      operatorRules(group, namespace, leaseNamespace),
    ),
    ...(worker
      ? [
          await checkRules(
            session,
            user,
            'worker',
            `${user} may do what a worker does`,
            workerRules(group, leaseNamespace),
          ),
        ]
      : []),
  ];
}

async function checkRules(
  session: Session,
  user: string,
  id: string,
  what: string,
  rules: readonly AccessRule[],
): Promise<CheckItem> {
  const item = { id: `kubernetes.permissions.${id}`, what };
  const refused = await reviewAccess(session, rules);
  const needed = refused.filter((rule) => rule.optional !== true);
  if (refused.length === 0) return { ...item, outcome: 'ok', found: `${String(rules.length)} permissions` };
  const mend =
    id === 'worker' && needed.length > 3
      ? 'kubectl apply -f manifests/install   # and run the worker as ServiceAccount fairlead-system/fairlead-worker'
      : (needed.length > 0 ? needed : refused).map((rule) => missingPermission({ user, ...rule })).join('\n');
  return {
    ...item,
    outcome: needed.length > 0 ? 'failed' : 'warning',
    found: `not allowed: ${refused.map(describeRule).join('; ')}`,
    mend,
  };
}

async function checkLeader(session: Session): Promise<readonly CheckItem[]> {
  const item = { id: 'worker.leader', what: 'worker' };
  const lease = await readLease(session);
  switch (lease.state) {
    case 'held': {
      const found = `${lease.holder} holds the Lease ${leaseName(session)}${describeKept(lease)}`;
      return [{ ...item, outcome: 'ok', found }, ...(await checkRivals(session, lease.keeps))];
    }
    case 'free':
      return [
        {
          ...item,
          outcome: 'warning',
          found: `${describeFree(lease, leaseName(session))}, so nothing acts on the cluster`,
          mend:
            `fairlead up --repo PATH_OR_URL --cluster ${session.cluster} --workload-api ${session.api}` +
            '   # or without a repository: fairlead worker',
        },
      ];
    case 'unknown':
      return [{ ...item, outcome: 'warning', found: `the Lease may not be read: ${lease.message}` }];
  }
}

/** Leaders of other names that keep the same workloads: each of them would roll them out. Whoever may not list Leases is not told. */
async function checkRivals(session: Session, kept: Kept | undefined): Promise<readonly CheckItem[]> {
  const { client, cluster, leaseNamespace, io } = session;
  if (kept === undefined) return [];
  const keeper = { cluster, leaseNamespace, ...kept };
  const signal = AbortSignal.any([io.interrupted, AbortSignal.timeout(REQUEST_TIMEOUT_MS)]);
  try {
    const found = [...(await findRivals(client, keeper, signal))].filter(([, lease]) =>
      isFresh(lease, io.now()),
    );
    return found.map(([name, lease]) => ({
      id: 'worker.rivals',
      what: 'one writer',
      outcome: 'warning',
      found: `${holderOf(lease)} holds the Lease ${leaseNamespace}/${name} and keeps the same workloads: the two work against each other`,
      mend: 'give both workers the same FAIRLEAD_CLUSTER, or each other FAIRLEAD_NAMESPACES',
    }));
  } catch (error) {
    if (isForbidden(error)) return [];
    throw error;
  }
}
