import { execFileSync } from 'node:child_process';

import { describe, expect, it } from '@jest/globals';

import { describeFailure } from '../../../cli/failures.ts';
import { CliError } from '../../../cli/exit-codes.ts';
import { ApiError } from '../../../kubernetes/api-error.ts';
import { responseError } from '../../../kubernetes/response-errors.ts';
import { WishRefusedError } from '../../../kubernetes/wish-refused-error.ts';
import { shellAlias, shellWord } from '../../../kubernetes/shell-word.ts';
import { runCli } from '../../support/cli.ts';

describe('a failure, for programs', () => {
  const noCluster = { environment: { KUBECONFIG: '/nowhere/config', HOME: '/nowhere' } };
  const failure = { apiVersion: 'cli.fairlead.dev/v1', kind: 'Failure' };

  it.each([
    ['rollout status sts/web -o json', 6, 'KubernetesUnreachable'],
    ['watch sts/web -o json', 6, 'KubernetesUnreachable'],
    ['set image sts/web main= -o json', 2, 'Usage'],
  ])('`%s`: one line of JSON beside what people read', async (line, exitCode, reason) => {
    const { code, out, err } = await runCli(line.split(' '), noCluster);
    expect(code).toBe(exitCode);
    expect(out.trimEnd()).not.toContain('\n');
    const document: unknown = JSON.parse(out);
    expect(document).toMatchObject({ ...failure, code: reason, exitCode });
    expect(err).toMatch(/^error: /);
  });

  it('is YAML where that was asked for, and nothing on stdout without', async () => {
    const { out } = await runCli(['explain', 'sts/web', '-o', 'yaml'], noCluster);
    expect(out).toContain('kind: Failure\ncode: KubernetesUnreachable\n');
    expect((await runCli(['explain', 'sts/web'], noCluster)).out).toBe('');
  });

  it.each<[string, Error, string]>([
    ['a verb', new WishRefusedError('RevisionNotFound', 'no 99'), 'RevisionNotFound'],
    ['a verb of the command line', new CliError('other', 1, { code: 'OtherChange' }), 'OtherChange'],
    ['anything else', new Error('oh'), 'Failed'],
  ])('names what was refused: %s', (_, error, code) => {
    expect(describeFailure(error)).toMatchObject({ code, exitCode: 1 });
  });
});

