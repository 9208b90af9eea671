/** What a request for a rolling update means, given what is there: begin, attach, turn round, or say what is wrong (K2–K4, K9). */

import { ANNOTATION, ROLLING_UPDATE } from './names.ts';
import type { ReplicationController } from './replication-controller.ts';
import { partnerOf } from './replication-controller.ts';
import type { ImageChange } from './rolling-update-definition.ts';
import {
  dataOfNext,
  describeBefore,
  describeReplaced,
  inheritance,
  labelOfOld,
  labelValue,
  labelled,
  ownKeyOf,
  ownLabel,
  plainController,
  rollsOutSamePods,
  selectorOf,
  selectsApart,
  withImage,
} from './rolling-update-definition.ts';
import { describeDiffering, differingFields, isRecorded } from './rolling-update-compared.ts';
import { ownersIn } from './rolling-update-owners.ts';
import type { ControllerManifest, RecordData, UpdateRecord } from './rolling-update-record.ts';
import { isActiveRecord, nameByHash } from './rolling-update-record.ts';
import {
  asMade,
  byEditorsSince,
  describeUnknown,
  editedSince,
  hasPodOfBefore,
} from './rolling-update-template.ts';
import { rivalOf } from './rolling-update-rivals.ts';
import { areSiblings, livePartnerOf } from './rolling-update-roles.ts';
import { replacedBy, viewUpdate } from './rolling-update-view.ts';
import type { UpdateView } from './rolling-update-view.ts';
import type { Refused } from './rolling-update-refusals.ts';
import { nameTaken, ofOther, partOfOther, refuse, stranger } from './rolling-update-refusals.ts';

/** What is to be rolled out. */
export type WantedChange =
  | { readonly kind: 'image'; readonly image: string; readonly container?: string | undefined }
  | { readonly kind: 'manifest'; readonly manifest: ControllerManifest }
  /** Whatever is in progress. */
  | { readonly kind: 'none' };

export interface StartRequest {
  readonly change: WantedChange;
  /** Name that the next controller is to keep; absent = it gets the old one's. */
  readonly newName?: string | undefined;
  /** Key of the label that tells the two controllers' pods apart. */
  readonly key: string;
  /** Also where the controller says so already: somebody has changed its template, and its pods are of before. */
  readonly again?: boolean | undefined;
  /** `metadata.managedFields` of the wanted controller, where they are known: see {@link RecordData.owners}. */
  readonly owners?: readonly object[] | undefined;
}

export type StartDecision =
  /** Nothing is under way: this is to be recorded, and then rolled out. */
  | { readonly do: 'begin'; readonly data: RecordData; readonly desired: number }
  | { readonly do: 'attach' }
  /** What is asked for is what the last update has rolled out. */
  | { readonly do: 'finished'; readonly message: string }
  | Refused;

/** For `rolling-update OLD [NEW]` and for a commit. */
export function decideStart(view: UpdateView, request: StartRequest): StartDecision {
  const { old, nextController: next, record, name, state } = view;
  const replaced = replacedBy(view);
  if (replaced !== undefined) return partOfOther(name, replaced);
  const other = otherUpdate(view, request) ?? strangerTo(view, request);
  if (other !== undefined) return other;
  const over = tookItsPlace(view, request);
  if (over !== undefined) return over;
  if (next !== undefined || record !== undefined || view.isRollback) {
    const decision = recordAnew(view, request, next) ?? attach(view, request, next, record);
    // Were only one that is waited for to be replaced once its pods are there, a bad one could never be.
    const isInstead = view.isRenamed && decision.do === 'refuse' && decision.code === 'OtherChange';
    if (!isInstead) return decision;
  }
  if (old === undefined) return refuse('NotFound', `there is no ReplicationController ${name}`);
  const { change } = request;
  if (change.kind === 'none') {
    return refuse('NothingAsked', `no update of ${name} is in progress, and nothing says what to roll out`);
  }
  // Of one whose next controller and record are lost, that had all pods already, the marks say how many are wanted.
  if (state.desired === 0) return refuse('NoReplicas', `${name} has 0 replicas: there is nothing to roll`);
  return change.kind === 'image'
    ? beginWithImage(view, old, request, change)
    : beginWithManifest(view, old, request, change.manifest);
}

