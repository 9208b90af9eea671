/** What a commit would change in the cluster: the same decisions as sync's, with a dry run instead of a write. */

import { isForbidden, isNotFound } from '../kubernetes/api-error.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { Discovery, parseApiVersion } from '../kubernetes/discovery.ts';
import { asRecord, trusted } from '../kubernetes/values.ts';
import { compareApplied } from '../git/applied-difference.ts';
import { checkCommit } from '../git/check.ts';
import { bodyToApply, isAheadOfItsPods } from '../git/apply-controller.ts';
import type { Foreign } from '../git/collisions.ts';
import { collisions } from '../git/collisions.ts';
import type { CommitContent, CommitContext } from '../git/commit.ts';
import { PARALLEL, byPlace, forEachLimited, prepareCommit } from '../git/commit.ts';
import { findConflicts } from '../git/conflicts.ts';
import { findCounterpart } from '../git/counterpart.ts';
import { decide, describeConflicts, isTakenByForce, isUndone } from '../git/decision.ts';
import { heldBack } from '../git/drift.ts';
import type { FollowedRow } from '../git/followed-list.ts';
import { readFollowedList } from '../git/followed-list.ts';
import { decisionInput } from '../git/former-owner.ts';
import { isGrant } from '../git/heirs.ts';
import { entryKey, groupOf, pruneCandidates } from '../git/inventory-content.ts';
import type { InventoryEntry } from '../git/inventory-content.ts';
import { listUnchanged } from '../git/listed-metadata.ts';
import type { Manifest } from '../git/manifests.ts';
import { objectLabel } from '../git/manifests.ts';
import { DEFAULT_WAVE } from '../git/order.ts';
import type { PreparedObject } from '../git/prepare.ts';
import { counterpartPath, inventoryEntry, isController, isWorkload, problemOf } from '../git/prepare.ts';
import type { Problem } from '../git/problems.ts';
import type { FollowedSources } from '../git/other-commits.ts';
import { OtherCommits } from '../git/other-commits.ts';
import { describeUnread } from '../git/prune.ts';
import { judgeWithContent } from '../git/prune-containers.ts';
import type { Repository } from '../git/repositories.ts';
import { toProblems } from '../git/refusals.ts';
import { objectPath } from '../git/resources.ts';
import { getOrUndefined } from '../kubernetes/get-or-undefined.ts';
import { sourceIdentity } from '../git/source-url.ts';
import { ANNOTATION } from '../planners/names.ts';
import type { JsonObject, KubernetesObject, PodTemplate } from '../planners/objects.ts';
import type { ReplicationController } from '../planners/replication-controller.ts';
import { normaliseTemplate } from '../planners/template-defaults.ts';
import type { Difference } from '../git/differences.ts';
import { differences } from '../git/differences.ts';
import type { Session } from './session.ts';
import { REQUEST_TIMEOUT_MS } from './session.ts';
import { VisibleInventory } from './visible-inventory.ts';

export interface PlannedChange {
  /** `Kind.group namespace/name` */
  readonly object: string;
  /** `move`: from one workload API to the other; `handOver`: to another repository. */
  readonly action:
    'create' | 'change' | 'move' | 'delete' | 'leave' | 'keep' | 'detach' | 'handOver' | 'later';
  /** Annotation `fairlead.dev/wave`, where it is not 0. */
  readonly wave?: number;
  /** Labels of what must be ready before it. */
  readonly dependsOn?: readonly string[];
  /** Why it is left, kept, detached, handed over or put off. */
  readonly why?: string;
  readonly differences: readonly Difference[];
  /** The pod template changes: so many pods get a new revision. */
  /** `pods` is absent where nodes decide. */
  readonly rollout?: { readonly pods?: number };
}

export interface RepositoryPlan {
  readonly repository: string;
  readonly url: string;
  /** Absent where it could not be read. */
  readonly sha?: string;
  /** In the order in which they would be applied; what stays the same is not named. */
  readonly changes: readonly PlannedChange[];
  readonly unchanged: number;
  readonly problems: readonly Problem[];
  /** What could not be looked at. */
  readonly notes: readonly string[];
}