describe('the command line', () => {
  it('alone prints help and ends well', async () => {
    const { code, out, err } = await runCli([]);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toContain('Usage: fairlead');
    expect(out).toContain('Exit codes:');
  });

  it.each([
    [['rollot'], 'Did you mean rollout?'],
    [['rollout', 'paus', 'sts/web'], 'Did you mean pause?'],
    [['get', '--outptu', 'json'], 'Did you mean --output?'],
    [['get', '-o', 'xml'], 'Allowed choices are table, wide, json, yaml, name'],
    [['get', '--timeout', 'soon'], 'is not a duration'],
    [['rollout', 'status'], "missing required argument 'KIND/NAME'"],
    [['rollout', 'undo', 'sts/web', '--to-revision', 'x'], 'is not a revision number'],
    ...['rollout pause sts/web', 'set image sts/web a=b', 'rolling-update foo', 'sync shop'].flatMap((line) =>
      ['reason', 'by'].map((flag): [string[], string] => [
        [...line.split(' '), `--${flag}`, 'é'.repeat(1_025)],
        `error: --${flag} has 1025 characters, and may have 1024 at the most\n`,
      ]),
    ),
    [['set', 'image', 'sts/web'], 'missing required argument'],
    [['get', 'a', 'b'], 'too many arguments'],
    [['get', 'repositories', 'shop'], 'too many arguments: one of them by its name is `get repository/shop`'],
    [['get', 'sts', 'web'], 'by its name is `get sts/web`'],
    [
      ['rolling-update', 'foo', '-f', 'a.yaml', '-f', 'b.yaml'],
      'one file at the most, and a.yaml is another',
    ],
    ...['a b', '', '-x', 'a/b/c', 'Example.com/a', 'a'.repeat(64), `${'a'.repeat(254)}/a`].map(
      (key): [string[], string] => [
        ['rolling-update', 'foo', '--image=foo:2', '--deployment-label-key', key],
        'is no key of a label',
      ],
    ),
  ])('%j is a mistake of usage: exit code 2', async (words, message) => {
    const { code, out, err } = await runCli(words);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain(message);
  });

  it('a reason may have 1024 characters, however long each is', async () => {
    const words = ['rollout', 'pause', 'sts/web', '--reason', '🛟'.repeat(1_024)];
    expect((await runCli(words, { environment: { HOME: '/nonexistent' } })).code).toBe(6);
  });

  it.each(['deployment', 'kubernetes.io/deployment', 'A_b.c-9', `${'a'.repeat(253)}/${'b'.repeat(63)}`])(
    'the key of a label may be %s',
    async (key) => {
      const words = ['rolling-update', 'foo', '--image=foo:2', '--deployment-label-key', key];
      const nowhere = { environment: { KUBECONFIG: '/nowhere/config', HOME: '/nowhere' } };
      expect((await runCli(words, nowhere)).code).toBe(6);
    },
  );

  it.each(['get', 'watch', 'explain', 'rollout', 'set image', 'check', 'worker', 'up', 'plan'])(
    '`%s --help` shows options of the program and, for verbs, examples',
    async (verb) => {
      const { code, out } = await runCli([...verb.split(' '), '--help']);
      expect(code).toBe(0);
      expect(out).toMatch(new RegExp(`^Usage: fairlead ${verb} `));
      expect(out).toContain('--namespace');
      expect(out).toMatch(verb === 'rollout' ? /undo \[options\]/ : /Examples:\n {2}fairlead/);
    },
  );

  it.each([
    ['get', 'sts, ds, deploy, rc or repositories'],
    ['watch', 'KIND is sts, ds, deploy, rc,'],
    ['explain', 'KIND is sts, ds, deploy, rc,'],
    ['rollout pause', 'KIND is sts, ds, deploy, rc,'],
    ['rollout status', 'KIND is sts, ds, deploy, rc,'],
    ['rollout undo', 'KIND is sts, ds, deploy, or in full'],
    ['rollout restart', 'KIND is sts, ds, deploy, or in full'],
    ['set image', 'KIND is sts, ds, deploy, or in full'],
  ])('`%s --help` names the kinds that it takes', async (verb, kinds) => {
    const { out } = await runCli([...verb.split(' '), '--help']);
    expect(out.replace(/\s+/g, ' ')).toContain(kinds);
  });

  it.each([
    ['explain sts/web -o name', '`fairlead explain` does not print -o name; it prints json, yaml'],
    ['rollout status sts/web -o wide', '`fairlead rollout status` does not print -o wide'],
    ['check -o name', 'it prints json, yaml, and without -o text for people'],
    ['plan -o wide', 'it prints json, yaml'],
    ['watch sts/web -o yaml', 'it prints json,'],
    ['rollout pause sts/web -o wide', 'it prints json, yaml, name'],
    ['worker -o json', 'leave -o away'],
    ['up -o json', 'leave -o away'],
    ['local env -o json', '`fairlead local env` does not print -o json; leave -o away'],
    ['local up -o json', 'leave -o away'],
    ['local down -o name', 'leave -o away'],
    ['local status -o wide', '`fairlead local status` does not print -o wide'],
  ])('`%s`: an output that the verb does not serve is refused', async (line, message) => {
    const { code, out, err } = await runCli(line.split(' '));
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain(message);
  });

  it.each([
    'get',
    'explain sts/web',
    'rollout history sts/web',
    'rollout undo sts/web',
    'set image sts/web a=b',
  ])('`%s` serves -o json: it gets as far as the cluster', async (line) => {
    const environment = { HOME: '/nonexistent' };
    expect(await runCli([...line.split(' '), '-o', 'json'], { environment })).toMatchObject({ code: 6 });
  });

  it('no cluster is configured: exit code 6 and what to do', async () => {
    const { code, err } = await runCli(['get'], { environment: { HOME: '/nonexistent' } });
    expect(code).toBe(6);
    expect(err).toContain('fairlead local up');
  });

  it('an unknown workload API in the environment: exit code 2', async () => {
    const { code, err } = await runCli(['get'], { environment: { FAIRLEAD_WORKLOAD_API: 'apps/v2' } });
    expect(code).toBe(2);
    expect(err).toContain(
      'use one of fairlead.dev/v1beta1, apps/v1 (--workload-api or FAIRLEAD_WORKLOAD_API)',
    );
  });

  const EVERY_VERB = [
    'get',
    'get rc',
    'watch sts/web',
    'explain sts/web',
    'rollout pause sts/web',
    'set image sts/web a=b',
    'sync shop',
    'history shop',
    'check',
    'plan',
    'up',
    'worker',
  ];

  it.each(EVERY_VERB)('`%s`: a name that no cluster can have is refused as by a worker', async (line) => {
    const { code, out, err } = await runCli(line.split(' '), { environment: { FAIRLEAD_CLUSTER: 'A_b' } });
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toMatch(/^error: --cluster \(FAIRLEAD_CLUSTER\) "A_b": lower-case letters,/);
  });

  it.each(['', 'A_b', '-a', 'a-', 'a.b', 'ä', 'a'.repeat(43), 'a', '0', 'a-b', 'a'.repeat(42)])(
    'a verb takes the name of a cluster as a worker does: %j',
    async (cluster) => {
      const environment = { HOME: '/nonexistent' };
      const [verb, worker] = await Promise.all(
        ['get', 'worker'].map(async (one) => await runCli([one, '--cluster', cluster], { environment })),
      );
      expect(verb).toEqual(worker);
    },
  );

  it.each(EVERY_VERB)('`%s`: an address that Temporal cannot have is refused', async (line) => {
    const { code, out, err } = await runCli(line.split(' '), {
      environment: { TEMPORAL_ADDRESS: 'foo:bar' },
    });
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toBe(
      'error: TEMPORAL_ADDRESS "foo:bar": expected HOST:PORT, like localhost:7233 or [::1]:7233\n',
    );
  });

  it.each(['http://temporal:7233', 'temporal:65536', '::1', 'temporal:', ':7233', 'a b:7233'])(
    '%j is no address of Temporal',
    async (TEMPORAL_ADDRESS) => {
      expect(await runCli(['get'], { environment: { TEMPORAL_ADDRESS } })).toMatchObject({ code: 2 });
    },
  );

  it.each(['', 'temporal', 'temporal.example:7233', '127.0.0.1:65535', '[::1]:7233', '[::1]'])(
    '%j may be the address of Temporal',
    async (TEMPORAL_ADDRESS) => {
      const environment = { HOME: '/nonexistent', TEMPORAL_ADDRESS };
      expect(await runCli(['get'], { environment })).toMatchObject({ code: 6 });
    },
  );
});

