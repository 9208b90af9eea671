/** Whether a Temporal namespace knows our search attributes. Loads no library: the command line asks too. */

import type { Client } from '@temporalio/client';

import { shellWord } from '../kubernetes/shell-word.ts';
import type { SearchAttributeName } from '../workflows/search-attributes.ts';
import { SEARCH_ATTRIBUTES } from '../workflows/search-attributes.ts';

export interface RegisteredSearchAttributes {
  readonly registered: readonly SearchAttributeName[];
  readonly missing: readonly SearchAttributeName[];
}

/**
 * Which of our search attributes the namespace knows; registers the missing ones where the server allows it. An attribute that
 * is not registered would wedge every workflow task, so runs go without it.
 */
export async function ensureSearchAttributes(
  client: Client,
  namespace: string,
): Promise<RegisteredSearchAttributes> {
  const missing = await missingSearchAttributes(client, namespace);
  if (missing.length > 0) {
    try {
      await client.connection.operatorService.addSearchAttributes({
        namespace,
        searchAttributes: Object.fromEntries(missing.map((name) => [name, KEYWORD])),
      });
    } catch {
      // Not allowed here (Temporal Cloud, authorizer): the caller warns with the command.
      return { registered: SEARCH_ATTRIBUTES.filter((name) => !missing.includes(name)), missing };
    }
  }
  const still = await missingSearchAttributes(client, namespace);
  return { registered: SEARCH_ATTRIBUTES.filter((name) => !still.includes(name)), missing: still };
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
