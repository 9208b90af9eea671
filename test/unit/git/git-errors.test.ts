/** What git said, as a problem. */

import { describe, expect, it } from '@jest/globals';

import { gitFailure } from '../../../git/git-errors.ts';
import { formatProblem } from '../../../git/problems.ts';

function said(line: string): string {
  const stderr = `fatal: unable to access 'https://git.example.com/x.git/': ${line}\n`;
  const output = { code: 128, stderr, stdout: Buffer.alloc(0) };
  return formatProblem(gitFailure(output, 'https://git.example.com/x.git').problem);
}

describe('a server that is away', () => {
  it.each([
    ["Failed to connect to git.example.com port 443 after %d ms: Couldn't connect to server"],
    ['Connection timed out after %d milliseconds'],
    ['transfer closed with %d bytes remaining to read'],
  ])('is told in the same words at each try: %s', (line) => {
    const first = said(line.replace('%d', '12'));
    expect(said(line.replace('%d', '10345'))).toBe(first);
    expect(first).toMatch(/^SourceUnreachable: /);
    expect(first).not.toMatch(/12|%d/);
  });
});

it('what could not be reached is named once', () => {
  expect(said('The requested URL returned error: 500')).toMatch(
    /^SourceUnreachable: https:\/\/git\.example\.com\/x\.git: fatal: The requested URL returned error: 500\./,
  );
});

it('a ref that is not there is told as that, whatever the other end of the connection says of it', () => {
  expect(said("couldn't find remote ref refs/heads/v1\nfatal: the remote end hung up unexpectedly")).toMatch(
    /^CommitGone: /,
  );
});

describe('a certificate of an authority that nobody here knows', () => {
  it.each([
    ['server certificate verification failed. CAfile: none CRLfile: none'],
    ['SSL certificate problem: unable to get local issuer certificate'],
    ['SSL certificate problem: self-signed certificate in certificate chain'],
  ])('is told with the setting for one of your own: %s', (line) => {
    expect(said(line)).toMatch(/^SourceUnreachable: .*with `caFile` in the repositories file/);
  });
  it('and not where the handshake itself fails', () => {
    expect(said('error:0A000126:SSL routines::unexpected eof while reading')).not.toMatch(/caFile/);
  });
});

describe('another host key', () => {
  it('is told without the frame that ssh draws', () => {
    const frame = '@'.repeat(59);
    const stderr = `${frame}\r\n@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\r\n${frame}\r\nIT IS POSSIBLE THAT SOMEONE IS DOING SOMETHING NASTY!\nHost key verification failed.\nfatal: Could not read from remote repository.\n`;
    const failure = gitFailure({ code: 128, stderr, stdout: Buffer.alloc(0) }, 'ssh://git@example.com/x');
    expect(failure.problem).toMatchObject({
      code: 'HostKeyRefused',
      message:
        'ssh://git@example.com/x: WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!; fatal: Could not read from remote repository.',
    });
  });
});
