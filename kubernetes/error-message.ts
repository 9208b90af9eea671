/** Anything that was thrown → one line for people. */
export function toMessage(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') {
    return error.errors.map(toMessage).join('; ');
  }
  return error instanceof Error ? error.message : String(error);
}
