/** How a command ends: a documented code, and a sentence where it is not 0. */

export const EXIT = {
  ok: 0,
  /** The command failed, or what it looked at is degraded. */
  failed: 1,
  usage: 2,
  timeout: 3,
  /** `plan` found something that a commit would change. */
  differences: 4,
  temporalUnreachable: 5,
  kubernetesUnreachable: 6,
  /** 128 + SIGINT. */
  interrupted: 130,
  /** 128 + SIGPIPE: nobody reads what is printed. */
  unread: 141,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** An error whose message is meant for people: what, where, why, next command. */
export class CliError extends Error {
  override name = 'CliError';
  readonly exitCode: ExitCode;
  /** Stable, for programs; undefined where the exit code says enough. */
  readonly code: string | undefined;

  constructor(
    message: string,
    exitCode: ExitCode = EXIT.failed,
    options?: ErrorOptions & { readonly code?: string },
  ) {
    super(message, options);
    this.exitCode = exitCode;
    this.code = options?.code;
  }
}
