/** Which errors of the apiserver end an activity for good, and which are tried again. */

import { expect, it } from '@jest/globals';
import { ApplicationFailure } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';

import { toActivityFailure } from '../../../activities/failures.ts';
import type { ProblemCode } from '../../../git/problems.ts';
import { ProblemError, problem } from '../../../git/problems.ts';
import { responseError } from '../../../kubernetes/response-errors.ts';
import { ActivityGround } from '../../support/activity-ground.ts';

const path = { group: 'apps', version: 'v1', resource: 'statefulsets', namespace: 'prod', name: 'web' };

it.each<[string, number, number, string, boolean]>([
  // Tokens are rotated, and an apiserver that has just started knows neither them nor the roles.
  ['GET', 401, 1, 'ApiUnavailable', false],
  ['PATCH', 401, 100, 'ApiUnavailable', false],
  ['GET', 403, 1, 'Forbidden', false],
  ['GET', 403, 7, 'Forbidden', false],
  ['GET', 403, 8, 'Forbidden', true],
  // What may not be read is found out by the read that comes before it.
  ['PATCH', 403, 1, 'Forbidden', true],
  ['PATCH', 400, 1, 'InvalidObject', true],
  ['PATCH', 422, 1, 'InvalidObject', true],
  ['PATCH', 413, 1, 'TooLarge', true],
  ['PATCH', 409, 1, 'ApiUnavailable', false],
  ['GET', 404, 1, 'ApiUnavailable', false],
  ['GET', 429, 1, 'ApiUnavailable', false],
  ['GET', 503, 1, 'ApiUnavailable', false],
])('%s answered with %i, attempt %i: %s, final: %s', (method, code, attempt, type, nonRetryable) => {
  const error = responseError({ method, path, server: 'https://server' }, code, '{}', undefined);
  expect(toActivityFailure(error, attempt)).toMatchObject({ type, nonRetryable });
});

it.each<[ProblemCode, boolean, string | undefined]>([
  ['SourceUnreachable', false, undefined],
  // A token that is renewed, a limit, a proxy.
  ['AuthenticationFailed', false, '30s'],
  ['RepositoryNotFound', false, '30s'],
  ['SourceRefused', false, '30s'],
  ['CommitGone', true, undefined],
])('a commit whose source answers %s, final: %s', (code, nonRetryable, nextRetryDelay) => {
  const failure = toActivityFailure(new ProblemError(problem(code, 'no.')), 1);
  expect(failure).toMatchObject({ type: code, nonRetryable, nextRetryDelay });
});

it.each([
  [1, false],
  [8, true],
])('an activity that may not read, attempt %i: final: %s', async (attempt, nonRetryable) => {
  const ground = await ActivityGround.start();
  try {
    ground.refusal = [403, 'Forbidden'];
    const { createRevision } = ground.activities;
    const environment = new MockActivityEnvironment({ attempt }, { logger: new DefaultLogger('ERROR') });
    const tried = environment.run(createRevision, ground.reference);
    const failure = await tried.catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ApplicationFailure);
    expect(failure).toMatchObject({ type: 'Forbidden', nonRetryable });
  } finally {
    await ground.stop();
  }
});
