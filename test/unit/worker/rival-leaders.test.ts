/** A worker that begins to lead where others do under another name, over real HTTP. */

import { describe, expect, it } from '@jest/globals';

import { trusted } from '../../../kubernetes/values.ts';
import { keptAnnotations } from '../../../kubernetes/lease.ts';
import type { Kept } from '../../../kubernetes/lease.ts';
import type { RivalLeadersOptions } from '../../../worker/rival-leaders.ts';
import { warnOfRivals } from '../../../worker/rival-leaders.ts';
import { answer } from '../../support/watch-server.ts';
import { useWatchServer } from '../../support/watch-server-ground.ts';

const ground = useWatchServer();
const OWN: Kept = { workloadApi: 'fairlead.dev/v1beta1', namespaces: ['shop', 'web'] };

interface Other {
  readonly name?: string;
  readonly holder?: string;
  readonly keeps?: Kept | undefined;
  readonly isRenewed?: boolean;
}

/** What is told where there is such a Lease. */
async function warnings({
  name = 'fairlead-prod',
  holder = 'w-2',
  isRenewed = true,
  ...rest
}: Other): Promise<readonly unknown[]> {
  const keeps = 'keeps' in rest ? rest.keeps : { ...OWN, namespaces: undefined };
  let looks = 0;
  ground.server.intercept = (_, response) => {
    looks += 1;
    const annotations = keeps === undefined ? {} : keptAnnotations(keeps);
    const renewTime = isRenewed
      ? `2026-01-01T00:00:0${String(looks)}.000000Z`
      : '2026-01-01T00:00:00.000000Z';
    const lease = { metadata: { name, annotations }, spec: { holderIdentity: holder, renewTime } };
    answer(response, 200, { metadata: { resourceVersion: '1' }, items: [lease] });
    return true;
  };
  const told: unknown[] = [];
  await warnOfRivals({
    client: ground.client,
    config: trusted<RivalLeadersOptions['config']>({ cluster: 'c', leaseNamespace: 'system', ...OWN }),
    log: trusted<RivalLeadersOptions['log']>({ warn: (...words: unknown[]) => void told.push(words) }),
    signal: new AbortController().signal,
    waitMs: 1,
  });
  return told;
}

describe('a worker that begins to lead', () => {
  it('warns of another that renews its Lease and keeps what it keeps', async () => {
    expect(await warnings({})).toEqual([
      [
        { lease: 'system/fairlead-prod', holder: 'w-2', workloadApi: OWN.workloadApi, namespaces: undefined },
        expect.stringMatching(/^a worker of another FAIRLEAD_CLUSTER leads .+ work against each other; /),
      ],
    ]);
  });

  it.each<[string, Other]>([
    ['has died', { isRenewed: false }],
    ['was given up', { holder: '' }],
    ['is its own', { name: 'fairlead-c' }],
    ['keeps the other API', { keeps: { workloadApi: 'apps/v1', namespaces: undefined } }],
    ['keeps other namespaces', { keeps: { ...OWN, namespaces: ['tools'] } }],
    ['is not of Fairlead', { keeps: undefined }],
  ])('does not warn of a Lease that %s', async (_, other) => {
    expect(await warnings(other)).toEqual([]);
  });

  it('goes on where it may not look', async () => {
    ground.server.intercept = (_, response) => {
      answer(response, 403, { kind: 'Status', code: 403, reason: 'Forbidden', message: 'no' });
      return true;
    };
    const told: unknown[] = [];
    await warnOfRivals({
      client: ground.client,
      config: trusted<RivalLeadersOptions['config']>({ cluster: 'c', leaseNamespace: 'system', ...OWN }),
      log: trusted<RivalLeadersOptions['log']>({ debug: (...words: unknown[]) => void told.push(words) }),
      signal: new AbortController().signal,
    });
    expect(told).toHaveLength(1);
  });
});
