import { describe, expect, it } from '@jest/globals';

import type { Call } from '../../../cli/io.ts';
import { readRequest } from '../../../cli/rolling-update-options.ts';
import type { RollingUpdateOptions } from '../../../cli/rolling-update-options.ts';
import { trusted } from '../../../kubernetes/values.ts';

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
