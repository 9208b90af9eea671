/** The workflows' code for Temporal workers: bundled at build time, or from the sources where there is no build. */

import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import type { WorkerOptions } from '@temporalio/worker';

/** Where `npm run build` puts the bundle, beside the compiled workflows. */
export const WORKFLOW_BUNDLE = fileURLToPath(new URL('../workflow-bundle.js', import.meta.url));

/** The modules that are bundled, as files with this extension. The second: interceptors of every workflow. */
export function workflowModules(
  extension: 'ts' | 'js',
): readonly [workflowsPath: string, interceptors: string] {
  const path = (name: string) => fileURLToPath(new URL(`../workflows/${name}.${extension}`, import.meta.url));
  return [path('index'), path('unreadable-signals')];
}

/** Options for `Worker.create`: the built bundle (no bundling at start), else the sources. */
export function workflowCode(): Pick<WorkerOptions, 'workflowBundle' | 'workflowsPath' | 'interceptors'> {
  if (existsSync(WORKFLOW_BUNDLE)) {
    return { workflowBundle: { codePath: WORKFLOW_BUNDLE } };
  }
  const [workflowsPath, interceptors] = workflowModules(import.meta.url.endsWith('.ts') ? 'ts' : 'js');
  return { workflowsPath, interceptors: { workflowModules: [interceptors] } };
}
