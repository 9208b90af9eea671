/** Entry of the workflow bundle. */

export { commit } from './commit.ts';
export { rollingUpdate } from './rolling-update.ts';
export { rollout } from './rollout.ts';
export { sync } from './sync.ts';
