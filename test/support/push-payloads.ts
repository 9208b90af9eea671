/** What git servers post when something was pushed: their own fields and headers, as far as the body tells where and what. */

import { createHmac } from 'node:crypto';

export interface Pushed {
  /** Of the repository, on whatever server: `https://HOST/TEAM/NAME`. */
  readonly address: string;
  readonly branch: string;
  readonly before: string;
  readonly after: string;
  readonly secret: string;
}

export interface Payload {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

const JSON_TYPE = { 'content-type': 'application/json' };

function hmac(secret: string, body: string): string {
  return createHmac('sha256', secret).update(body).digest('hex');
}

function partsOf(address: string) {
  const { host, hostname, pathname } = new URL(address);
  const [team = '', name = ''] = pathname.slice(1).split('/');
  return { host, hostname, team, name, fullName: `${team}/${name}` };
}

function githubBody({ address, branch, before, after }: Pushed) {
  const { hostname, host, team, name, fullName } = partsOf(address);
  return {
    ref: `refs/heads/${branch}`,
    before,
    after,
    created: false,
    deleted: false,
    forced: false,
    base_ref: null,
    compare: `${address}/compare/${before.slice(0, 12)}...${after.slice(0, 12)}`,
    repository: {
      id: 186853002,
      name,
      full_name: fullName,
      private: true,
      owner: { name: team, login: team, id: 21031067, type: 'Organization' },
      html_url: address,
      url: address,
      git_url: `git://${host}/${fullName}.git`,
      ssh_url: `git@${hostname}:${fullName}.git`,
      clone_url: `${address}.git`,
      default_branch: branch,
      master_branch: branch,
    },
    pusher: { name: 'dev', email: 'dev@example.com' },
    commits: [{ id: after, message: 'change', added: [], removed: [], modified: ['config.yaml'] }],
    head_commit: { id: after, message: 'change' },
  };
}

/** A push as each server announces it, by the server's name. */
export const PAYLOADS: Readonly<Record<string, (pushed: Pushed) => Payload>> = {
  GitHub: (pushed) => {
    const body = JSON.stringify(githubBody(pushed));
    return {
      body,
      headers: {
        ...JSON_TYPE,
        'user-agent': 'GitHub-Hookshot/044aadd',
        'x-github-delivery': '72d3162e-cc78-11e3-81ab-4c9367dc0958',
        'x-github-event': 'push',
        'x-hub-signature': `sha1=${createHmac('sha1', pushed.secret).update(body).digest('hex')}`,
        'x-hub-signature-256': `sha256=${hmac(pushed.secret, body)}`,
      },
    };
  },
  'GitHub as a form': (pushed) => {
    const body = new URLSearchParams({ payload: JSON.stringify(githubBody(pushed)) }).toString();
    return {
      body,
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        'x-github-event': 'push',
        'x-hub-signature-256': `sha256=${hmac(pushed.secret, body)}`,
      },
    };
  },
  GitLab: ({ address, branch, before, after, secret }) => {
    const { hostname, team, name, fullName } = partsOf(address);
    const body = JSON.stringify({
      object_kind: 'push',
      event_name: 'push',
      before,
      after,
      ref: `refs/heads/${branch}`,
      ref_protected: true,
      checkout_sha: after,
      user_username: 'dev',
      project_id: 15,
      project: {
        id: 15,
        name,
        namespace: team,
        web_url: address,
        git_ssh_url: `git@${hostname}:${fullName}.git`,
        git_http_url: `${address}.git`,
        path_with_namespace: fullName,
        default_branch: branch,
        ssh_url: `git@${hostname}:${fullName}.git`,
        http_url: `${address}.git`,
      },
      commits: [{ id: after, message: 'change', added: [], modified: ['config.yaml'], removed: [] }],
      total_commits_count: 1,
    });
    return { body, headers: { ...JSON_TYPE, 'x-gitlab-event': 'Push Hook', 'x-gitlab-token': secret } };
  },
  Gitea: (pushed) => {
    const body = JSON.stringify(githubBody(pushed), null, 2);
    const signature = hmac(pushed.secret, body);
    return {
      body,
      headers: {
        ...JSON_TYPE,
        'x-gitea-delivery': 'f6266f16-1bf3-46a5-9ea4-602e06ead473',
        'x-gitea-event': 'push',
        'x-gitea-event-type': 'push',
        'x-gitea-signature': signature,
        'x-gogs-event': 'push',
        'x-gogs-signature': signature,
        'x-github-event': 'push',
        'x-hub-signature-256': `sha256=${signature}`,
      },
    };
  },
  'Bitbucket Cloud': ({ address, branch, before, after, secret }) => {
    const { name, fullName } = partsOf(address);
    const body = JSON.stringify({
      actor: { type: 'user', display_name: 'dev' },
      repository: {
        type: 'repository',
        full_name: fullName,
        name,
        links: {
          self: { href: `https://api.bitbucket.org/2.0/repositories/${fullName}` },
          html: { href: address },
        },
      },
      push: {
        changes: [
          {
            new: { type: 'branch', name: branch, target: { type: 'commit', hash: after } },
            old: { type: 'branch', name: branch, target: { type: 'commit', hash: before } },
            created: false,
            forced: false,
            closed: false,
          },
        ],
      },
    });
    return {
      body,
      headers: {
        ...JSON_TYPE,
        'x-event-key': 'repo:push',
        'x-hub-signature': `sha256=${hmac(secret, body)}`,
      },
    };
  },
  'Bitbucket Data Center': ({ address, branch, before, after, secret }) => {
    const { hostname, host, name, fullName } = partsOf(address);
    const id = `refs/heads/${branch}`;
    const body = JSON.stringify({
      eventKey: 'repo:refs_changed',
      date: '2026-01-13T22:26:25+1100',
      actor: { name: 'dev' },
      repository: {
        slug: name,
        id: 84,
        name,
        links: {
          clone: [
            { href: `ssh://git@${hostname}:7999/${fullName}.git`, name: 'ssh' },
            { href: `https://${host}/${fullName}.git`, name: 'http' },
          ],
          self: [{ href: `${address}/browse` }],
        },
      },
      changes: [
        {
          ref: { id, displayId: branch, type: 'BRANCH' },
          refId: id,
          fromHash: before,
          toHash: after,
          type: 'UPDATE',
        },
      ],
    });
    return {
      body,
      headers: {
        'content-type': 'application/json; charset=utf-8',
        'x-event-key': 'repo:refs_changed',
        'x-hub-signature': `sha256=${hmac(secret, body)}`,
      },
    };
  },
  'anybody with HMAC': ({ address, branch, secret }) => {
    const body = JSON.stringify({ repository: address, ref: `refs/heads/${branch}` });
    return { body, headers: { 'x-signature': `sha256=${hmac(secret, body)}` } };
  },
};
