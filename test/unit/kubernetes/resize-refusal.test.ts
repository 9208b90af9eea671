import { describe, expect, it } from '@jest/globals';

import { ApiError } from '../../../kubernetes/api-error.ts';
import { isUnresizable } from '../../../kubernetes/resize-refusal.ts';

function refusal(status: number, text: string, subresource = 'resize'): ApiError {
  const path = { group: '', version: 'v1', resource: 'pods', namespace: 'shop', name: 'web-2', subresource };
  return new ApiError({ method: 'PATCH', path, server: 'https://api' }, { status, reason: 'Refused', text });
}

describe('which pods the apiserver will not resize', () => {
  it.each([
    [422, 'Pod "web-2" is invalid: spec: Forbidden: Pod running on node without support for resize'],
    [
      403,
      `pods "web-2" is forbidden: node didn't have enough allocatable resources: cpu, requested: 9, allocatable: 8`,
    ],
    [403, 'pods "web-2" is forbidden: pod update requires features A which are not available on node "n"'],
  ])('%s %s', (status, text) => {
    expect(isUnresizable(refusal(status, text))).toBe(true);
    expect(isUnresizable(refusal(status, text, 'status'))).toBe(false);
  });

  it.each([
    [403, 'pods "web-2" is forbidden: exceeded quota: q, requested: requests.cpu=1500m'],
    [403, 'pods "web-2" is forbidden: maximum cpu usage per Container is 3, but limit is 4'],
    [403, 'pods "web-2" is forbidden: User "worker" cannot patch resource "pods/resize" in API group ""'],
    [409, 'the object has been modified'],
    [429, 'too many requests'],
    [500, 'failed calling webhook'],
  ])('but it may: %s %s', (status, text) => {
    expect(isUnresizable(refusal(status, text))).toBe(false);
  });
});
