/** Reading the wishes that operators leave on a workload (design "Pause, abort, retry, undo live on the object"). */

import { ANNOTATION, SUSPENDED } from '../planners/names.ts';
import type { Pin, Wish } from '../planners/workload.ts';

/** Characters of a field that somebody wrote by hand; longer ones are cut. */
export const LONGEST_TEXT = 500;

type Annotations = Readonly<Record<string, string>> | undefined;

/**
 * `spec.paused` or annotation `fairlead.dev/paused` (JSON, or `"true"`); undefined when not paused. An annotation that was written
 * together with the field ({@link noteOfField}) only says who paused and why: without the field it is over, because `kubectl
 * rollout resume` knows of nothing else.
 */
export function readPaused(annotations: Annotations, specPaused: boolean | undefined): Wish | undefined {
  const written = readPauseAnnotation(annotations);
  if (written !== undefined) {
    const { field, ...wish } = written;
    if (field === undefined || specPaused === true) return wish;
  }
  return specPaused === true ? { reason: 'spec.paused is true' } : undefined;
}

/** Whether the annotation is what is left of a pause that was ended by the field alone. */
export function hasEndedPause(annotations: Annotations, specPaused: boolean | undefined): boolean {
  return specPaused !== true && isNoteOfField(annotations);
}

/** Whether the annotation only says who paused by the field and why ({@link noteOfField}). */
export function isNoteOfField(annotations: Annotations): boolean {
  return readPauseAnnotation(annotations)?.field !== undefined;
}

function readPauseAnnotation(
  annotations: Annotations,
): (Wish & { readonly field?: string | undefined }) | undefined {
  const text = annotations?.[ANNOTATION.paused];
  return text === undefined || text === 'false' ? undefined : parseWish(text);
}

/** The annotation's value beside a field that is set as well. */
export function noteOfField(wish: Wish): Wish & { readonly field: string } {
  return { ...wish, field: 'spec.paused' };
}

/** Annotation `fairlead.dev/pinned`. */
export function readPinned(annotations: Annotations): Pin | undefined {
  const text = annotations?.[ANNOTATION.pinned];
  return text === undefined ? undefined : parseWish(text);
}

/** What was left for what. One that was left before any revision was made of it (while paused, or at once) has no name. */
export function describePinned({ revision, to = 'an earlier one', verb }: Pin): string {
  const unnamed = verb === undefined ? 'the template' : 'a template that had no revision yet';
  return `${revision === undefined ? unnamed : `revision ${revision}`} was left for ${to}`;
}

/** Annotation `fairlead.dev/retried`. */
export function readRetried(annotations: Annotations): Wish | undefined {
  const text = annotations?.[ANNOTATION.retried];
  return text === undefined ? undefined : parseWish(text);
}

/** Annotation `fairlead.dev/suspended` of a repository's inventory (JSON, or `"true"`); undefined when it is not suspended. */
export function readSuspended(annotations: Annotations): Wish | undefined {
  const text = annotations?.[SUSPENDED];
  return text === undefined || text === 'false' ? undefined : parseWish(text);
}

/** A wish that cannot be parsed still counts (a pause must never be lost to a typing error); its text becomes the reason. */
function parseWish(text: string): Pin {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null) {
      // Written by hand it may hold anything; every field is a text, and none is so long that Temporal or a status refuses it.
      return Object.fromEntries(
        Object.entries(value).flatMap(([name, field]) =>
          typeof field === 'string' ? [[name, field.slice(0, LONGEST_TEXT)]] : [],
        ),
      );
    }
  } catch {
    return { reason: text.slice(0, LONGEST_TEXT) };
  }
  return {};
}
