/** The inventory's ConfigMap over real HTTP: what Fairlead did not make stays as it is. */

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { InventoryStore } from '../../git/inventory.ts';
import { problem } from '../../git/problems.ts';
import { SourceReporter } from '../../git/source-report.ts';
import { KubernetesClient } from '../../kubernetes/client.ts';
import { WatchServer, answer, plainConnection } from '../support/watch-server.ts';

let server: WatchServer;
let client: KubernetesClient;

beforeEach(async () => {
  server = await WatchServer.start();
  client = new KubernetesClient(plainConnection(server.url));
});

afterEach(async () => {
  client.close();
  await server.stop();
});

/** Answers every request with that ConfigMap. */
function holds(annotations: Readonly<Record<string, string>> | undefined): void {
  server.intercept = (_request, response) => {
    const metadata = { name: 'fairlead-repositories', uid: 'u', resourceVersion: '7', annotations };
    answer(response, 200, { metadata, data: { 'repositories.yaml': '- url: https://git.example.com/web' } });
    return true;
  };
}

const methods = (): readonly string[] => server.requests.map(({ method }) => method);

describe('a ConfigMap that Fairlead did not make', () => {
  it.each([
    [
      'without annotations',
      undefined,
      'the inventory of repository repositories would be ConfigMap system/fairlead-repositories, which exists and is no inventory.',
    ],
    [
      'of another tool',
      { 'applyset.kubernetes.io/tooling': 'kubectl/v1.36' },
      'the inventory of repository repositories would be ConfigMap system/fairlead-repositories, which is the inventory of another tool (kubectl/v1.36).',
    ],
  ])('%s is neither read as an inventory nor written', async (_what, annotations, message) => {
    holds(annotations);
    const store = new InventoryStore(client, 'system', 'repositories');
    const refusal = { problem: { code: 'InventoryForeign', message } };
    await expect(store.read()).rejects.toMatchObject(refusal);
    await expect(store.update((present) => ({ ...present, status: {} }))).rejects.toMatchObject(refusal);
    expect(methods()).toEqual(['GET', 'GET']);
  });

  it('is not written by a look at the source either, which says so once', async () => {
    holds({});
    const reporter = new SourceReporter({ client, inventoryNamespace: 'system', now: Date.now });
    const broken = { problem: problem('RepositoryNotFound', '/srv/x does not exist.') };
    await expect(reporter.report('repositories', broken)).rejects.toThrow('which exists and is no inventory');
    await reporter.report('repositories', broken);
    expect(methods()).toEqual(['GET']);
  });
});
