/** URLs and names of resources. */

import type { ResourcePath } from './client.ts';

/** `pods`, `statefulsets.apps`: how a resource is named in messages, caches and metrics. */
export function resourceId(path: Pick<ResourcePath, 'group' | 'resource'>): string {
  return path.group === '' ? path.resource : `${path.resource}.${path.group}`;
}

/**
 * The URL path of a resource, every part escaped.
 * @throws {Error} when a part is empty or would leave its place in the path (`..`, a slash is escaped)
 */
export function urlPath(path: ResourcePath): string {
  const parts = path.group === '' ? ['api', path.version] : ['apis', path.group, path.version];
  if (path.namespace !== undefined) parts.push('namespaces', path.namespace);
  parts.push(path.resource);
  if (path.name !== undefined) parts.push(path.name);
  if (path.subresource !== undefined) {
    if (path.name === undefined) throw new Error(`${resourceId(path)}: a subresource needs a name`);
    parts.push(...path.subresource.split('/'));
  }
  for (const part of parts) {
    if (part === '' || part === '.' || part === '..') {
      throw new Error(`${resourceId(path)}: '${part}' cannot be a part of a path (${parts.join('/')})`);
    }
  }
  return `/${parts.map(encodeURIComponent).join('/')}`;
}

/** `pods/status web/web-0`: for messages. A literal path stays as it is, without its query. */
export function describePath(path: ResourcePath | string): string {
  if (typeof path === 'string') return path.split('?', 1)[0] ?? path;
  const what = path.subresource === undefined ? resourceId(path) : `${resourceId(path)}/${path.subresource}`;
  const where = [path.namespace, path.name].filter((part) => part !== undefined).join('/');
  return where === '' ? what : `${what} ${where}`;
}

/** Whether a request's bodies may hold secret values and must never be quoted. */
export function holdsSecrets(path: ResourcePath | string): boolean {
  return typeof path === 'string' ? /\/secrets(?:[/?]|$)/.test(path) : path.resource === 'secrets';
}
