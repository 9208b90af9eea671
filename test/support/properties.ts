/**
 * fast-check that draws the same cases each time, for `npm test` is deterministic: what it finds today it would have found yesterday.
 * FAIRLEAD_SEED=<number> draws others.
 */

import fc from 'fast-check';

fc.configureGlobal({ seed: Number(process.env['FAIRLEAD_SEED'] ?? 1) });

export { fc };
