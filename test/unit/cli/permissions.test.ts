import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { describe, expect, it } from '@jest/globals';
import { loadAll } from 'js-yaml';

import { workerRules } from '../../../cli/permissions.ts';
import { trusted } from '../../../kubernetes/values.ts';
import { packageRoot } from '../../../local/package-root.ts';

interface Role {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly rules?: readonly {
    readonly apiGroups: readonly string[];
    readonly resources: readonly string[];
    readonly verbs: readonly string[];
    readonly resourceNames?: readonly string[];
  }[];
}

describe('`check --worker`', () => {
  it('asks for nothing that manifests/install does not grant', async () => {
    const texts = await Promise.all(
      ['rbac.yaml', 'node-drain.yaml'].map((file) =>
        readFile(join(packageRoot(), 'manifests', 'install', file), 'utf8'),
      ),
    );
    const roles = texts
      .flatMap((text) => trusted<readonly Role[]>(loadAll(text)))
      .filter(({ metadata }) => ['fairlead-worker', 'fairlead-node-drain'].includes(metadata.name));
    for (const group of ['apps', 'fairlead.dev']) {
      for (const rule of workerRules(group, 'fairlead-system')) {
        const kind = rule.namespace === undefined ? 'ClusterRole' : 'Role';
        const granted = roles
          .filter((role) => role.kind === kind)
          .flatMap((role) => role.rules ?? [])
          .some(
            ({ apiGroups, resources, verbs, resourceNames }) =>
              (resourceNames === undefined || resourceNames.includes(rule.name ?? '')) &&
              apiGroups.includes(rule.group) &&
              resources.includes(rule.resource) &&
              verbs.includes(rule.verb),
          );
        expect({ rule, granted }).toEqual({ rule, granted: true });
      }
    }
  });
});
