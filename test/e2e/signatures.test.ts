/** Commits that must be signed: real keys, real signatures, verified by git. No server is needed. */

import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { openMirror } from '../../git/mirror.ts';
import type { Signers } from '../../git/mirror-options.ts';
import { TestRepository } from '../support/git-repository.ts';
import { namedFailure } from '../support/named-failure.ts';
import type { SshSigner } from '../support/signing-keys.ts';
import { makeSshSigners, signingOptions } from '../support/signing-keys.ts';

const run = promisify(execFile);

let folder: string;
let repository: TestRepository;
let allowedSignersFile: string;
let gpgKeysFile: string;
let unsigned: string;

/** Options of git that sign with this SSH key, or GPG key. */
const ssh = (key: SshSigner) => signingOptions(folder, key);
const gpg = (user: string, program: string) => [
  '-c',
  `user.signingKey=${user}`,
  '-c',
  `gpg.program=${join(folder, program)}`,
];

beforeAll(async () => {
  // Short: gpg-agent has its socket in it.
  folder = await mkdtemp(join(tmpdir(), 'fl-sig-'));
  repository = await TestRepository.create();
  allowedSignersFile = await makeSshSigners(folder);
  const home = join(folder, 'gnupg');
  await run('mkdir', ['-m', '700', home]);
  const program = async (name: string, options: string): Promise<void> => {
    await writeFile(join(folder, name), `#!/bin/sh\nexec gpg --homedir ${home} --batch ${options} "$@"\n`, {
      mode: 0o755,
    });
  };
  await program('gpg-now', '');
  await program('gpg-then', '--faked-system-time 20200101T120000!');
  const generate = async (name: string, user: string, expires: string): Promise<void> => {
    const options = [
      '--passphrase',
      '',
      '--pinentry-mode',
      'loopback',
      '--quick-generate-key',
      user,
      'ed25519',
      'sign',
      expires,
    ];
    await run(join(folder, name), options);
  };
  await generate('gpg-now', 'ada@example.com', 'never');
  await generate('gpg-now', 'eve@example.com', 'never');
  await generate('gpg-then', 'old@example.com', '1d');
  const { stdout } = await run(join(folder, 'gpg-now'), [
    '--armor',
    '--export',
    'ada@example.com',
    'old@example.com',
  ]);
  gpgKeysFile = join(folder, 'keys.asc');
  await writeFile(gpgKeysFile, stdout);
  unsigned = await repository.commit({ a: '1' });
}, 60_000);

afterAll(async () => {
  await run('gpgconf', ['--homedir', join(folder, 'gnupg'), '--kill', 'all']);
  await repository.remove();
  await rm(folder, { recursive: true, force: true });
});

async function signed(options: readonly string[]): Promise<string> {
  await repository.git(...options, 'commit', '--quiet', '--allow-empty', '--gpg-sign', '--message', 'signed');
  return await repository.git('rev-parse', 'HEAD');
}

async function verify(sha: string, signers: Signers): Promise<void> {
  await openMirror({ url: repository.path, cacheDirectory: folder }).verifyCommit(sha, signers);
}

