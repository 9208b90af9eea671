/** What may be told of a refused Secret. The server's message may quote it: only what is read here to the last letter is said again. Pure. */

import type { ResourcePath } from './client.ts';

/** In place of what may be a value. */
export const WITHHELD = "the server's message is withheld, it may quote the Secret";

/** A name as clusters have them. */
const NAME = '[a-z0-9](?:[-.a-z0-9]{0,251}[a-z0-9])?';
/** `secrets=1,count/secrets=2` */
const AMOUNTS = '[-./a-z0-9]{1,317}=\\d{1,20}[A-Za-z]{0,2}(?:,[-./a-z0-9]{1,317}=\\d{1,20}[A-Za-z]{0,2})*';
const FORBIDDEN = 'secrets "[^"]*" is forbidden: ';

const NO_NAMESPACE = new RegExp(`^namespaces "(${NAME})" not found$`);
const NAMESPACE_ENDS = new RegExp(
  `^${FORBIDDEN}(unable to create new content in namespace (${NAME}) because it is being terminated)$`,
);
const QUOTA = new RegExp(
  `^${FORBIDDEN}(exceeded quota: ${NAME}, requested: ${AMOUNTS}, used: ${AMOUNTS}, limited: ${AMOUNTS})$`,
);
/** Who has refused it; why is in their own words, which may be anything. */
const DENIED = new RegExp(
  `^(?:${FORBIDDEN})?(admission webhook "${NAME}" denied the request|ValidatingAdmissionPolicy '${NAME}' with binding '${NAME}' denied request)(?:[: ]|$)`,
);
const NO_PERMISSION = / cannot (get|list|watch|create|update|patch|delete|deletecollection) resource "/;

/**
 * The sentence that names nothing but the cluster's own objects: a namespace that is not there or goes, a quota that is used up, who denied the
 * request, which permission is missing. Undefined: the message is none of these, and nothing of it may be told.
 */
export function tellableRefusal(path: ResourcePath | string, message: string): string | undefined {
  const namespace = typeof path === 'string' ? undefined : path.namespace;
  // A name that the request itself has is told already.
  if (namespace !== undefined && NO_NAMESPACE.exec(message)?.[1] === namespace) return message;
  const [, ends, ending] = NAMESPACE_ENDS.exec(message) ?? [];
  if (ends !== undefined && ending === namespace) return ends;
  const [, exceeded] = QUOTA.exec(message) ?? [];
  if (exceeded !== undefined) return exceeded;
  const [, denied] = DENIED.exec(message) ?? [];
  if (denied !== undefined) return `${denied}: ${WITHHELD}`;
  const [, verb] = NO_PERMISSION.exec(message) ?? [];
  if (verb === undefined) return undefined;
  const where = namespace === undefined ? '' : ` in the namespace ${namespace}`;
  return `the permission to ${verb} secrets${where} is missing; ${WITHHELD}`;
}
