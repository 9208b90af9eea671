/** The words in which the apiserver's own admission plug-ins refuse an object: their answers have no other sign of what they are about. Pure. */

/** ResourceQuota: the name of the quota, and whether a container says too little for it. */
export const QUOTA = /(?:exceeded|failed) quota: ([^\s,:]+)(: must specify)?/;
/** LimitRanger, one limit or a list of them. */
export const LIMIT_RANGE = / is forbidden: \[?(?:maximum|minimum) \S+ usage per /;
/** PodSecurity, by the labels of the namespace. */
export const POD_SECURITY = /violates PodSecurity/;

/** What a pod names, and is not there. */
export interface MissingObject {
  readonly group: string;
  readonly kind: string;
  readonly isNamespaced: boolean;
  readonly name: string;
}

/** ServiceAccount, Priority, RuntimeClass. */
const MISSING: readonly (readonly [RegExp, Omit<MissingObject, 'name'>])[] = [
  [
    /error looking up service account [^/\s]+\/([^:\s]+):/,
    { group: '', kind: 'ServiceAccount', isNamespaced: true },
  ],
  [
    /no PriorityClass with name (\S+) was found/,
    { group: 'scheduling.k8s.io', kind: 'PriorityClass', isNamespaced: false },
  ],
  [/RuntimeClass "([^"]+)" not found/, { group: 'node.k8s.io', kind: 'RuntimeClass', isNamespaced: false }],
];

/** The object that a refusal misses, if it is for that. */
export function missingIn(message: string): MissingObject | undefined {
  for (const [words, what] of MISSING) {
    const [, name] = words.exec(message) ?? [];
    if (name !== undefined) return { ...what, name };
  }
  return undefined;
}
