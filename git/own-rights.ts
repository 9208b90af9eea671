/** The rights of the worker itself, and repositories that are applied with them: whoever may push to one may do all that it may. */

import type { Repository } from './repositories.ts';

/** How that is changed, beginning in lower case. */
export const SET_ACCOUNT =
  'set `serviceAccount: NAMESPACE/NAME` in the entry (`fairlead up --service-account`); manifests/install/worker/sync-account.yaml is an example of one';

/** What to do where the apiserver refuses the worker itself something, beginning in lower case. */
export const MEND_REFUSAL = 'mend what it names (a quota, a policy, a permission: `fairlead check --worker`)';

/** Names of those that say no account. */
export function withOwnRights(repositories: readonly Repository[]): readonly string[] {
  return repositories.filter(({ impersonate }) => impersonate === undefined).map(({ name }) => name);
}

/** `NAMESPACE/NAME` of the account that a repository is applied as; `''`: the worker itself. */
export function accountOf({ impersonate }: Pick<Repository, 'impersonate'>): string {
  return impersonate === undefined ? '' : impersonate.split(':').slice(2).join('/');
}
