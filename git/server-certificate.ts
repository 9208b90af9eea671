/** Why a server's certificate is not taken. git is told no more than that it is not, at least by GnuTLS. */

import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import type { DetailedPeerCertificate, TLSSocket } from 'node:tls';
import { connect } from 'node:tls';

/** Milliseconds: who does not shake hands until then is described by what git says. */
const MOST_WAIT_MS = 5_000;

/** Codes of Node (OpenSSL's) of certificates that an authority of one's own would make good. */
const UNKNOWN_AUTHORITY =
  /^(?:DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_GET_ISSUER_CERT\w*|UNABLE_TO_VERIFY_LEAF_SIGNATURE|CERT_UNTRUSTED|INVALID_CA)$/;

const PEM = /^-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----/m;

/** What is wrong with a certificate. */
export interface Distrust {
  /** A sentence without its full stop. */
  readonly message: string;
  readonly next: string;
}

/** Whether this error of Node says that nobody here knows who vouches for the certificate. */
export function isUnknownAuthority(code: string): boolean {
  return UNKNOWN_AUTHORITY.test(code);
}

/** Whether this error of Node is of the other side's certificate at all. */
export function isDistrust(code: string): boolean {
  return isUnknownAuthority(code) || /^CERT_|^ERR_TLS_CERT_/.test(code);
}

/**
 * Shakes hands once more, sends nothing, and says what is wrong with the certificate that the server shows.
 * @param host with its port, unless that is 443
 * @param caFile authorities (PEM) in place of the usual ones
 * @returns undefined where that cannot be told: nobody answers, there is a proxy between, or it is good as far as can be seen from here
 */
export async function describeDistrust(
  host: string,
  caFile: string | undefined,
): Promise<Distrust | undefined> {
  // Who stands behind a proxy may not be reached otherwise; and another server may answer there.
  if (process.env['https_proxy'] !== undefined || process.env['HTTPS_PROXY'] !== undefined) return undefined;
  const { hostname, port } = new URL(`https://${host}`);
  const name = hostname.replace(/^\[|\]$/g, '');
  try {
    const ca = caFile === undefined ? undefined : await readFile(caFile, 'utf8');
    if (ca !== undefined && !PEM.test(ca)) {
      const next =
        "Put the certificate of the server's authority there, as it is, with its lines BEGIN and END.";
      return { message: `the caFile ${caFile ?? ''} holds no certificate (PEM)`, next };
    }
    const shown = await shakeHands(name, port === '' ? 443 : Number(port), ca);
    return shown.code === undefined ? undefined : describe(shown.code, shown.certificate, name, caFile);
  } catch {
    // It only explains a failure that is told anyway.
    return undefined;
  }
}

interface Shown {
  /** Undefined: nothing is wrong with it. */
  readonly code: string | undefined;
  readonly certificate: DetailedPeerCertificate;
}

async function shakeHands(host: string, port: number, ca: string | undefined): Promise<Shown> {
  let socket: TLSSocket | undefined;
  try {
    return await new Promise((resolve, reject) => {
      const servername = isIP(host) === 0 ? host : '';
      // Nothing is sent or believed: what is wrong is looked at, not passed over.
      const made = connect({ host, port, servername, ca, rejectUnauthorized: false, timeout: MOST_WAIT_MS });
      socket = made;
      made.once('error', reject);
      made.once('timeout', () => {
        reject(new Error('no handshake in time'));
      });
      made.once('secureConnect', () => {
        const error: unknown = made.authorizationError;
        const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : error;
        resolve({
          code: typeof code === 'string' ? code : undefined,
          certificate: made.getPeerCertificate(true),
        });
      });
    });
  } finally {
    socket?.destroy();
  }
}

function describe(
  code: string,
  certificate: DetailedPeerCertificate,
  host: string,
  caFile: string | undefined,
): Distrust | undefined {
  const renew = 'Have the server get a valid certificate; it is tried again by itself.';
  if (code === 'CERT_HAS_EXPIRED') {
    const end = new Date(certificate.valid_to);
    const message =
      end.getTime() < Date.now()
        ? `the server's certificate has expired, at ${end.toISOString().slice(0, 16)}Z`
        : 'one of the certificates that vouch for the server has expired';
    return { message, next: renew };
  }
  if (code === 'CERT_NOT_YET_VALID') {
    const begin = new Date(certificate.valid_from).toISOString().slice(0, 16);
    const next = 'Set the clocks of this machine and of the server right; it is tried again by itself.';
    return { message: `the server's certificate is not valid before ${begin}Z`, next };
  }
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    const names = namesOf(certificate);
    const message = `the server's certificate is of ${names === '' ? 'another host' : names}, not of ${host}`;
    return {
      message,
      next: 'Write the host in `url` as the certificate names it, or have the server get one for it.',
    };
  }
  if (!isUnknownAuthority(code))
    return { message: `the server's certificate is not taken (${code})`, next: renew };
  const issuer = [certificate.issuer.CN ?? certificate.issuer.O ?? []].flat().join(', ');
  const of = issuer === '' ? '' : ` (${issuer})`;
  return caFile === undefined
    ? {
        message: `the server's certificate is of an authority that is not known here${of}`,
        next: OWN_AUTHORITY,
      }
    : {
        message: `the server's certificate is of an authority${of} that the caFile ${caFile} does not hold`,
        next: "Put the authority's certificate (PEM) into that file, too; or have the server get one of an authority that it holds.",
      };
}

/** What helps where a certificate is of an authority that is not known. */
export const OWN_AUTHORITY =
  "If the server's authority is one of your own, name its certificate (PEM) with `caFile` in the repositories file; else the server must get a valid one.";

/** The first few. */
function namesOf({ subjectaltname, subject }: DetailedPeerCertificate): string {
  const names = (subjectaltname ?? '')
    .split(', ')
    .flatMap((one) => /^(?:DNS|IP Address):(.*)$/.exec(one)?.[1] ?? []);
  return (names.length === 0 ? [subject.CN ?? []].flat() : names.slice(0, 3)).join(', ');
}
