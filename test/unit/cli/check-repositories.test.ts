/** What `fairlead check` says of a repositories file. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { checkRepositories } from '../../../cli/check-repositories.ts';

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'fairlead-check-'));
});
afterAll(async () => {
  await rm(directory, { recursive: true, force: true });
});

async function check(entries: unknown) {
  const file = join(directory, 'repositories.yaml');
  await writeFile(file, JSON.stringify(entries));
  return await checkRepositories(file);
}

describe('a repositories file', () => {
  const shop = { name: 'shop', url: 'https://git.example.com/shop' };

  it('is well when each entry names an account', async () => {
    expect(await check([{ ...shop, serviceAccount: 'web/deployer' }])).toMatchObject([
      { id: 'repositories.file', outcome: 'ok', found: '1 repository' },
      { id: 'repositories.files', outcome: 'ok', found: 'none' },
      { id: 'repositories.accounts', outcome: 'ok' },
    ]);
  });

  it('whose entries name none is warned of, with what to do', async () => {
    const web = { ...shop, name: 'web', serviceAccount: 'deployer' };
    expect(await check([shop, web, { ...shop, name: 'blog' }])).toMatchObject([
      { id: 'repositories.file', outcome: 'ok', found: '3 repositories' },
      { id: 'repositories.files', outcome: 'ok' },
      {
        id: 'repositories.accounts',
        outcome: 'warning',
        found: 'shop, blog: all that the worker itself may do, for the entry has no serviceAccount',
        mend: expect.stringContaining('set `serviceAccount: NAMESPACE/NAME` in the entry') as unknown,
      },
    ]);
  });

  it('that names files which are not there, or hold nothing, is warned of', async () => {
    await writeFile(join(directory, 'token'), 'secret');
    await writeFile(join(directory, 'empty'), '');
    const entry = {
      ...shop,
      serviceAccount: 'web/deployer',
      tokenFile: 'token',
      caFile: 'ca.pem',
      webhookSecretFile: 'empty',
      notify: [{ type: 'slack', urlFile: '.' }],
    };
    const [, files] = await check([entry]);
    const told = (field: string, file: string) =>
      `shop: the ${field} ${join(directory, file)} is missing, empty or not readable`;
    expect(files).toMatchObject({
      id: 'repositories.files',
      outcome: 'warning',
      found: [told('caFile', 'ca.pem'), told('webhookSecretFile', 'empty'), told('slack: urlFile', '.')].join(
        '; ',
      ),
    });
    expect(
      (await check([{ ...entry, caFile: 'token', webhookSecretFile: 'token', notify: [] }]))[1],
    ).toMatchObject({
      outcome: 'ok',
      found: '3',
    });
  });

  it('that cannot be used fails with every error', async () => {
    expect(await check([{ ...shop, interval: '-1s' }, { name: 'x' }])).toMatchObject([
      {
        id: 'repositories.file',
        outcome: 'failed',
        mend: expect.stringMatching(/interval[^]*url/) as unknown,
      },
    ]);
    expect(await checkRepositories(join(directory, 'nowhere.yaml'))).toMatchObject([
      { outcome: 'failed', mend: expect.stringContaining('cannot be read') as unknown },
    ]);
  });
});
