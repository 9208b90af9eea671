/** A process that runs one git command and prints how it ended. Arguments: those of git. */

import { runGit } from '../../git/git-process.ts';

console.log('running');
const { code } = await runGit({ args: process.argv.slice(2), protocols: 'https', timeoutMs: 600_000 });
console.log(`ended ${String(code)}`);
