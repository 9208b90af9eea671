/** A server of TLS on loopback shows certificates of each sort. */

import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Server } from 'node:tls';
import { createServer } from 'node:tls';

import * as x509 from '@peculiar/x509';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import { describeDistrust } from '../../../git/server-certificate.ts';
import { createCertificateAuthority } from '../../../local/pki.ts';

/** Vouches for itself. */
async function selfSigned(
  from: string,
  to: string,
): Promise<{ readonly cert: string; readonly key: string }> {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
  x509.cryptoProvider.set(webcrypto);
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: [{ CN: ['localhost'] }],
    notBefore: new Date(from),
    notAfter: new Date(to),
    signingAlgorithm: algorithm,
    keys,
    extensions: [new x509.SubjectAlternativeNameExtension([{ type: 'dns', value: 'localhost' }])],
  });
  const der = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)).toString('base64');
  return {
    cert: certificate.toString('pem'),
    key: `-----BEGIN PRIVATE KEY-----\n${der}\n-----END PRIVATE KEY-----\n`,
  };
}

describe('what is said of a certificate that is not taken', () => {
  let directory: string;
  let caFile: string;
  let server: Server | undefined;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'fairlead-certificate-'));
    caFile = join(directory, 'ca.pem');
  });
  afterEach(async () => {
    await new Promise((resolve) => (server === undefined ? resolve(undefined) : server.close(resolve)));
    server = undefined;
  });
  afterAll(async () => {
    await rm(directory, { recursive: true, force: true });
  });

  async function serve(shown: { readonly cert: string; readonly key: string }): Promise<string> {
    const made = createServer(shown);
    server = made;
    // Whoever does not trust it leaves in the middle.
    made.on('tlsClientError', () => undefined);
    await new Promise<void>((resolve) => {
      made.listen(0, '127.0.0.1', resolve);
    });
    return `localhost:${String((made.address() as AddressInfo).port)}`;
  }

  it('expired: when', async () => {
    const shown = await selfSigned('2020-01-01', '2020-01-02T03:04:05Z');
    await writeFile(caFile, shown.cert);
    expect((await describeDistrust(await serve(shown), caFile))?.message).toBe(
      "the server's certificate has expired, at 2020-01-02T03:04Z",
    );
  });

  it('not yet valid: from when, and that clocks differ', async () => {
    const shown = await selfSigned('2120-01-02T03:04:05Z', '2121-01-01');
    await writeFile(caFile, shown.cert);
    expect(await describeDistrust(await serve(shown), caFile)).toEqual({
      message: "the server's certificate is not valid before 2120-01-02T03:04Z",
      next: expect.stringMatching(/^Set the clocks /),
    });
  });

  it('of another host: of which', async () => {
    const authority = await createCertificateAuthority('our own');
    const { certificate, key } = await authority.issue({
      commonName: 'x',
      hosts: ['git.example.com', '10.0.0.1'],
    });
    await writeFile(caFile, authority.certificate);
    expect((await describeDistrust(await serve({ cert: certificate, key }), caFile))?.message).toBe(
      "the server's certificate is of git.example.com, 10.0.0.1, not of localhost",
    );
  });

  it('of an authority that is not known: of whom, and where to name it', async () => {
    const authority = await createCertificateAuthority('our own');
    const { certificate, key } = await authority.issue({ commonName: 'x', hosts: ['localhost'] });
    const host = await serve({ cert: certificate, key });
    expect(await describeDistrust(host, undefined)).toEqual({
      message: "the server's certificate is of an authority that is not known here (our own)",
      next: expect.stringContaining('with `caFile` in the repositories file'),
    });
    await writeFile(caFile, (await createCertificateAuthority('another')).certificate);
    expect((await describeDistrust(host, caFile))?.message).toBe(
      `the server's certificate is of an authority (our own) that the caFile ${caFile} does not hold`,
    );
    await writeFile(caFile, 'none\n');
    expect((await describeDistrust(host, caFile))?.message).toBe(
      `the caFile ${caFile} holds no certificate (PEM)`,
    );
    await writeFile(caFile, authority.certificate);
    expect(await describeDistrust(host, caFile)).toBeUndefined();
  });

  it('of nobody who answers: nothing', async () => {
    const closed = createTcpServer();
    await new Promise<void>((resolve) => {
      closed.listen(0, '127.0.0.1', resolve);
    });
    const { port } = closed.address() as AddressInfo;
    await new Promise((resolve) => closed.close(resolve));
    expect(await describeDistrust(`127.0.0.1:${String(port)}`, undefined)).toBeUndefined();
  });
});