/** What a plan knows beside the commit itself. */
export interface PlanSources {
  /** As {@link CommitContext.earlier}. */
  readonly earlier?: CommitContext['earlier'];
  /** The entries of the file, where there is one: what one of them lets go another may want. */
  readonly others?: FollowedSources;
  readonly signal?: AbortSignal;
}

/**
 * Plans one commit with the client's own permissions.
 * @throws ApiError when the apiserver cannot be asked; ProblemError when the commit cannot be read
 */
export async function planCommit(
  client: KubernetesClient,
  session: Pick<Session, 'leaseNamespace' | 'cluster' | 'api'>,
  repository: Repository,
  sha: string,
  content: CommitContent,
  { earlier, others: sources, signal }: PlanSources = {},
): Promise<RepositoryPlan> {
  const store = new VisibleInventory(client, session.leaseNamespace, repository.name);
  // An entry of the workers' own file is no clone.
  if (sources === undefined) store.planned = await sourceIdentity(repository.url);
  store.plannedFor = session.cluster;
  const followed = await followedRows(client, session);
  const heals = repository.heal === true ? true : followed?.find((row) => row.name === repository.name)?.heal;
  const alone: CommitContext = {
    repository: { ...repository, heal: heals === true },
    sha,
    client,
    worker: client,
    discovery: new Discovery(client),
    store,
    workloadApi: session.api,
    // Not known: an object stays with the repository that it names.
    isFollowed: (name) => followed?.some((row) => row.name === name) !== false,
    accounts: new Map(followed?.map((row) => [row.name, row.serviceAccount ?? ''])),
    cluster: session.cluster,
    startRollingUpdate: async () => await Promise.reject(new Error('a plan starts nothing')),
    inTurn: async (_object, section) => await section(),
    ...(earlier !== undefined && { earlier }),
  };
  const others = sources && new OtherCommits({ ...alone, signal }, sources);
  const context: CommitContext = { ...alone, ...(others !== undefined && { others }) };
  // Without a conflict, force makes no difference: what the check has tried need not be tried again.
  const tried = new Map<Manifest, PlannedChange>();
  const { problems, notes = [] } = await checkCommit(context, content, {
    onTried: (object, live, result) => {
      const change = describeChange(object, live, result);
      // What becomes of the pods of the others has to be asked as well.
      if (!isController(object.manifest) || change.rollout !== undefined) tried.set(object.manifest, change);
    },
  });
  const prepared = await prepareCommit(context, content);
  // The second of two of one name is among the problems.
  const objects = [
    ...new Map(prepared.objects.toReversed().map((one) => [one.label, one])).values(),
  ].toReversed();
  const planned = new Map<PreparedObject, Outcome>();
  const refused: Problem[] = [];
  const namespaces = new Set(objects.filter(isNamespace).map(({ manifest }) => manifest.name));
  const untried = objects.filter(({ manifest }) => !tried.has(manifest));
  const unchanged = await listUnchanged(context, untried);
  await forEachLimited(objects, PARALLEL, async (object) => {
    const known = tried.get(object.manifest);
    const outcome = unchanged.has(object)
      ? 'unchanged'
      : known === undefined
        ? await planObject(context, object, heals)
        : await moved(context, object, known);
    const isPromised = isMissing(outcome) && namespaces.has(object.namespace ?? '');
    planned.set(object, outcome);
    if (isRefused(outcome) && !isPromised) refused.push(...outcome.refused);
  });
  const applied = objects.flatMap((object): readonly PlannedChange[] => {
    const outcome = planned.get(object);
    const wave = {
      ...(object.wave !== DEFAULT_WAVE && { wave: object.wave }),
      ...(object.dependsOn.length > 0 && { dependsOn: object.dependsOn }),
    };
    if (isMissing(outcome) && namespaces.has(object.namespace ?? '')) {
      const why = 'its namespace comes with this commit';
      return [{ object: object.label, action: 'create', ...wave, why, differences: [] }];
    }
    return outcome === undefined || !isChange(outcome) ? [] : [{ ...outcome, ...wave }];
  });
  const missed = repository.prune ? await planPrunes(context, objects) : [];
  // What is not read may be what is missed.
  const isWhole = content.problems.length === 0 && prepared.problems.length === 0;
  const pruned = isWhole ? missed : [];
  return {
    repository: repository.name,
    url: repository.url,
    sha,
    changes: [...applied, ...pruned],
    unchanged: [...planned.values()].filter((outcome) => outcome === 'unchanged').length,
    problems: withRefused(problems, refused),
    notes: [
      ...store.notes,
      ...notes,
      ...(pruned.length === missed.length ? [] : [NOT_WHOLE]),
      ...(await unreadNotes(others, pruned)),
      ...(repository.impersonate === undefined
        ? []
        : [`checked with your own permissions; sync applies it as ${repository.impersonate}`]),
    ],
  };
}

