/** Places that nobody can have for himself alone. */

import { describe, expect, it } from '@jest/globals';

import { FairPlaces } from '../../../worker/fair-places.ts';

/** Places where each holder is called by its address and number; `gone` are those that had to give way, in order. */
function ground(most: number) {
  const places = new FairPlaces(most);
  const gone: string[] = [];
  return {
    gone,
    take: (address: string, name: string) => places.take(address, () => void gone.push(`${address} ${name}`)),
  };
}

describe('fair places', () => {
  it('are all for one address while nobody else comes; then its oldest gives way', () => {
    const { gone, take } = ground(3);
    for (const name of ['1', '2', '3']) take('a', name);
    expect(gone).toEqual([]);
    take('b', '1');
    expect(gone).toEqual(['a 1']);
    take('a', '4');
    expect(gone).toEqual(['a 1', 'a 2']);
    // Two of `a`, one of `b`: it is never the one with fewer.
    for (const name of ['5', '6', '7']) take('a', name);
    expect(gone).toEqual(['a 1', 'a 2', 'a 3', 'a 4', 'a 5']);
  });

  it('that were given back are free, once', () => {
    const { gone, take } = ground(2);
    const release = take('a', '1');
    take('b', '1');
    release();
    release();
    take('c', '1');
    expect(gone).toEqual([]);
    take('d', '1');
    expect(gone).toEqual(['b 1']);
  });

  it('of one who had to give way are not given back by him again', () => {
    const { gone, take } = ground(1);
    const release = take('a', '1');
    take('a', '2');
    release();
    take('b', '1');
    expect(gone).toEqual(['a 1', 'a 2']);
  });
});
