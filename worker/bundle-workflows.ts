/** Build step: `node dist/worker/bundle-workflows.js` writes the workflow bundle that workers load. */

import { writeFile } from 'node:fs/promises';

import { DefaultLogger, bundleWorkflowCode } from '@temporalio/worker';

import { WORKFLOW_BUNDLE, workflowModules } from './workflow-bundle.ts';

const [workflowsPath, interceptors] = workflowModules('js');
const { code } = await bundleWorkflowCode({
  workflowsPath,
  workflowInterceptorModules: [interceptors],
  logger: new DefaultLogger('WARN'),
});
await writeFile(WORKFLOW_BUNDLE, code);