describe('a signed commit', () => {
  it('by an allowed SSH key, and by an allowed GPG key, is taken, each beside the other kind', async () => {
    const both = { allowedSignersFile, gpgKeysFile };
    const [one, other] = [await signed(ssh('ada')), await signed(gpg('ada@example.com', 'gpg-now'))];
    await expect(verify(one, { allowedSignersFile })).resolves.toBeUndefined();
    await expect(verify(other, { gpgKeysFile })).resolves.toBeUndefined();
    await expect(verify(one, both)).resolves.toBeUndefined();
    await expect(verify(other, both)).resolves.toBeUndefined();
  });

  it('by somebody else is refused, although the signature is good', async () => {
    expect(await namedFailure(verify(await signed(ssh('eve')), { allowedSignersFile }))).toMatch(
      /^SignatureRefused: the signature of commit \w{8} is not accepted: its key is not one of the allowed signers\./,
    );
    expect(
      await namedFailure(verify(await signed(gpg('eve@example.com', 'gpg-now')), { gpgKeysFile })),
    ).toMatch(/^SignatureRefused: .*its key is not one of the allowed signers\./);
  });

  it('of the kind for which no keys are named is refused', async () => {
    expect(await namedFailure(verify(await signed(ssh('ada')), { gpgKeysFile }))).toMatch(
      /^SignatureRefused: .*it is one of SSH, .* of GPG alone\. Have .*`allowedSignersFile`\.$/,
    );
    expect(
      await namedFailure(verify(await signed(gpg('ada@example.com', 'gpg-now')), { allowedSignersFile })),
    ).toMatch(/^SignatureRefused: .*it is one of GPG, .* of SSH alone\. Have .*`gpgKeysFile`\.$/);
  });

  it('by a key that has expired is refused', async () => {
    expect(await namedFailure(verify(await signed(ssh('old')), { allowedSignersFile }))).toMatch(
      /^SignatureRefused: .*dated after the valid-before of its key in allowedSignersFile\. Have .*`fairlead sync`\.$/,
    );
    expect(
      await namedFailure(verify(await signed(gpg('old@example.com', 'gpg-then')), { gpgKeysFile })),
    ).toMatch(/^SignatureRefused: .*the key has expired\./);
  });

  it.each([
    [
      'valid-after="20990101"',
      /dated before the valid-after of its key in allowedSignersFile\. Have .*valid-after/,
    ],
    [
      'namespaces="file"',
      /the namespaces of its key in allowedSignersFile do not have git\. Write `namespaces="git"`/,
    ],
  ])('by a key that the file has with %s is refused, and it says why', async (option, reason) => {
    const narrow = join(folder, 'narrow');
    await writeFile(narrow, `ada@example.com ${option} ${await readFile(join(folder, 'ada.pub'), 'utf8')}`);
    expect(await namedFailure(verify(await signed(ssh('ada')), { allowedSignersFile: narrow }))).toMatch(
      reason,
    );
  });

  it('whose content is another than what was signed is refused', async () => {
    const sha = await signed(gpg('ada@example.com', 'gpg-now'));
    const text = (await repository.git('cat-file', 'commit', sha)).replace(/\nsigned$/, '\nforged');
    await writeFile(join(folder, 'forged'), `${text}\n`);
    const forged = await repository.git('hash-object', '-t', 'commit', '-w', join(folder, 'forged'));
    expect(await namedFailure(verify(forged, { gpgKeysFile }))).toMatch(
      /^SignatureRefused: .*it does not fit the commit\./,
    );
  });

  it('is not judged by programs that the repository names', async () => {
    const sha = await signed(gpg('eve@example.com', 'gpg-now'));
    const program = join(folder, 'lenient');
    // It reads what it is given: git takes a program that ends before as one that has failed.
    await writeFile(program, '#!/bin/sh\ncat >/dev/null\nprintf "\\n[GNUPG:] GOODSIG 0 eve\\n"\n', {
      mode: 0o755,
    });
    await repository.git('config', 'gpg.program', program);
    // With it git itself would take the commit.
    await repository.git('verify-commit', sha);
    expect(await namedFailure(verify(sha, { gpgKeysFile }))).toMatch(/^SignatureRefused/);
    await repository.git('config', '--unset', 'gpg.program');
  });
});

describe('what cannot be verified', () => {
  it('a commit without a signature', async () => {
    expect(await namedFailure(verify(unsigned, { allowedSignersFile, gpgKeysFile }))).toMatch(
      /^CommitUnsigned: commit \w{8} is not signed\. Sign it/,
    );
    const fake = await repository.commit({ a: '2' }, 'gpgsig -----BEGIN PGP SIGNATURE-----\n\ngpgsig x');
    expect(await namedFailure(verify(fake, { gpgKeysFile }))).toMatch(/^CommitUnsigned/);
  });

  it('without the files', async () => {
    await writeFile(join(folder, 'empty'), '');
    await writeFile(join(folder, 'nonsense'), 'no keys');
    const sha = await signed(gpg('ada@example.com', 'gpg-now'));
    const [missing, empty, nonsense] = ['missing', 'empty', 'nonsense'].map((name) => join(folder, name));
    expect(await namedFailure(verify(sha, { allowedSignersFile: missing }))).toMatch(
      /^SignersUnusable: the allowedSignersFile \S+ is missing, empty or not readable\./,
    );
    await writeFile(
      join(folder, 'words'),
      '# ssh-ed25519 AAAAC3\nada@example.com ssh-ed25519\nssh-ed25519 AAAAC3',
    );
    expect(await namedFailure(verify(sha, { allowedSignersFile: join(folder, 'words') }))).toMatch(
      /^SignersUnusable: the allowedSignersFile \S+ has no line with a key/,
    );
    expect(await namedFailure(verify(sha, { gpgKeysFile: empty }))).toMatch(
      /^SignersUnusable: the gpgKeysFile/,
    );
    expect(await namedFailure(verify(sha, { gpgKeysFile: nonsense }))).toMatch(
      /^SignersUnusable: gpg takes no keys/,
    );
  });
});
