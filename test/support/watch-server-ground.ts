/** An apiserver of its own for every test of a file, and a client of it. */

import { afterEach, beforeEach } from '@jest/globals';

import { KubernetesClient } from '../../kubernetes/client.ts';
import { WatchServer, plainConnection } from './watch-server.ts';

/** Both are new in each test; to be read while one runs. */
export interface WatchServerGround {
  readonly server: WatchServer;
  readonly client: KubernetesClient;
}

/** Started before the hooks and tests that follow the call; stopped after theirs. */
export function useWatchServer(): WatchServerGround {
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
  return {
    get server() {
      return server;
    },
    get client() {
      return client;
    },
  };
}
