/** What reading one commit may cost. The text is bounded by the size of files; what aliases and merge keys make of it is not. */

/** Values and characters that aliases and merge keys may add, and problems that are collected. */
export interface ReadLimits {
  readonly values: number;
  readonly characters: number;
  readonly problems: number;
}

/** Of a commit. Characters: as much again as the largest commit's own text. */
export const READ_LIMITS: ReadLimits = {
  values: 500_000,
  characters: 10 * 1024 * 1024,
  problems: 1_000,
};

/** Spent by every document of every file of a commit together. */
export class ReadBudget {
  readonly #limits: ReadLimits;
  #values = 0;
  #characters = 0;
  #problems = 0;

  constructor(limits = READ_LIMITS) {
    this.#limits = limits;
  }

  /** Takes an expansion; answers what there is too much of once a limit is passed. */
  expand(values: number, characters: number): string | undefined {
    this.#values += values;
    this.#characters += characters;
    if (this.#values > this.#limits.values) return `${this.#limits.values} values in one commit`;
    if (this.#characters > this.#limits.characters)
      return `${this.#limits.characters} characters in one commit`;
    return undefined;
  }

  countProblem(): void {
    this.#problems += 1;
  }

  /** Enough is wrong: nothing more is read. */
  get isExhausted(): boolean {
    return this.#problems >= this.#limits.problems;
  }
}