/** A name that was given must not begin a second update of the controller, nor take the next controller of another one (K4). */
function otherUpdate(view: UpdateView, { newName }: StartRequest): Refused | undefined {
  if (newName === undefined) return undefined;
  const { name, records } = view;
  const own = viewUpdate({ ...view, next: undefined });
  const next = own.nextController?.metadata.name ?? own.record?.next;
  if (next !== undefined && next !== newName && !own.isRenamed) return otherChange(name, next);
  const taken = records.find((one) => isActiveRecord(one) && one.next === newName && one.from !== name);
  return taken && refuse('OtherUpdate', `${newName} belongs to another update, that of ${taken.from}`);
}

/** Of a file it is said what would be other: somebody may take a controller of theirs for what the file asks for. */
function strangerTo(view: UpdateView, { change, key }: StartRequest): Refused | undefined {
  const refused = stranger(view);
  const { nextController: next } = view;
  if (refused?.code !== 'NameTaken' || change.kind !== 'manifest' || next === undefined) return refused;
  const fields = differingFields(change.manifest, next, key);
  return fields.length === 0
    ? refused
    : refuse('NameTaken', `${refused.message}: ${describeDiffering(fields)}`);
}

function otherChange(name: string, next: string): Refused {
  return refuse('OtherChange', `an update of ${name} to ${next} is in progress, and it is another one`);
}

/** `rolling-update foo foo-v2` once it is over: foo-v2 is there, foo is not, and no mark is left. */
function tookItsPlace(
  { old, nextController: next, record, last, name }: UpdateView,
  { change, key }: StartRequest,
): StartDecision | undefined {
  const isOver = old === undefined && record === undefined && last?.state.phase === 'Done';
  if (!isOver || next === undefined || next.metadata.name !== last.to || partnerOf(next) !== undefined)
    return undefined;
  const message = `${next.metadata.name} has taken the place of ${name}`;
  return isRolledOut(next, change, key)
    ? { do: 'finished', message }
    : refuse('NotFound', `there is no ReplicationController ${name} any more: ${message}`);
}

/** Whether a controller is what a change asks for, as far as its template tells without the apiserver's defaults. */
function isRolledOut(controller: ReplicationController, change: WantedChange, key: string): boolean {
  const { template } = controller.spec;
  switch (change.kind) {
    case 'none':
      return true;
    case 'manifest':
      return differingFields(change.manifest, controller, key).length === 0;
    case 'image':
      return template === undefined || withImage(template, change.image, change.container).outcome === 'same';
  }
}

/**
 * Of a next controller that somebody has edited, and whose record is gone: the image that is asked for is what was to be rolled out, if
 * the label proves it.
 */
function recordAnew(
  view: UpdateView,
  { change, key }: StartRequest,
  next: ReplicationController | undefined,
): StartDecision | undefined {
  const { name, old, record, keepsName, state } = view;
  if (change.kind !== 'image' || next === undefined || record !== undefined || view.isRollback)
    return undefined;
  if (asMade(view, next) !== undefined) return undefined;
  const wanted = [old, next].flatMap((one) => {
    const template = one?.spec.template;
    const changed = template && withImage(template, change.image, change.container);
    if (template === undefined || changed === undefined) return [];
    return changed.outcome === 'changed' ? [changed.template] : changed.outcome === 'same' ? [template] : [];
  });
  const made = asMade(view, next, wanted);
  const nextName = next.metadata.name;
  if (made === undefined) {
    return refuse('OtherChange', `${describeUnknown(next)}; it was not made with ${change.image}`);
  }
  const names = { from: name, to: keepsName ? nextName : name, key: ownKeyOf(next) ?? key };
  const ofName = old === undefined || keepsName ? undefined : inheritance(old);
  const data = dataOfNext(made, names, ofName);
  return {
    do: 'begin',
    desired: state.desired,
    data: { ...data, ...(old && { replaced: describeReplaced(data, old) }) },
  };
}

function attach(
  view: UpdateView,
  { change, key }: StartRequest,
  next: ReplicationController | undefined,
  record: UpdateRecord | undefined,
): StartDecision {
  if (change.kind === 'none') return { do: 'attach' };
  const what = next?.metadata.name ?? record?.next ?? '';
  if (view.isRollback) {
    const to = what === '' ? '' : ` to ${what}`;
    return refuse('RollingBack', `the update of ${view.name}${to} is being rolled back`);
  }
  const template = next?.spec.template ?? record?.controller.spec.template;
  if (change.kind === 'image' && template !== undefined) {
    const changed = withImage(template, change.image, change.container);
    if (changed.outcome === 'same') return { do: 'attach' };
    const wrong = containerRefusal(what, changed);
    if (wrong !== undefined) return wrong;
    return otherChange(view.name, what);
  }
  return change.kind === 'image' ? { do: 'attach' } : attachManifest(view, change.manifest, key);
}

