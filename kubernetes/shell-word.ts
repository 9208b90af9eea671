/** Commands that messages tell people to run must survive being pasted. */

/** A word that a shell takes as it is. */
export function shellWord(text: string): string {
  return /^[\w./:@=,+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** A line that makes `name` stand for these words, wherever they lie: a shell splits an alias once more where it is used. */
export function shellAlias(name: string, words: readonly string[]): string {
  return `alias ${name}=${shellWord(words.map(shellWord).join(' '))}`;
}
