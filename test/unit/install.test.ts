/** What the README tells people to type fits what is installed. */

import { readFile } from 'node:fs/promises';

import { describe, expect, it } from '@jest/globals';
import { loadAll } from 'js-yaml';

const read = async (path: string) => await readFile(new URL(`../../${path}`, import.meta.url), 'utf8');

interface Deployment {
  readonly kind: string;
  readonly spec: {
    readonly template: {
      readonly spec: {
        readonly containers: readonly {
          readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
        }[];
        readonly volumes: readonly {
          readonly name: string;
          readonly secret?: { readonly secretName: string; readonly optional?: boolean };
        }[];
      };
    };
  };
}

describe('a token for git', () => {
  it('is told to be put where a Secret is mounted, if there is one', async () => {
    const documents = loadAll(await read('manifests/install/worker/worker.yaml')) as Deployment[];
    const deployment = documents.find(({ kind }) => kind === 'Deployment');
    const pod = deployment?.spec.template.spec;
    const readme = await read('README.md');
    const [, secret, key] = /create secret generic (\S+) --from-file=([^=]+)=/.exec(readme) ?? [];
    const volume = pod?.volumes.find((one) => one.secret?.secretName === secret);
    expect(volume?.secret?.optional).toBe(true);
    const mount = pod?.containers[0]?.volumeMounts.find(({ name }) => name === volume?.name);
    expect(readme).toContain(`tokenFile: ${String(mount?.mountPath)}/${String(key)} `);
  });
});
