import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';

import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import type { Call } from '../../../cli/io.ts';
import { readRequest, unheeded } from '../../../cli/rolling-update-options.ts';
import type { RollingUpdateOptions } from '../../../cli/rolling-update-options.ts';
import { trusted } from '../../../kubernetes/values.ts';

describe('the operands of a rolling update', () => {
  it.each([
    ['deploy/one', { image: 'app:2' }, "fairlead set image deploy/one '*=app:2'"],
    ['sts/one', {}, 'fairlead set image sts/one CONTAINER=IMAGE'],
  ])('%s is none: the verb for it is named', async (operand, options, command) => {
    const call = trusted<Call<RollingUpdateOptions>>({ operands: [operand], options });
    await expect(readRequest(call, 'default')).rejects.toMatchObject({
      message: `rolling-update is for ReplicationControllers, and ${operand} is none\n  ${command}`,
      exitCode: 2,
    });
  });
});

describe('the file of a rolling update', () => {
  it.each([
    [tmpdir(), `${tmpdir()}: it is a directory, not the file of a ReplicationController`],
    [
      'https://example.com/foo.yaml',
      'https://example.com/foo.yaml: URLs are not read: get it yourself, and give the file, or - for standard input',
    ],
  ])('%s is none', async (filename, message) => {
    const call = trusted<Call<RollingUpdateOptions>>({ operands: ['foo'], options: { filename } });
    await expect(readRequest(call, 'default')).rejects.toMatchObject({ message, exitCode: 2 });
  });

  it('that is not there is named once', async () => {
    const options = { filename: '/nowhere/foo.yaml' };
    const call = trusted<Call<RollingUpdateOptions>>({ operands: ['foo'], options });
    await expect(readRequest(call, 'default')).rejects.toMatchObject({
      message: '/nowhere/foo.yaml: there is no such file',
      exitCode: 2,
    });
  });
});

describe('the file of a rolling update from standard input', () => {
  const stdin = process.stdin;
  afterEach(() => {
    Object.defineProperty(process, 'stdin', { value: stdin, configurable: true });
  });

  const read = async (stream: Readable, interrupted: AbortSignal) => {
    Object.defineProperty(process, 'stdin', { value: stream, configurable: true });
    const options = { filename: '-', pollInterval: 1_000 };
    const call = { operands: ['foo'], options, io: { interrupted } };
    return await readRequest(trusted<Call<RollingUpdateOptions>>(call), 'default');
  };

  it('is read whatever that is', async () => {
    const text =
      'apiVersion: v1\nkind: ReplicationController\nmetadata: {name: foo}\nspec: {template: {spec: {containers: []}}}\n';
    expect(await read(Readable.from([text]), new AbortController().signal)).toMatchObject({ name: 'foo' });
  });

  it('may be the List that kubectl get prints, of one', async () => {
    const item = { apiVersion: 'v1', kind: 'ReplicationController', metadata: { name: 'foo' } };
    const one = { ...item, spec: { template: { spec: { containers: [] } } } };
    const { signal } = new AbortController();
    const list = (...items: object[]) =>
      Readable.from([JSON.stringify({ apiVersion: 'v1', kind: 'List', items })]);
    expect(await read(list(one), signal)).toMatchObject({ name: 'foo' });
    for (const items of [[], [one, one]])
      await expect(read(list(...items), signal)).rejects.toMatchObject({
        message: 'standard input must hold one ReplicationController (apiVersion: v1) and nothing else',
        exitCode: 2,
      });
  });

  it('is waited for until Ctrl-C', async () => {
    const silent = new Readable({ read: () => undefined });
    await expect(read(silent, AbortSignal.abort())).rejects.toMatchObject({ exitCode: 2 });
  });
});

describe('the number of replicas in the file', () => {
  let directory: string;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'fairlead-file-'));
  });
  afterAll(async () => {
    await rm(directory, { recursive: true });
  });

  const read = async (replicas: string) => {
    const filename = join(directory, 'foo.yaml');
    const spec = `{replicas: ${replicas}, template: {spec: {containers: []}}}`;
    await writeFile(
      filename,
      `apiVersion: v1\nkind: ReplicationController\nmetadata: {name: foo}\nspec: ${spec}\n`,
    );
    const options = { filename, pollInterval: 1_000 };
    return await readRequest(trusted<Call<RollingUpdateOptions>>({ operands: ['foo'], options }), 'default');
  };

  it.each(['2.5', '-2', 'lots', '"3"', '99999999999', '2147483648', 'true', '[3]', '1e400'])(
    '%s is refused before anything is asked',
    async (replicas) => {
      await expect(read(replicas)).rejects.toMatchObject({
        message: expect.stringMatching(
          /foo\.yaml: spec\.replicas must be a whole number from 0 to 2147483647, without quotes$/,
        ),
        exitCode: 2,
      });
    },
  );

  it.each([
    ['0', 0],
    ['3', 3],
    ['2147483647', 2_147_483_647],
  ])('%s is taken', async (replicas, expected) => {
    const change = { manifest: { spec: { replicas: expected } } };
    expect(await read(replicas)).toMatchObject({ start: { change } });
  });

  it('none at all leaves the size as it is', async () => {
    expect(await read('null')).toMatchObject({
      start: { change: { manifest: { spec: { template: { spec: { containers: [] } } } } } },
    });
    expect(await read('null')).not.toHaveProperty('start.change.manifest.spec.replicas');
  });
});

