/**
 * fast-check that draws the same cases each time, for `npm test` is deterministic: what it finds today it would have found yesterday.
 * FAIRLEAD_SEED=<number> draws others. A long list needs `size: 'max'`: without it none is longer than 2 * minLength + 10, whatever maxLength says.
 */

import fc from 'fast-check';

fc.configureGlobal({ seed: Number(process.env['FAIRLEAD_SEED'] ?? 1) });

export { fc };
