/** What the CustomResourceDefinitions of a commit define: kinds, and the names that they claim within their group. Pure. */

import type { Manifest } from './manifests.ts';
import { isMapping } from './value-kind.ts';
import type { ServedKind } from './resources.ts';

/** What defines a kind of its own. */
export function isDefinition({ group, kind }: Pick<Manifest, 'group' | 'kind'>): boolean {
  return group === 'apiextensions.k8s.io' && kind === 'CustomResourceDefinition';
}

/** As far as it is well-formed: the apiserver says what is not. */
export interface Definition {
  readonly group: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
  /** Versions that are served. */
  readonly versions: readonly string[];
  /** As the apiserver completes it where it is not named. */
  readonly listKind: string;
  /** What else it may be asked for by: singular (completed too) and short names. */
  readonly aliases: readonly string[];
}

/** What a manifest defines; undefined: no kind that could be served. */
export function definitionOf(manifest: Manifest): Definition | undefined {
  const { spec } = manifest.body;
  if (!isDefinition(manifest) || !isMapping(spec)) return undefined;
  const { names, versions, group, scope } = spec;
  if (!isMapping(names) || !Array.isArray(versions)) return undefined;
  const { kind, plural, listKind, singular, shortNames } = names;
  if (typeof kind !== 'string' || typeof plural !== 'string' || typeof group !== 'string') return undefined;
  const served = (versions as readonly unknown[]).flatMap((version) =>
    isMapping(version) && typeof version['name'] === 'string' && version['served'] === true
      ? [version['name']]
      : [],
  );
  const short = Array.isArray(shortNames) ? shortNames.filter((name) => typeof name === 'string') : [];
  return {
    group,
    kind,
    plural,
    namespaced: scope === 'Namespaced',
    versions: served,
    listKind: typeof listKind === 'string' ? listKind : `${kind}List`,
    aliases: [typeof singular === 'string' ? singular : kind.toLowerCase(), ...short],
  };
}

/** Kinds that the CustomResourceDefinitions among the manifests will serve, by `GROUP/VERSION/KIND`. */
export function customKinds(manifests: readonly Manifest[]): ReadonlyMap<string, ServedKind> {
  return new Map(
    manifests.flatMap((manifest) => {
      const definition = definitionOf(manifest);
      if (definition === undefined) return [];
      const { group, kind, plural, namespaced, versions } = definition;
      return versions.map(
        (version) => [`${group}/${version}/${kind}`, { resource: plural, namespaced }] as const,
      );
    }),
  );
}
