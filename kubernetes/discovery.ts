/** What the apiserver serves: from an object's apiVersion and kind to the resource to send it to. */

import type { JsonObject } from '../planners/objects.ts';
import { isNotFound } from './api-error.ts';
import type { KubernetesClient, RequestOptions, ResourcePath } from './client.ts';

export interface ResourceType {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** Plural, lower case. */
  readonly resource: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
  /** `status`, `scale`, … */
  readonly subresources: readonly string[];
  /** What else it may be asked for by: singular and short names. */
  readonly aliases: readonly string[];
}

/** The apiserver does not serve this kind (now). */
export class UnknownKind extends Error {
  override name = 'UnknownKind';
}

interface ApiResourceList {
  readonly resources?: readonly {
    readonly name: string;
    readonly kind: string;
    readonly namespaced: boolean;
    readonly verbs?: readonly string[];
    readonly singularName?: string;
    readonly shortNames?: readonly string[];
  }[];
}

interface ApiGroup {
  readonly name: string;
  readonly versions: readonly { readonly version: string }[];
}

interface ApiGroupList {
  readonly groups?: readonly ApiGroup[];
}

/** Splits `apps/v1` and `v1`. */
export function parseApiVersion(apiVersion: string): { readonly group: string; readonly version: string } {
  const slash = apiVersion.indexOf('/');
  if (slash < 0) return { group: '', version: apiVersion };
  return { group: apiVersion.slice(0, slash), version: apiVersion.slice(slash + 1) };
}

/**
 * A cache of the apiserver's resource lists, one request a group and version, asked again when a kind is unknown. For one activity, look
 * or command: what is served changes with each CustomResourceDefinition.
 */
export class Discovery {
  readonly #client: KubernetesClient;
  readonly #kinds = new Map<string, Promise<ReadonlyMap<string, ResourceType>>>();

  constructor(client: KubernetesClient) {
    this.#client = client;
  }

  /**
   * The resource of a kind; undefined if the apiserver does not serve it. A kind that is missing in what is known is
   * looked up again each time: its CRD may just have been installed.
   */
  async find(
    apiVersion: string,
    kind: string,
    options: RequestOptions = {},
  ): Promise<ResourceType | undefined> {
    const known = await this.#kinds.get(apiVersion);
    return known?.get(kind) ?? (await this.#load(apiVersion, options)).get(kind);
  }

  /** What is served of a group and version is asked anew next time: it is not what was expected. */
  forget(apiVersion: string): void {
    this.#kinds.delete(apiVersion);
  }

  /** @throws {UnknownKind} naming the kind and what may be missing */
  async resolve(apiVersion: string, kind: string, options: RequestOptions = {}): Promise<ResourceType> {
    const found = await this.find(apiVersion, kind, options);
    if (found !== undefined) return found;
    const hint = apiVersion.includes('/') ? ' Is its CustomResourceDefinition installed?' : '';
    throw new UnknownKind(
      `the apiserver serves no ${kind} in ${apiVersion}.${hint} See 'kubectl api-resources --api-group=${parseApiVersion(apiVersion).group}'.`,
    );
  }

  /**
   * The path of an object.
   * @param namespace For a namespaced object that names none.
   * @throws {UnknownKind}
   */
  async pathOf(
    object: {
      readonly apiVersion: string;
      readonly kind: string;
      readonly metadata: { readonly name: string; readonly namespace?: string };
    },
    namespace: string,
    options: RequestOptions = {},
  ): Promise<ResourcePath> {
    const type = await this.resolve(object.apiVersion, object.kind, options);
    const { group, version, resource } = type;
    const path = { group, version, resource, name: object.metadata.name };
    return type.namespaced ? { ...path, namespace: object.metadata.namespace ?? namespace } : path;
  }

  /** Every group and version that is served, core first. Not cached. */
  async groupVersions(options: RequestOptions = {}): Promise<readonly string[]> {
    const request = { ...options, method: 'GET' as const };
    const core = await this.#client.request<{ versions?: readonly string[] }>({ ...request, path: '/api' });
    const groups = await this.#client.request<ApiGroupList>({ ...request, path: '/apis' });
    const named = (groups.groups ?? []).flatMap((group) =>
      group.versions.map(({ version }) => `${group.name}/${version}`),
    );
    return [...(core.versions ?? []), ...named];
  }

  /** Every resource of a group that has a name, once, in whatever versions it is served; none where the group is not. */
  async resourcesOfGroup(group: string, options: RequestOptions = {}): Promise<readonly ResourceType[]> {
    const path = `/apis/${encodeURIComponent(group)}`;
    const { versions = [] } = await this.#client
      .request<Partial<ApiGroup>>({ ...options, method: 'GET', path })
      .catch((error: unknown): Partial<ApiGroup> => {
        if (isNotFound(error)) return {};
        throw error;
      });
    const all = await Promise.all(
      versions.map(async ({ version }) => await this.resources(`${group}/${version}`, options)),
    );
    return [...new Map(all.flat().map((type) => [type.resource, type])).values()];
  }

  /** All resources of one group and version; empty if it is not served. */
  async resources(apiVersion: string, options: RequestOptions = {}): Promise<readonly ResourceType[]> {
    return [...(await (this.#kinds.get(apiVersion) ?? this.#load(apiVersion, options))).values()];
  }

  #load(apiVersion: string, options: RequestOptions): Promise<ReadonlyMap<string, ResourceType>> {
    const loading = this.#fetch(apiVersion, options);
    this.#kinds.set(apiVersion, loading);
    loading.catch(() => {
      if (this.#kinds.get(apiVersion) === loading) this.#kinds.delete(apiVersion);
    });
    return loading;
  }

  async #fetch(apiVersion: string, options: RequestOptions): Promise<ReadonlyMap<string, ResourceType>> {
    const { group, version } = parseApiVersion(apiVersion);
    const path = [group === '' ? 'api' : `apis/${encodeURIComponent(group)}`, encodeURIComponent(version)];
    try {
      const list = await this.#client.request<ApiResourceList & JsonObject>({
        ...options,
        method: 'GET',
        path: `/${path.join('/')}`,
      });
      return parseResources(group, version, list);
    } catch (error) {
      if (isNotFound(error)) return new Map();
      throw error;
    }
  }
}

function parseResources(
  group: string,
  version: string,
  list: ApiResourceList,
): ReadonlyMap<string, ResourceType> {
  const all = list.resources ?? [];
  const kinds = new Map<string, ResourceType>();
  for (const { name, kind, namespaced, verbs = [], singularName = '', shortNames = [] } of all) {
    if (name.includes('/') || kinds.has(kind)) continue;
    const subresources = all
      .filter((other) => other.name.startsWith(`${name}/`))
      .map((other) => other.name.slice(name.length + 1));
    const aliases = [singularName, ...shortNames].filter((alias) => alias !== '');
    kinds.set(kind, { group, version, kind, resource: name, namespaced, verbs, subresources, aliases });
  }
  return kinds;
}
