/** Watches the StatefulSet of the demo from outside, as the administrator, and remembers what every step is judged by. */

import type { PlannedWorkload } from '../cli/snapshot.ts';
import { planWorkload } from '../cli/snapshot.ts';
import { FRAME_MS } from '../cli/live-printer.ts';
import type { PodLine, WatchView } from '../cli/watch-view.ts';
import { viewRollout } from '../cli/watch-view.ts';
import { toMessage } from '../kubernetes/api-error.ts';
import { pause } from '../kubernetes/backoff.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import type { DeploymentObject } from '../kubernetes/deployment-adapter.ts';
import { trusted } from '../kubernetes/values.ts';
import { WatchCache } from '../kubernetes/watch-cache.ts';
import { groupVersion } from '../kubernetes/workload-api.ts';
import type { WorkloadObject, WorkloadTarget } from '../kubernetes/workload-edit.ts';
import { templateOfData } from '../kubernetes/workload-revisions.ts';
import { isReady, isTerminating } from '../planners/availability.ts';
import type { ControllerRevision, Node, Pod } from '../planners/objects.ts';
import { NAMESPACE } from './accounts.ts';

const API = 'fairlead.dev/v1beta1';
export const WEB: WorkloadTarget = {
  ...groupVersion(API),
  kind: 'StatefulSet',
  namespace: NAMESPACE,
  name: 'web',
};

/** The workload at one moment. */
export interface Sight {
  readonly object: WorkloadObject;
  readonly view: WatchView;
  /** By name, of all revisions. */
  readonly pods: readonly PodLine[];
}

/** A pod was seen with another image than before, or for the first time. */
export interface ImageChange {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly pod: string;
  readonly image: string;
}

/** The Deployment `api` was seen with another image than before, or for the first time. */
export interface ApiChange {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly image: string;
  /** Images of the pods of `web` that were ready at that moment. */
  readonly web: readonly string[];
}

export interface ObserverOptions {
  readonly client: KubernetesClient;
  /** Ends the watching, and every wait with the signal's reason. */
  readonly signal: AbortSignal;
  /** After changes, at most five times a second, and once a second. */
  readonly onView: (view: WatchView) => void;
  readonly onError: (message: string) => void;
}

const TICK_MS = 1_000;

export class Observer {
  readonly #options: ObserverOptions;
  readonly #cache: WatchCache;
  readonly #images = new Map<string, string>();
  readonly #changes: ImageChange[] = [];
  readonly #apiChanges: ApiChange[] = [];
  readonly #unavailable: { readonly at: number; readonly pods: number }[] = [];
  readonly #checks = new Set<() => void>();
  readonly #giveUps = new Set<(error: Error) => void>();
  #wake: () => void = () => undefined;
  #sight: Sight | undefined;

