/**
 * Official release files. Only those whose checksum is known for certain are here: each was compared between two independent
 * public package collections. Kubernetes and etcd are missing for that reason, and are built.
 */

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { chmod, mkdtemp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';

import { toMessage } from '../kubernetes/api-error.ts';
import { asError, trusted } from '../kubernetes/values.ts';
import { VERSIONS } from './versions.ts';
import type { ProgramName } from './versions.ts';

/** Replaces `https://github.com`; the rest of the path stays, and so does the checksum. */
const MIRROR_VARIABLE = 'FAIRLEAD_DOWNLOAD_MIRROR';

const OFFICIAL = 'https://github.com';
/** A machine without access must get to the build soon. */
const FIRST_BYTE_MS = 5000;
const WHOLE_MS = 10 * 60 * 1000;

export interface Release {
  readonly url: string;
  readonly sha256: string;
  /** The program's name within a .tar.gz; absent if the file is the program. */
  readonly member?: string;
}

interface ReleaseFile {
  readonly path: string;
  readonly sha256: string;
  readonly member?: string;
}

/** By program, then by `<platform>-<architecture>` as Node names them. */
const FILES: Readonly<Partial<Record<ProgramName, Readonly<Record<string, ReleaseFile>>>>> = {
  kwok: {
    'linux-x64': {
      path: `/kubernetes-sigs/kwok/releases/download/v${VERSIONS.kwok}/kwok-linux-amd64`,
      sha256: 'f5a4385a2ae1b9dd7f8acae18e002a75c0ebba124ae9d7259aa8dadb50711f46',
    },
  },
  temporal: {
    'linux-x64': {
      path: `/temporalio/cli/releases/download/v${VERSIONS.temporal}/temporal_cli_${VERSIONS.temporal}_linux_amd64.tar.gz`,
      sha256: 'ddc95e08b0b076efd4ea9733a3f488eb7d2be875f8834e616cd2a37358b4852d',
      member: 'temporal',
    },
  },
};

/** The release of a program for this machine, if its checksum is known. */
export function releaseOf(
  name: ProgramName,
  environment: Readonly<Record<string, string | undefined>>,
  machine = `${process.platform}-${process.arch}`,
): Release | undefined {
  const file = FILES[name]?.[machine];
  if (file === undefined) return undefined;
  const { path, ...rest } = file;
  const mirror = environment[MIRROR_VARIABLE];
  const base = mirror === undefined || mirror === '' ? OFFICIAL : mirror.replace(/\/+$/, '');
  return { ...rest, url: `${base}${path}` };
}

export interface DownloadOptions {
  readonly report: (line: string) => void;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Downloads a release to `target`, which appears whole, checked and executable, or not at all. Rejects if no answer comes
 * within 5 s, and if the checksum is another one.
 */
export async function downloadRelease(
  release: Release,
  target: string,
  options: DownloadOptions,
): Promise<void> {
  const { url, sha256, member } = release;
  const temporary = await mkdtemp(`${target}.download-`);
  try {
    const file = join(temporary, 'file');
    options.report(`downloading ${url}`);
    const actual = await fetchTo(url, file, options.signal);
    if (actual !== sha256) throw new Error(`${url} has the SHA-256 ${actual}, not the pinned ${sha256}`);
    const program = member === undefined ? file : join(temporary, member);
    if (member !== undefined) await promisify(execFile)('tar', ['-xzf', file, '-C', temporary, member]);
    await chmod(program, 0o755);
    await rename(program, target);
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

async function fetchTo(url: string, file: string, signal: AbortSignal | undefined): Promise<string> {
  const controller = new AbortController();
  const abort = (why: string) => () => {
    controller.abort(new Error(why));
  };
  const firstByte = setTimeout(abort(`no answer within ${FIRST_BYTE_MS / 1000} s`), FIRST_BYTE_MS);
  const whole = setTimeout(abort(`not complete after ${WHOLE_MS / 60_000} min`), WHOLE_MS);
  const signals = signal === undefined ? [controller.signal] : [controller.signal, signal];
  try {
    const answer = await fetch(url, { signal: AbortSignal.any(signals) }).catch((error: unknown) => {
      // `fetch failed` says nothing; its cause does.
      throw new Error(`${new URL(url).host}: ${toMessage(asError(error).cause ?? error)}`, { cause: error });
    });
    clearTimeout(firstByte);
    if (!answer.ok || answer.body === null) throw new Error(`${url} answers ${answer.status}`);
    const hash = createHash('sha256');
    const body = Readable.fromWeb(trusted(answer.body));
    body.on('data', (chunk: Buffer) => hash.update(chunk));
    await pipeline(body, createWriteStream(file));
    return hash.digest('hex');
  } finally {
    clearTimeout(firstByte);
    clearTimeout(whole);
  }
}
