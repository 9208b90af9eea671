/** What a server repeats of what it was told. */

import { describe, expect, it } from '@jest/globals';

import { redactSecrets } from '../../../git/redact-secrets.ts';
import { plantedIn } from '../../support/planted.ts';

const TOKEN = 'ghp_pl4nt+d/T0ken~é';

describe('secrets in what git says', () => {
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  it.each([
    ['as it is', TOKEN],
    ['percent-encoded', encodeURIComponent(TOKEN)],
    ['alone in base64', base64(TOKEN)],
    ['in hexadecimal digits', Buffer.from(TOKEN).toString('hex')],
    ...['x', 'git', 'oauth2', 'x-access-token', 'me@example.com'].map((user) => [
      `after ${user} in base64`,
      base64(`${user}:${TOKEN}`),
    ]),
    ...['', 'x', 'xx'].map((before) => [
      `in base64url, "${before}" first`,
      Buffer.from(`${before}${TOKEN}`).toString('base64url'),
    ]),
  ])('%s are not repeated', (_name, said = '') => {
    const left = redactSecrets(`remote: invalid token ${said}, twice ${said}\nfatal: no`, [TOKEN]);
    expect(plantedIn(left, [TOKEN])).toEqual([]);
    expect(left).not.toContain(said);
    expect(left).toMatch(/^remote: invalid token .*\*\*\*.*, twice .*\*\*\*.*\nfatal: no$/s);
  });

  it('and nothing else is changed', () => {
    const text = 'fatal: Authentication failed for https://git.example.com/x.git/';
    expect(redactSecrets(text, [TOKEN, '', 'a'])).toBe(text);
    expect(redactSecrets(text, [])).toBe(text);
  });

  it('of which one begins like another are taken out whole', () => {
    expect(redactSecrets('a: first-secret-2 b: first-secret', ['first-secret', 'first-secret-2'])).toBe(
      'a: *** b: ***',
    );
  });
});
