/** What a request for a rolling update means, given what is there: begin, attach, turn round, or say what is wrong (K2–K4, K9). */

import { ANNOTATION, ROLLING_UPDATE } from './names.ts';
import type { ReplicationController } from './replication-controller.ts';
import { partnerOf, sizeOf } from './replication-controller.ts';
import { labelled, plainController, selectsSame, withImage } from './rolling-update-definition.ts';
import type { ControllerManifest, RecordData, UpdateRecord } from './rolling-update-record.ts';
import { nameByHash } from './rolling-update-record.ts';
import type { UpdateWrite } from './rolling-update-steps.ts';
import { annotate } from './rolling-update-steps.ts';
import type { UpdateView } from './rolling-update-view.ts';
import type { Pin } from './workload.ts';

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
}

export type StartRefusal =
  | 'NotFound'
  | 'NoChange'
  | 'NothingAsked'
  | 'NoReplicas'
  | 'NoContainer'
  | 'SeveralContainers'
  | 'OtherChange'
  | 'RollingBack'
  | 'SelectorSame'
  | 'OtherUpdate'
  | 'NotInProgress';

export type StartDecision =
  /** Nothing is under way: this is to be recorded, and then rolled out. */
  | { readonly do: 'begin'; readonly data: RecordData; readonly desired: number }
  | { readonly do: 'attach' }
  /** The desired size is to move to the old controller. */
  | { readonly do: 'turn'; readonly write: UpdateWrite }
  | { readonly do: 'refuse'; readonly code: StartRefusal; readonly message: string };

/** For `rolling-update OLD [NEW]` and for a commit. */
export function decideStart(view: UpdateView, request: StartRequest): StartDecision {
  const { old, nextController: next, record, name } = view;
  if (next !== undefined || record !== undefined) return attach(view, request, next, record);
  if (old === undefined) return refuse('NotFound', `there is no ReplicationController ${name}`);
  const { change } = request;
  if (change.kind === 'none') {
    return refuse('NothingAsked', `no update of ${name} is in progress, and nothing says what to roll out`);
  }
  if (sizeOf(old) === 0) return refuse('NoReplicas', `${name} has 0 replicas: there is nothing to roll`);
  return change.kind === 'image'
    ? beginWithImage(view, old, request, change)
    : beginWithManifest(view, old, request, change.manifest);
}

/**
 * For `--rollback` and `abort` (seed, "Abort"). `pin` keeps git from bringing the rejected manifest again; undefined where nobody
 * rejects it.
 */
export function decideRollback(
  view: UpdateView,
  pin: Omit<Pin, 'rejected' | 'revision'> | undefined,
): StartDecision {
  const { old, nextController: next, name, record, state } = view;
  if (next === undefined) {
    return refuse('NotInProgress', `no update of ${name} is in progress`);
  }
  if (old === undefined) {
    return refuse('NotFound', `${name} is gone already: ${next.metadata.name} is about to get its name`);
  }
  if (view.isRollback) return { do: 'attach' };
  const rejected = record?.controller.metadata.annotations?.[ANNOTATION.manifestHash];
  const pinned: Pin = { ...pin, rejected: rejected ?? '', revision: record?.revision.metadata.name ?? '' };
  const marks = {
    [ROLLING_UPDATE.desiredReplicas]: String(state.desired),
    [ROLLING_UPDATE.partner]: next.metadata.name,
    ...(rejected !== undefined && pin !== undefined && { [ANNOTATION.pinned]: JSON.stringify(pinned) }),
  };
  const step = annotate(
    old,
    marks,
    'Annotate',
    `${name} is to come back, with ${String(state.desired)} replicas`,
  );
  return step.do === 'write' ? { do: 'turn', write: step.write } : { do: 'attach' };
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
    return refuse('RollingBack', `the update of ${view.name} to ${what} is being rolled back`);
  }
  const template = next?.spec.template ?? record?.controller.spec.template;
  const isSame =
    change.kind === 'image'
      ? template === undefined || withImage(template, change.image, change.container).outcome === 'same'
      : record === undefined || labelled(change.manifest, record.key ?? key).hash === record.hash;
  if (isSame) return { do: 'attach' };
  return refuse('OtherChange', `an update of ${view.name} to ${what} is in progress, and it is another one`);
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
  switch (changed.outcome) {
    case 'same':
      return refuse('NoChange', `${name}: ${changed.message}`);
    case 'noContainer':
      return refuse('NoContainer', `${name}: ${changed.message}`);
    case 'severalContainers':
      return refuse('SeveralContainers', `${name}: ${changed.message}`);
    case 'changed': {
      const spec = { ...old.spec, template: changed.template };
      const wanted = plainController({ ...old, spec }, newName ?? name);
      return begin(view, wanted, newName, key, state.desired);
    }
  }
}

function beginWithManifest(
  view: UpdateView,
  old: ReplicationController,
  { newName, key }: StartRequest,
  manifest: ControllerManifest,
): StartDecision {
  const { name } = view;
  const desired = manifest.spec.replicas ?? sizeOf(old);
  if (desired === 0)
    return refuse('NoReplicas', `${manifest.metadata.name} is to have 0 replicas: there is nothing to roll`);
  const target = newName ?? manifest.metadata.name;
  const wanted: ControllerManifest = {
    ...manifest,
    metadata: { ...manifest.metadata, name: target },
    spec: {
      ...manifest.spec,
      replicas: desired,
      selector: manifest.spec.selector ?? manifest.spec.template?.metadata?.labels ?? {},
    },
  };
  if (target === name) {
    const present = labelled(plainController(old, name), key).hash;
    if (labelled(wanted, key).hash === present) {
      return refuse('NoChange', `${name} has this template already`);
    }
    return begin(view, wanted, undefined, key, desired);
  }
  // K3: a controller of its own tells its pods apart by its own labels.
  if (selectsSame(wanted.spec, old.spec)) {
    return refuse(
      'SelectorSame',
      `the selector of ${target} is that of ${name}: one of its keys must have another value`,
    );
  }
  const { hash } = labelled(wanted, key);
  return {
    do: 'begin',
    desired,
    data: { from: name, next: target, to: target, key, hash, controller: wanted },
  };
}

function begin(
  { name, controllers }: UpdateView,
  wanted: ControllerManifest,
  newName: string | undefined,
  key: string,
  desired: number,
): StartDecision {
  const { controller, hash } = labelled(withKey(wanted, key), key);
  const next = newName ?? nameByHash(name, hash);
  const taken = controllers.find(({ metadata }) => metadata.name === next);
  const partner = taken === undefined ? undefined : partnerOf(taken);
  if (partner !== undefined && partner !== name) {
    return refuse('OtherUpdate', `${next} belongs to another update, that of ${partner}`);
  }
  return { do: 'begin', desired, data: { from: name, next, to: newName ?? name, key, hash, controller } };
}

/** Who applies the controller later must know which label is not from its manifest. */
function withKey(controller: ControllerManifest, key: string): ControllerManifest {
  if (key === ROLLING_UPDATE.deployment) return controller;
  const { metadata } = controller;
  const annotations = { ...metadata.annotations, [ANNOTATION.deploymentLabelKey]: key };
  return { ...controller, metadata: { ...metadata, annotations } };
}

function refuse(code: StartRefusal, message: string): StartDecision {
  return { do: 'refuse', code, message };
}
