/** Reads kubeconfig files and merges them as kubectl does: the first file that names something wins. */

import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import * as path from 'node:path';

import { load } from 'js-yaml';

import { asError, asRecord, errorCode } from './values.ts';

/** Nothing can be said to the apiserver with this configuration. The message ends with what to do. */
export class KubeconfigError extends Error {
  override name = 'KubeconfigError';
}

/** An entry of `clusters`, `users` or `contexts`, and the file that it came from (relative paths start there). */
export interface Entry {
  readonly file: string;
  readonly values: Readonly<Record<string, unknown>>;
}

export interface Kubeconfig {
  /** The files that exist, in order. */
  readonly files: readonly string[];
  readonly currentContext: string | undefined;
  readonly clusters: ReadonlyMap<string, Entry>;
  readonly users: ReadonlyMap<string, Entry>;
  readonly contexts: ReadonlyMap<string, Entry>;
}

/** Where kubeconfigs are looked for, and whether someone asked for these files (then they must exist). */
export interface KubeconfigPaths {
  readonly files: readonly string[];
  readonly explicit: boolean;
}

/** An explicit file, else the list in KUBECONFIG, else `~/.kube/config`. */
export function kubeconfigPaths(
  environment: Readonly<Record<string, string | undefined>>,
  file?: string,
): KubeconfigPaths {
  if (file !== undefined) return { files: [path.resolve(file)], explicit: true };
  const listed = (environment['KUBECONFIG'] ?? '').split(path.delimiter).filter((name) => name !== '');
  if (listed.length > 0) return { files: listed.map((name) => path.resolve(name)), explicit: true };
  const home = environment['HOME'] ?? homedir();
  return { files: [path.join(home, '.kube', 'config')], explicit: false };
}

/**
 * Reads and merges the files. A file that does not exist is skipped, as kubectl does; the result is undefined if none
 * exists and nobody asked for them.
 * @throws {KubeconfigError} unreadable, not YAML, or of the wrong shape
 */
export async function readKubeconfigs(paths: KubeconfigPaths): Promise<Kubeconfig | undefined> {
  const files: string[] = [];
  let currentContext: string | undefined;
  const sections = {
    clusters: new Map<string, Entry>(),
    users: new Map<string, Entry>(),
    contexts: new Map<string, Entry>(),
  };
  for (const file of paths.files) {
    const text = await readOptional(file);
    if (text === undefined) continue;
    files.push(file);
    const document = parse(file, text);
    currentContext ??= textField(document, 'current-context', file);
    mergeSection(sections.clusters, document, 'clusters', 'cluster', file);
    mergeSection(sections.users, document, 'users', 'user', file);
    mergeSection(sections.contexts, document, 'contexts', 'context', file);
  }
  if (files.length > 0) return { files, currentContext, ...sections };
  if (!paths.explicit) return undefined;
  throw new KubeconfigError(
    `no kubeconfig at ${paths.files.join(', ')}: the file does not exist. Set KUBECONFIG to one that does.`,
  );
}

/**
 * A field that must be a string if it is there; empty counts as absent.
 * @throws {KubeconfigError} naming file and field
 */
export function textField(
  values: Readonly<Record<string, unknown>>,
  field: string,
  file: string,
): string | undefined {
  const value = values[field];
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value !== 'string') {
    throw new KubeconfigError(
      `${file}: '${field}' must be a string, found a ${typeof value}; put it in quotes`,
    );
  }
  return value;
}

/** A field that names a file, made absolute from the kubeconfig's own folder. */
export function fileField(entry: Entry, field: string): string | undefined {
  const value = textField(entry.values, field, entry.file);
  return value === undefined ? undefined : path.resolve(path.dirname(entry.file), value);
}

async function readOptional(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const code = errorCode(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new KubeconfigError(`cannot read the kubeconfig ${file}: ${asError(error).message}`, {
      cause: error,
    });
  }
}

function parse(file: string, text: string): Readonly<Record<string, unknown>> {
  let document: unknown;
  try {
    document = text.trim() === '' ? {} : load(text, { filename: file });
  } catch (error) {
    const [reason] = asError(error).message.split('\n', 1);
    throw new KubeconfigError(`${file} is not a kubeconfig: ${reason}. Check it with 'kubectl config view'.`);
  }
  if (document === null || document === undefined) return {};
  if (typeof document !== 'object' || Array.isArray(document)) {
    throw new KubeconfigError(
      `${file} is not a kubeconfig: it holds no mapping. Check it with 'kubectl config view'.`,
    );
  }
  return asRecord(document);
}

function mergeSection(
  into: Map<string, Entry>,
  document: Readonly<Record<string, unknown>>,
  section: string,
  field: string,
  file: string,
): void {
  const list = document[section];
  if (list === undefined || list === null) return;
  if (!Array.isArray(list)) throw new KubeconfigError(`${file}: '${section}' must be a list`);
  for (const item of list as readonly unknown[]) {
    const entry = asRecord(item);
    const name = textField(entry, 'name', file);
    if (name === undefined) throw new KubeconfigError(`${file}: an entry of '${section}' has no name`);
    if (!into.has(name)) into.set(name, { file, values: asRecord(entry[field]) });
  }
}
