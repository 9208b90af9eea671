/** Entry of a bundle with the workflows of a repository alone. */

export { commit } from '../../workflows/commit.ts';
export { sync } from '../../workflows/sync.ts';
