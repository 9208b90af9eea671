import { describe, expect, it } from '@jest/globals';

import { ageOf, formatAge, parseDuration } from '../../../cli/durations.ts';
import { parseImages } from '../../../cli/set-image.ts';
import { formatWorkload, parseKindArgument, parseWorkloadArgument } from '../../../cli/workload-argument.ts';

describe('KIND/NAME', () => {
  it.each([
    ['sts/web', 'fairlead.dev/v1beta1', 'statefulset.fairlead.dev/web'],
    ['sts/web', 'apps/v1', 'statefulset.apps/web'],
    ['StatefulSet/web', 'apps/v1', 'statefulset.apps/web'],
    ['statefulsets/web', 'apps/v1', 'statefulset.apps/web'],
    ['fsts/web', 'apps/v1', 'statefulset.fairlead.dev/web'],
    ['statefulset.fairlead.dev/web', 'apps/v1', 'statefulset.fairlead.dev/web'],
    ['statefulsets.v1beta1.fairlead.dev/web', 'apps/v1', 'statefulset.fairlead.dev/web'],
    ['statefulsets.apps/web', 'fairlead.dev/v1beta1', 'statefulset.apps/web'],
    ['deploy/web', 'apps/v1', 'deployment.apps/web'],
    ['fdeploy/web', 'apps/v1', 'deployment.fairlead.dev/web'],
    ['sts.v1.apps/web.example', 'fairlead.dev/v1beta1', 'statefulset.apps/web.example'],
  ] as const)('%s with %s configured means %s', (text, api, expected) => {
    expect(formatWorkload(parseWorkloadArgument(text, api))).toBe(expected);
  });

  it.each([
    ['web', 'names no object: write KIND/NAME, for example sts/web or rc/web'],
    ['sts/', 'names no object'],
    ['/web', 'is no kind of workload'],
    ['job/web', 'is no kind of workload that Fairlead rolls out: statefulset (sts, fsts)'],
    ['job/web', ', replicationcontroller (rc)'],
    ['sts/We_b', 'cannot be the name of a workload'],
    ['sts/web/x', 'cannot be the name of a workload'],
    ['sts/..', 'cannot be the name of a workload'],
    ['sts.batch/web', 'the API group must be fairlead.dev or apps'],
    ['fsts.apps/web', 'write sts.apps for the native kind'],
  ])('%s is refused as usage', (text, message) => {
    expect(() => parseWorkloadArgument(text, 'apps/v1')).toThrow(
      expect.objectContaining({ exitCode: 2, message: expect.stringContaining(message) }),
    );
  });

  it('what it prints it accepts', () => {
    const argument = { ...parseKindArgument('fsts', 'apps/v1'), name: 'web' };
    expect(parseWorkloadArgument(formatWorkload(argument), 'apps/v1')).toEqual(argument);
  });
});

describe('durations', () => {
  it.each([
    ['0', 0],
    ['90', 90_000],
    ['500ms', 500],
    ['1m30s', 90_000],
    ['1.5h', 5_400_000],
    ['2d', 172_800_000],
  ])('%s is %d ms', (text, expected) => {
    expect(parseDuration(text)).toBe(expected);
  });

  it.each(['', '-1s', 'NaN', '1e9', '5x', 's', '1 s', '99999999999'])('"%s" is refused', (text) => {
    expect(() => parseDuration(text)).toThrow('is not a duration');
  });

  it.each([
    [-5_000, '0s'],
    [45_900, '45s'],
    [119_000, '119s'],
    [192_000, '3m12s'],
    [25 * 60_000, '25m'],
    [310 * 60_000, '5h10m'],
    [12 * 3_600_000, '12h'],
    [76 * 3_600_000, '3d4h'],
    [12 * 86_400_000, '12d'],
    [763 * 86_400_000, '2y33d'],
  ])('%d ms old is %s, as kubectl says it', (milliseconds, expected) => {
    expect(formatAge(milliseconds)).toBe(expected);
  });

  it('an unknown time has an unknown age', () => {
    expect(ageOf(undefined, 0)).toBe('<unknown>');
    expect(ageOf('yesterday', 0)).toBe('<unknown>');
  });
});

describe('set image', () => {
  it('reads CONTAINER=IMAGE, where the image may hold an equals sign', () => {
    expect([...parseImages(['app=web:1', '*=x@sha256:ab=c'])]).toEqual([
      ['app', 'web:1'],
      ['*', 'x@sha256:ab=c'],
    ]);
  });

  it.each([[['app']], [['=web']], [['app=']], [['app=a b']]])('%j is refused as usage', (pairs) => {
    expect(() => parseImages(pairs)).toThrow(expect.objectContaining({ exitCode: 2 }));
  });

  it('a container named twice is refused', () => {
    expect(() => parseImages(['app=a', 'app=b'])).toThrow('named twice');
  });
});
