/** What a namespace can be called. */

const NAMESPACE_NAME = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** Whether a text, from outside, is a DNS label (RFC 1123), as names of namespaces are. */
export function isNamespaceName(text: string): boolean {
  return NAMESPACE_NAME.test(text);
}