describe('what the file leaves empty', () => {
  const stdin = process.stdin;
  afterEach(() => {
    Object.defineProperty(process, 'stdin', { value: stdin, configurable: true });
  });

  const read = async (metadata: string, spec = '{template: {spec: {containers: []}}}') => {
    const text = `apiVersion: v1\nkind: ReplicationController\nmetadata: ${metadata}\nspec: ${spec}\n`;
    Object.defineProperty(process, 'stdin', { value: Readable.from([text]), configurable: true });
    const options = { filename: '-', pollInterval: 1_000 };
    const call = { operands: ['foo'], options, io: { interrupted: new AbortController().signal } };
    return await readRequest(trusted<Call<RollingUpdateOptions>>(call), 'default');
  };

  it.each(['annotations: ', 'annotations: null', 'labels: ', 'labels: ~, annotations: ', 'namespace: '])(
    '%s is absent, as for the apiserver',
    async (field) => {
      const { start } = await read(`{name: foo, ${field}}`);
      expect(start.change).toMatchObject({
        manifest: {
          metadata: { name: 'foo', namespace: 'default' },
          spec: { template: { spec: { containers: [] } } },
        },
      });
    },
  );

  it.each([
    '{template: }',
    '{replicas: 3}',
    '{template: [a]}',
    '{template: app}',
    '{template: {}}',
    '{template: {spec: }}',
    '{template: {spec: {containers: }}}',
    '{template: {spec: {containers: {name: app}}}}',
    '{template: {spec: {containers: [app]}}}',
    '',
  ])('spec %s says no pod', async (spec) => {
    await expect(read('{name: foo}', spec)).rejects.toMatchObject({
      message:
        'standard input: the ReplicationController needs metadata.name and spec.template.spec.containers, a list of mappings',
      exitCode: 2,
    });
  });

  it.each(['labels: 5', 'labels: [a]', 'annotations: app'])('%s is a mistake of usage', async (field) => {
    const [name = ''] = field.split(':');
    await expect(read(`{name: foo, ${field}}`)).rejects.toMatchObject({
      message: `standard input: metadata.${name} must be a mapping of names to values`,
      exitCode: 2,
    });
  });
});

describe('the budget of a rolling update', () => {
  const read = async (budget: Partial<RollingUpdateOptions>) => {
    const options = { image: 'app:2', pollInterval: 1_000, ...budget };
    return await readRequest(trusted<Call<RollingUpdateOptions>>({ operands: ['foo'], options }), 'default');
  };

  it('has no more unavailable than there are, as a Deployment; of surge it may', async () => {
    await expect(read({ maxUnavailable: '101%' })).rejects.toMatchObject({
      message: '--max-unavailable: "101%" must not be greater than 100%',
      exitCode: 2,
    });
    for (const maxSurge of ['-1', '1000000', '9999999%'])
      await expect(read({ maxSurge })).rejects.toMatchObject({
        message: `--max-surge: "${maxSurge}" must be from 0 to 999999, or a percentage like "25%"`,
        exitCode: 2,
      });
    const settings = { unavailable: '100%', surge: '150%' };
    expect(await read({ maxUnavailable: '100%', maxSurge: '150%' })).toMatchObject({ settings });
  });
});

describe('flags of a command that attaches', () => {
  const record = {
    key: 'kubernetes.io/deployment',
    state: {
      phase: 'Rolling',
      desired: 3,
      surge: 1,
      unavailable: 0,
      updatePeriodMs: 60_000,
      pollIntervalMs: 500,
    },
  } as const;
  const said = async (flags: Partial<RollingUpdateOptions>) => {
    const options = {
      deploymentLabelKey: 'kubernetes.io/deployment',
      image: 'app:2',
      ...flags,
    };
    return unheeded(
      await readRequest(trusted<Call<RollingUpdateOptions>>({ operands: ['foo'], options }), 'default'),
      record,
    );
  };

  it.each<[Partial<RollingUpdateOptions>, readonly string[]]>([
    [{}, []],
    [{ maxSurge: '1', maxUnavailable: '0', pollInterval: 500 }, []],
    [{ maxSurge: '2' }, ['--max-surge (it has 1)']],
    [{ maxSurge: '25%', maxUnavailable: '1' }, ['--max-surge (it has 1)', '--max-unavailable (it has 0)']],
    [{ updatePeriod: 60_000 }, []],
    [{ updatePeriod: 0 }, ['--update-period (it has 60s)']],
    [{ pollInterval: 1_000 }, ['--poll-interval of the run (it has 0.5s)']],
    [{ deploymentLabelKey: 'x' }, ['--deployment-label-key (it has kubernetes.io/deployment)']],
  ])('%j: those that the update does not have are named', async (flags, named) => {
    expect(await said(flags)).toEqual(named);
  });
});

describe('durations that nobody means', () => {
  it.each([
    [{ pollInterval: 0 }, '--poll-interval must be longer than 0'],
    [
      { pollInterval: 3_600_001 },
      '--poll-interval must be at most 1h: so long nobody looks whether pods are ready',
    ],
    [{ updatePeriod: 168 * 3_600_000 + 1 }, '--update-period must be at most 168h'],
  ])('%j are refused', async (options, message) => {
    const call = trusted<Call<RollingUpdateOptions>>({
      operands: ['foo'],
      options: { image: 'app:2', ...options },
    });
    await expect(readRequest(call, 'default')).rejects.toMatchObject({ message, exitCode: 2 });
  });
});
