/** Entry of the workflow bundle. */

export { rollout } from './rollout.ts';