  private constructor(options: ObserverOptions) {
    this.#options = options;
    const namespaces = [NAMESPACE];
    this.#cache = new WatchCache({
      client: options.client,
      sources: [
        { group: WEB.group, version: WEB.version, resource: 'statefulsets', namespaces },
        { group: WEB.group, version: WEB.version, resource: 'deployments', namespaces },
        { group: 'apps', version: 'v1', resource: 'controllerrevisions', namespaces },
        { group: '', version: 'v1', resource: 'pods', namespaces },
        { group: '', version: 'v1', resource: 'nodes' },
      ],
      onError: (error, where) => {
        if (!options.signal.aborted) options.onError(`watch of ${where}: ${toMessage(error)}; trying again`);
      },
    });
    this.#cache.onChange(() => {
      this.#note();
      this.#wake();
    });
  }

  /** Resolves when everything has been listed once. */
  static async start(options: ObserverOptions): Promise<Observer> {
    const observer = new Observer(options);
    await observer.#cache.start(options.signal);
    observer.#follow().catch((error: unknown) => options.onError(toMessage(error)));
    return observer;
  }

  /** What was seen last; undefined before there is a workload. */
  get sight(): Sight | undefined {
    return this.#sight;
  }

  /**
   * Waits until what is seen is as wanted. Rejects with what was seen instead when `timeoutMs` are over, or with the reason
   * why the demo ends.
   */
  async until(what: string, wanted: (sight: Sight) => boolean, timeoutMs = 60_000): Promise<Sight> {
    const { signal } = this.#options;
    return await new Promise<Sight>((resolve, reject) => {
      const end = (act: () => void) => {
        clearTimeout(timer);
        this.#checks.delete(check);
        this.#giveUps.delete(giveUp);
        signal.removeEventListener('abort', stop);
        act();
      };
      const giveUp = (error: Error) => {
        end(() => {
          reject(error);
        });
      };
      const stop = () => {
        giveUp(trusted<Error>(signal.reason));
      };
      const check = () => {
        const sight = this.#sight;
        if (sight !== undefined && wanted(sight)) {
          end(() => {
            resolve(sight);
          });
        }
      };
      const timer = setTimeout(() => {
        giveUp(new Error(`not within ${String(timeoutMs / 1000)} s: ${what}; ${this.#describe()}`));
      }, timeoutMs);
      signal.addEventListener('abort', stop, { once: true });
      this.#checks.add(check);
      this.#giveUps.add(giveUp);
      if (signal.aborted) stop();
      else check();
    });
  }

  /** Ends all waits of this moment: what they wait for will not come. */
  giveUp(message: string): void {
    for (const giveUp of this.#giveUps) giveUp(new Error(message));
  }

  /** The most pods that were not ready at once since then; 0 if all were. */
  mostUnavailable(since: number): number {
    const before = this.#unavailable.findLast(({ at }) => at <= since);
    const after = this.#unavailable.filter(({ at }) => at > since);
    return Math.max(0, ...[...(before === undefined ? [] : [before]), ...after].map(({ pods }) => pods));
  }

  /** In the order in which they were seen. */
  imageChanges(since: number): readonly ImageChange[] {
    return this.#changes.filter(({ at }) => at >= since);
  }

  /** In the order in which they were seen. */
  apiChanges(since: number): readonly ApiChange[] {
    return this.#apiChanges.filter(({ at }) => at >= since);
  }

  /** Revisions of the workload by name, with the image that each stands for. */
  imagesOfRevisions(): ReadonlyMap<string, string> {
    const uid = this.#sight?.object.metadata.uid ?? '';
    const revisions = this.#cache.ownedBy<ControllerRevision>('controllerrevisions', uid);
    return new Map(
      revisions.map((revision) => [
        revision.metadata.name,
        templateOfData(revision).spec.containers[0]?.image ?? '',
      ]),
    );
  }

  async #follow(): Promise<void> {
    const { signal, onView } = this.#options;
    while (!signal.aborted) {
      const changed = new AbortController();
      this.#wake = () => {
        changed.abort();
      };
      this.#sight = this.#look();
      if (this.#sight !== undefined) onView(this.#sight.view);
      for (const check of this.#checks) check();
      await pause(FRAME_MS, signal);
      await pause(TICK_MS - FRAME_MS, signal, changed.signal);
    }
  }

  #look(): Sight | undefined {
    const object = this.#object();
    if (object === undefined) return undefined;
    const belongings = { children: this.#cache, claims: [], nodes: this.#cache.list<Node>('nodes') };
    const now = Date.now();
    const planned: PlannedWorkload = planWorkload(object, WEB, belongings, now);
    const view = viewRollout(planned, { kind: WEB.kind, api: API, name: WEB.name }, now);
    const pods = view.revisions.flatMap((revision) => revision.pods);
    return { object, view, pods: pods.toSorted((a, b) => a.name.localeCompare(b.name)) };
  }

  /** At each event of the watches: nothing between two pictures is missed. */
  #note(): void {
    const object = this.#object();
    if (object === undefined) return;
    const at = Date.now();
    const pods = this.#pods(object.metadata.uid);
    for (const { metadata, spec } of pods) {
      const image = spec.containers[0]?.image ?? '';
      if (this.#images.get(metadata.name) !== image) {
        this.#images.set(metadata.name, image);
        this.#changes.push({ at, pod: metadata.name, image });
      }
    }
    const ready = pods.filter((pod) => isReady(pod) && !isTerminating(pod));
    const unavailable = Math.max(0, Number(object.spec['replicas'] ?? 1) - ready.length);
    if (this.#unavailable.at(-1)?.pods !== unavailable) this.#unavailable.push({ at, pods: unavailable });
    const image = this.#apiImage();
    if (image !== undefined && image !== this.#apiChanges.at(-1)?.image)
      this.#apiChanges.push({ at, image, web: ready.map(({ spec }) => spec.containers[0]?.image ?? '') });
  }

  #object(): WorkloadObject | undefined {
    const object = this.#cache.get('statefulsets', WEB.namespace, WEB.name);
    return object && trusted<WorkloadObject>(object);
  }

  #apiImage(): string | undefined {
    const object = this.#cache.get('deployments', WEB.namespace, 'api');
    return object && trusted<DeploymentObject>(object).spec.template.spec.containers[0]?.image;
  }

  #pods(uid: string): readonly Pod[] {
    return this.#cache.ownedBy<Pod>('pods', uid);
  }

  #describe(): string {
    if (this.#sight === undefined) return `there is no ${WEB.kind} ${WEB.name} yet`;
    const { state, message, waiting, progress } = this.#sight.view;
    const said = [message, ...waiting].filter((text) => text !== '').slice(0, 3);
    return (
      `it is ${state} with ${String(progress.updatedAvailable)} of ${String(progress.target)} updated and available` +
      (said.length === 0 ? '' : `: ${said.join('; ')}`)
    );
  }
}
