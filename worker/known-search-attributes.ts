/** The search attributes that runs are begun with: somebody may register those that are missing at any time. */

import type { Client } from '@temporalio/client';
import type { Logger } from 'pino';

import type { SearchAttributeName } from '../workflows/search-attributes.ts';
import type { RegisteredSearchAttributes } from '../controllers/search-attributes.ts';
import { ensureSearchAttributes, searchAttributeCommand } from '../controllers/search-attributes.ts';

export interface KnownSearchAttributesOptions {
  readonly client: Client;
  readonly namespace: string;
  readonly log: Pick<Logger, 'info' | 'warn'>;
  /** Milliseconds, of a clock that only goes forward. @default performance.now */
  readonly now?: () => number;
}

/** Milliseconds after which it is asked again while some are missing. */
const ASK_AGAIN_MS = 60_000;

export class KnownSearchAttributes {
  readonly #options: KnownSearchAttributesOptions;
  readonly #now: () => number;
  #known: { readonly registered: readonly SearchAttributeName[]; readonly until: number } | undefined;
  /** What was said last of those that are missing; empty: none is. */
  #said = '';

  constructor(options: KnownSearchAttributesOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /** Those that are registered. @throws as {@link ensureSearchAttributes} */
  async registered(): Promise<readonly SearchAttributeName[]> {
    if (this.#known !== undefined && this.#now() < this.#known.until) return this.#known.registered;
    const found = await ensureSearchAttributes(this.#options.client, this.#options.namespace);
    this.#tell(found);
    const until = found.missing.length === 0 ? Number.POSITIVE_INFINITY : this.#now() + ASK_AGAIN_MS;
    this.#known = { registered: found.registered, until };
    return found.registered;
  }

  /** One may have been taken away: they are asked for at the next start of a run. */
  forget(): void {
    this.#known = undefined;
  }

  #tell({ missing, failed }: RegisteredSearchAttributes): void {
    const said = missing.length === 0 ? '' : JSON.stringify({ missing, what: failed?.what });
    if (said === this.#said) return;
    this.#said = said;
    const { log, namespace } = this.#options;
    if (missing.length === 0) log.info('search attributes are registered now: new runs have them');
    else if (failed?.what === 'list')
      log.warn(
        { error: failed.why },
        'search attributes may not be listed: runs go without them; permit ListSearchAttributes of the OperatorService to this worker',
      );
    else
      log.warn(
        {
          missing,
          command: searchAttributeCommand(namespace, missing),
          ...(failed && { error: failed.why }),
        },
        'search attributes are not registered: runs go without them until they are',
      );
  }
}
