/** Build step: `node dist/worker/bundle-workflows.js` writes the workflow bundle that workers load. */

import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

import { DefaultLogger, bundleWorkflowCode } from '@temporalio/worker';

import { WORKFLOW_BUNDLE } from './workflow-bundle.ts';

const { code } = await bundleWorkflowCode({
  workflowsPath: fileURLToPath(new URL('../workflows/index.js', import.meta.url)),
  logger: new DefaultLogger('WARN'),
});
await writeFile(WORKFLOW_BUNDLE, code);
