/**
 * The budget checker as a process of its own. Arguments: JSON of `BudgetCheckerSettings`. It says `ready` when its watches stand;
 * each message `{ namespace }` is answered with the report on that namespace so far.
 */

import { KubernetesClient } from '../../kubernetes/client.ts';
import { loadConnection } from '../../kubernetes/kubeconfig.ts';
import { judge } from './budget-checker.ts';
import { BudgetObserver } from './budget-observer.ts';
import type { BudgetCheckerSettings, CheckerAnswer, CheckerRequest } from './budget-checker-process.ts';

const settings = JSON.parse(process.argv[2] ?? '{}') as BudgetCheckerSettings;
const client = new KubernetesClient(await loadConnection({}, { kubeconfig: settings.kubeconfig }));
const users = new Set(settings.workerUsers);
const observer = new BudgetObserver({
  client,
  workloadApi: settings.workloadApi,
  auditLog: settings.auditLog,
  isWorker: (user) => users.has(user),
});

function answer(message: CheckerAnswer): void {
  process.send?.(message);
}

process.on('message', ({ id, namespace, planAgeMs }: CheckerRequest) => {
  observer
    .evidence(namespace)
    .then(({ observations, writes }) => {
      answer({ id, report: judge(observations, writes, { ...(planAgeMs !== undefined && { planAgeMs }) }) });
    })
    .catch((error: unknown) => {
      answer({ id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
    });
});
// The test that started it is gone.
process.once('disconnect', () => process.exit(0));

await observer.start();
answer({ id: 'ready' });
