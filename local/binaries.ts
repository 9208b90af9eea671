/** Finds the programs of the control plane. */

import { accessSync, constants } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

import { BINARY_NAMES, BINARY_SOURCES, VERSIONS } from './versions.ts';
import type { BinaryName } from './versions.ts';

export type Binaries = Readonly<Record<BinaryName, string>>;

/** `$XDG_CACHE_HOME/fairlead/bin`, by default `~/.cache/fairlead/bin`. */
export function binaryCacheDirectory(): string {
  const base = process.env['XDG_CACHE_HOME'];
  return join(base !== undefined && base !== '' ? base : join(homedir(), '.cache'), 'fairlead', 'bin');
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

export async function findBinaries(): Promise<Binaries> {
  const found: Partial<Record<BinaryName, string>> = {};
  for (const name of BINARY_NAMES) {
    const source = BINARY_SOURCES[name];
    const path =
      process.env[source.environmentVariable] ??
      join(binaryCacheDirectory(), `${name}-${VERSIONS[source.product]}`);
    if (!isExecutable(path)) throw new Error(`${name} not found at ${path}`);
    found[name] = path;
  }
  return Promise.resolve(found as Binaries);
}
