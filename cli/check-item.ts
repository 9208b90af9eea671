/** One line of `fairlead check`. */

import type { ExitCode } from './exit-codes.ts';

export interface CheckItem {
  /** Stable, for scripts: `kubernetes.reachable`. */
  readonly id: string;
  /** `warning`: it works without, but less well. */
  readonly outcome: 'ok' | 'failed' | 'warning';
  readonly what: string;
  /** A version, an address, a name. */
  readonly found?: string;
  /** The command, or what to do. Lines. */
  readonly mend?: string;
  /** What a failure means for the exit code; absent: 1. */
  readonly exitCode?: ExitCode;
}
