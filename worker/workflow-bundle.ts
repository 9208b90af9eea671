/** The workflows' code for Temporal workers: bundled at build time, or from the sources where there is no build. */

import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import type { WorkerOptions } from '@temporalio/worker';

/** Where `npm run build` puts the bundle, beside the compiled workflows. */
export const WORKFLOW_BUNDLE = fileURLToPath(new URL('../workflow-bundle.js', import.meta.url));

/** Options for `Worker.create`: the built bundle (no bundling at start), else the sources. */
export function workflowCode(): Pick<WorkerOptions, 'workflowBundle' | 'workflowsPath'> {
  if (existsSync(WORKFLOW_BUNDLE)) {
    return { workflowBundle: { codePath: WORKFLOW_BUNDLE } };
  }
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  return { workflowsPath: fileURLToPath(new URL(`../workflows/index.${extension}`, import.meta.url)) };
}