const NOT_WHOLE = 'whether it would delete anything can be told when all of it can be read';

/** Where something would be deleted, of which repositories it is not known whether they want it. */
async function unreadNotes(
  others: OtherCommits | undefined,
  pruned: readonly PlannedChange[],
): Promise<readonly string[]> {
  if (!pruned.some(({ action }) => action === 'delete')) return [];
  const unread = (await others?.wanted())?.unread ?? [];
  return unread.length === 0 ? [] : [describeUnread(unread)];
}

type Outcome = PlannedChange | 'unchanged' | RefusedObject;

/** What the check has not refused may be refused when it is tried again: somebody has written in between. */
interface RefusedObject {
  readonly refused: readonly Problem[];
  /** Its namespace is not there, or is about to come with the commit. */
  readonly isMissing?: true;
}

function isRefused(outcome: Outcome | undefined): outcome is RefusedObject {
  return typeof outcome === 'object' && 'refused' in outcome;
}

function isMissing(outcome: Outcome | undefined): boolean {
  return isRefused(outcome) && outcome.isMissing === true;
}

function isChange(outcome: Outcome): outcome is PlannedChange {
  return typeof outcome === 'object' && !isRefused(outcome);
}

/** The problems of the check, and those of objects of which it has told none: nothing that is refused may be left out. */
function withRefused(problems: readonly Problem[], refused: readonly Problem[]): readonly Problem[] {
  const told = new Set(problems.map(({ object }) => object));
  return byPlace([...problems, ...refused.filter(({ object }) => !told.has(object))]);
}

function isNamespace({ manifest }: PreparedObject): boolean {
  return manifest.kind === 'Namespace' && manifest.group === '';
}

/** What the leader follows; undefined where that cannot be seen. @throws ApiError */
async function followedRows(
  client: KubernetesClient,
  { leaseNamespace, cluster }: Pick<Session, 'leaseNamespace' | 'cluster'>,
): Promise<readonly FollowedRow[] | undefined> {
  try {
    return (await readFollowedList(client, leaseNamespace, cluster, REQUEST_TIMEOUT_MS))?.rows;
  } catch (error) {
    if (isForbidden(error)) return undefined;
    throw error;
  }
}

async function planObject(
  context: CommitContext,
  object: PreparedObject,
  heals: boolean | undefined,
): Promise<Outcome> {
  const { label } = object;
  if (object.deferred) {
    return { object: label, action: 'create', why: 'its kind comes with this commit', differences: [] };
  }
  const live = await getOrUndefined(context.client, object.path);
  const input = await decisionInput(context, object, live);
  const decision = decide(input);
  switch (decision.do) {
    case 'nothing': {
      const outcome = await dryRun(context, object, live);
      if (!isChange(outcome) || outcome.differences.length === 0) return 'unchanged';
      const held = heals === true ? heldBack(input, object) : undefined;
      return await driftOf(context, object, live, outcome, { heals, held });
    }
    case 'refuse':
      return {
        refused: [
          {
            ...problemOf(object, decision.code, decision.message),
            ...(decision.next !== undefined && { next: decision.next }),
          },
        ],
      };
    case 'leave':
      return { object: label, action: 'leave', why: decision.why, differences: [] };
    case 'wait':
      return { object: label, action: 'later', why: decision.why, differences: [] };
    case 'unpin':
      return { object: label, action: 'change', why: 'the pin is taken away', differences: [] };
    case 'apply':
      return await moved(context, object, await dryRun(context, object, live));
  }
}

