/** The check of single objects: what is there, whose it is, and a strict dry run of what would be written. */

import { isDeepStrictEqual } from 'node:util';

import { ApiError, isAlreadyExists, isNotFound, isUnconverted } from '../kubernetes/api-error.ts';
import { asRecord } from '../kubernetes/values.ts';
import { readPaused } from '../kubernetes/wish-annotations.ts';
import { firstOf } from '../planners/first-of.ts';
import { ANNOTATION, GROUP, IN_PLACE_GATE } from '../planners/names.ts';
import type { JsonObject, KubernetesObject } from '../planners/objects.ts';
import { bodyToApply, budgetProblem } from './apply-controller.ts';
import { withCarried } from './carried-fields.ts';
import { blamed, collisions, suspects } from './collisions.ts';
import type { CommitContent, CommitContext } from './commit.ts';
import { findCounterpart, hiddenCounterpart } from './counterpart.ts';
import { decide, isTakenByForce } from './decision.ts';
import type { DroppedFields } from './dropped-fields.ts';
import { allDropped, inTheWay, keptAlone, testsOf, valueIn, withoutTaken } from './dropped-fields.ts';
import { everyRefusal } from './every-refusal.ts';
import { findFieldLine } from './field-line.ts';
import { decisionInput } from './former-owner.ts';
import { annotationInstead, gatedField } from './gated-fields.ts';
import { isApplied } from './listed-metadata.ts';
import { findMenders, notMendedYet } from './menders.ts';
import { stageOf } from './order.ts';
import { patchCommand } from './patch-command.ts';
import type { PreparedObject } from './prepare.ts';
import { problemOf } from './prepare.ts';
import type { Problem } from './problems.ts';
import { problem } from './problems.ts';
import type { RefusalSetting } from './refusals.ts';
import { isSaidAlike } from './said-alike.ts';
import { fieldConflicts, retryable, toProblem, toProblems } from './refusals.ts';
import { withSignal } from './resources.ts';
import { asMadeAnew, ownedAndDropped } from './restored-owners.ts';
import type { SourceText } from './source-text.ts';
import { acceptedFields } from './take-over.ts';
import { takenBack } from './taken-back.ts';

/** Fields that one note names. */
const MOST_KEPT = 5;
const BY_PLACE = new Intl.Collator('en', { numeric: true });

/** What a dry run has answered that found nothing wrong; `live` is what was there before. */
export type OnTried = (
  object: PreparedObject,
  live: KubernetesObject | undefined,
  result: KubernetesObject,
) => void;

