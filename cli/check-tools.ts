/** The checks that need no cluster: the git program, Temporal, its search attributes. */

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

import { errorCode } from '../kubernetes/values.ts';
import { toMessage } from '../kubernetes/api-error.ts';
import { missingSearchAttributes, searchAttributeCommand } from '../controllers/search-attributes.ts';
import type { CheckItem } from './check-item.ts';
import { EXIT } from './exit-codes.ts';
import { troubledRuns } from './stuck-runs.ts';
import type { Temporal } from './temporal.ts';
import { TemporalUnreachable, withTemporal } from './temporal.ts';

type Environment = Readonly<Record<string, string | undefined>>;

const GIT_TIMEOUT_MS = 5_000;

/** `fetch --no-write-fetch-head` came with the version before it. */
export const LEAST_GIT = '2.30';
const MEND_GIT = `install git ${LEAST_GIT} or newer (apt-get install git, brew install git)`;

/** The git program, which reads repositories. */
export async function checkGit(environment: Environment): Promise<readonly CheckItem[]> {
  const item = { id: 'git', what: 'git' } as const;
  try {
    const run = promisify(execFile);
    const { stdout } = await run('git', ['--version'], { env: { ...environment }, timeout: GIT_TIMEOUT_MS });
    const found = stdout.trim();
    if (isRecent(found)) return [{ ...item, outcome: 'ok', found }];
    return [{ ...item, outcome: 'failed', found: `${found} is older than ${LEAST_GIT}`, mend: MEND_GIT }];
  } catch (error) {
    const found = errorCode(error) === 'ENOENT' ? 'is not on the PATH' : toMessage(error);
    return [{ ...item, outcome: 'failed', found, mend: MEND_GIT }];
  }
}

/** `git version 2.39.5 (Apple Git-154)`, `git version 2.45.1.windows.1`: the first two numbers count. */
function isRecent(text: string): boolean {
  const [, major = 0, minor = 0] = /(\d+)\.(\d+)/.exec(text)?.map(Number) ?? [];
  const [leastMajor = 0, leastMinor = 0] = LEAST_GIT.split('.').map(Number);
  return major > leastMajor || (major === leastMajor && minor >= leastMinor);
}

/** Whether the runs of repositories and of commits go on; those of workloads are many, and their objects tell of them. */
async function checkRuns({ client }: Temporal, cluster: string): Promise<CheckItem> {
  const item = { id: 'temporal.runs', what: 'runs of repositories' } as const;
  try {
    const runs = await troubledRuns(client, cluster);
    if (runs.length === 0) return { ...item, outcome: 'ok', found: 'go on' };
    return {
      ...item,
      outcome: runs.some(({ kind }) => kind === 'fails') ? 'failed' : 'warning',
      found: runs.map(({ text }) => text).join('; '),
      mend: [...new Set(runs.map(({ next }) => next))].join('\n'),
    };
  } catch (error) {
    return { ...item, outcome: 'warning', found: `may not be listed: ${toMessage(error)}` };
  }
}

/** Temporal itself, what the namespace knows of our search attributes, and the runs of the cluster's repositories. */
export async function checkTemporal(
  environment: Environment,
  cluster: string,
): Promise<readonly CheckItem[]> {
  const reachable = { id: 'temporal.reachable', what: 'Temporal' } as const;
  const attributes = { id: 'temporal.search-attributes', what: 'search attributes' } as const;
  try {
    return await withTemporal(environment, async (temporal) => {
      const found = `${temporal.address}, namespace ${temporal.namespace}`;
      await temporal.client.workflowService.describeNamespace({ namespace: temporal.namespace });
      const ok: CheckItem = { ...reachable, outcome: 'ok', found };
      return [ok, ...(await Promise.all([checkAttributes(), checkRuns(temporal, cluster)]))];

      async function checkAttributes(): Promise<CheckItem> {
        const { namespace } = temporal;
        try {
          const missing = await missingSearchAttributes(temporal.client, namespace);
          if (missing.length === 0) return { ...attributes, outcome: 'ok', found: 'registered' };
          return {
            ...attributes,
            outcome: 'warning',
            found: `${missing.join(', ')} not registered; runs go without them`,
            mend: searchAttributeCommand(namespace, missing),
          };
        } catch (error) {
          return { ...attributes, outcome: 'warning', found: `may not be listed: ${toMessage(error)}` };
        }
      }
    });
  } catch (error) {
    const found = error instanceof TemporalUnreachable ? error.predicate : toMessage(error);
    return [
      {
        ...reachable,
        outcome: 'failed',
        found,
        mend: 'set TEMPORAL_ADDRESS (and TEMPORAL_NAMESPACE, TEMPORAL_API_KEY or TLS), or start one: temporal server start-dev',
        exitCode: EXIT.temporalUnreachable,
      },
    ];
  }
}