/** The hash of the record tells, and where it does not (another made the record, or nobody did), the pods that are rolled out. */
function attachManifest(view: UpdateView, manifest: ControllerManifest, key: string): StartDecision {
  const { name, nextController: next, record } = view;
  if (record !== undefined && isRecorded(manifest, record, key)) return { do: 'attach' };
  const rolled = record?.controller ?? (next && asMade(view, next));
  if (rolled === undefined)
    return next === undefined ? { do: 'attach' } : refuse('OtherChange', describeUnknown(next));
  const fields = differingFields(manifest, rolled, record?.key ?? key);
  if (fields.length === 0) return { do: 'attach' };
  const nextName = next?.metadata.name ?? record?.next ?? '';
  // What nothing but the typed name ties to this one is no update that could end, or be turned round.
  const isClaimed =
    record !== undefined ||
    viewUpdate({ ...view, next: undefined }).nextController?.metadata.name === nextName;
  const { code, message } = isClaimed ? otherChange(name, nextName) : nameTaken(name, nextName);
  return refuse(code, `${message}: ${describeDiffering(fields)}`);
}

function beginWithImage(
  view: UpdateView,
  old: ReplicationController,
  { newName, key }: StartRequest,
  { image, container }: { readonly image: string; readonly container?: string | undefined },
): StartDecision {
  const { name, state } = view;
  const { template } = old.spec;
  if (template === undefined) return refuse('NoContainer', `${name} has no template`);
  const changed = withImage(template, image, container);
  if (changed.outcome === 'changed') {
    const spec = { ...old.spec, template: changed.template };
    const wanted = plainController({ ...old, spec }, newName ?? name);
    return begin(view, wanted, newName, key, state.desired);
  }
  return containerRefusal(name, changed) ?? sameAgain(view, old, changed.message);
}

/** An image that nobody can set. */
function containerRefusal(name: string, changed: ImageChange): Refused | undefined {
  switch (changed.outcome) {
    case 'noContainer':
      return refuse('NoContainer', `${name}: ${changed.message}`);
    case 'severalContainers':
      return refuse('SeveralContainers', `${name}: ${changed.message}`);
    case 'same':
    case 'changed':
      return undefined;
  }
}

/**
 * What the template says is asked for: the same command again after its end, or somebody's mistake (K2). An edited template has changed
 * no pod: that is no end of an update.
 */
function sameAgain(
  { name, record, last, pods }: UpdateView,
  old: ReplicationController,
  why: string,
): StartDecision {
  if (record !== undefined || last?.state.phase !== 'Done' || last.to !== name)
    return refuse('NoChange', `${name}: ${why}`);
  if (!editedSince(last, old) || !hasPodOfBefore({ pods }, last, old))
    return { do: 'finished', message: `${name} is rolled out: ${why}` };
  return refuse(
    'NoChange',
    `${name}: ${why}, but it was changed${byEditorsSince(last, old)} since it was rolled out: pods of before are as they were until they are deleted`,
  );
}

/** The same decision once the apiserver has filled in its defaults: a manifest seldom has all of them. */
export function decideDefaulted(
  view: UpdateView,
  decision: StartDecision & { readonly do: 'begin' },
): StartDecision {
  const { old, name } = view;
  const { data } = decision;
  if (old === undefined || data.to !== name) return decision;
  if (!rollsOutSamePods(plainController(old, name), data.controller, data.key)) return decision;
  return sameAgain(
    view,
    old,
    `its pods are as the file has them; \`kubectl apply\` changes what else differs`,
  );
}