/** A workload that is created while the same one of this repository exists under the other API takes its pods over. */
async function moved(context: CommitContext, object: PreparedObject, outcome: Outcome): Promise<Outcome> {
  if (!isChange(outcome) || outcome.action !== 'create') return outcome;
  const found = await findCounterpart(context, object).catch((error: unknown) => {
    // It is among the problems of the check.
    if (isForbidden(error)) return undefined;
    throw error;
  });
  const old = found?.live;
  if (found === undefined || old?.metadata.annotations?.[ANNOTATION.repository] !== context.repository.name)
    return outcome;
  const { path } = found;
  const changed = differences(templateOf(old), templateOf(object.manifest.body));
  const { rollout, ...rest } = outcome;
  return {
    ...rest,
    action: 'move',
    why: `it comes from ${path.group}/${path.version} and takes over pods, claims and revisions as they are`,
    differences: changed,
    ...(rollout !== undefined && changed.length > 0 && { rollout }),
  };
}

/** The pod template with the defaults of apps/v1, below `spec.template`. */
function templateOf(object: unknown): JsonObject {
  const template = trusted<PodTemplate>(asRecord(asRecord(object)['spec'])['template']);
  return { spec: { template: normaliseTemplate(template) } };
}

/** A manifest that is applied already is not applied again, whatever has become of its object; only `heal` puts it back. */
async function driftOf(
  context: CommitContext,
  prepared: PreparedObject,
  live: KubernetesObject | undefined,
  { object, differences: found, why: beside }: PlannedChange,
  { heals, held }: { readonly heals: boolean | undefined; readonly held: string | undefined },
): Promise<PlannedChange> {
  const conflicts = await findConflicts(context, prepared, live);
  // What was put beside it holds nothing up, see takenOut.
  const owners =
    beside !== undefined || conflicts.length === 0 || isTakenByForce(conflicts)
      ? undefined
      : describeConflicts(conflicts).replace(/[.]$/, '');
  const isPutBack = heals === true && held === undefined && !isUndone(conflicts);
  const atOnce = heals === undefined ? '; a worker with `heal: true` puts it back at once' : '';
  const next = isPutBack
    ? `${owners === undefined ? '' : `${owners}; `}with \`heal: true\` it is put back at once`
    : owners === undefined
      ? `the next change of the manifest takes it back${atOnce}`
      : `${owners}, and a change of the manifest is refused as long as both do${atOnce}`;
  const stays = held === undefined ? '' : `, and stays so: ${held}`;
  const why = `it was changed in the cluster after this manifest was applied${stays}; ${next}`;
  return { object, action: 'leave', why, differences: found };
}

async function dryRun(
  context: CommitContext,
  object: PreparedObject,
  live: KubernetesObject | undefined,
): Promise<Outcome> {
  const { client } = context;
  const body = bodyToApply(context, object, live);
  try {
    const result = await client.patch(object.path, 'apply', body, {
      dryRun: true,
      force: true,
      fieldValidation: 'Strict',
    });
    const change = describeChange(object, live, result);
    return live !== undefined && change.rollout === undefined && isController(object.manifest)
      ? await replaced(context, object, trusted<ReplicationController>(live), change)
      : change;
  } catch (error) {
    const foreign = collisions(error, body, live);
    if (foreign.length > 0) return takenOut(object, foreign);
    const found = toProblems(error, object);
    if (found === undefined) throw error;
    return { refused: found, ...(isNotFound(error) && { isMissing: true }) };
  }
}

/** Of a ReplicationController the commit replaces pods as well whose template somebody has changed under them. */
async function replaced(
  context: CommitContext,
  object: PreparedObject,
  live: ReplicationController,
  change: PlannedChange,
): Promise<PlannedChange> {
  if (!(await isAheadOfItsPods(context, object, live))) return change;
  const pods = podsOf(object, live, live);
  const why = 'its template was changed in the cluster, and its pods are of before: they are replaced';
  return { ...change, why, rollout: { ...(pods !== undefined && { pods }) } };
}

