/** Sentences around words of others, which may end in a full stop of their own. Pure. */

/** With a full stop, unless it ends with something that ends a sentence. */
export function fullStop(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
