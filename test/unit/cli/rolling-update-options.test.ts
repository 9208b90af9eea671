import { describe, expect, it } from '@jest/globals';

import type { Call } from '../../../cli/io.ts';
import { readRequest } from '../../../cli/rolling-update-options.ts';
import type { RollingUpdateOptions } from '../../../cli/rolling-update-options.ts';
import { trusted } from '../../../kubernetes/values.ts';

describe('the operands of a rolling update', () => {
  it.each([
    ['deploy/one', { image: 'app:2' }, "fairlead set image deploy/one '*=app:2'"],
    ['sts/one', {}, 'fairlead set image sts/one CONTAINER=IMAGE'],
  ])('%s is none: the verb for it is named', async (operand, options, command) => {
    const call = trusted<Call<RollingUpdateOptions>>({ operands: [operand], options });
    await expect(readRequest(call, 'default')).rejects.toMatchObject({
      message: `rolling-update is for ReplicationControllers, and ${operand} is none\n  ${command}`,
      exitCode: 2,
    });
  });
});

describe('the file of a rolling update', () => {
  it('that is not there is named once', async () => {
    const options = { filename: '/nowhere/foo.yaml' };
    const call = trusted<Call<RollingUpdateOptions>>({ operands: ['foo'], options });
    await expect(readRequest(call, 'default')).rejects.toMatchObject({
      message: '/nowhere/foo.yaml: there is no such file',
      exitCode: 2,
    });
  });
});

describe('the budget of a rolling update', () => {
  const read = async (budget: Partial<RollingUpdateOptions>) => {
    const options = { image: 'app:2', pollInterval: 1_000, ...budget };
    return await readRequest(trusted<Call<RollingUpdateOptions>>({ operands: ['foo'], options }), 'default');
  };

  it('has no more unavailable than there are, as a Deployment; of surge it may', async () => {
    await expect(read({ maxUnavailable: '101%' })).rejects.toMatchObject({
      message: '--max-unavailable: "101%" must not be greater than 100%',
      exitCode: 2,
    });
    const settings = { unavailable: '100%', surge: '150%' };
    expect(await read({ maxUnavailable: '100%', maxSurge: '150%' })).toMatchObject({ settings });
  });
});
