/** Run before the tests: fetches or builds the programs that are missing, with progress on standard error. */

import { toMessage } from '../kubernetes/api-error.ts';
import { findBinaries } from './binaries.ts';

try {
  const binaries = await findBinaries({
    report: (line) => {
      process.stderr.write(`${line}\n`);
    },
  });
  for (const [name, path] of Object.entries(binaries)) process.stderr.write(`${name}: ${path}\n`);
} catch (error) {
  process.stderr.write(`error: ${toMessage(error)}\n`);
  process.exitCode = 1;
}
