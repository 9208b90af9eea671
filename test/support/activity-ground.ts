/** The activities of rollout runs over an apiserver that holds one StatefulSet `web` and can answer whatever a test wants. */

import { createRolloutActivities, createRolloutSteps } from '../../activities/rollout.ts';
import type { RolloutActivities } from '../../activities/rollout.ts';
import { ActionEvents } from '../../controllers/action-events.ts';
import { ClusterView } from '../../controllers/cluster-view.ts';
import { EventRecorder } from '../../controllers/events.ts';
import { Executor } from '../../controllers/executor.ts';
import { KeyedMutex } from '../../controllers/keyed-mutex.ts';
import { PlanFeed } from '../../controllers/plan-feed.ts';
import { Reconciler } from '../../controllers/reconciler.ts';
import { WriteMemory } from '../../controllers/write-memory.ts';
import { RolloutRuns } from '../../controllers/rollout-runs.ts';
import { StatusWriter } from '../../controllers/status-writer.ts';
import { KubernetesClient } from '../../kubernetes/client.ts';
import { readStatefulSet } from '../../kubernetes/statefulset-adapter.ts';
import { WatchCache } from '../../kubernetes/watch-cache.ts';
import type { WorkloadObject } from '../../kubernetes/workload-edit.ts';
import { trusted } from '../../kubernetes/values.ts';
import { templateTarget } from '../../kubernetes/workload-key.ts';
import type { KubernetesObject } from '../../planners/objects.ts';
import { jsonPatched } from './json-patched.ts';
import { SmallTemporal } from './small-temporal.ts';
import { answer, plainConnection, WatchServer } from './watch-server.ts';
import { workloadObject } from './workload-objects.ts';

const API = 'fairlead.dev/v1beta1';
const RESOURCES = ['statefulsets', 'controllerrevisions', 'pods', 'persistentvolumeclaims', 'nodes'];

export class ActivityGround {
  /** What the apiserver has; undefined: 404. */
  object: WorkloadObject | undefined = workloadObject();
  /** Status and reason of every answer, instead of the object. */
  refusal: readonly [number, string] | undefined;
  /** What the apiserver has when the next write of the StatefulSet arrives, which is refused for that. */
  meanwhile: WorkloadObject | undefined;
  /** Makes something else of what a write of the StatefulSet has made, as an admission does. */
  admission = (object: WorkloadObject): WorkloadObject => object;
  readonly activities: RolloutActivities;
  readonly client: KubernetesClient;
  readonly events: EventRecorder;
  /** Plans that the reconciler has made; it is not running. */
  readonly feed = new PlanFeed();
  /** What a run of the present template is known by. */
  readonly reference = reference();
  readonly #server: WatchServer;

  private constructor(server: WatchServer) {
    this.#server = server;
    const planted = ({ pathname }: URL) => server.objects.get(pathname.split('/').at(-1) ?? '');
    server.intercept = ({ method, url, body }, response) => {
      if (url.pathname.endsWith('/events')) answer(response, 201, {});
      else if (this.refusal !== undefined) answer(response, this.refusal[0], status(...this.refusal));
      else if (url.pathname.endsWith('/controllerrevisions')) return false;
      else if (url.pathname.includes('/controllerrevisions/') && planted(url) !== undefined)
        answer(response, 200, planted(url) ?? {});
      else if (method === 'PATCH' && this.meanwhile !== undefined) {
        this.object = this.meanwhile;
        this.meanwhile = undefined;
        answer(response, 409, status(409, 'Conflict'));
      } else if (this.object === undefined) answer(response, 404, status(404, 'NotFound'));
      else if (method === 'PATCH' && url.pathname.endsWith('/web'))
        answer(response, 200, this.admission(jsonPatched(this.object, trusted(JSON.parse(body)))));
      else answer(response, 200, this.object);
      return true;
    };
    this.client = new KubernetesClient(plainConnection(server.url));
    const { client } = this;
    const group = 'fairlead.dev';
    const cache = new WatchCache({
      client,
      sources: RESOURCES.map((resource) => ({ group, version: 'v1beta1', resource })),
      onError: () => undefined,
    });
    const { feed } = this;
    const [view, memory, mutex, now] = [
      new ClusterView(cache, API, true),
      new WriteMemory(),
      new KeyedMutex(),
      Date.now,
    ];
    this.events = new EventRecorder({ client, host: 'test' });
    const { events } = this;
    const executor = new Executor({ cache, events, reports: new ActionEvents(events), memory, now });
    const runs = new RolloutRuns({
      client: new SmallTemporal().client,
      cluster: 'c',
      clusterUid: 'cluster',
      searchAttributes: async () => [],
      now,
      onChange: () => undefined,
      onStarted: () => undefined,
      onTakenOver: () => undefined,
      onBadEnding: () => undefined,
      onFoundEnded: () => undefined,
      onError: () => undefined,
      onRefused: () => undefined,
    });
    const common = { client, cache, view, executor, mutex, feed, events, now };
    const reconciler = new Reconciler({
      ...common,
      memory,
      runs,
      inProcess: runs,
      status: new StatusWriter(cache, now),
      temporalAnswers: () => true,
      requeue: () => undefined,
    });
    this.activities = createRolloutActivities(
      createRolloutSteps({ ...common, reconciler, clusterUid: 'cluster', onClosed: () => undefined }),
    );
  }

  static async start(): Promise<ActivityGround> {
    return new ActivityGround(await WatchServer.start());
  }

  /** Lets the apiserver have a revision. */
  plantRevision(revision: KubernetesObject): void {
    this.#server.objects.set(revision.metadata.name, revision);
  }

  /** What events say, oldest first; written by now. */
  async eventMessages(): Promise<readonly string[]> {
    await this.events.flush();
    return this.#server.requests
      .filter(({ url }) => url.pathname.endsWith('/events'))
      .map(({ body }) => (JSON.parse(body) as { readonly message: string }).message);
  }

  /** Writes to the StatefulSet, as JSON, oldest first. */
  get writes(): readonly string[] {
    return this.#server.requests
      .filter(({ method, url }) => method === 'PATCH' && url.pathname.endsWith('/web'))
      .map(({ body }) => body);
  }

  /** Writes to revisions, as JSON, oldest first. */
  get revisionWrites(): readonly string[] {
    return this.#server.requests
      .filter(({ method, url }) => method === 'PATCH' && url.pathname.includes('/controllerrevisions/'))
      .map(({ body }) => body);
  }

  async stop(): Promise<void> {
    await this.events.flush();
    this.client.close();
    await this.#server.stop();
  }
}

function reference() {
  const workload = readStatefulSet(workloadObject(), API);
  return { clusterUid: 'cluster', workload: workload.ref, target: templateTarget(workload) };
}

function status(code: number, reason: string): object {
  return { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message: 'said by a test' };
}
