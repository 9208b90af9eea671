/** What a repository may be called and where it may be: every refusal happens before git sees the text. */

import { realpath } from 'node:fs/promises';
import { isAbsolute, resolve } from 'node:path';
import { ProblemError, problem } from './problems.ts';

/** On another machine. */
export interface RemoteSource {
  readonly kind: 'https' | 'ssh';
  readonly url: string;
  readonly host: string;
}

export type Source = { readonly kind: 'local'; readonly path: string } | RemoteSource;

/**
 * An https or ssh URL, an ssh address as `scp` writes it (`git@host:path`), or a local path. Refused: other schemes (`ext::`,
 * `file://`, `http://`), anything that could be taken for an option, credentials inside the URL (they would reach logs and process
 * lists), also where its scheme is not written properly, control characters.
 * @throws ProblemError SourceRefused
 */
export function parseSource(text: string, baseDirectory = process.cwd()): Source {
  const shown = redactAddress(text);
  if (text === '' || hasControl(text))
    throw refused(`the url ${JSON.stringify(shown)} is empty or holds control characters`);
  if (text.startsWith('-')) throw refused(`the url ${shown} begins like an option of git`);
  if (/^https:\/\//i.test(text)) return parseHttps(text, shown);
  if (/^ssh:\/\//i.test(text) || SCP.test(text)) return parseSsh(text, shown);
  if (/^[a-z][a-z0-9+.-]*::?/i.test(text) && !/^[a-z]:[\\/]/i.test(text)) {
    throw refused(`the scheme of ${shown} is not allowed; https:// and ssh:// are, and local paths`);
  }
  if (MISWRITTEN.test(text)) {
    throw refused(
      `the url ${JSON.stringify(shown)} is neither a URL nor a path`,
      'Write it as https://HOST/PATH, with nothing before that and no credentials in it, or begin a path with ./ or /.',
    );
  }
  return { kind: 'local', path: isAbsolute(text) ? resolve(text) : resolve(baseDirectory, text) };
}

/** A URL with something before it or without its scheme: as a path it would be told, and what is in it. */
const MISWRITTEN = /^\s|^\/\/|:\/\/|^[^/]*(?::|\/\/).*@/;

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

/** `user@host:path`, the path relative to the user's home unless it begins with `/`; not a scheme's `://`. */
const SCP = /^([^/\\:@]+)@([^/\\:@]+):(?!\/\/)(.+)$/;

function parseSsh(text: string, shown: string): Source {
  const [, user = '', host = '', path = ''] = SCP.exec(text) ?? [];
  if (host !== '') return sshSource({ user, host, path, url: text }, shown);
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw refused(`${shown} is not a URL`);
  }
  if (url.password !== '')
    throw refused(`the url ${shown} holds a password`, 'Use a key: name its file with `sshKeyFile`.');
  if (url.search !== '' || url.hash !== '') throw refused(`the url ${shown} has a query or a fragment`);
  return sshSource(
    { user: url.username, host: url.host, path: url.pathname.replace(/^\//, ''), url: url.href },
    shown,
  );
}

/** What git hands to ssh and to the shell of the server as words of its own must be plain, and must not look like options. */
function sshSource(
  { user, host, path, url }: { readonly [part in 'user' | 'host' | 'path' | 'url']: string },
  shown: string,
): Source {
  if (!/^[A-Za-z0-9_][A-Za-z0-9._-]*$/.test(user))
    throw refused(
      `the url ${shown} has no user name, or not a plain one`,
      'Write it as ssh://git@HOST/PATH, with the user that the server asks for.',
    );
  if (!/^(?:[A-Za-z0-9][A-Za-z0-9.-]*|\[[0-9a-fA-F:.]+\])(?::\d+)?$/.test(host))
    throw refused(`the url ${shown} has no host, or not a plain one`);
  if (!/^[A-Za-z0-9._~/][\w.~/+@%:-]*$/.test(path))
    throw refused(`the url ${shown} has no path of a repository, or not a plain one`);
  return { kind: 'ssh', url, host };
}

/**
 * What a repository is recognised by, whatever it is called: an https or ssh URL without credentials, `.git` and a last `/`, an ssh
 * address of the other form likewise, or the canonical path of a local one (as it was given while it does not exist).
 */
export async function sourceIdentity(url: string): Promise<string> {
  const [, user, host = '', path = ''] = SCP.exec(url) ?? [];
  const text = user === undefined ? url : `ssh://${user}@${host}/${path.replace(/^\//, '')}`;
  if (/^(?:https|ssh):\/\//i.test(text))
    return redactUrls(text)
      .replace(/\/+$/, '')
      .replace(/\.git$/i, '');
  return await realpath(url).catch(() => url);
}

/**
 * What the addresses of a repository on another machine have in common, be they for https, ssh or people: host and path, in small
 * letters, without port, user and `.git`. Undefined for a local path, and for what is no address.
 */
export function remoteKey(address: string): string | undefined {
  const [, user, host = '', path = ''] = SCP.exec(address) ?? [];
  const url = user === undefined ? parseUrl(address) : { hostname: host, pathname: path };
  if (url === undefined || url.hostname === '') return undefined;
  const name = url.pathname.replace(/^\/+|\/+$/g, '').replace(/\.git$/i, '');
  return name === '' ? undefined : `${url.hostname}/${name}`.toLowerCase();
}

function parseUrl(text: string): Pick<URL, 'hostname' | 'pathname'> | undefined {
  if (!/^(?:https?|ssh|git):\/\//i.test(text)) return undefined;
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
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
      problem('RefNotFound', `${JSON.stringify(ref)} is not a name git allows for a branch or tag.`),
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
      problem('PathVanished', `the path ${JSON.stringify(path)} does not stay inside the repository.`, {
        next: 'Set `path` to a folder relative to the root of the repository, without `..`.',
      }),
    );
  }
  return parts.join('/');
}

/** No character is looked at by more than one try: a server may choose the text, and its length. */
const USER_IN_URL =
  /(?<=[a-z0-9+.-]:\/\/)(?!(?<=(?<![\w+.-])ssh:\/\/)[^\s/@:'"]*@(?![^\s/'"]*@))[^\s/'"]*@/gi;
const QUERY_IN_URL = /\?(?<=[a-z0-9+.-]:\/\/[^\s?'"]*\?)[^\s'"]*/gi;

/**
 * Takes user names, passwords and queries out of every URL in a text (CVE-2023-25163). The user name of an ssh URL stays: it is no
 * secret, and part of the address.
 */
export function redactUrls(text: string): string {
  return text.replace(USER_IN_URL, '***@').replace(QUERY_IN_URL, '?***');
}

/**
 * An address as a whole, no text around it: a password in it may hold any character, so everything up to the last `@` goes. The plain
 * user name of an ssh address stays.
 */
function redactAddress(text: string): string {
  const [scheme = ''] = /^\s*[a-z][a-z0-9+.-]*:\/\//i.exec(text) ?? [];
  const rest = text.slice(scheme.length);
  const hasPlainUser = /^(?:|\s*ssh:\/\/)$/i.test(scheme) && /^[^/@:]*@[^@]*$/.test(rest);
  const shown = hasPlainUser ? rest : rest.replace(/^.*@/s, '***@');
  return scheme + shown.replace(/(?<=[?#]).*$/s, '***');
}

function hasControl(text: string): boolean {
  return /\p{Cc}/u.test(text);
}

function refused(message: string, next?: string): ProblemError {
  return new ProblemError(problem('SourceRefused', message, next === undefined ? {} : { next }));
}
