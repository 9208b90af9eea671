/** The flags of `fairlead rolling-update`, and what they ask for. */

import { readFile } from 'node:fs/promises';
import { addAbortSignal } from 'node:stream';
import { text as readStream } from 'node:stream/consumers';

import { isMapping } from '../git/value-kind.ts';
import { objectsOf } from '../git/manifests.ts';
import { readYaml } from '../git/yaml.ts';
import { toMessage } from '../kubernetes/api-error.ts';
import type { UpdateSettings } from '../kubernetes/rolling-update-begin.ts';
import { shellWord } from '../kubernetes/shell-word.ts';
import { errorCode, trusted } from '../kubernetes/values.ts';
import { asText } from '../planners/values.ts';
import { resolveIntOrPercent } from '../planners/int-or-percent.ts';
import { MOST_REPLICAS, isReplicas } from '../planners/replication-controller.ts';
import { isMoreThanAll } from '../planners/rolling-update-scale.ts';
import { controllerOfFile } from '../planners/rolling-update-definition.ts';
import { ROLLING_UPDATE } from '../planners/names.ts';
import type { JsonObject } from '../planners/objects.ts';
import type { ControllerManifest, UpdateRecord } from '../planners/rolling-update-record.ts';
import { DEFAULT_STATE } from '../planners/rolling-update-record.ts';
import type { StartRequest, WantedChange } from '../planners/rolling-update-start.ts';
import { controllerName } from './controller-argument.ts';
import { CliError, EXIT } from './exit-codes.ts';
import type { Call, Io } from './io.ts';
import { OBJECT_NAME } from './workload-argument.ts';

export interface RollingUpdateOptions {
  readonly image?: string;
  readonly container?: string;
  readonly filename?: string;
  readonly deploymentLabelKey: string;
  /** Milliseconds. */
  readonly updatePeriod?: number;
  /** Milliseconds. */
  readonly pollInterval?: number;
  readonly maxSurge?: string;
  readonly maxUnavailable?: string;
  readonly rollback?: boolean;
  readonly dryRun?: boolean;
  readonly by?: string;
  readonly reason?: string;
}

/** A command line, understood. */
export interface RollingUpdateRequest {
  readonly name: string;
  /** As typed, or the name of the controller in the file. */
  readonly newName: string | undefined;
  /** As typed. */
  readonly file?: string | undefined;
  readonly start: StartRequest;
  readonly settings: UpdateSettings;
  /** Those that were typed. */
  readonly typed: Partial<UpdateSettings>;
}