/** Collects what is wrong with the objects of one commit. */
export class ObjectCheck {
  readonly problems: Problem[] = [];
  /** What is worth knowing and no failure. */
  readonly notes: string[] = [];
  deferred = 0;
  /** What is refused as long as another object of the commit is not written, by that. */
  readonly mended = new Map<PreparedObject, PreparedObject>();
  /** What is not yet as the commit wants it, and what cannot be looked at yet. */
  readonly changes = new Set<PreparedObject>();
  readonly #context: CommitContext;
  readonly #content: CommitContent;
  readonly #ownNamespaces: ReadonlySet<string>;
  readonly #listed: ReadonlyMap<PreparedObject, KubernetesObject>;
  readonly #onTried: OnTried | undefined;
  /** Whether something else of the commit mends them is known when all were looked at. */
  readonly #refusals: {
    readonly object: PreparedObject;
    readonly error: ApiError;
    readonly problems: readonly Problem[];
  }[] = [];

  /** `listed`: metadata of what is there, as far as it was listed. */
  constructor(
    context: CommitContext,
    content: CommitContent,
    created: ReadonlySet<string>,
    listed: ReadonlyMap<PreparedObject, KubernetesObject>,
    onTried?: OnTried,
  ) {
    this.#context = context;
    this.#content = content;
    this.#ownNamespaces = created;
    this.#listed = listed;
    this.#onTried = onTried;
  }

  async object(object: PreparedObject, onlyDeferred: boolean): Promise<void> {
    if (object.deferred) {
      this.deferred += 1;
      this.changes.add(object);
      return;
    }
    if (onlyDeferred && stageOf(object.manifest) === 0) return;
    await this.#attempt(object, async () => await this.#live(object));
  }

  /**
   * When all were looked at: what something else of the commit may mend is looked at again once that is written. What this commit has just
   * written may take a moment: for that it is waited until `patientUntilMs` (since the epoch).
   * @throws NotYetError while it is waited; ApiError when the apiserver cannot be asked
   */
  async settle(objects: readonly PreparedObject[], patientUntilMs: number): Promise<void> {
    for (const { object, error, problems } of this.#refusals) {
      const menders = findMenders(error, object, objects);
      const mender = menders.find((one) => this.changes.has(one));
      if (mender !== undefined) {
        this.mended.set(object, mender);
        continue;
      }
      const isPatient = Date.now() < patientUntilMs;
      const delay = isPatient ? await notMendedYet(this.#context, object, menders) : undefined;
      if (delay !== undefined) throw delay;
      this.problems.push(...problems);
    }
    for (const object of this.mended.keys()) this.changes.add(object);
    this.deferred += this.mended.size;
  }

  async #live(object: PreparedObject): Promise<void> {
    const { client, signal } = this.#context;
    this.#budget(object);
    if (isApplied(this.#context, object, this.#listed.get(object))) return;
    const options = withSignal(signal);
    const live = await client.get(object.path, options).catch((error: unknown) => {
      if (isNotFound(error)) return undefined;
      throw error;
    });
    const decision = decide(await decisionInput(this.#context, object, live));
    switch (decision.do) {
      case 'refuse':
        this.problems.push({
          ...problemOf(object, decision.code, decision.message),
          ...(decision.next !== undefined && { next: decision.next }),
        });
        return;
      case 'nothing':
      case 'leave':
        return;
      case 'unpin':
      case 'wait':
        this.changes.add(object);
        return;
      case 'apply':
        this.changes.add(object);
        await this.#dryRun(
          object,
          live,
          decision.force,
          decision.create ? await this.#counterpart(object) : undefined,
        );
    }
  }

  /** Annotations are texts: the apiserver would take any. */
  #budget(object: PreparedObject): void {
    const wrong = budgetProblem(object);
    if (wrong === undefined) return;
    const text = this.#text(object);
    const field = `metadata.annotations[${wrong.annotation}]`;
    const line = text && findFieldLine(text, object.manifest.line, field);
    this.problems.push({ ...problemOf(object, 'Invalid', `${wrong.message}.`, line), isInFile: true });
  }

  /** @param old The same workload under the other API, which it takes over from. */
  async #dryRun(
    object: PreparedObject,
    live: KubernetesObject | undefined,
    force: boolean,
    old?: KubernetesObject,
  ): Promise<void> {
    const { client, signal } = this.#context;
    const body = bodyToApply(this.#context, object, live);
    const options = { dryRun: true, force, fieldValidation: 'Strict', ...withSignal(signal) } as const;
    const { owned, dropped } = await ownedAndDropped(this.#context, object, live, body);
    try {
      const carried = old && (await acceptedFields(this.#context, object, old));
      const result = await client.patch(object.path, 'apply', withCarried(body, carried), options);
      this.#noteKept(object, dropped);
      this.#noteGated(object, result);
      await this.#noteKeptAlone(object, keptAlone(owned, body, result), result);
      this.#onTried?.(object, live, withoutTaken(dropped, result));
    } catch (error) {
      if (isUnconverted(error)) throw error;
      const conflicts = fieldConflicts(error);
      // A conflict is told before anything is validated: as the write does, it is tried again by force.
      if (
        conflicts !== undefined &&
        (isTakenByForce(conflicts) ||
          (await takenBack(this.#context, object, owned, conflicts)) !== undefined ||
          (await isSaidAlike(this.#context, object, body, live, conflicts)))
      ) {
        await this.#dryRun(object, live, true, old);
        return;
      }
      if (isNotFound(error) && object.namespace !== undefined && this.#ownNamespaces.has(object.namespace)) {
        this.deferred += 1;
        await this.#probe(object, body);
        return;
      }
      // Those are taken out by the write (apply.ts), and what a dry run leaves of a list by halves is nothing that can be.
      const all = allDropped(dropped);
      const some = inTheWay(error, all);
      if (some.length > 0)
        this.#noteKept(object, { ...dropped, kept: dropped.kept.filter((one) => !some.includes(one)) });
      if (some.length > 0 || collisions(error, body, owned).length > 0) return;
      const refusals = await everyRefusal(error, body, async (rest) => {
        await client.patch(object.path, 'apply', rest, options);
      });
      for (const refusal of refusals) {
        if (inTheWay(refusal, all).length > 0) continue;
        const found = toProblem(refusal, object, { ...this.#setting(object), live, owned });
        if (!(refusal instanceof ApiError) || found === undefined) throw refusal;
        const foreign = found.code === 'Invalid' ? suspects(refusal, body, live) : [];
        const told = foreign.length === 0 ? found : blamed(found, object, foreign);
        this.#refusals.push({ object, error: refusal, problems: [told] });
      }
    }
  }

  /**
   * The namespace comes with this commit, so the object cannot be tried where it belongs. A dry-run create in `default` still
   * finds what is wrong with the object itself; what depends on the namespace is checked after the first stage.
   */
  async #probe(object: PreparedObject, body: JsonObject): Promise<void> {
    const { client, signal } = this.#context;
    const metadata = { ...asRecord(body['metadata']), namespace: 'default' };
    try {
      await client.create(
        { ...object.path, namespace: 'default', name: undefined },
        { ...body, metadata },
        {
          dryRun: true,
          fieldValidation: 'Strict',
          ...withSignal(signal),
        },
      );
    } catch (error) {
      if (isAlreadyExists(error)) return;
      if (!(error instanceof ApiError)) throw error;
      const found = toProblems(error, object, this.#setting(object)) ?? [];
      const own = found.filter(({ code }) => ['Invalid', 'UnknownField', 'ObjectTooLarge'].includes(code));
      if (own.length > 0) this.#refusals.push({ object, error, problems: own });
    }
  }

  /**
   * The same workload under the other API is taken over only from this repository: its deletion must be somebody's wish. Undefined: there is
   * none that may be.
   */
  async #counterpart(object: PreparedObject): Promise<KubernetesObject | undefined> {
    const { repository } = this.#context;
    const found = await findCounterpart(this.#context, object);
    if (found === undefined) return undefined;
    const { path, live } = found;
    if (live === undefined) {
      this.problems.push({
        ...problemOf(object, 'Forbidden', hiddenCounterpart(found, repository.impersonate ?? 'the worker')),
        next: `To let this repository take it over, grant get and delete of ${path.resource}.${path.group}; else delete that one.`,
      });
      return undefined;
    }
    const owner = live.metadata.annotations?.[ANNOTATION.repository];
    if (owner === repository.name) {
      if (object.manifest.body['apiVersion'] !== this.#context.workloadApi) this.#departure(object, live);
      return live;
    }
    const resource = `${path.resource}.${path.version}.${path.group}`;
    const who = owner === undefined ? 'is not from this repository' : `is from repository ${owner}`;
    this.problems.push(
      problem(
        'OwnedByOther',
        `the same workload exists as ${path.resource}.${path.group} and ${who}; both would fight for the same pods.`,
        {
          file: object.manifest.file,
          line: object.manifest.line,
          object: object.label,
          next: `To let this repository take it over without restarting a pod: kubectl annotate ${resource} ${object.manifest.name} -n ${object.namespace} --overwrite ${ANNOTATION.repository}=${repository.name}`,
        },
      ),
    );
    return undefined;
  }

  /** Under the API that this worker does not keep, somebody else's controllers replace the pods at once, and know no gate of ours. */
  #departure(object: PreparedObject, live: KubernetesObject): void {
    const { apiVersion } = object.manifest.body;
    const isSpecPaused = asRecord(asRecord(live)['spec'])['paused'] === true;
    const paused = readPaused(live.metadata.annotations, isSpecPaused);
    const { file, line } = object.manifest;
    if (paused !== undefined) {
      const by = paused.by === undefined ? '' : ` by ${paused.by}`;
      const what = `the workload is paused${by}, and ${String(apiVersion)} is not kept by this worker.`;
      this.problems.push(problem('MigrationPaused', what, { file, line, object: object.label }));
    }
    if (hasGate(object)) {
      // Our own kind needs the gate.
      const next =
        object.manifest.group === GROUP
          ? `Start one (FAIRLEAD_WORKLOAD_API=${String(apiVersion)})`
          : 'Take the gate out of the template';
      this.notes.push(
        `${file}:${String(line)}: ${object.label}: its template has the readiness gate ${IN_PLACE_GATE}, which only Fairlead makes True: ` +
          `unless a worker keeps ${String(apiVersion)}, pods that are made from now on are never ready. ${next}`,
      );
    }
  }

  /** What has no effect although nobody refuses it. */
  #noteGated(object: PreparedObject, result: KubernetesObject): void {
    const { file, line, body } = object.manifest;
    const found = gatedField(body, result);
    if (found === undefined) return;
    const text = this.#text(object);
    const at = (text && findFieldLine(text, line, found.field)) ?? line;
    this.notes.push(
      `${file}:${String(at)}: ${object.label}: ${found.field} has no effect: the apiserver drops it, as its feature gate is off. ` +
        annotationInstead(found.annotation),
    );
  }

  /** What git drops and somebody else holds, who is no person's tool: it would stay without a word. */
  #noteKept(object: PreparedObject, { kept }: DroppedFields): void {
    if (kept.length === 0) return;
    const { file, line } = object.manifest;
    const fields = kept.map(({ label, managers }) => `${label} ("${managers.join('", "')}")`);
    const told = firstOf(fields, MOST_KEPT);
    // The last item of a list first: the others keep their places.
    const places = kept.map(({ pointer }) => pointer);
    const remove = places.toSorted(BY_PLACE.compare).toReversed();
    // Of a list that has changed since, another item would go.
    const tests = kept.flatMap((one) => testsOf(one));
    const operations = [...tests, ...remove.map((path) => ({ op: 'remove', path }) as const)];
    this.notes.push(
      `${file}:${String(line)}: ${object.label}: not in git any more, and stays because another field manager applies it too: ${told}. ` +
        `Have that one drop it, or take it out: ${patchCommand(object.path, operations)}`,
    );
  }

  /** What git drops and the apiserver keeps all the same; what it would give a new object too is a default. */
  async #noteKeptAlone(
    object: PreparedObject,
    fields: ReturnType<typeof keptAlone>,
    result: KubernetesObject,
  ): Promise<void> {
    const anew = fields.length === 0 ? undefined : await asMadeAnew(this.#context, object, undefined);
    if (anew === undefined) return;
    const stays = fields.filter((one) => !isDeepStrictEqual(valueIn(anew, one), valueIn(result, one)));
    if (stays.length === 0) return;
    const { file, line } = object.manifest;
    const told = firstOf(
      stays.map(({ label }) => label),
      MOST_KEPT,
    );
    this.notes.push(
      `${file}:${String(line)}: ${object.label}: not in git any more, and stays because the apiserver keeps it: ${told}. ` +
        'Delete the object to have it made without',
    );
  }

  async #attempt(object: PreparedObject, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      const found = toProblems(error, object, this.#setting(object));
      if (!(error instanceof ApiError) || found === undefined) throw retryable(error, object);
      this.#refusals.push({ object, error, problems: found });
    }
  }

  #setting(object: PreparedObject): RefusalSetting {
    return { source: this.#text(object), heals: this.#context.repository.heal };
  }

  #text(object: PreparedObject): SourceText | undefined {
    return this.#content.texts.get(object.manifest.file);
  }
}

/** Whether its pods wait for what an update in place makes True. */
function hasGate({ manifest }: PreparedObject): boolean {
  const template = asRecord(asRecord(manifest.body['spec'])['template']);
  const gates = asRecord(template['spec'])['readinessGates'];
  return Array.isArray(gates) && gates.some((gate) => asRecord(gate)['conditionType'] === IN_PLACE_GATE);
}
