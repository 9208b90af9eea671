/** A process that starts an instance and waits to be killed: `<state directory> <name>`. */

import { startControlPlane } from '../../local/control-plane.ts';

const [stateDirectory = '', name = ''] = process.argv.slice(2);
await startControlPlane({ stateDirectory, name, nodes: 1 });
process.stdout.write('up\n');
setInterval(() => undefined, 60_000);
