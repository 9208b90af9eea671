/** What a repository may be called and where it may be: every refusal happens before git sees the text. */

import { realpath } from 'node:fs/promises';
import { isAbsolute, resolve } from 'node:path';
import { ProblemError, problem } from './problems.ts';

export type Source =
  | { readonly kind: 'local'; readonly path: string }
  | { readonly kind: 'https'; readonly url: string; readonly host: string };

/**
 * An https URL or a local path. Refused: other schemes (`ext::`, `file://`, `http://`), anything that could be taken for
 * an option, credentials inside the URL (they would reach logs and process lists), control characters.
 * @throws ProblemError SourceRefused
 */
export function parseSource(text: string, baseDirectory = process.cwd()): Source {
  const shown = redactUrls(text);
  if (text === '' || hasControl(text))
    throw refused(`the url ${JSON.stringify(shown)} is empty or holds control characters`);
  if (text.startsWith('-')) throw refused(`the url ${shown} begins like an option of git`);
  if (/^https:\/\//i.test(text)) return parseHttps(text, shown);
  if (/^(?:git@|ssh:\/\/|[^/\\]+@[^/\\]+:)/i.test(text)) {
    throw refused(
      `${shown} is an ssh address`,
      'ssh is not supported yet: use the https:// URL and `tokenFile`.',
    );
  }
  if (/^[a-z][a-z0-9+.-]*::?/i.test(text) && !/^[a-z]:[\\/]/i.test(text)) {
    throw refused(`the scheme of ${shown} is not allowed`);
  }
  return { kind: 'local', path: isAbsolute(text) ? resolve(text) : resolve(baseDirectory, text) };
}

function parseHttps(text: string, shown: string): Source {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw refused(`${shown} is not a URL`);
  }
  if (url.username !== '' || url.password !== '') {
    throw refused(
      `the url ${shown} holds credentials`,
      'Put the token into a file, name it with `tokenFile`, and revoke the token that was in the URL.',
    );
  }
  if (url.search !== '' || url.hash !== '') throw refused(`the url ${shown} has a query or a fragment`);
  if (url.hostname === '') throw refused(`the url ${shown} has no host`);
  return { kind: 'https', url: url.href, host: url.host };
}

/**
 * What a repository is recognised by, whatever it is called: an https URL without credentials, `.git` and a last `/`, or the
 * canonical path of a local one (as it was given while it does not exist).
 */
export async function sourceIdentity(url: string): Promise<string> {
  if (/^https:\/\//i.test(url))
    return redactUrls(url)
      .replace(/\/+$/, '')
      .replace(/\.git$/i, '');
  return await realpath(url).catch(() => url);
}

/**
 * A branch, a tag, a full sha or a `refs/…` name.
 * @throws ProblemError RefNotFound
 */
export function checkRef(ref: string): string {
  const sound =
    /^[A-Za-z0-9][A-Za-z0-9._/@+-]{0,200}$/.test(ref) &&
    !/\.\.|\/\/|@\{|\.lock(?:\/|$)|\/\.|\.$|\/$/.test(ref);
  if (!sound)
    throw new ProblemError(
      problem('RefNotFound', `${JSON.stringify(ref)} is not a name git allows for a branch or tag`),
    );
  return ref;
}

/**
 * A path inside the repository, normalised: no leading `./`, no trailing `/`, `''` for the root.
 * @throws ProblemError PathVanished for absolute paths, `..` and control characters
 */
export function checkPath(path: string): string {
  const parts = path.split('/').filter((part) => part !== '' && part !== '.');
  const bad =
    path.startsWith('/') ||
    parts.includes('..') ||
    hasControl(path) ||
    path.includes('\\') ||
    path.length > 1024;
  if (bad) {
    throw new ProblemError(
      problem('PathVanished', `the path ${JSON.stringify(path)} does not stay inside the repository`, {
        next: 'Set `path` to a folder relative to the root of the repository, without `..`.',
      }),
    );
  }
  return parts.join('/');
}

/** Takes user names, passwords and queries out of every URL in a text (CVE-2023-25163). */
export function redactUrls(text: string): string {
  return text
    .replace(/([a-z][a-z0-9+.-]*:\/\/)[^\s/@'"]*@/gi, '$1***@')
    .replace(/([a-z][a-z0-9+.-]*:\/\/[^\s?'"]*)\?[^\s'"]*/gi, '$1?***');
}

function hasControl(text: string): boolean {
  return /\p{Cc}/u.test(text);
}

function refused(message: string, next?: string): ProblemError {
  return new ProblemError(problem('SourceRefused', message, next === undefined ? {} : { next }));
}
