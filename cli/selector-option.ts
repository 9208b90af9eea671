/** `-l`: which objects of a list are meant. The apiserver alone reads it. */

import { ApiError, serverText } from '../kubernetes/api-error.ts';
import { CliError, EXIT } from './exit-codes.ts';

/** Parameters of a list; none without `-l`. */
export type Chosen = { readonly labelSelector: string } | Record<string, never>;

/**
 * Runs `list` with the parameters of a selector as typed.
 * @throws CliError (usage) when the apiserver cannot read it; whatever else `list` throws
 */
export async function chosenBy<T>(
  selector: string | undefined,
  list: (chosen: Chosen) => Promise<T>,
): Promise<T> {
  if (selector === undefined) return await list({});
  try {
    return await list({ labelSelector: selector });
  } catch (error) {
    // Nothing else of such a list is typed by anybody.
    if (!(error instanceof ApiError) || error.status !== 400) throw error;
    throw new CliError(
      `-l "${selector}" is not understood (${serverText(error)}): write it like app=web,tier!=db or 'app in (web,api)'`,
      EXIT.usage,
      { cause: error },
    );
  }
}
