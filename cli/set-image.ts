/** `fairlead set image`: kubectl's refuses custom resources, for want of a strategic merge. */

import { setImage } from '../kubernetes/template-edits.ts';
import type { WishToApply } from './apply-wish.ts';
import { applyWish } from './apply-wish.ts';
import { CliError, EXIT } from './exit-codes.ts';
import type { ExitCode } from './exit-codes.ts';
import type { Call } from './io.ts';
import type { WishOptions } from './rollout-wishes.ts';
import { isSpecObserved, withSubject } from './rollout-wishes.ts';

/** Runs the verb. */
export async function runSetImage(call: Call<WishOptions>): Promise<ExitCode> {
  const [operand = '', ...pairs] = call.operands;
  const images = parseImages(pairs);
  return await withSubject(call, operand, async (session, subject) => {
    const { client, io } = session;
    const { target, by, reason } = subject;
    const wish: WishToApply = {
      ...subject,
      verb: 'set image',
      write: () => setImage(client, target, images, { by, reason }, io.now()),
      seen: isSpecObserved,
      needsRun: true,
    };
    return await applyWish(session, wish, call.options.wait);
  });
}

/** `app=web:1` … → image by container name. @throws CliError (usage) */
export function parseImages(pairs: readonly string[]): ReadonlyMap<string, string> {
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
  return images;
}
