/** The text of a file in which lines are looked for. */

export class SourceText {
  readonly text: string;
  #lines: readonly string[] | undefined;

  constructor(text: string) {
    this.text = text;
  }

  /** Split when first asked for, and only once: a file may have thousands of problems. */
  get lines(): readonly string[] {
    return (this.#lines ??= this.text.split(/\r\n|\n|\r/));
  }
}
