/** Where programs keep what is theirs, by the XDG Base Directory Specification. */

import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';

type Environment = Readonly<Record<string, string | undefined>>;

/** `$XDG_CACHE_HOME/fairlead`, by default `~/.cache/fairlead`: what can be made again. */
export function cacheHome(environment: Environment): string {
  return ours(environment['XDG_CACHE_HOME'], '.cache');
}

/** `$XDG_STATE_HOME/fairlead`, by default `~/.local/state/fairlead`: what outlives a process. */
export function stateHome(environment: Environment): string {
  return ours(environment['XDG_STATE_HOME'], '.local/state');
}

/** A relative path is not valid, and passed over: it would be another directory from wherever a command is typed. */
function ours(base: string | undefined, byDefault: string): string {
  const isValid = base !== undefined && isAbsolute(base);
  return join(isValid ? base : join(homedir(), byDefault), 'fairlead');
}
