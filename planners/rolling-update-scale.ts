/** How far one step of a rolling update may go: the arithmetic of surge and unavailability (C3, K5, K6). */

import { resolveIntOrPercent } from './int-or-percent.ts';
import { ANNOTATION } from './names.ts';

/** As asked for: numbers of pods, or percentages of the desired size. */
export interface UpdateBudget {
  readonly surge: number | string;
  readonly unavailable: number | string;
}

/** What kubectl shipped, and never let anyone change (K5). */
export const SHIPPED_BUDGET: UpdateBudget = { surge: 1, unavailable: 0 };

/** What a budget says that nobody may exceed, with the name of what is wrong. */
export class BudgetError extends RangeError {
  override name = 'BudgetError';
  /** The annotation to blame. */
  readonly annotation: string;

  constructor(annotation: string, message: string) {
    super(message);
    this.annotation = annotation;
  }
}

/**
 * The budget of an update: as asked for, else as the annotations of the controller that is rolled out say, else as kubectl had it.
 * @throws {BudgetError} for an annotation that is no amount, and where nothing could ever move
 */
export function budgetOf(
  asked: Partial<UpdateBudget>,
  annotations: Readonly<Record<string, string>> | undefined,
): UpdateBudget {
  const budget = {
    surge: asked.surge ?? readAmount(ANNOTATION.maxSurge, annotations) ?? SHIPPED_BUDGET.surge,
    unavailable: asked.unavailable ?? readUnavailable(annotations) ?? SHIPPED_BUDGET.unavailable,
  };
  if (isNone(budget.surge) && isNone(budget.unavailable)) {
    throw new BudgetError(
      ANNOTATION.maxSurge,
      'surge and unavailability cannot both be 0: no pod could ever be replaced',
    );
  }
  return budget;
}

/** Whether it is a percentage of pods that are not there: Deployments refuse it for `maxUnavailable` too, of surge they do not. */
export function isMoreThanAll(amount: number | string): boolean {
  const percent = /^(\d+)%$/.exec(String(amount))?.[1];
  return Number(percent ?? 0) > 100;
}

function readUnavailable(
  annotations: Readonly<Record<string, string>> | undefined,
): number | string | undefined {
  const amount = readAmount(ANNOTATION.maxUnavailable, annotations);
  if (amount === undefined || !isMoreThanAll(amount)) return amount;
  const name = ANNOTATION.maxUnavailable;
  throw new BudgetError(name, `annotation ${name}: "${String(amount)}" must not be greater than 100%`);
}

function readAmount(
  name: string,
  annotations: Readonly<Record<string, string>> | undefined,
): number | string | undefined {
  const text = annotations?.[name];
  if (text === undefined) return undefined;
  if (/^\d{1,6}$/.test(text)) return Number(text);
  if (/^\d{1,6}%$/.test(text)) return text;
  throw new BudgetError(
    name,
    `annotation ${name}: "${text}" is neither a number nor a percentage: write "2" or "25%"`,
  );
}

function isNone(amount: number | string): boolean {
  return amount === 0 || /^0+%$/.test(String(amount));
}

/** In pods. */
export interface ResolvedBudget {
  readonly surge: number;
  readonly unavailable: number;
}

/** What a step is decided on. Pods that terminate count nowhere: kubectl does not wait for them either (K5). */
export interface Sizes {
  readonly desired: number;
  /** `spec.replicas` of the controller that shrinks, and its pods that are not terminating. */
  readonly from: number;
  readonly fromActive: number;
  /** The same of the one that grows. */
  readonly to: number;
  readonly toActive: number;
  readonly toAvailable: number;
}

/** One change of one size, `back`: of the one that shrinks, to what somebody has taken from it; undefined: nothing is legal now. */
export type ScaleStep = { readonly scale: 'up' | 'down' | 'back'; readonly replicas: number } | undefined;

/**
 * C3: surge is rounded up, unavailability down; where both come to 0 one pod may be unavailable, or nothing could ever move.
 * @throws {RangeError} for amounts that are neither numbers nor percentages
 */
export function resolveUpdateBudget({ surge, unavailable }: UpdateBudget, desired: number): ResolvedBudget {
  const up = resolveIntOrPercent(surge, desired, 'up');
  const down = resolveIntOrPercent(unavailable, desired, 'down');
  return { surge: up, unavailable: up === 0 && down === 0 ? 1 : Math.min(down, desired) };
}

/**
 * Together the two never have less than what is to stay available by steps of an update: whoever has scaled one of them down has taken the rest.
 * As long as pods that come do not work, those that did come back, as far as surge leaves room; else the growing one makes up for it.
 * Undefined where nothing is to be put back.
 * @param size Replicas of the one that shrinks when the update began.
 */
export function putBackStep(sizes: Sizes, budget: ResolvedBudget, size: number): ScaleStep {
  const { desired, from, to, toActive } = sizes;
  const atLeast = Math.max(0, desired - budget.unavailable);
  const available = Math.min(sizes.toAvailable, to);
  if (from + to >= atLeast || (to > 0 && available >= to)) return undefined;
  const room = desired + budget.surge - Math.max(to, toActive);
  const replicas = Math.min(size, atLeast - available, room);
  return replicas > from ? { scale: 'back', replicas } : undefined;
}

/**
 * K5: grow as far as desired + surge leaves room, else shrink as far as desired − unavailable pods stay available. Where the
 * controllers of the cluster lag behind, pods that are still there count, not only the sizes that were asked for.
 */
export function scaleStep(sizes: Sizes, budget: ResolvedBudget): ScaleStep {
  const { desired, from, to } = sizes;
  if (to > desired) return { scale: 'up', replicas: desired };
  if (to < desired) {
    const replicas = roomFor(sizes, budget);
    if (replicas > to) return { scale: 'up', replicas };
  }
  if (from === 0) return undefined;
  const available = Math.min(sizes.toAvailable, to);
  if (to === desired && available >= desired) return { scale: 'down', replicas: 0 };
  const atLeast = Math.max(0, desired - budget.unavailable);
  const spare = from + available - atLeast;
  return spare > 0 ? { scale: 'down', replicas: Math.max(0, from - spare) } : undefined;
}

function roomFor({ desired, from, fromActive, to, toActive }: Sizes, { surge }: ResolvedBudget): number {
  if (from === 0 && fromActive === 0) return desired;
  const taken = Math.max(from, fromActive) + Math.max(to, toActive);
  return Math.min(desired, to + Math.max(0, desired + surge - taken));
}
