/** What a run is started with must fit into what the server takes, whatever operators write. */

import { describe, expect, it } from '@jest/globals';
import { fc } from '../../support/properties.ts';

import { clipBytes } from '../../../controllers/run-description.ts';

describe('summary of a run', () => {
  it('fits by bytes, is a beginning, and ends with a whole character', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme', maxLength: 600 }),
        fc.integer({ min: 4, max: 400 }),
        (text, limit) => {
          const clipped = clipBytes(text, limit);
          expect(Buffer.byteLength(clipped)).toBeLessThanOrEqual(limit);
          expect(text.startsWith(clipped)).toBe(true);
          expect(Buffer.from(clipped).toString()).toBe(clipped);
        },
      ),
    );
  });
});
