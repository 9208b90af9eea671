/** YAML documents that are small, and would be large if they were read carelessly. */

/** Aliases of aliases: nine to the ninth values. */
export function aliasBomb(): string {
  const names = 'abcdefghi'.split('');
  return names
    .map(
      (name, level) =>
        `${name}: &${name} [${Array.from({ length: 9 }, () => (level === 0 ? 'x' : `*${names[level - 1] ?? ''}`)).join(',')}]`,
    )
    .join('\n');
}

/** A thousand keys, merged into each of many mappings. */
export function mergeStorm(): string {
  const keys = Array.from({ length: 1_000 }, (_, index) => `k${index}: 1`).join(', ');
  return `a: &a {${keys}}\nb:\n${Array.from({ length: 150 }, () => '- {<<: *a}').join('\n')}`;
}
