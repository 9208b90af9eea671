/** What the apiserver's own admission plug-ins refuse an object for: their answers have no other sign of that than their words. Pure. */

/** What a pod names, and is not there. */
export interface MissingObject {
  readonly group: string;
  readonly kind: string;
  readonly isNamespaced: boolean;
  readonly name: string;
}

export type AdmissionRefusal =
  /** `isUnsaid`: a container says too little for it. */
  | { readonly by: 'ResourceQuota'; readonly name: string; readonly isUnsaid: boolean }
  | { readonly by: 'LimitRange' }
  | { readonly by: 'PodSecurity' }
  | { readonly by: 'MissingObject'; readonly missing: MissingObject }
  | { readonly by: 'Webhook' | 'ValidatingAdmissionPolicy'; readonly name: string };

const QUOTA = /(?:exceeded|failed) quota: ([^\s,:]+)(: must specify)?/;
/** LimitRanger, one limit or a list of them. */
const LIMIT_RANGE = / (?:is|are) forbidden: \[?(?:maximum|minimum) \S+ usage per /;
/** By the labels of the namespace. */
const POD_SECURITY = /violates PodSecurity/;
const WEBHOOK = /admission webhook "([^"]+)" denied the request/;
/** What a policy says of itself, before its own words. */
export const POLICY = /ValidatingAdmissionPolicy '([^']*)' with binding '[^']*' denied request: /;

/** The authorizer, and the checks of roles. */
const NO_PERMISSION = / cannot \S+ resource |attempting to grant/;

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

/** Undefined: it is refused for something else (our own policies say themselves what to do), or a permission is missing. */
export function readAdmission(message: string): AdmissionRefusal | undefined {
  if (NO_PERMISSION.test(message)) return undefined;
  const [, quota, unsaid] = QUOTA.exec(message) ?? [];
  if (quota !== undefined) return { by: 'ResourceQuota', name: quota, isUnsaid: unsaid !== undefined };
  if (POD_SECURITY.test(message)) return { by: 'PodSecurity' };
  const missing = missingIn(message);
  if (missing !== undefined) return { by: 'MissingObject', missing };
  const [, webhook] = WEBHOOK.exec(message) ?? [];
  if (webhook !== undefined) return { by: 'Webhook', name: webhook };
  const [, policy] = POLICY.exec(message) ?? [];
  if (policy !== undefined)
    return isOwnPolicy(policy) ? undefined : { by: 'ValidatingAdmissionPolicy', name: policy };
  return LIMIT_RANGE.test(message) ? { by: 'LimitRange' } : undefined;
}

function missingIn(message: string): MissingObject | undefined {
  for (const [words, what] of MISSING) {
    const [, name] = words.exec(message) ?? [];
    if (name !== undefined) return { ...what, name };
  }
  return undefined;
}

/** By its name. */
export function isOwnPolicy(name: string): boolean {
  return name.startsWith('fairlead-');
}

/** What to do about a refusal, and the command that shows more; `namespace` is the object's. */
export interface AdmissionAdvice {
  /** Without a capital letter and a full stop. */
  readonly what: string;
  readonly command?: string;
}

/** As whoever may change the cluster would mend it. */
export function adviseAdmission(refusal: AdmissionRefusal, namespace: string): AdmissionAdvice {
  switch (refusal.by) {
    case 'ResourceQuota': {
      const { name, isUnsaid } = refusal;
      if (isUnsaid)
        return {
          what: `say how much each container asks for, as the quota ${name} wants it, or give the namespace a LimitRange with defaults`,
        };
      const command = `kubectl describe resourcequota ${name} -n ${namespace}`;
      return { what: 'ask for less, delete what is not needed, or have the quota raised', command };
    }
    case 'PodSecurity':
      return {
        what: `correct what it names in the pod, or have the label pod-security.kubernetes.io/enforce of namespace ${namespace} changed`,
      };
    case 'MissingObject': {
      const { kind, name } = refusal.missing;
      return { what: `make the ${kind} ${name}, or name one that is there` };
    }
    case 'Webhook':
      return { what: `do as the admission webhook ${refusal.name} says, or have it changed` };
    case 'ValidatingAdmissionPolicy':
      return { what: `do as ValidatingAdmissionPolicy ${refusal.name} says, or have it changed` };
    case 'LimitRange':
      return {
        what: 'keep to what the LimitRange allows, or have it changed',
        command: `kubectl describe limitrange -n ${namespace}`,
      };
  }
}

/** `make room (kubectl describe …)` */
export function formatAdvice({ what, command }: AdmissionAdvice): string {
  return command === undefined ? what : `${what} (${command})`;
}
