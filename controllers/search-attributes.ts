/** Whether a Temporal namespace knows our search attributes. Loads no library: the command line asks too. */

import type { Client } from '@temporalio/client';

import { toMessage } from '../kubernetes/api-error.ts';
import { shellWord } from '../kubernetes/shell-word.ts';
import type { SearchAttributeName } from '../workflows/search-attributes.ts';
import { SEARCH_ATTRIBUTES } from '../workflows/search-attributes.ts';

export interface RegisteredSearchAttributes {
  readonly registered: readonly SearchAttributeName[];
  readonly missing: readonly SearchAttributeName[];
  /** What failed, and why: that they are not registered is known, or not even that. Absent: nothing did. */
  readonly failed?: { readonly what: 'list' | 'register'; readonly why: string };
}

/**
 * Which of our search attributes the namespace knows; registers the missing ones where the server allows it. An attribute that
 * is not registered would wedge every workflow task, so runs go without it, and without all where they may not be listed.
 * @throws ServiceError while Temporal is away
 */
export async function ensureSearchAttributes(
  client: Client,
  namespace: string,
): Promise<RegisteredSearchAttributes> {
  let missing: readonly SearchAttributeName[];
  try {
    missing = await missingSearchAttributes(client, namespace);
  } catch (error) {
    const { refusalOf } = await import('./temporal-failure.ts');
    const why = refusalOf(error);
    if (why === undefined) throw error;
    return { registered: [], missing: SEARCH_ATTRIBUTES, failed: { what: 'list', why } };
  }
  if (missing.length === 0) return without(missing);
  try {
    await client.connection.operatorService.addSearchAttributes({
      namespace,
      searchAttributes: Object.fromEntries(missing.map((name) => [name, KEYWORD])),
    });
    return without(await missingSearchAttributes(client, namespace));
  } catch (error) {
    // Not allowed here (Temporal Cloud, authorizer), or away for a moment: the caller warns with the command.
    return { ...without(missing), failed: { what: 'register', why: toMessage(error) } };
  }
}

function without(missing: readonly SearchAttributeName[]): RegisteredSearchAttributes {
  return { registered: SEARCH_ATTRIBUTES.filter((name) => !missing.includes(name)), missing };
}

/** `INDEXED_VALUE_TYPE_KEYWORD` of the Temporal API. */
const KEYWORD = 2;

/** Those that the namespace does not know. @throws what the server answers */
export async function missingSearchAttributes(
  client: Client,
  namespace: string,
): Promise<readonly SearchAttributeName[]> {
  const { customAttributes } = await client.connection.operatorService.listSearchAttributes({ namespace });
  return SEARCH_ATTRIBUTES.filter((name) => customAttributes[name] === undefined);
}

/** The command that registers search attributes by hand. */
export function searchAttributeCommand(namespace: string, missing: readonly string[]): string {
  const names = missing.map((name) => `--name ${name} --type Keyword`).join(' ');
  return `temporal operator search-attribute create --namespace ${shellWord(namespace)} ${names}`;
}
