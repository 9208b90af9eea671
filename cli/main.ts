#!/usr/bin/env node
/** Entry of the command `fairlead`. */

import { processIo } from './io.ts';
import { run } from './program.ts';

process.exitCode = await run(process.argv.slice(2), processIo());
