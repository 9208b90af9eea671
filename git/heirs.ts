/**
 * Which of the repositories that want an object may have it. A manifest that names an object gives nobody a right to it: else whoever
 * may write to some repository could keep what another takes away, a grant of rights to himself before all.
 */

import { isForbidden } from '../kubernetes/api-error.ts';
import { GROUP } from '../planners/names.ts';
import { mayDo } from './access-review.ts';
import type { CommitContext } from './commit.ts';
import type { Claim } from './other-commits.ts';
import type { ProblemCode } from './problems.ts';
import type { Repository } from './repositories.ts';

/** What is asked for, as the authorisation of the apiserver knows it. */
export interface ClaimedObject {
  readonly group: string;
  /** Plural, lower case. */
  readonly resource: string;
  readonly namespace?: string | undefined;
  readonly name: string;
}

export interface Heirs {
  /** The first that may have it. */
  readonly heir?: Claim;
  /** Why that is not known of one, in words; who may have it goes before. */
  readonly undecided?: string;
  /** Those that may not, each in words. */
  readonly refused: readonly string[];
  /** Repositories that are to make it anew, if they may. */
  readonly makers: readonly string[];
}

export interface HeirSetting {
  /** They want the same workload of the other workload API, and take this one over. */
  readonly isCounterpart?: boolean;
  /** Grants of rights leave with this commit: what an account may do now it may not be able to do when they are gone. */
  readonly rightsLeave?: boolean;
}

/** Of what a commit lacks; anything else may be a matter of the files and programs that it is verified with. */
const NOT_SIGNED: ReadonlySet<ProblemCode> = new Set(['CommitUnsigned', 'SignatureRefused']);

/** Objects that give rights. */
export function isGrant(group: string): boolean {
  return group === 'rbac.authorization.k8s.io';
}

/**
 * Whether a grant of one repository may become another's as it is: that its account may change it now can come from the very grant.
 * Who acts as the worker itself, or as the same account, gains nothing by it.
 */
export function mayInheritGrants(heir: Repository, owner: Pick<Repository, 'impersonate'>): boolean {
  return heir.impersonate === undefined || heir.impersonate === owner.impersonate;
}

/** @throws ApiError when the apiserver cannot be asked (try again) */
export async function chooseHeir(
  context: CommitContext,
  object: ClaimedObject,
  claims: readonly Claim[],
  { isCounterpart = false, rightsLeave = false }: HeirSetting = {},
): Promise<Heirs> {
  const refused: string[] = [];
  const makers: string[] = [];
  const undecided: string[] = [];
  for (const claim of claims) {
    const { repository, unsigned } = claim;
    const { name } = repository;
    if (unsigned !== undefined && NOT_SIGNED.has(unsigned.code)) {
      refused.push(`repository ${name} names it, but in a commit whose signature is not accepted`);
      continue;
    }
    const isOther = !mayInheritGrants(repository, context.repository);
    if (isOther && isGrant(object.group)) {
      refused.push(
        `repository ${name} names it, and makes it anew if its account may: a grant is not handed over to another account`,
      );
      makers.push(name);
      continue;
    }
    const lacking = await whatLacks(context, object, claim, isCounterpart);
    if (lacking === 'not known') {
      undecided.push(
        `repository ${name} wants it, and what its account may do cannot be told now (admission does not let it be asked): the next commit or \`fairlead sync\` asks again`,
      );
      continue;
    }
    if (lacking !== undefined) {
      refused.push(`repository ${name} names it, but its account ${lacking}`);
      continue;
    }
    if (unsigned !== undefined) {
      undecided.push(
        `repository ${name} wants it, and whether its commit is signed cannot be told now (${unsigned.code}): the next commit or \`fairlead sync\` asks again`,
      );
      continue;
    }
    if (!(isOther && rightsLeave)) return { heir: claim, refused: [], makers: [] };
    undecided.push(
      `repository ${name} wants it, and what its account may do is known when the grants that leave with this commit are gone: the next commit or \`fairlead sync\` asks again`,
    );
  }
  const [first] = undecided;
  return { refused, makers, ...(first !== undefined && { undecided: first }) };
}

/**
 * What the account may not do that taking the object over needs; `not known`: it cannot be asked now; undefined: nothing, or there is no
 * account to be asked. @throws ApiError
 */
async function whatLacks(
  context: CommitContext,
  object: ClaimedObject,
  { account }: Claim,
  isCounterpart: boolean,
): Promise<string | undefined> {
  if (account === undefined) return undefined;
  const other = object.group === GROUP ? 'apps' : GROUP;
  const needs = isCounterpart
    ? [
        { verb: 'delete', group: object.group },
        { verb: 'patch', group: other },
      ]
    : [{ verb: 'patch', group: object.group }];
  try {
    for (const { verb, group } of needs) {
      const question = {
        verb,
        group,
        resource: object.resource,
        namespace: placeOf(object),
        name: object.name,
      };
      const may = await mayDo(account, question, context.signal);
      if (may === undefined) return 'not known';
      if (!may) {
        const resource = group === '' ? object.resource : `${object.resource}.${group}`;
        return `may not ${verb} ${resource}${object.namespace === undefined ? '' : ' there'}`;
      }
    }
    return undefined;
  } catch (error) {
    if (isForbidden(error)) return 'may not be impersonated by the worker';
    throw error;
  }
}

/** The apiserver sees a request for a Namespace as one in it. */
function placeOf({ group, resource, namespace, name }: ClaimedObject): string | undefined {
  return group === '' && resource === 'namespaces' ? name : namespace;
}
