/** What a quota says where it refuses a creation. */

import { describe, expect, it } from '@jest/globals';

import { isFilledByOthers } from '../../../kubernetes/quota-refusal.ts';

const refusal = (requested: string, used: string, limited: string) =>
  `POST replicationcontrollers shop: Forbidden: replicationcontrollers "foo" is forbidden: exceeded quota: few, requested: ${requested}, used: ${used}, limited: ${limited}`;
const RCS = 'count/replicationcontrollers';

describe('a quota that is full', () => {
  it.each([
    ['of the two that a rename deletes', `${RCS}=1`, `${RCS}=2`, `${RCS}=2`, 2, false],
    ['of the one that is left', `${RCS}=1`, `${RCS}=1`, `${RCS}=1`, 1, false],
    ['of others too', `${RCS}=1`, `${RCS}=3`, `${RCS}=1`, 2, true],
    ['which was made smaller than one', `${RCS}=1`, `${RCS}=2`, `${RCS}=0`, 2, true],
    ['in one of two resources', `${RCS}=1,pods=1`, `${RCS}=2,pods=9`, `${RCS}=2,pods=5`, 2, true],
    ['in an amount with a unit', 'memory=1Gi', 'memory=1Gi', 'memory=1Gi', 2, true],
  ])('%s', (_, requested, used, limited, freed, expected) => {
    expect(isFilledByOthers(refusal(requested, used, limited), freed)).toBe(expected);
  });

  it('is not told from another refusal', () => {
    expect(isFilledByOthers('ValidatingAdmissionPolicy no-foo denied request: no foo', 2)).toBeUndefined();
  });
});
