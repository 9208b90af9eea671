/** `fairlead set image`: kubectl's refuses custom resources, for want of a strategic merge. */

import { setImage } from '../kubernetes/template-edits.ts';
import type { WaitOption } from './apply-wish.ts';
import { applyWish } from './apply-wish.ts';
import { CliError, EXIT } from './exit-codes.ts';
import type { ExitCode } from './exit-codes.ts';
import type { Call } from './io.ts';
import { readWorkload } from './read-workload.ts';
import { isSpecObserved } from './rollout-wishes.ts';
import { targetOf, withSession } from './session.ts';

/** Runs the verb. */
export async function runSetImage(call: Call<WaitOption>): Promise<ExitCode> {
  const [operand = '', ...pairs] = call.operands;
  const images = parseImages(pairs);
  return await withSession(call, async (session) => {
    const { argument, target } = targetOf(session, operand);
    const { metadata } = await readWorkload(session, target);
    return await applyWish(
      session,
      {
        verb: 'set image',
        argument,
        target,
        write: () => setImage(session.client, { ...target, uid: metadata.uid }, images),
        seen: isSpecObserved,
      },
      call.options.wait,
    );
  });
}

/** `app=web:1` … → image by container name. @throws CliError (usage) */
export function parseImages(pairs: readonly string[]): Readonly<Record<string, string>> {
  const images = new Map<string, string>();
  for (const pair of pairs) {
    const equals = pair.indexOf('=');
    const [name, image] = [pair.slice(0, equals), pair.slice(equals + 1)];
    if (equals < 1 || image === '' || /\s/.test(image)) {
      throw new CliError(
        `"${pair}": write CONTAINER=IMAGE, for example app=registry.example/web:1.2`,
        EXIT.usage,
      );
    }
    if (images.has(name)) {
      throw new CliError(`container "${name}" is named twice`, EXIT.usage);
    }
    images.set(name, image);
  }
  return Object.fromEntries(images);
}
