/** How the present template came about when it was not git that brought it: who changed it on the object, why, over which commit. */

import { hasLostAnnotations } from '../planners/deployment-annotations.ts';
import { ANNOTATION } from '../planners/names.ts';
import type { PodTemplate } from '../planners/objects.ts';
import { normaliseTemplate } from '../planners/template-defaults.ts';
import type { Pin, Wish, Workload } from '../planners/workload.ts';
import { writerAfterGit } from './template-writer.ts';
import { asRecord } from './values.ts';
import { LONGEST_TEXT } from './wish-annotations.ts';
import type { Wisher } from './wish-edits.ts';
import { wish } from './wish-edits.ts';
import { templateHash } from './workload-key.ts';
import type { WorkloadObject } from './workload-edit.ts';

/** SHA-256 in hex. What is longer is no commit, and more than a search attribute takes would keep the run from starting. */
const LONGEST_SHA = 64;

/** Value of the annotation, JSON. */
interface TemplateChange extends Wish {
  /** The verb, like `undo` or `set image main=web:2`. */
  readonly verb: string;
  /** Hash of the template that it made: of any other template it says nothing. */
  readonly target: string;
  /** Commit that the object came from at the time: a later one takes over. */
  readonly commit?: string;
  /** Hash of the template that this commit gave, where nobody but our verbs has changed it since. */
  readonly fromGit?: string;
}

/** Why a rollout is: a commit, or somebody's verb. */
export interface RolloutCause {
  readonly commit?: string;
  readonly repository?: string;
  readonly by?: string;
  /** `undo: leaks memory` */
  readonly reason?: string;
}

/**
 * The annotation to write in the same patch as `template`. `now` in milliseconds since the epoch.
 * @param verb What was done, in a few words
 */
export function templateChange(
  object: WorkloadObject,
  template: PodTemplate,
  verb: string,
  wisher: Wisher,
  now: number,
): Readonly<Record<string, string>> {
  const commit = object.metadata.annotations?.[ANNOTATION.commit];
  const fromGit = templateFromGit(object);
  const change: TemplateChange = {
    verb,
    ...wish(wisher, now),
    target: templateHash(normaliseTemplate(template)),
    ...(commit !== undefined && { commit }),
    ...(fromGit !== undefined && { fromGit }),
  };
  return { [ANNOTATION.changed]: JSON.stringify(change) };
}

/** Whether a template is the one that the object's commit gave, as far as is known: who goes back to it rejects nothing of git's. */
export function isTemplateFromGit(object: WorkloadObject, template: PodTemplate): boolean {
  return templateFromGit(object) === templateHash(normaliseTemplate(template));
}

function templateFromGit({ metadata, spec }: WorkloadObject): string | undefined {
  const commit = metadata.annotations?.[ANNOTATION.commit];
  if (commit === undefined) return undefined;
  const present = templateHash(normaliseTemplate(spec.template));
  const last = readChange(metadata.annotations?.[ANNOTATION.changed]);
  if (last?.commit === commit && last.target === present) return last.fromGit;
  return writerAfterGit(metadata.managedFields) === undefined ? present : undefined;
}

/** {@link rolloutCause} of a workload as the apiserver has it. */
export function causeOfObject({ metadata, spec }: WorkloadObject): RolloutCause {
  return rolloutCause({ metadata, template: normaliseTemplate(spec.template) });
}

/** What brought about the present template of a workload. Empty when nobody has said. */
export function rolloutCause({ metadata, template }: Pick<Workload, 'metadata' | 'template'>): RolloutCause {
  const annotations = metadata.annotations ?? {};
  const commit = annotations[ANNOTATION.commit]?.slice(0, LONGEST_SHA);
  const repository = annotations[ANNOTATION.repository]?.slice(0, LONGEST_TEXT);
  const change = readChange(annotations[ANNOTATION.changed]);
  if (change !== undefined && change.commit === commit && change.target === templateHash(template)) {
    const { verb, by, reason } = change;
    return { ...(by !== undefined && { by }), reason: reason === undefined ? verb : `${verb}: ${reason}` };
  }
  // An undo of kubectl takes the commit from a Deployment for a moment, and a run may begin in it.
  const isFromGit = commit !== undefined || hasLostAnnotations(metadata);
  const stranger = isFromGit ? writerAfterGit(metadata.managedFields) : undefined;
  if (stranger !== undefined) {
    return { by: stranger.slice(0, LONGEST_TEXT), reason: 'changed on the object, not in git' };
  }
  return { ...(commit !== undefined && { commit }), ...(repository !== undefined && { repository }) };
}

/**
 * Whether somebody has given another template since the pin's going back, which wrote {@link templateChange} in the same patch. A pin
 * without a time was written by hand and stands.
 * @param template Normalised
 */
export function isPinOver(
  annotations: Readonly<Record<string, string>>,
  pin: Pin,
  template: PodTemplate,
): boolean {
  const change = readChange(annotations[ANNOTATION.changed]);
  if (change === undefined || pin.at === undefined) return false;
  return change.at !== pin.at || change.target !== templateHash(template);
}

/**
 * Whether the pin says nothing any more: it is not about a manifest in git, and another template has come since.
 * @param template Normalised
 */
export function isPinSpent(
  annotations: Readonly<Record<string, string>>,
  pin: Pin,
  template: PodTemplate,
): boolean {
  return pin.rejected === undefined && isPinOver(annotations, pin, template);
}

/** What is not such a value (somebody edited it) says nothing. */
function readChange(text: string | undefined): TemplateChange | undefined {
  if (text === undefined) return undefined;
  try {
    const { verb, target, commit, fromGit, by, reason, at } = asRecord(JSON.parse(text));
    if (typeof verb !== 'string' || typeof target !== 'string') return undefined;
    return {
      verb: verb.slice(0, LONGEST_TEXT),
      target,
      ...(typeof commit === 'string' && { commit: commit.slice(0, LONGEST_SHA) }),
      ...(typeof fromGit === 'string' && { fromGit: fromGit.slice(0, LONGEST_SHA) }),
      ...(typeof by === 'string' && { by: by.slice(0, LONGEST_TEXT) }),
      ...(typeof at === 'string' && { at: at.slice(0, LONGEST_TEXT) }),
      ...(typeof reason === 'string' && { reason: reason.slice(0, LONGEST_TEXT) }),
    };
  } catch {
    return undefined;
  }
}
