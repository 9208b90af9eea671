/** Why something that a person asked for is not done. */

/** Nothing was written. `code` is stable, for programs; the message is for people. */
export class WishRefusedError extends Error {
  override name = 'WishRefusedError';
  readonly code: WishRefusal;

  constructor(code: WishRefusal, message: string) {
    super(message);
    this.code = code;
  }
}

export type WishRefusal =
  | 'RevisionNotFound'
  /** There is none to go back to. */
  | 'NoEarlierRevision'
  | 'NoContainer'
  /** A restart replaces pods, and the workload's policy is to replace none. */
  | 'InPlaceOnly'
  /** Another object of that name has taken its place. */
  | 'Replaced'
  /** It was meant for another template than the workload has by now. */
  | 'Superseded';
