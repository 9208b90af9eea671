/** What `get repositories` says beside what the cluster holds: whether anybody acts, and what commits under way wait for. */

import { describeFree, leaseName, readLease } from './lease.ts';
import { whyNobodyLeads } from './lease-watch.ts';
import type { RepositoryView } from './repository-views.ts';
import type { Session } from './session.ts';
import { shortSha } from '../git/problems.ts';
import type { CommitRun, Whereabouts } from './temporal-sync.ts';
import { askWhereTheyAre, describeProgress } from './temporal-sync.ts';

interface Listed {
  readonly items: readonly RepositoryView[];
  readonly troubles: readonly string[];
}

/** States that are only passed through while somebody acts. */
function isMoving({ state }: RepositoryView): boolean {
  return state === 'Progressing' || state === 'Pending';
}

/**
 * Adds to what is known of repositories that are followed why nothing happens. Of commits that are under way Temporal is asked; where it
 * does not answer they are as they were. @throws ApiError
 */
export async function withReasons(session: Session, { items, troubles }: Listed): Promise<Listed> {
  if (items.every(({ state }) => state === 'NotFollowed' || state === 'Unknown')) return { items, troubles };
  const nobody = await whyNobodyFollows(session, items.some(isMoving));
  if (nobody !== undefined) {
    const next = 'start a worker: fairlead worker (with the same --cluster and --workload-api)';
    return {
      items: items.map((view) => (isMoving(view) ? adding(view, nobody) : view)),
      troubles: [...troubles, `${nobody}; ${next}`],
    };
  }
  const underWay = items.flatMap((view) => {
    const run = runOf(view);
    return run === undefined ? [] : [{ view, run }];
  });
  const found = await askWhereTheyAre(
    session,
    underWay.map(({ run }) => run),
  );
  const places = new Map(underWay.map(({ view }, index) => [view, found[index]]));
  return {
    items: items.map((view) => {
      const place = places.get(view);
      if (place === undefined) return view;
      if (place.ended !== undefined) return overUnrecorded(view, place.ended);
      const { phase, held, waiting } = place;
      return {
        ...adding(begun(view), describeProgress(place)),
        underWay: { phase, ...(held !== undefined && { held }), waiting },
      };
    }),
    troubles,
  };
}

/** Of a commit that is being checked the cluster does not tell yet: its latest run does, if that is open. */
function runOf({ name, state, seen, unread, commit }: RepositoryView): CommitRun | undefined {
  if (state === 'Progressing') return commit;
  if (state !== 'Pending' || seen === undefined || seen === commit?.sha || unread !== undefined)
    return undefined;
  return { repository: name, sha: seen };
}

function begun(view: RepositoryView): RepositoryView {
  if (view.state !== 'Pending' || view.seen === undefined) return view;
  const sha = shortSha(view.seen);
  return {
    ...view,
    state: 'Progressing',
    message: view.message.replace(`${sha} is next`, `${sha} is under way`),
  };
}

/**
 * One whose run is over, which its inventory does not tell: it could not be recorded.
 * A newer commit that is next begins by itself.
 */
export function overUnrecorded(
  view: RepositoryView,
  ended: NonNullable<Whereabouts['ended']>,
): RepositoryView {
  const { name, seen, commit } = view;
  const sha = shortSha(commit?.sha ?? '');
  const how = `the run of ${sha} has ended (${ended}), which is not recorded`;
  const message = view.message.replace(`${sha} is under way`, how);
  if (seen !== undefined && seen !== commit?.sha) return { ...view, state: 'Pending', message };
  return adding({ ...view, state: ended, message }, `\`fairlead sync ${name}\` tries it again`);
}

/** As long as nothing is said to go on, the Lease itself is enough: that somebody lives takes a second to see. */
async function whyNobodyFollows(session: Session, isThorough: boolean): Promise<string | undefined> {
  const lease = await readLease(session);
  const why =
    lease.state === 'free'
      ? describeFree(lease, leaseName(session))
      : isThorough
        ? await whyNobodyLeads(session)
        : undefined;
  return why && `${why}, so nobody looks at the repositories`;
}

function adding(view: RepositoryView, why: string): RepositoryView {
  return { ...view, message: [...(view.message === '' ? [] : [view.message]), why].join('; ') };
}
