/** Objects of one resource with the indexes that planners look into: each lookup costs what it returns. */

import type { KubernetesObject } from '../planners/objects.ts';
import { trusted } from './values.ts';

export function objectKey(namespace: string | undefined, name: string): string {
  return `${namespace ?? ''}/${name}`;
}

/** uid of the owner whose reference says `controller: true`. */
export function controllerUid(object: KubernetesObject): string | undefined {
  return object.metadata.ownerReferences?.find((owner) => owner.controller === true)?.uid;
}

/** Name of the node that a pod is bound to. */
function nodeNameOf(object: KubernetesObject): string | undefined {
  const { spec } = trusted<{ readonly spec?: { readonly nodeName?: string } }>(object);
  return spec?.nodeName === '' ? undefined : spec?.nodeName;
}

type Bucket = Map<string, KubernetesObject>;

export class ObjectIndex {
  readonly #objects: Bucket = new Map();
  readonly #byNamespace = new Map<string, Bucket>();
  readonly #byController = new Map<string, Bucket>();
  readonly #orphans = new Map<string, Bucket>();
  readonly #byNode = new Map<string, Bucket>();

  get size(): number {
    return this.#objects.size;
  }

  get(key: string): KubernetesObject | undefined {
    return this.#objects.get(key);
  }

  all(): readonly KubernetesObject[] {
    return [...this.#objects.values()];
  }

  inNamespace(namespace: string): readonly KubernetesObject[] {
    return valuesOf(this.#byNamespace.get(namespace));
  }

  ownedBy(uid: string): readonly KubernetesObject[] {
    return valuesOf(this.#byController.get(uid));
  }

  orphans(namespace: string): readonly KubernetesObject[] {
    return valuesOf(this.#orphans.get(namespace));
  }

  onNode(name: string): readonly KubernetesObject[] {
    return valuesOf(this.#byNode.get(name));
  }

  /** Keys of a namespace, or of everything. */
  keys(namespace: string | undefined): readonly string[] {
    return [
      ...(namespace === undefined ? this.#objects : (this.#byNamespace.get(namespace) ?? new Map())).keys(),
    ];
  }

  set(key: string, object: KubernetesObject): void {
    const previous = this.#objects.get(key);
    if (previous !== undefined) this.#unlink(key, previous);
    this.#objects.set(key, object);
    const namespace = object.metadata.namespace ?? '';
    link(this.#byNamespace, namespace, key, object);
    const owner = controllerUid(object);
    if (owner === undefined) link(this.#orphans, namespace, key, object);
    else link(this.#byController, owner, key, object);
    const node = nodeNameOf(object);
    if (node !== undefined) link(this.#byNode, node, key, object);
  }

  delete(key: string): void {
    const previous = this.#objects.get(key);
    if (previous === undefined) return;
    this.#unlink(key, previous);
    this.#objects.delete(key);
  }

  #unlink(key: string, object: KubernetesObject): void {
    const namespace = object.metadata.namespace ?? '';
    unlink(this.#byNamespace, namespace, key);
    const owner = controllerUid(object);
    if (owner === undefined) unlink(this.#orphans, namespace, key);
    else unlink(this.#byController, owner, key);
    const node = nodeNameOf(object);
    if (node !== undefined) unlink(this.#byNode, node, key);
  }
}

function valuesOf(bucket: Bucket | undefined): readonly KubernetesObject[] {
  return bucket === undefined ? [] : [...bucket.values()];
}

function link(index: Map<string, Bucket>, value: string, key: string, object: KubernetesObject): void {
  const bucket = index.get(value);
  if (bucket === undefined) index.set(value, new Map([[key, object]]));
  else bucket.set(key, object);
}

function unlink(index: Map<string, Bucket>, value: string, key: string): void {
  const bucket = index.get(value);
  bucket?.delete(key);
  if (bucket?.size === 0) index.delete(value);
}
