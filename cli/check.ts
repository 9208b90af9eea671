/** `fairlead check`: is everything there? Each line says what is, or which command mends it. */

import { colorsOf } from './colors.ts';
import { checkCluster } from './check-cluster.ts';
import type { CheckItem } from './check-item.ts';
import { checkRepositories } from './check-repositories.ts';
import { checkGit, checkTemporal } from './check-tools.ts';
import { EXIT } from './exit-codes.ts';
import type { ExitCode } from './exit-codes.ts';
import type { Call } from './io.ts';
import { manyLines, oneLine } from '../kubernetes/safe-text.ts';
import { nonEmpty } from '../kubernetes/values.ts';
import { readSettings } from './session.ts';
import type { Document } from './structured.ts';
import { CLI_API_VERSION, printStructured } from './structured.ts';

export interface CheckOptions {
  /** Also what a worker's own identity must be allowed to do. */
  readonly worker?: boolean;
  /** File with the list of repositories. */
  readonly repositories?: string;
}

interface CheckDocument extends Document {
  readonly kind: 'CheckReport';
  readonly ok: boolean;
  readonly checks: readonly CheckItem[];
}

/** Runs the verb. 6 or 5 when Kubernetes or Temporal cannot be reached, else 1 when something is missing. */
export async function runCheck(call: Call<CheckOptions>): Promise<ExitCode> {
  const { io, options } = call;
  const settings = readSettings(call);
  const file = options.repositories ?? nonEmpty(io.environment['FAIRLEAD_REPOSITORIES']);
  const [git, repositories, cluster, temporal] = await Promise.all([
    checkGit(io.environment),
    file === undefined ? [] : checkRepositories(file),
    checkCluster(call, options.worker === true),
    checkTemporal(io.environment, settings.cluster),
  ]);
  const checks = [...git, ...repositories, ...cluster, ...temporal];
  const failed = checks.filter((check) => check.outcome === 'failed');
  const document: CheckDocument = {
    apiVersion: CLI_API_VERSION,
    kind: 'CheckReport',
    ok: failed.length === 0,
    checks,
  };
  if (!(await printStructured(io, options, document))) {
    const { good, bad, held, dim } = colorsOf(io);
    const glyphs = { ok: good('✔'), failed: bad('✗'), warning: held('!') };
    io.out(`${dim(`workload API ${settings.api}, cluster "${settings.cluster}"`)}\n`);
    for (const check of checks) {
      io.out(
        `${glyphs[check.outcome]} ${oneLine(check.what)}${check.found === undefined ? '' : dim(` ${oneLine(check.found)}`)}\n`,
      );
      if (check.outcome !== 'ok' && check.mend !== undefined) {
        io.out(`${manyLines(check.mend).replaceAll(/^/gm, '    ')}\n`);
      }
    }
  }
  return (
    failed.find((check) => check.exitCode !== undefined)?.exitCode ??
    (failed.length === 0 ? EXIT.ok : EXIT.failed)
  );
}
