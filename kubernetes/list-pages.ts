/** Lists of any size, page by page. */

import { isGone } from './api-error.ts';
import type { ListOptions, ObjectList } from './client.ts';

/** Objects a page: some megabytes of pods. */
const PAGE = 500;

interface Page<T> {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string };
  readonly items?: readonly T[] | null;
}

type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/**
 * The whole collection at one resourceVersion. If the continue token expires on the way (410), the list is read again
 * in one piece, so that the result is always of one moment.
 */
export async function listAll<T>(
  fetchPage: (query: Query) => Promise<Page<T>>,
  options: ListOptions<T>,
): Promise<ObjectList<T>> {
  try {
    return await pages(fetchPage, options, options.limit ?? PAGE);
  } catch (error) {
    if (!isGone(error)) throw error;
    return pages(fetchPage, options, undefined);
  }
}

async function pages<T>(
  fetchPage: (query: Query) => Promise<Page<T>>,
  options: ListOptions<T>,
  limit: number | undefined,
): Promise<ObjectList<T>> {
  const items: T[] = [];
  let token: string | undefined;
  let resourceVersion = '';
  do {
    const page = await fetchPage({
      ...options.query,
      labelSelector: options.labelSelector,
      fieldSelector: options.fieldSelector,
      limit,
      // A continue token holds the version of the first page.
      ...(token === undefined ? { resourceVersion: options.resourceVersion } : { continue: token }),
    });
    const type = { apiVersion: page.apiVersion, kind: page.kind?.replace(/List$/, '') };
    for (const raw of page.items ?? []) {
      const item = { ...type, ...raw };
      items.push(options.transform === undefined ? item : options.transform(item));
    }
    resourceVersion = page.metadata?.resourceVersion ?? resourceVersion;
    token = page.metadata?.continue === '' ? undefined : page.metadata?.continue;
  } while (token !== undefined);
  return { items, resourceVersion };
}
