/** Long lists in one sentence. Pure. */

/** The first `most` of them, and how many there are besides: `a, b and 3 more`. @param total Of which `names` are the first. @default all */
export function firstOf(
  names: readonly string[],
  most: number,
  { separator = ', ', total = names.length }: { readonly separator?: string; readonly total?: number } = {},
): string {
  const told = names.slice(0, most);
  const more = total - told.length;
  return `${told.join(separator)}${more > 0 ? ` and ${String(more)} more` : ''}`;
}
