/** Why there is a rollout: a commit, or somebody's verb over it. */

import { describe, expect, it } from '@jest/globals';

import { readStatefulSet } from '../../../kubernetes/statefulset-adapter.ts';
import type { RolloutCause } from '../../../kubernetes/template-change.ts';
import {
  causeOfObject,
  isTemplateFromGit,
  rolloutCause,
  templateChange,
} from '../../../kubernetes/template-change.ts';
import { trusted } from '../../../kubernetes/values.ts';
import { readPaused } from '../../../kubernetes/wish-annotations.ts';
import type { WorkloadObject } from '../../../kubernetes/workload-edit.ts';
import type { PodTemplate } from '../../../planners/objects.ts';

const NOW = Date.parse('2026-01-01T00:00:00Z');
const GIT = { 'fairlead.dev/commit': 'c0ffee', 'fairlead.dev/repository': 'shop' };

const template = (image: string): PodTemplate =>
  trusted<PodTemplate>({
    metadata: { labels: { app: 'web' } },
    spec: { containers: [{ name: 'main', image, imagePullPolicy: 'IfNotPresent' }] },
  });

function objectOf(image: string, annotations: Readonly<Record<string, string>>): WorkloadObject {
  return trusted<WorkloadObject>({
    apiVersion: 'fairlead.dev/v1beta1',
    kind: 'StatefulSet',
    metadata: { name: 'web', namespace: 'shop', uid: 'u', annotations },
    spec: { selector: { matchLabels: { app: 'web' } }, serviceName: 'web', template: template(image) },
  });
}

/** Applied from git, then changed by `kubectl set image`, as the apiserver keeps it. */
function setByKubectl(image: string, annotations: Readonly<Record<string, string>> = GIT): WorkloadObject {
  const object = objectOf(image, annotations);
  const fieldsV1 = { 'f:spec': { 'f:template': {} } };
  const managedFields = [
    { manager: 'fairlead', operation: 'Apply', time: '2026-01-01T00:00:00Z', fieldsV1 },
    { manager: 'kubectl-set', operation: 'Update', time: '2026-01-01T00:01:00Z', fieldsV1 },
  ];
  return trusted<WorkloadObject>({ ...object, metadata: { ...object.metadata, managedFields } });
}

function causeOf(image: string, annotations: Readonly<Record<string, string>>): RolloutCause {
  return rolloutCause(readStatefulSet(objectOf(image, annotations), 'fairlead.dev/v1beta1'));
}

/** The object came from git; then somebody changed its image to web:2. */
const undone = templateChange(
  objectOf('web:1', GIT),
  template('web:2'),
  'undo',
  { by: 'ann', reason: 'leaks memory' },
  NOW,
);

describe('the cause of a rollout', () => {
  it.each<[string, string, Readonly<Record<string, string>>, RolloutCause]>([
    ['a commit', 'web:1', GIT, { commit: 'c0ffee', repository: 'shop' }],
    ['nobody has said', 'web:1', {}, {}],
    [
      'a verb: no commit brought this template',
      'web:2',
      { ...GIT, ...undone },
      { by: 'ann', reason: 'undo: leaks memory' },
    ],
    [
      'another template since, by an unknown hand',
      'web:3',
      { ...GIT, ...undone },
      { commit: 'c0ffee', repository: 'shop' },
    ],
    [
      'a newer commit that brings the same template',
      'web:2',
      { ...GIT, ...undone, 'fairlead.dev/commit': 'beef' },
      { commit: 'beef', repository: 'shop' },
    ],
    [
      'an annotation that somebody broke',
      'web:2',
      { ...GIT, 'fairlead.dev/changed': '{"verb":' },
      { commit: 'c0ffee', repository: 'shop' },
    ],
  ])('%s', (_, image, annotations, cause) => {
    expect(causeOf(image, annotations)).toEqual(cause);
  });

  const stranger = { by: 'kubectl-set', reason: 'changed on the object, not in git' };

  it.each<[string, Readonly<Record<string, string>>, RolloutCause]>([
    ['beside the marks of git', GIT, stranger],
    ['whose undo has put those of a ReplicaSet in their place', { 'fairlead.dev/attempts': '[]' }, stranger],
    ['of what git has let go', {}, {}],
  ])('another hand than git, by the books of the apiserver, %s', (_, annotations, cause) => {
    expect(causeOfObject(setByKubectl('web:3', annotations))).toEqual(cause);
  });

  it('a verb without a reason is the reason; without git there is nothing to be over', () => {
    const change = templateChange(objectOf('web:1', {}), template('web:2'), 'set image main=web:2', {}, NOW);
    expect(causeOf('web:2', change)).toEqual({ reason: 'set image main=web:2' });
  });

  it('is never longer than Temporal takes, whatever somebody wrote into the annotations', () => {
    const long = 'x'.repeat(100_000);
    const git = causeOf('web:1', { 'fairlead.dev/commit': long, 'fairlead.dev/repository': long });
    expect([git.commit?.length, git.repository?.length]).toEqual([64, 500]);
    const change = templateChange(
      objectOf('web:1', GIT),
      template('web:2'),
      long,
      { by: long, reason: long },
      NOW,
    );
    const { by, reason } = causeOf('web:2', { ...GIT, ...change });
    expect([by?.length, reason?.length]).toEqual([500, 1_002]);
    const paused = readPaused({ 'fairlead.dev/paused': JSON.stringify({ by: long, reason: long }) }, false);
    expect([paused?.by?.length, paused?.reason?.length]).toEqual([500, 500]);
    expect(readPaused({ 'fairlead.dev/paused': long }, false)?.reason?.length).toBe(500);
  });
});

describe('the template that git gave', () => {
  const images = ['web:1', 'web:2', 'web:3'];
  const known = (object: WorkloadObject) =>
    images.filter((image) => isTemplateFromGit(object, template(image)));
  const byVerb = (object: WorkloadObject, image: string) =>
    objectOf(image, {
      ...object.metadata.annotations,
      ...templateChange(object, template(image), 'undo', { by: 'ann' }, NOW),
    });

  it('is known through any number of our verbs, until the next commit', () => {
    const first = objectOf('web:1', GIT);
    const second = byVerb(first, 'web:2');
    const third = byVerb(second, 'web:3');
    const back = byVerb(third, 'web:1');
    expect([first, second, third, back].map(known)).toEqual([['web:1'], ['web:1'], ['web:1'], ['web:1']]);
    const committed = objectOf('web:3', { ...third.metadata.annotations, 'fairlead.dev/commit': 'c1' });
    expect(known(committed)).toEqual(['web:3']);
  });

  it('is not known of what is not from git, nor after somebody else has changed it', () => {
    expect(known(objectOf('web:1', {}))).toEqual([]);
    const changed = setByKubectl('web:2');
    expect(known(changed)).toEqual([]);
    expect(known(byVerb(changed, 'web:3'))).toEqual([]);
  });
});
