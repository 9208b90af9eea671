/** Details as the Temporal UI shows them. */

/** Its frame is a line shorter than what is in it: the last one is invisible, so it is an empty one (U+00A0). */
const LAST_LINE = '\u00a0';

/** Paragraphs, without empty ones. What somebody looks for comes first: the frame is small. */
export function markdown(paragraphs: readonly string[]): string {
  return [...paragraphs.filter((paragraph) => paragraph !== ''), LAST_LINE].join('\n\n');
}
