/** The log says of each repository once that its commits have the rights of the worker: whoever set it up may not have meant it. */

import type { Logger } from 'pino';

import { SET_ACCOUNT, withOwnRights } from '../git/own-rights.ts';
import type { Repository } from '../git/repositories.ts';
import type { RepositoriesFile } from './repositories-file.ts';

/** One line for all that are there now, and one for those that come with a change of the file. */
export function tellOwnRights(file: RepositoriesFile, log: Pick<Logger, 'warn'>): void {
  let told: readonly string[] = [];
  const tell = (repositories: readonly Repository[]): void => {
    const names = withOwnRights(repositories);
    const news = names.filter((name) => !told.includes(name));
    told = names;
    if (news.length === 0) return;
    log.warn(
      { repositories: news, next: SET_ACCOUNT },
      "commits of these repositories are applied with the worker's own rights: their entries have no serviceAccount",
    );
  };
  tell(file.repositories);
  file.onChange(tell);
}
