/**
 * The pod template as kube-apiserver 1.36 would serve it in an apps/v1 object: defaults filled in, nulls and empty optional
 * fields gone, quantities canonical. Both workload APIs then give the same revision bytes (C9), and templates can be compared
 * by value (S6, A20).
 */

import { goShape } from './go-shape.ts';
import type { PodTemplate } from './objects.ts';
import { asFields, asList, asText, trusted } from './values.ts';
import type { Fields } from './values.ts';

const memory = new WeakMap<object, PodTemplate>();

/**
 * Normalises a template. Idempotent; the input is not changed, and the same input object gives the same output object (inputs
 * must not be changed afterwards).
 */
export function normaliseTemplate(template: PodTemplate): PodTemplate {
  const known = memory.get(template);
  if (known !== undefined) return known;
  const normal = goShape(template, 'PodTemplateSpec');
  defaultMetadata(trusted(normal['metadata']));
  defaultSpec(trusted(normal['spec']));
  const result = trusted<PodTemplate>(normal);
  memory.set(template, result);
  memory.set(result, result);
  return result;
}

const OBSOLETE_ANNOTATION = /^pod\.(?:alpha|beta)\.kubernetes\.io\/init-container(?:s|-statuses)$/;

function defaultMetadata(metadata: Fields): void {
  const annotations = asFields(metadata['annotations']);
  if (annotations === undefined) return;
  const kept = Object.entries(annotations).filter(([key]) => !OBSOLETE_ANNOTATION.test(key));
  if (kept.length === 0) delete metadata['annotations'];
  else metadata['annotations'] = Object.fromEntries(kept);
}

function defaultSpec(spec: Fields): void {
  spec['dnsPolicy'] ??= 'ClusterFirst';
  spec['restartPolicy'] ??= 'Always';
  spec['securityContext'] ??= {};
  spec['terminationGracePeriodSeconds'] ??= 30;
  spec['schedulerName'] ??= 'default-scheduler';
  // The two are aliases; the newer one wins.
  const account = spec['serviceAccountName'] ?? spec['serviceAccount'];
  if (account !== undefined) {
    spec['serviceAccountName'] = account;
    spec['serviceAccount'] = account;
  }
  for (const volume of asList(spec['volumes'])) defaultVolume(volume);
  for (const kind of ['initContainers', 'containers', 'ephemeralContainers']) {
    for (const container of asList(spec[kind])) defaultContainer(container);
  }
}

function defaultContainer(container: Fields): void {
  container['imagePullPolicy'] ??= defaultPullPolicy(asText(container['image']));
  container['terminationMessagePath'] ??= '/dev/termination-log';
  container['terminationMessagePolicy'] ??= 'File';
  for (const port of asList(container['ports'])) port['protocol'] ??= 'TCP';
  for (const variable of asList(container['env'])) {
    const source = asFields(variable['valueFrom']);
    defaultFieldRef(source);
    setDefaults(asFields(source?.['fileKeyRef']), { optional: false });
  }
  for (const probe of ['livenessProbe', 'readinessProbe', 'startupProbe'])
    defaultProbe(asFields(container[probe]));
  const lifecycle = asFields(container['lifecycle']);
  for (const hook of ['postStart', 'preStop']) defaultHttpGet(asFields(lifecycle?.[hook]));
}

function defaultProbe(probe: Fields | undefined): void {
  setDefaults(probe, { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 });
  defaultHttpGet(probe);
  setDefaults(asFields(probe?.['grpc']), { service: '' });
}

function defaultHttpGet(handler: Fields | undefined): void {
  setDefaults(asFields(handler?.['httpGet']), { path: '/', scheme: 'HTTP' });
}

function defaultFieldRef(holder: Fields | undefined): void {
  setDefaults(asFields(holder?.['fieldRef']), { apiVersion: 'v1' });
}

/** Defaults of volume sources that hold nothing but scalars. */
const VOLUME_DEFAULTS: Readonly<Record<string, Fields>> = {
  hostPath: { type: '' },
  secret: { defaultMode: 0o644 },
  configMap: { defaultMode: 0o644 },
  downwardAPI: { defaultMode: 0o644 },
  projected: { defaultMode: 0o644 },
  iscsi: { iscsiInterface: 'default' },
  rbd: { pool: 'rbd', user: 'admin', keyring: '/etc/ceph/keyring' },
  azureDisk: { cachingMode: 'ReadWrite', fsType: 'ext4', readOnly: false, kind: 'Shared' },
  scaleIO: { storageMode: 'ThinProvisioned', fsType: 'xfs' },
};

function defaultVolume(volume: Fields): void {
  if (Object.keys(volume).every((key) => key === 'name')) volume['emptyDir'] = {};
  for (const [source, defaults] of Object.entries(VOLUME_DEFAULTS))
    setDefaults(asFields(volume[source]), defaults);
  for (const item of asList(asFields(volume['downwardAPI'])?.['items'])) defaultFieldRef(item);
  for (const source of asList(asFields(volume['projected'])?.['sources'])) {
    for (const item of asList(asFields(source['downwardAPI'])?.['items'])) defaultFieldRef(item);
    setDefaults(asFields(source['serviceAccountToken']), { expirationSeconds: 3600 });
  }
  const claim = asFields(asFields(volume['ephemeral'])?.['volumeClaimTemplate']);
  setDefaults(asFields(claim?.['spec']), { volumeMode: 'Filesystem' });
  const image = asFields(volume['image']);
  setDefaults(image, { pullPolicy: defaultPullPolicy(asText(image?.['reference'])) });
}

/** `Always` for the tag `latest`, also an implied one; `IfNotPresent` for any other tag and for digests (A20). */
export function defaultPullPolicy(image: string | undefined): 'Always' | 'IfNotPresent' {
  return tagOf(image ?? '') === 'latest' ? 'Always' : 'IfNotPresent';
}

const REFERENCE =
  /^(?:(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9.-]*[a-zA-Z0-9]|\[[a-fA-F0-9:]+\])(?::\d+)?\/)?[a-z0-9]+(?:(?:[._/]|__|-+)[a-z0-9]+)*(?::(?<tag>\w[\w.-]{0,127}))?(?:@(?<digest>[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}))?$/;

/** The tag of an image; `latest` if it has neither tag nor digest; empty if it has a digest only or is no valid reference. */
function tagOf(image: string): string {
  const groups = REFERENCE.exec(image)?.groups;
  if (groups === undefined) return '';
  return groups['tag'] ?? (groups['digest'] === undefined ? 'latest' : '');
}

function setDefaults(fields: Fields | undefined, defaults: Fields): void {
  if (fields === undefined) return;
  for (const [key, value] of Object.entries(defaults)) fields[key] ??= value;
}