it('check says of Temporal once what does not answer', async () => {
  const environment = { HOME: '/nonexistent', TEMPORAL_ADDRESS: '127.0.0.1:1' };
  const { out } = await runCli(['check'], { environment });
  expect(out).toMatch(/^✗ Temporal at 127\.0\.0\.1:1 does not answer: /m);
});

it('check names the port that an address without one has', async () => {
  const environment = { HOME: '/nonexistent', TEMPORAL_ADDRESS: '127.0.0.77' };
  const { out } = await runCli(['check'], { environment });
  expect(out).toMatch(/^✗ Temporal at 127\.0\.0\.77:7233 does not answer: /m);
});

it.each([['help nope'], ['help rollout nope'], ['rollout help nope']])(
  '`%s`: a verb that there is not is named',
  async (line) => {
    const { code, out, err } = await runCli(line.split(' '));
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toMatch(/^error: unknown command 'nope'\n/);
  },
);

it.each([['help'], ['help watch'], ['help rollout undo'], ['rollout help undo'], ['help watch x']])(
  '`%s` is printed',
  async (line) => {
    expect(await runCli(line.split(' '))).toMatchObject({ code: 0, err: '' });
  },
);

describe('failures', () => {
  const path = {
    group: 'fairlead.dev',
    version: 'v1beta1',
    resource: 'statefulsets',
    namespace: 'shop',
    name: 'web',
  };
  const request = { method: 'PATCH', path, server: 'https://k8s.example' };

  it('a missing permission is named, with the commands that add it', () => {
    const text =
      'statefulsets.fairlead.dev "web" is forbidden: User "bob" cannot patch resource "statefulsets" in API group "fairlead.dev" in the namespace "shop"';
    const error = new ApiError(request, { status: 403, reason: 'Forbidden', text });
    expect(describeFailure(error)).toEqual({
      exitCode: 1,
      code: 'Forbidden',
      message: [
        'you (bob) may not patch statefulsets.fairlead.dev in namespace shop',
        '  missing rule: apiGroups: ["fairlead.dev"], resources: ["statefulsets"], verbs: ["patch"]',
        '  add it:       kubectl create role fairlead-patch-statefulsets.fairlead.dev -n shop --verb=patch --resource=statefulsets.fairlead.dev --dry-run=client -o yaml | kubectl apply -f - && ' +
          'kubectl create rolebinding fairlead-patch-statefulsets.fairlead.dev-bob -n shop --role=fairlead-patch-statefulsets.fairlead.dev --user=bob',
      ].join('\n'),
    });
  });

  it.each([
    ['exceeded quota: few, requested: pods=1', ' (kubectl describe resourcequota few -n shop)'],
    ['no PriorityClass with name high was found', 'make the PriorityClass high, or name one that is there'],
  ])('a refusal by an admission plugin is quoted, with what to do: %s', (why, next) => {
    const text = `pods "web-0" is forbidden: ${why}`;
    const error = new ApiError(request, { status: 403, reason: 'Forbidden', text });
    const [first, second] = describeFailure(error).message.split('\n');
    expect(first).toContain(why);
    expect(second).toContain(next);
  });

  it.each([
    [0, 'Network', 6],
    [401, 'Unauthorized', 6],
    [503, 'ServiceUnavailable', 6],
    [409, 'Conflict', 1],
    [422, 'Invalid', 1],
  ])('status %d (%s) ends with %d', (status, reason, exitCode) => {
    expect(describeFailure(new ApiError(request, { status, reason, text: 'x' }))).toMatchObject({ exitCode });
  });

  it('an apiserver that could not call an admission webhook has answered', () => {
    const text = 'Internal error occurred: failed calling webhook "h8.example.com": connection refused';
    const [status, reason] = [500, 'InternalError'];
    const body = JSON.stringify({ kind: 'Status', code: status, reason, message: text });
    expect(describeFailure(responseError(request, status, body, undefined))).toMatchObject({
      exitCode: 1,
      code: 'WebhookFailed',
      message: expect.stringMatching(
        /\n {2}mend what serves the webhook h8\.example\.com, .*: kubectl get validatingwebhookconfigurations,/,
      ) as unknown,
    });
  });

  it('a kind that is not served: how to install it', () => {
    const error = new ApiError(request, {
      status: 404,
      reason: 'NotFound',
      text: 'the server could not find the requested resource',
    });
    expect(describeFailure(error).message).toContain('kubectl apply --server-side -f manifests/crds');
  });

  it('hostile text in an error is harmless', () => {
    expect(describeFailure(new CliError('a\u001b[2Jb\nc')).message).toBe('ab\nc');
    expect(describeFailure(new Error('a\u009bb')).message).toBe('ab');
  });

  it.each([
    ['alice@example.com', 'alice@example.com'],
    ['a b', "'a b'"],
    ["it's; rm -rf /", `'it'\\''s; rm -rf /'`],
  ])('%s becomes a word of a shell', (text, expected) => {
    expect(shellWord(text)).toBe(expected);
  });

  it.each([["/srv/it's here/main.js"], ['/srv/fairlead/main.js'], ['/srv/My Projects/$HOME/main.js']])(
    'an alias of %s reaches it, however a shell would split it',
    (main) => {
      // A shell knows an alias from the next line on.
      const script = `${shellAlias('say', ['printf', '%s|', main])}\nsay get`;
      expect(execFileSync('sh', ['-c', script], { encoding: 'utf8' })).toBe(`${main}|get|`);
    },
  );
});
