/** From offsets in a text to lines of its file. */

export class LineIndex {
  readonly #firstLine: number;
  readonly #starts: number[] = [0];

  /** `firstLine` is the 1-based line of the file at which the text begins; lines end with `\n`. */
  constructor(text: string, firstLine: number) {
    this.#firstLine = firstLine;
    for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) this.#starts.push(at + 1);
  }

  /** 1-based line of the character at an offset. */
  lineAt(offset: number): number {
    let low = 0;
    let high = this.#starts.length - 1;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((this.#starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return this.#firstLine + low;
  }
}