/** What the dry run of the apply alone cannot show: only after it is taken out the manifest can be applied. */
function takenOut({ label }: PreparedObject, foreign: readonly Foreign[]): PlannedChange {
  const owners = foreign.map((one) => `"${one.managers.join('", "')}" has put ${one.label} there`);
  return {
    object: label,
    action: 'change',
    why: `the manifest is applied, and what cannot be beside it is taken out: ${owners.join('; ')}`,
    differences: foreign.map((one) => ({ path: one.label, before: one.value })),
  };
}

function describeChange(
  object: PreparedObject,
  live: KubernetesObject | undefined,
  result: KubernetesObject,
): PlannedChange {
  const found = live === undefined ? [] : compareApplied(object, live, result);
  const rolls =
    (isWorkload(object.manifest) || isController(object.manifest)) &&
    (live === undefined || found.some(({ path }) => path.startsWith('spec.template')));
  const pods = podsOf(object, live, result);
  return {
    object: object.label,
    action: live === undefined ? 'create' : 'change',
    ...(live !== undefined && found.length === 0 && { why: 'only where it comes from' }),
    differences: found,
    ...(rolls && { rollout: { ...(pods !== undefined && { pods }) } }),
  };
}

/** Of a DaemonSet as many as there were nodes for it; of a new one that is not known. */
function podsOf(
  { manifest }: PreparedObject,
  live: KubernetesObject | undefined,
  result: KubernetesObject,
): number | undefined {
  const isDaemonSet = manifest.kind === 'DaemonSet';
  const found = isDaemonSet
    ? asRecord(asRecord(live)['status'])['desiredNumberScheduled']
    : (asRecord(asRecord(result)['spec'])['replicas'] ?? 1);
  return typeof found === 'number' ? found : undefined;
}

async function planPrunes(
  context: CommitContext,
  objects: readonly PreparedObject[],
): Promise<readonly PlannedChange[]> {
  const entries = (await context.store.read())?.entries ?? new Map<string, InventoryEntry>();
  const changes: PlannedChange[] = [];
  const old = new Set(objects.flatMap((object) => labelOfCounterpart(object) ?? []));
  const wanted = objects.map(inventoryEntry);
  const keys = new Set(wanted.map((entry) => entryKey(entry)));
  const candidates = pruneCandidates(entries, wanted);
  const setting = {
    wanted: keys,
    rightsLeave: candidates.some(({ apiVersion }) => isGrant(groupOf(apiVersion))),
  };
  for (const entry of candidates) {
    const { group, version } = parseApiVersion(entry.apiVersion);
    // Told where it goes to.
    if (old.has(objectLabel({ ...entry, group }))) continue;
    const served = await context.discovery.find(entry.apiVersion, entry.kind);
    if (served === undefined) continue;
    const path = objectPath(served, { group, version, namespace: entry.namespace, name: entry.name });
    const live = await getOrUndefined(context.client, path);
    const verdict = await judgeWithContent(context, entry, path, live, setting);
    const object = objectLabel({ ...entry, group });
    if (verdict.verdict === 'delete') {
      const why = verdict.refused === undefined ? {} : { why: `not handed over: ${verdict.refused}` };
      changes.push({ object, action: 'delete', ...why, differences: [] });
    }
    if (verdict.verdict === 'forget' && verdict.stays === true)
      changes.push({ object, action: 'keep', why: verdict.why, differences: [] });
    if (verdict.verdict === 'keep' || verdict.verdict === 'detach' || verdict.verdict === 'handOver')
      changes.push({ object, action: verdict.verdict, why: verdict.why, differences: [] });
  }
  return changes;
}

function labelOfCounterpart(object: PreparedObject): string | undefined {
  const path = counterpartPath(object);
  return (
    path &&
    objectLabel({
      kind: object.manifest.kind,
      group: path.group,
      namespace: path.namespace,
      name: path.name ?? '',
    })
  );
}
