/** Waiting for a condition with a deadline. */

/** Resolves as soon as the condition holds; asked every 5 ms. Rejects after the deadline, saying for what it waited. */
export async function eventually(what: string, condition: () => boolean, deadlineMs = 4000): Promise<void> {
  const end = performance.now() + deadlineMs;
  while (!condition()) {
    if (performance.now() > end)
      throw new Error(`within ${String(deadlineMs)} ms it did not happen that ${what}`);
    await new Promise((resolve) => {
      setTimeout(resolve, 5);
    });
  }
}
