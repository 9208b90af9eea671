/** Throw-away certificates of one instance: one authority, ECDSA keys, nothing that outlives its directory. */

import 'reflect-metadata';
import { createPrivateKey, createPublicKey, generateKeyPairSync, randomBytes, webcrypto } from 'node:crypto';

import type * as X509 from '@peculiar/x509';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const YEARS_VALID = 10;

export interface KeyAndCertificate {
  readonly certificate: string;
  readonly key: string;
}

export interface CertificateRequest {
  /** User name, as Kubernetes reads it. */
  readonly commonName: string;
  /** Groups, as Kubernetes reads them. */
  readonly organizations?: readonly string[];
  /** Names and addresses a serving certificate answers to. Absent: client certificate only. */
  readonly hosts?: readonly string[];
}

export interface CertificateAuthority {
  readonly certificate: string;
  issue(request: CertificateRequest): Promise<KeyAndCertificate>;
}

async function loadX509(): Promise<typeof X509> {
  const x509 = await import('@peculiar/x509');
  x509.cryptoProvider.set(webcrypto);
  return x509;
}

async function generateKeys(): Promise<{ readonly pair: webcrypto.CryptoKeyPair; readonly pem: string }> {
  const pair = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const der = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', pair.privateKey));
  // etcd and client-go read SEC 1 keys everywhere, PKCS 8 not in every flag.
  const pem = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }).export({
    format: 'pem',
    type: 'sec1',
  });
  return { pair, pem: pem.toString() };
}

function validity(): { readonly notBefore: Date; readonly notAfter: Date } {
  const now = Date.now();
  return {
    // A machine whose clock was set back a little must still accept them.
    notBefore: new Date(now - 60 * 60 * 1000),
    notAfter: new Date(now + YEARS_VALID * 365 * 24 * 60 * 60 * 1000),
  };
}

function serialNumber(): string {
  const bytes = randomBytes(16);
  bytes[0] = (bytes[0] ?? 0) & 0x7f;
  return bytes.toString('hex');
}

/** Makes an authority; `issue` signs client certificates and, with `hosts`, serving certificates as well. */
export async function createCertificateAuthority(commonName: string): Promise<CertificateAuthority> {
  const x509 = await loadX509();
  const { pair: authorityKeys } = await generateKeys();
  const authority = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    name: [{ CN: [commonName] }],
    ...validity(),
    signingAlgorithm: ALGORITHM,
    keys: authorityKeys,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.digitalSignature, true),
      await x509.SubjectKeyIdentifierExtension.create(authorityKeys.publicKey),
    ],
  });

  return {
    certificate: authority.toString('pem') + '\n',
    async issue({ commonName: name, organizations = [], hosts = [] }) {
      const { pair, pem } = await generateKeys();
      const certificate = await x509.X509CertificateGenerator.create({
        serialNumber: serialNumber(),
        subject: [{ CN: [name] }, ...organizations.map((organization) => ({ O: [organization] }))],
        issuer: authority.subject,
        ...validity(),
        signingAlgorithm: ALGORITHM,
        publicKey: pair.publicKey,
        signingKey: authorityKeys.privateKey,
        extensions: [
          new x509.BasicConstraintsExtension(false),
          new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
          new x509.ExtendedKeyUsageExtension([
            x509.ExtendedKeyUsage.clientAuth,
            ...(hosts.length === 0 ? [] : [x509.ExtendedKeyUsage.serverAuth]),
          ]),
          await x509.AuthorityKeyIdentifierExtension.create(authority),
          ...(hosts.length === 0
            ? []
            : [
                new x509.SubjectAlternativeNameExtension(
                  hosts.map((host) => ({ type: /^[\d.]+$|:/.test(host) ? 'ip' : 'dns', value: host })),
                ),
              ]),
        ],
      });
      return { certificate: certificate.toString('pem') + '\n', key: pem };
    },
  };
}

/** The key pair that signs and verifies ServiceAccount tokens, both as PEM. */
export function createServiceAccountKeys(): { readonly privateKey: string; readonly publicKey: string } {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return {
    privateKey: privateKey.export({ format: 'pem', type: 'sec1' }).toString(),
    publicKey: createPublicKey(privateKey).export({ format: 'pem', type: 'spki' }).toString(),
  };
}
