import { describe, expect, it } from '@jest/globals';

import { readConfig } from '../../../worker/config.ts';

describe('the configuration of a worker', () => {
  it('is that of the flags, then of the environment', () => {
    const environment = {
      FAIRLEAD_CLUSTER: 'east',
      FAIRLEAD_WORKLOAD_API: 'apps/v1',
      FAIRLEAD_NAMESPACES: 'a, b',
    };
    expect(readConfig({ cluster: 'west', metricsAddress: ':9090' }, environment)).toMatchObject({
      cluster: 'west',
      workloadApi: 'apps/v1',
      namespaces: ['a', 'b'],
      metricsAddress: { host: '0.0.0.0', port: 9090 },
    });
  });

  it('takes an empty variable for one that is not set', () => {
    const names = [
      'WORKLOAD_API',
      'CLUSTER',
      'NAMESPACES',
      'METRICS_ADDRESS',
      'REPOSITORIES',
      'LEASE_NAMESPACE',
    ];
    const rest = ['CACHE_DIRECTORY', 'LOG_LEVEL', 'HISTORY_LIMIT'];
    const empty = Object.fromEntries([...names, ...rest].map((name) => [`FAIRLEAD_${name}`, '']));
    const { identity: _, ...config } = readConfig({}, { ...empty, XDG_CACHE_HOME: '' });
    const { identity: __, ...defaults } = readConfig({}, {});
    expect(config).toEqual(defaults);
  });

  it.each([
    [{ namespaces: 'a b' }, /--namespaces .*"a b"/],
    [{ namespaces: 'a,B' }, /--namespaces .*"B"/],
    [{ cluster: 'East' }, /--cluster .*"East"/],
    [{ metricsAddress: '9090' }, /--metrics-address .*"9090"/],
    [{ logLevel: 'loud' }, /--log-level .*"loud"/],
  ])('names what it cannot use: %j', (flags, message) => {
    expect(() => readConfig(flags, {})).toThrow(message);
  });
});