/** @throws CliError (usage) for flags that do not go together, files that hold no controller, and amounts that are none */
export async function readRequest(
  { io, operands, options }: Call<RollingUpdateOptions>,
  namespace: string,
): Promise<RollingUpdateRequest> {
  for (const operand of operands) refuseOtherKind(operand, options.image);
  const [name = '', typed, ...more] = operands.map((operand) =>
    operand.replace(/^(rc|replicationcontrollers?)\//, ''),
  );
  if (more.length > 0) throw usage(`two controllers at the most: ${operands.join(' ')}`);
  for (const one of [name, ...(typed === undefined ? [] : [typed])]) {
    if (!OBJECT_NAME.test(one)) throw usage(`"${one}" cannot be the name of a ReplicationController`);
  }
  if (typed === name)
    throw usage(`${name} cannot be replaced by a controller of the same name: leave the second one out`);
  const { image, filename, container, rollback = false } = options;
  if (image !== undefined && filename !== undefined) throw usage('--image or -f, not both');
  if (rollback && (image ?? filename) !== undefined) throw usage('--rollback takes no --image and no -f');
  if (container === '') throw usage('--container: the name of a container is missing');
  if (container !== undefined && image === undefined)
    throw usage('--container says which container gets the --image');
  const change = await readChange(options, namespace, io);
  const inFile = change.kind === 'manifest' ? change.manifest.metadata.name : undefined;
  if (inFile !== undefined && typed !== undefined && typed !== inFile) {
    throw usage(`the file is about ${inFile}, the command line about ${typed}`);
  }
  const newName = typed ?? (inFile === name ? undefined : inFile);
  return {
    name,
    newName,
    file: filename,
    start: { change, newName, key: options.deploymentLabelKey },
    ...readSettings(options),
  };
}

/** Somebody means a workload of another kind, which needs no rolling update of ours. */
function refuseOtherKind(operand: string, image = 'CONTAINER=IMAGE'): void {
  if (!operand.includes('/') || controllerName(operand) !== undefined) return;
  throw usage(
    `rolling-update is for ReplicationControllers, and ${operand} is none\n` +
      `  fairlead set image ${operand} ${shellWord(image.includes('=') ? image : `*=${image}`)}`,
  );
}

async function readChange(
  { image, container, filename }: RollingUpdateOptions,
  namespace: string,
  io: Io,
): Promise<WantedChange> {
  if (image !== undefined) {
    if (image === '' || /\s/.test(image)) throw usage(`"${image}" is no image`);
    return { kind: 'image', image, container };
  }
  if (filename === undefined) return { kind: 'none' };
  return { kind: 'manifest', manifest: await readManifest(filename, namespace, io) };
}

/** Milliseconds. */
const LONGEST_POLL_MS = 3_600_000;
const LONGEST_PERIOD_MS = 168 * 3_600_000;

/** By the system's code. */
const WHY_UNREAD: Readonly<Record<string, string | undefined>> = {
  ENOENT: 'there is no such file',
  EISDIR: 'it is a directory, not the file of a ReplicationController',
};

async function readManifest(file: string, namespace: string, io: Io): Promise<ControllerManifest> {
  if (/^https?:\/\//i.test(file))
    throw usage(`${file}: URLs are not read: get it yourself, and give the file, or - for standard input`);
  let text: string;
  try {
    // By its stream: what is a socket, or of another user, cannot be opened by its name.
    text =
      file === '-'
        ? await readStream(addAbortSignal(io.interrupted, process.stdin))
        : await readFile(file, 'utf8');
  } catch (error) {
    // The system's own sentence names the file again.
    const why = WHY_UNREAD[errorCode(error) ?? ''] ?? toMessage(error).replace(`, open '${file}'`, '');
    throw new CliError(`${file}: ${why}`, EXIT.usage, { cause: error });
  }
  const { documents, problems } = readYaml(text);
  const [problem] = problems;
  const shown = file === '-' ? 'standard input' : file;
  if (problem !== undefined) throw usage(`${shown}:${String(problem.line)}: ${problem.message}`);
  // `kubectl get rc -l … -o json` prints a List, also of one.
  const [document, ...others] = documents.flatMap(objectsOf);
  const value = document?.value;
  if (
    !isMapping(value) ||
    others.length > 0 ||
    value['apiVersion'] !== 'v1' ||
    value['kind'] !== 'ReplicationController'
  ) {
    throw usage(`${shown} must hold one ReplicationController (apiVersion: v1) and nothing else`);
  }
  const [metadata, spec] = [withoutNulls(value['metadata']), withoutNulls(value['spec'])];
  if (typeof metadata['name'] !== 'string' || !saysPod(spec['template'])) {
    throw usage(
      `${shown}: the ReplicationController needs metadata.name and spec.template.spec.containers, a list of mappings`,
    );
  }
  for (const field of ['labels', 'annotations']) {
    if (metadata[field] !== undefined && !isMapping(metadata[field]))
      throw usage(`${shown}: metadata.${field} must be a mapping of names to values`);
  }
  const { replicas } = spec;
  if (replicas !== undefined && !isReplicas(replicas)) {
    throw usage(
      `${shown}: spec.replicas must be a whole number from 0 to ${String(MOST_REPLICAS)}, without quotes`,
    );
  }
  const written = asText(metadata['namespace']) ?? namespace;
  if (written !== namespace) {
    throw usage(`${shown} is of namespace ${written}: choose it with -n`);
  }
  return controllerOfFile(
    trusted<ControllerManifest>({ ...value, metadata: { ...metadata, namespace }, spec }),
  );
}

/** Whatever else is in it the apiserver tells; without containers there is nothing to compare. */
function saysPod(template: unknown): boolean {
  const containers = isMapping(template) && isMapping(template['spec']) && template['spec']['containers'];
  return Array.isArray(containers) && containers.every(isMapping);
}

/** As the apiserver takes it, to which a field that is left empty is one that is absent. */
function withoutNulls(fields: unknown): JsonObject {
  if (!isMapping(fields)) return {};
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}

function readSettings({
  maxSurge,
  maxUnavailable,
  updatePeriod,
  pollInterval,
}: RollingUpdateOptions): Pick<RollingUpdateRequest, 'settings' | 'typed'> {
  if (pollInterval === 0) throw usage('--poll-interval must be longer than 0');
  if (pollInterval !== undefined && pollInterval > LONGEST_POLL_MS)
    throw usage('--poll-interval must be at most 1h: so long nobody looks whether pods are ready');
  if (updatePeriod !== undefined && updatePeriod > LONGEST_PERIOD_MS)
    throw usage('--update-period must be at most 168h');
  const typed = {
    ...(maxSurge !== undefined && { surge: readAmount('--max-surge', maxSurge) }),
    ...(maxUnavailable !== undefined && { unavailable: readAmount('--max-unavailable', maxUnavailable) }),
    ...(updatePeriod !== undefined && { updatePeriodMs: updatePeriod }),
    ...(pollInterval !== undefined && { pollIntervalMs: pollInterval }),
  };
  if (maxUnavailable !== undefined && isMoreThanAll(maxUnavailable))
    throw usage(`--max-unavailable: "${maxUnavailable}" must not be greater than 100%`);
  const { updatePeriodMs, pollIntervalMs } = DEFAULT_STATE;
  return { settings: { updatePeriodMs, pollIntervalMs, ...typed }, typed };
}

/** Flags that were given and that the update which is attached to does not have: it keeps what it was begun with. */
export function unheeded(
  { typed, start }: Pick<RollingUpdateRequest, 'typed' | 'start'>,
  { state, key }: Pick<UpdateRecord, 'state' | 'key'>,
): readonly string[] {
  const { surge, unavailable, updatePeriodMs, pollIntervalMs } = typed;
  const seconds = (one: number) => `${String(one / 1_000)}s`;
  const other = (one: number | string | undefined, own: number | string, said: string) =>
    one === undefined || one === own ? [] : [said];
  // The grammar fills in a key that was not typed.
  const labelKey = start.key === ROLLING_UPDATE.deployment ? undefined : start.key;
  return [
    ...other(surge, state.surge, `--max-surge (it has ${String(state.surge)})`),
    ...other(unavailable, state.unavailable, `--max-unavailable (it has ${String(state.unavailable)})`),
    ...other(
      updatePeriodMs,
      state.updatePeriodMs,
      `--update-period (it has ${seconds(state.updatePeriodMs)})`,
    ),
    ...other(
      pollIntervalMs,
      state.pollIntervalMs,
      `--poll-interval of the run (it has ${seconds(state.pollIntervalMs)})`,
    ),
    ...other(labelKey, key, `--deployment-label-key (it has ${key})`),
  ];
}

function readAmount(flag: string, text: string): number | string {
  if (/^(?:-\d+%?|\d{7,}%?)$/.test(text))
    throw usage(`${flag}: "${text}" must be from 0 to 999999, or a percentage like "25%"`);
  const amount = /^\d{1,6}$/.test(text) ? Number(text) : text;
  try {
    resolveIntOrPercent(amount, 1, 'up');
    return amount;
  } catch (error) {
    throw new CliError(`${flag}: ${toMessage(error)}`, EXIT.usage, { cause: error });
  }
}

function usage(message: string): CliError {
  return new CliError(message, EXIT.usage);
}
