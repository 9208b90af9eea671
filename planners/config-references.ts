/** The ConfigMaps, Secrets and ServiceAccount that a pod cannot start without. Pure. */

import type { PodSpec } from './objects.ts';
import { asFields, asList } from './values.ts';

/** Kinds that pods name; the core group has all of them. */
export const CONFIG_KINDS: ReadonlySet<string> = new Set(['ConfigMap', 'Secret', 'ServiceAccount']);

/** Fields of volumes of several drivers; their `name` is a Secret's. */
const SECRET_REFERENCES = ['secretRef', 'nodePublishSecretRef'] as const;

/** `Kind/name` of all that a pod of this spec needs; not what it calls optional. */
export function configReferences(spec: PodSpec): ReadonlySet<string> {
  const found = new Set<string>();
  for (const volume of asList(spec.volumes)) {
    add('ConfigMap', fieldOf(volume, 'configMap'));
    add('Secret', fieldOf(volume, 'secret'), 'secretName');
    add('Secret', fieldOf(volume, 'azureFile'), 'secretName');
    for (const source of asList(fieldOf(volume, 'projected', 'sources'))) {
      add('ConfigMap', fieldOf(source, 'configMap'));
      add('Secret', fieldOf(source, 'secret'));
    }
    for (const driver of Object.values(volume)) {
      for (const field of SECRET_REFERENCES) add('Secret', fieldOf(driver, field));
    }
  }
  const containers = [spec.containers, spec.initContainers, spec['ephemeralContainers']].flatMap(asList);
  for (const container of containers) {
    for (const source of asList(fieldOf(container, 'envFrom'))) {
      add('ConfigMap', fieldOf(source, 'configMapRef'));
      add('Secret', fieldOf(source, 'secretRef'));
    }
    for (const variable of asList(fieldOf(container, 'env'))) {
      add('ConfigMap', fieldOf(variable, 'valueFrom', 'configMapKeyRef'));
      add('Secret', fieldOf(variable, 'valueFrom', 'secretKeyRef'));
    }
  }
  for (const secret of asList(spec['imagePullSecrets'])) add('Secret', secret);
  // The second is the older spelling of the first.
  add(
    'ServiceAccount',
    spec,
    spec['serviceAccountName'] === undefined ? 'serviceAccount' : 'serviceAccountName',
  );
  return found;

  function add(kind: string, reference: unknown, field = 'name'): void {
    const { [field]: name, optional } = asFields(reference) ?? {};
    if (typeof name === 'string' && name !== '' && optional !== true) found.add(`${kind}/${name}`);
  }
}

function fieldOf(value: unknown, ...names: readonly string[]): unknown {
  return names.reduce<unknown>((present, name) => asFields(present)?.[name], value);
}
