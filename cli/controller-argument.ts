/** `rc/foo`: the verbs of a rollout take ReplicationControllers too, whose rollout is a rolling update. */

import type { ExitCode } from './exit-codes.ts';
import type { Call } from './io.ts';
import { CONTROLLER_KIND, SHORT_KINDS } from './workload-argument.ts';

/** The verbs about `KIND/NAME` that say for these what else to do; the last word of their names. */
const NOT_FOR_CONTROLLERS: readonly string[] = ['undo', 'restart', 'image'];

/** The short names of the kinds that a verb takes. @param verb its last word: `get`, `undo` */
export function kindsOf(verb: string): readonly string[] {
  return NOT_FOR_CONTROLLERS.includes(verb) ? SHORT_KINDS : [...SHORT_KINDS, CONTROLLER_KIND];
}

const OPERAND = /^(?:rc|replicationcontrollers?)(?:\.(?:v1|core))?\/(.*)$/i;

/** The name, if the operand is about a ReplicationController. */
export function controllerName(operand: string | undefined): string | undefined {
  return OPERAND.exec(operand ?? '')?.[1];
}

const KIND = /^(?:rc|replicationcontrollers?)(?:\.(?:v1|core))?$/i;

/** Whether the operand is about them, one or all. */
function isAboutControllers(operand: string | undefined): boolean {
  return KIND.test(operand ?? '') || controllerName(operand) !== undefined;
}

/** The verb for workloads, or for the operand `rc/NAME` the one for ReplicationControllers; only what is needed is loaded. */
export function orController<O>(
  workloads: () => Promise<(call: Call<O>) => Promise<ExitCode>>,
  controllers: () => Promise<(call: Call<O>) => Promise<ExitCode>>,
): () => Promise<(call: Call<O>) => Promise<ExitCode>> {
  return async () => async (call) => {
    const load = isAboutControllers(call.operands[0]) ? controllers : workloads;
    return await (
      await load()
    )(call);
  };
}
