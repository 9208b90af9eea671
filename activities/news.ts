/** When what a run waits for is worth telling its display. */

/** So long the same, milliseconds, and it is worth an action: what is merely slow is not. */
const NEWS_MS = 10_000;

/**
 * Whether, at this look, other lines than the shown ones have stood for ten seconds. To be asked once a second. Without `shown`
 * (a run of an earlier version) nothing is news.
 */
export function newsAgainst(shown: readonly string[] | undefined): (lines: readonly string[]) => boolean {
  const known = JSON.stringify(shown ?? []);
  let last: string | undefined;
  let since = 0;
  return (lines) => {
    const present = JSON.stringify(lines);
    if (present !== last) {
      last = present;
      since = Date.now();
    }
    return shown !== undefined && present !== known && Date.now() - since >= NEWS_MS;
  };
}
