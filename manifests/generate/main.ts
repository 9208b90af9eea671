/** `npm run manifests`: writes the generated manifests, or with `--check` only compares them. */

import { readFile } from 'node:fs/promises';
import { writeManifests } from './write-manifests.ts';

const file = process.argv[process.argv.indexOf('--openapi') + 1];
if (file === undefined) throw new Error('--openapi FILE');
await writeManifests(JSON.parse(await readFile(file, 'utf8')));
