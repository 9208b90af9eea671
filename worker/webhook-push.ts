/** Which repository and which refs a webhook is about: read from a body in which every field may be of any type. */

import type { Repository } from '../git/repositories.ts';
import { refsNamed } from '../git/ref-names.ts';
import { remoteKey } from '../git/source-url.ts';
import { asRecord } from '../kubernetes/values.ts';
import type { Sender, SenderName } from './webhook-sender.ts';

/** What was pushed, as far as the body says it. */
export interface Push {
  /** Addresses of the repository, as its server spells them. */
  readonly addresses: readonly string[];
  /** Full names, such as `refs/heads/main`; none: it is not said. */
  readonly refs: readonly string[];
  readonly defaultBranch?: string;
}

/** A body of many changes or addresses is read so far. */
const MOST = 1_000;
const LONGEST = 2_048;

/** The push that a verified body tells of; undefined: it is about something else. */
export function readPush({ name, event }: Pick<Sender, 'name' | 'event'>, body: unknown): Push | undefined {
  const record = asRecord(body);
  return isPush(name, event, record) ? READERS[name](record) : undefined;
}

/**
 * Whether a push concerns what a repositories entry follows. One that does not say what it was about concerns it: a look too many
 * costs little, one that is missing costs an interval.
 */
export function concerns(repository: Pick<Repository, 'url' | 'ref'>, push: Push, isNamed: boolean): boolean {
  if (!isNamed) {
    const own = remoteKey(repository.url);
    if (own === undefined || !push.addresses.some((address) => remoteKey(address) === own)) return false;
  }
  const { refs, defaultBranch } = push;
  if (refs.length === 0) return true;
  const { ref } = repository;
  if (ref === undefined) return defaultBranch === undefined || refs.includes(`refs/heads/${defaultBranch}`);
  // A commit that is followed by its sha may just have come.
  if (/^[0-9a-f]{40,64}$/.test(ref)) return true;
  return [ref, ...refsNamed(ref)].some((one) => refs.includes(one));
}

type Fields = Readonly<Record<string, unknown>>;

function isPush(name: SenderName, event: string, body: Fields): boolean {
  switch (name) {
    case 'github':
    case 'gitea':
      return event === 'push';
    case 'gitlab':
      // A system hook has one header for all that happens.
      return ['push', 'tag_push'].includes(String(body['object_kind'] ?? body['event_name']));
    case 'bitbucket':
      return event === 'repo:push' || event === 'repo:refs_changed';
    case 'generic':
      return true;
  }
}

const READERS: Readonly<Record<SenderName, (body: Fields) => Push>> = {
  github: likeGitHub,
  gitea: likeGitHub,
  gitlab: (body) => {
    const project = asRecord(body['project']);
    return pushOf(
      ['git_http_url', 'git_ssh_url', 'web_url', 'http_url', 'ssh_url'].map((field) => project[field]),
      [body['ref']],
      project['default_branch'],
    );
  },
  bitbucket: (body) => {
    const links = asRecord(asRecord(body['repository'])['links']);
    const clones = [...listOf(links['clone']), ...listOf(links['self']), links['html']];
    // Bitbucket Cloud, and Bitbucket Data Center.
    const changes = [...listOf(asRecord(body['push'])['changes']), ...listOf(body['changes'])];
    return pushOf(
      clones.map((link) => asRecord(link)['href']),
      changes.flatMap((change) => refsOfChange(asRecord(change))),
    );
  },
  generic: (body) => pushOf([body['repository']], [body['ref']]),
};

function likeGitHub(body: Fields): Push {
  const repository = asRecord(body['repository']);
  return pushOf(
    ['clone_url', 'ssh_url', 'html_url', 'git_url', 'url'].map((field) => repository[field]),
    [body['ref']],
    repository['default_branch'],
  );
}

function refsOfChange(change: Fields): readonly unknown[] {
  const states = [change['new'], change['old']].map((state) => {
    const { type, name } = asRecord(state);
    return typeof name === 'string' ? `refs/${type === 'tag' ? 'tags' : 'heads'}/${name}` : undefined;
  });
  return [...states, asRecord(change['ref'])['id']];
}

function pushOf(addresses: readonly unknown[], refs: readonly unknown[], defaultBranch?: unknown): Push {
  const [branch] = texts([defaultBranch]);
  return {
    addresses: texts(addresses),
    refs: texts(refs),
    ...(branch !== undefined && { defaultBranch: branch }),
  };
}

function texts(values: readonly unknown[]): readonly string[] {
  return values
    .slice(0, MOST)
    .filter((value): value is string => typeof value === 'string' && value !== '' && value.length <= LONGEST);
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value.slice(0, MOST) : [];
}
