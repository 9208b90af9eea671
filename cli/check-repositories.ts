/** The checks of a repositories file: can it be read, and with whose rights are commits applied? */

import { RepositoriesError, readRepositories } from '../git/repositories.ts';
import type { Repository } from '../git/repositories.ts';
import { SET_ACCOUNT, withOwnRights } from '../git/own-rights.ts';
import { describeUnusable, filesOf, unusableFiles } from '../git/repository-files.ts';
import type { CheckItem } from './check-item.ts';

/** What can be told of the file alone, without a look at any repository. */
export async function checkRepositories(file: string): Promise<readonly CheckItem[]> {
  const item = { id: 'repositories.file', what: `repositories file ${file}` } as const;
  let repositories: readonly Repository[];
  try {
    repositories = await readRepositories(file);
  } catch (error) {
    if (!(error instanceof RepositoriesError)) throw error;
    return [{ ...item, outcome: 'failed', found: 'cannot be used', mend: error.message }];
  }
  const found = `${String(repositories.length)} ${repositories.length === 1 ? 'repository' : 'repositories'}`;
  return [{ ...item, outcome: 'ok', found }, await checkFiles(repositories), checkAccounts(repositories)];
}

/** A warning: what the worker reads may not be where somebody looks at its repositories file. */
async function checkFiles(repositories: readonly Repository[]): Promise<CheckItem> {
  const item = { id: 'repositories.files', what: 'files that entries name' } as const;
  const all = repositories.flatMap(filesOf).length;
  const missing = await Promise.all(
    repositories.map(async (one) =>
      (await unusableFiles(one)).map((file) => `${one.name}: ${describeUnusable(file)}`),
    ),
  );
  const faults = missing.flat();
  if (faults.length === 0) return { ...item, outcome: 'ok', found: all === 0 ? 'none' : String(all) };
  return {
    ...item,
    outcome: 'warning',
    found: faults.join('; '),
    mend: 'put them where the entries say; or run this where the worker runs, if that is elsewhere',
  };
}

function checkAccounts(repositories: readonly Repository[]): CheckItem {
  const item = { id: 'repositories.accounts', what: 'rights of commits' } as const;
  const names = withOwnRights(repositories);
  if (names.length === 0)
    return { ...item, outcome: 'ok', found: 'those of the ServiceAccount in each entry' };
  return {
    ...item,
    outcome: 'warning',
    found: `${names.join(', ')}: all that the worker itself may do, for the entry has no serviceAccount`,
    mend: SET_ACCOUNT,
  };
}
