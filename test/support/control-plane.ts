/** One control plane for a jest file: as new in `beforeAll`, and given to the next file at the end. */

import { afterAll, beforeAll } from '@jest/globals';

import type { WorkloadApi } from '../../kubernetes/workload-api.ts';
import type { ControlPlane } from '../../local/control-plane.ts';
import { giveBack, takeControlPlane } from './shared-control-plane.ts';
import type { ControlPlaneUse } from './shared-control-plane.ts';

/** A machine without the programs builds them first; a component that hangs is given up long before. */
const START_TIMEOUT_MS = 30 * 60_000;
const DOWN_TIMEOUT_MS = 30_000;

/**
 * Declares the hooks; the returned function gives the control plane to tests and hooks that run after them. A component that
 * ended by itself fails the suite at its end.
 */
export function useControlPlane(use: ControlPlaneUse = {}): () => ControlPlane {
  let controlPlane: ControlPlane | undefined;

  beforeAll(async () => {
    controlPlane = await takeControlPlane(use);
  }, START_TIMEOUT_MS);

  afterAll(async () => {
    if (controlPlane !== undefined) await giveBack(controlPlane);
  }, DOWN_TIMEOUT_MS);

  return () => {
    if (controlPlane === undefined)
      throw new Error('the control plane is only there inside of tests and hooks');
    return controlPlane;
  };
}

/**
 * One control plane for both workload APIs, without the built-in controllers: what one API's workloads do is nothing to the other's, and
 * to start a second costs ten seconds of CPU. Declares the hooks; the returned function gives, for an API, what `useControlPlane` would.
 */
export function useControlPlaneOfBoth(
  options: Omit<ControlPlaneUse, 'workloadApi'>,
): (api: WorkloadApi) => () => ControlPlane {
  const controlPlane = useControlPlane({ ...options, workloadApi: 'apps/v1' });
  return (api) => () => seenFrom(api, controlPlane());
}

/** The same control plane, as one that is there for this API: workers and command lines take it from here. */
function seenFrom(api: WorkloadApi, controlPlane: ControlPlane): ControlPlane {
  return new Proxy(controlPlane, {
    get(target, key) {
      if (key === 'workloadApi') return api;
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
