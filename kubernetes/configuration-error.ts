/** What a flag, a variable or a file of settings says cannot be used: a mistake of usage, not a failure. */
export class ConfigurationError extends Error {
  override name = 'ConfigurationError';
}
