/** Garbage collected again and again, for what must not depend on when that happens. */

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { trusted } from '../../kubernetes/values.ts';

/** Collects all garbage every `intervalMs` until the function that it returns is called. */
export function keepCollecting(intervalMs: number): () => void {
  setFlagsFromString('--expose-gc');
  const collect = trusted<() => void>(runInNewContext('gc'));
  const timer = setInterval(collect, intervalMs);
  return () => {
    clearInterval(timer);
  };
}