function beginWithManifest(
  view: UpdateView,
  old: ReplicationController,
  { newName, key }: StartRequest,
  manifest: ControllerManifest,
): StartDecision {
  const { name, state } = view;
  const desired = manifest.spec.replicas ?? state.desired;
  if (desired === 0)
    return refuse('NoReplicas', `${manifest.metadata.name} is to have 0 replicas: there is nothing to roll`);
  const target = newName ?? manifest.metadata.name;
  const wanted: ControllerManifest = {
    ...manifest,
    metadata: { ...manifest.metadata, name: target },
    spec: { ...manifest.spec, replicas: desired, selector: selectorOf(manifest.spec) },
  };
  if (target === name) return begin(view, inherited(wanted, old), undefined, key, desired);
  // K3: a controller of its own tells its pods apart by its own labels.
  if (!selectsApart(wanted.spec, old, key)) {
    const [own, other] = [wanted.spec.selector, old.spec.selector].map(formatSelector);
    const both = Object.keys(wanted.spec.selector ?? {}).filter(
      (one) => labelValue(old.spec.selector, one) !== undefined,
    );
    const differ =
      both.length === 0
        ? `no key in common with that of ${name} (${other ?? ''})`
        : `the same value as that of ${name} (${other ?? ''}) for each key that both have (${both.join(', ')})`;
    return refuse(
      'SelectorSame',
      `the selector of ${target} (${own ?? ''}) has ${differ}: either could take the pods of the other`,
    );
  }
  const { hash } = labelled(wanted, key);
  const data = { from: name, next: target, to: target, key, hash, controller: wanted };
  return { do: 'begin', desired, data: { ...data, replaced: describeBefore(data, old) } };
}

/** What it says itself of git (a commit does) is newer. */
function inherited(wanted: ControllerManifest, old: ReplicationController): ControllerManifest {
  const { labels, annotations } = inheritance(old);
  const { metadata } = wanted;
  return {
    ...wanted,
    metadata: {
      ...metadata,
      labels: { ...labels, ...metadata.labels },
      annotations: { ...annotations, ...metadata.annotations },
    },
  };
}

function begin(
  view: UpdateView,
  wanted: ControllerManifest,
  newName: string | undefined,
  key: string,
  desired: number,
): StartDecision {
  const { name, controllers, old } = view;
  const own = (old && ownLabel(old, key)) ?? ownLabel(wanted, key);
  if (own !== undefined) {
    const why = 'the update would write a hash over it, and a Service that selects by it would lose all pods';
    return refuse('KeyTaken', `${name} has the label ${key}=${own} for something else: ${why}`);
  }
  const { controller, hash } = labelled(withKey(wanted, key), key, old && labelOfOld(old, key));
  // K2, and the seed: the name that an update of before has written down, if any.
  const next = newName ?? (old && livePartnerOf(old, controllers)) ?? nameByHash(name, hash);
  const taken = controllers.find(({ metadata }) => metadata.name === next);
  const partner = taken === undefined ? undefined : partnerOf(taken);
  if (taken !== undefined && partner !== undefined && partner !== name) return ofOther(view, taken, partner);
  if (taken !== undefined && partner === undefined && old !== undefined && !areSiblings(old, taken))
    return nameTaken(name, next);
  const rival = newName === undefined ? rivalOf(view, controller.spec.template, [name, next]) : undefined;
  if (rival !== undefined) {
    const why = `it would take them when ${next} is renamed to ${name}, and delete those that it has too many`;
    return refuse('SelectorShared', `${rival} selects the pods of ${name} too: ${why}`);
  }
  const owners = old === undefined || newName !== undefined ? [] : ownersIn(old);
  const data = { from: name, next, to: newName ?? name, key, hash, controller };
  return {
    do: 'begin',
    desired,
    data: {
      ...data,
      ...(old && { replaced: describeBefore(data, old) }),
      ...(owners.length > 0 && { ownerReferences: owners }),
    },
  };
}

/** As kubectl writes it: `app=foo,tier=web`. */
function formatSelector(selector: Readonly<Record<string, string>> = {}): string {
  return Object.entries(selector)
    .map(([key, value]) => `${key}=${value}`)
    .join(',');
}

/** Who applies the controller later must know which label is not from its manifest. */
function withKey(controller: ControllerManifest, key: string): ControllerManifest {
  const { metadata } = controller;
  const { [ANNOTATION.deploymentLabelKey]: before, ...annotations } = metadata.annotations ?? {};
  if (key !== ROLLING_UPDATE.deployment) {
    const marked = { ...annotations, [ANNOTATION.deploymentLabelKey]: key };
    return { ...controller, metadata: { ...metadata, annotations: marked } };
  }
  return before === undefined ? controller : { ...controller, metadata: { ...metadata, annotations } };
}
