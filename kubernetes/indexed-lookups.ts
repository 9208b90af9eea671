/** Reading from indexes. */

/* oxlint-disable typescript/no-unnecessary-type-parameters -- the caller knows what a resource holds */

import type { KubernetesObject } from '../planners/objects.ts';
import { objectKey } from './object-index.ts';
import type { ObjectIndex } from './object-index.ts';
import { trusted } from './values.ts';

/** Lookups by a resource's id; each costs what it returns, and throws when there is no such resource. */
export abstract class IndexedLookups {
  protected abstract indexOf(resource: string): ObjectIndex;

  get<T extends KubernetesObject = KubernetesObject>(
    resource: string,
    namespace: string | undefined,
    name: string,
  ): T | undefined {
    return trusted<T | undefined>(this.indexOf(resource).get(objectKey(namespace, name)));
  }

  /** Objects whose controller has this uid. */
  ownedBy<T extends KubernetesObject = KubernetesObject>(resource: string, uid: string): readonly T[] {
    return trusted<readonly T[]>(this.indexOf(resource).ownedBy(uid));
  }

  /** Objects of a namespace without a controller. */
  orphans<T extends KubernetesObject = KubernetesObject>(resource: string, namespace: string): readonly T[] {
    return trusted<readonly T[]>(this.indexOf(resource).orphans(namespace));
  }

  /** Objects that are bound to this node. */
  onNode<T extends KubernetesObject = KubernetesObject>(resource: string, node: string): readonly T[] {
    return trusted<readonly T[]>(this.indexOf(resource).onNode(node));
  }

  inNamespace<T extends KubernetesObject = KubernetesObject>(
    resource: string,
    namespace: string,
  ): readonly T[] {
    return trusted<readonly T[]>(this.indexOf(resource).inNamespace(namespace));
  }

  list<T extends KubernetesObject = KubernetesObject>(resource: string): readonly T[] {
    return trusted<readonly T[]>(this.indexOf(resource).all());
  }

  size(resource: string): number {
    return this.indexOf(resource).size;
  }
}
