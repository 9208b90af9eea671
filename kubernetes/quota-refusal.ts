/** What a ResourceQuota says where it refuses a creation: how much is asked for, used and allowed. */

import { toMessage } from './api-error.ts';

const REFUSAL = /exceeded quota: \S+, requested: (\S+), used: (\S+), limited: (\S+)/;

/** Whether a ResourceQuota has refused a creation. */
export function isQuotaRefusal(error: unknown): boolean {
  return REFUSAL.test(toMessage(error));
}

/**
 * Whether a quota would refuse a creation also after so many objects of the kind (`freed`) are gone: others have what it allows. Undefined for
 * any other refusal. A number with a unit (`1Gi`) counts as filled: of those no deletion of controllers frees anything.
 * @param message As the admission plugin ResourceQuota words it; of several quotas it names the first
 */
export function isFilledByOthers(message: string, freed: number): boolean | undefined {
  const [, requested = '', used = '', limited = ''] = REFUSAL.exec(message) ?? [];
  if (requested === '') return undefined;
  const [inUse, allowed] = [amounts(used), amounts(limited)];
  return [...amounts(requested)].some(([resource, asked]) => {
    const left = (allowed.get(resource) ?? Number.NaN) - (inUse.get(resource) ?? Number.NaN) + freed;
    return !(asked <= left);
  });
}

/** `pods=1,count/replicationcontrollers=2` */
function amounts(list: string): ReadonlyMap<string, number> {
  return new Map(
    list.split(',').map((one) => {
      const [resource = '', amount = ''] = one.split('=');
      return [resource, /^\d+$/.test(amount) ? Number(amount) : Number.NaN];
    }),
  );
}
