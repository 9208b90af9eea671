/**
 * `npm run lockfile`: makes package-lock.json usable everywhere. A registry mirror that lacks the packages of other platforms
 * makes npm leave them out of the lock file, and then `npm ci` refuses it on every platform. Adds what the optional
 * dependencies of installed packages name, and removes registry addresses.
 */

import { readFileSync, writeFileSync } from 'node:fs';

const FILE = 'package-lock.json';
const SYSTEMS = [
  'darwin',
  'linux',
  'win32',
  'android',
  'freebsd',
  'openbsd',
  'netbsd',
  'sunos',
  'aix',
  'openharmony',
];
const PROCESSORS = ['arm64', 'x64', 'ia32', 'ppc64', 'riscv64', 's390x', 'loong64', 'mips64el', 'arm'];

const lock = JSON.parse(readFileSync(FILE, 'utf8'));
let added = 0;
for (const details of Object.values(lock.packages)) {
  delete details.resolved;
}
for (const details of Object.values({ ...lock.packages })) {
  for (const [name, version] of Object.entries(details.optionalDependencies ?? {})) {
    const place = `node_modules/${name}`;
    const words = name.split(/[/.-]/);
    const os = SYSTEMS.find((system) => words.includes(system));
    if (lock.packages[place] !== undefined || os === undefined) {
      continue;
    }
    const cpu = PROCESSORS.find((processor) => words.includes(processor));
    const libc = words.includes('musl') ? 'musl' : words.includes('gnu') ? 'glibc' : undefined;
    lock.packages[place] = {
      version,
      ...(cpu && { cpu: [cpu] }),
      ...(libc && { libc: [libc] }),
      ...(details.dev && { dev: true }),
      optional: true,
      os: [os],
    };
    added += 1;
  }
}
const names = Object.keys(lock.packages).sort((a, b) => (a < b ? -1 : 1));
lock.packages = Object.fromEntries(names.map((name) => [name, lock.packages[name]]));
writeFileSync(FILE, `${JSON.stringify(lock, null, 2)}\n`);
console.log(`${added} packages of other platforms added`);
