/** The judge is judged: legal streams pass, and each kind of violation is named. */

import { describe, expect, it } from '@jest/globals';

import { judge } from '../../support/budget-checker.ts';
import type { BudgetReport, JudgeOptions, Violation } from '../../support/budget-checker.ts';
import { readAuditLine } from '../../support/budget-evidence.ts';
import type { SetDescription } from './evidence-builder.ts';
import { EvidenceBuilder } from './evidence-builder.ts';

function verdict(evidence: EvidenceBuilder, options: JudgeOptions = {}): BudgetReport {
  // Deliveries of two watches interleave as they like; only versions count.
  const shuffled = [...evidence.observations].reverse();
  return judge(shuffled, evidence.writes, options);
}

function rules(evidence: EvidenceBuilder, options: JudgeOptions = {}): readonly Violation['rule'][] {
  return verdict(evidence, options).violations.map(({ rule }) => rule);
}

function cluster(): EvidenceBuilder {
  return new EvidenceBuilder().set({ replicas: 4, maxUnavailable: 2 }).readyPods(4);
}

describe('deletes and the budget', () => {
  it('allows as many Ready pods as maxUnavailable, and the next ones when others are back', () => {
    const evidence = cluster()
      .set({ image: 'app:2' })
      .delete(3)
      .delete(2)
      .gone(3)
      .create(3)
      .change(3, { ready: true })
      .delete(1);

    expect(verdict(evidence)).toMatchObject({ deletes: 3, patches: 0, charged: 3, violations: [] });
  });

  it('names the write that takes one pod too many', () => {
    const { violations } = verdict(cluster().delete(3).delete(2).delete(1));

    expect(violations).toHaveLength(1);
    expect(violations[0]).toMatchObject({ rule: 'budget', pod: 'web-1', namespace: 'ns' });
    expect(violations[0]?.message).toContain('audit-3');
    expect(violations[0]?.message).toContain('2 of 4 were unavailable already (web-2, web-3), and 2 may be');
  });

  it('counts a second plan on a stale snapshot: four taken at once are two too many', () => {
    const evidence = cluster().delete(3).delete(2).delete(1).delete(0);

    expect(rules(evidence, { planAgeMs: 60_000 })).toEqual(['budget', 'budget']);
  });

  it('takes pods that are not Ready for free, and still counts them', () => {
    const broken = () => cluster().change(0, { ready: false }).change(1, { ready: false }).wait(5_000);

    expect(verdict(broken().delete(1).delete(0))).toMatchObject({ deletes: 2, charged: 0, violations: [] });
    expect(rules(broken().delete(3))).toEqual(['budget']);
  });

  it('counts pods that are missing', () => {
    const evidence = new EvidenceBuilder()
      .set({ replicas: 6, maxUnavailable: 2 })
      .readyPods(4)
      .wait(5_000)
      .delete(3);

    expect(rules(evidence)).toEqual(['budget']);
  });

  it('waits for minReadySeconds: a pod that is Ready for a shorter time is unavailable, and still costs one (D13 made stricter)', () => {
    const evidence = () =>
      new EvidenceBuilder()
        .set({ replicas: 4, maxUnavailable: 1, minReadySeconds: 10 })
        .readyPods(4)
        .delete(3)
        .gone(3)
        .create(3)
        .change(3, { ready: true });

    expect(rules(evidence().wait(9_000).delete(2))).toEqual(['budget']);
    expect(rules(evidence().wait(9_000).delete(3))).toEqual(['budget']);
    expect(rules(evidence().wait(10_000).delete(2))).toEqual([]);
  });

  it.each([
    ['50%', 4, 2],
    ['49%', 4, 1],
    ['10%', 4, 1],
    [3, 4, 3],
  ])('reads maxUnavailable %s of %i replicas as %i (C3)', (maxUnavailable, replicas, allowed) => {
    const evidence = new EvidenceBuilder().set({ replicas, maxUnavailable }).readyPods(replicas);
    for (let ordinal = 0; ordinal < allowed; ordinal += 1) {
      evidence.delete(ordinal);
    }
    expect(rules(evidence)).toEqual([]);
    expect(rules(evidence.delete(allowed))).toEqual(['budget']);
  });

  it('allows one pod at a time where pods are managed in order, whatever is written', () => {
    const evidence = new EvidenceBuilder()
      .set({ parallel: false, maxUnavailable: 3 })
      .readyPods(4)
      .delete(3)
      .delete(2);

    expect(rules(evidence)).toEqual(['budget']);
  });

  it('leaves scaling down out of the budget, by the replicas of that moment', () => {
    const evidence = cluster().set({ replicas: 1 }).delete(3).delete(2).delete(1);

    expect(verdict(evidence)).toMatchObject({ deletes: 0, charged: 0, violations: [] });
    expect(rules(cluster().set({ start: 2 }).delete(0).delete(1))).toEqual([]);
  });

  it('leaves finished pods out of the budget: they are replaced by need', () => {
    const evidence = cluster().change(0, { phase: 'Failed', ready: false }).wait(5_000).delete(0);

    expect(verdict(evidence)).toMatchObject({ deletes: 0, violations: [] });
  });

  it('does not judge what others do', () => {
    const evidence = cluster();
    for (const ordinal of [0, 1, 2, 3]) {
      evidence.change(ordinal, { terminating: true });
    }
    expect(verdict(evidence)).toMatchObject({ deletes: 0, violations: [] });
  });

  it('forgives a pod that failed by itself between plan and write, but not for long', () => {
    const failed = (pause: number) =>
      cluster().wait(5_000).change(0, { ready: false }).change(1, { ready: false }).wait(pause).delete(3);

    expect(rules(failed(300))).toEqual([]);
    expect(rules(failed(1_500))).toEqual(['budget']);
    expect(rules(failed(300), { planAgeMs: 0 })).toEqual(['budget']);
  });
});

describe('nothing is deleted twice', () => {
  it('names a second delete of one uid', () => {
    expect(rules(cluster().delete(3).deleteAgain(3))).toEqual(['deleted twice']);
  });

  it('names a pod that was deleted and came back as it was', () => {
    const { violations } = verdict(cluster().delete(3).gone(3).create(3, { revision: 'a' }));

    expect(violations).toMatchObject([{ rule: 'deleted for nothing', pod: 'web-3' }]);
  });

  it('lets it come back as it was when the template went back meanwhile (abort)', () => {
    const evidence = cluster()
      .set({ image: 'app:2' })
      .delete(3)
      .set({ image: 'app:1' })
      .gone(3)
      .create(3, { revision: 'a' });

    expect(rules(evidence)).toEqual([]);
  });

  it('forgives a template that went back between plan and write, but not for long', () => {
    const backAndForth = (pause: number) =>
      cluster()
        .set({ image: 'app:2' })
        .set({ image: 'app:1' })
        .wait(pause)
        .delete(3)
        .gone(3)
        .create(3, { revision: 'a' });

    expect(rules(backAndForth(300))).toEqual([]);
    expect(rules(backAndForth(1_500))).toEqual(['deleted for nothing']);
    expect(rules(backAndForth(300), { planAgeMs: 0 })).toEqual(['deleted for nothing']);
  });

  it('names a pod that came back as it was although the template had just gone on', () => {
    const evidence = cluster()
      .set({ image: 'app:2' })
      .wait(300)
      .delete(3)
      .gone(3)
      .create(3, { revision: 'a' });

    expect(rules(evidence)).toEqual(['deleted for nothing']);
  });

  it('sees a delete that took effect at once', () => {
    expect(verdict(cluster().deleteAtOnce(3).deleteAtOnce(2))).toMatchObject({
      deletes: 2,
      charged: 2,
      violations: [],
    });
    expect(rules(cluster().deleteAtOnce(3).deleteAtOnce(2).deleteAtOnce(1))).toEqual(['budget']);
  });
});

describe('updates in place', () => {
  const gated = () => new EvidenceBuilder().set({ maxUnavailable: 2 }).readyPods(4, { gate: 'True' });
  const begin = (evidence: EvidenceBuilder, ordinal: number) =>
    evidence.patch(ordinal, { gate: 'False', ready: false, mark: 'b' });
  const apply = (evidence: EvidenceBuilder, ordinal: number) =>
    evidence.patch(ordinal, { revision: 'b', image: 'app:2' });
  const restart = (evidence: EvidenceBuilder, ordinal: number) =>
    evidence.change(ordinal, { running: false }).change(ordinal, { running: true, containerID: 'c1' });
  const finish = (evidence: EvidenceBuilder, ordinal: number) => {
    const state = { gate: 'True' } as const;
    return evidence.patch(ordinal, state).change(ordinal, { ready: true });
  };

  it('passes the four steps, and charges only the first', () => {
    const evidence = gated();
    for (const ordinal of [3, 2]) {
      finish(restart(apply(begin(evidence, ordinal), ordinal), ordinal), ordinal);
    }
    expect(verdict(evidence)).toMatchObject({ deletes: 0, patches: 4, charged: 2, violations: [] });
  });

  it('names the beginning that takes one pod too many', () => {
    const evidence = gated();
    for (const ordinal of [3, 2, 1]) {
      begin(evidence, ordinal);
    }
    expect(rules(evidence)).toEqual(['budget']);
  });

  it('names an image that was patched while the pod was in service', () => {
    expect(rules(apply(gated(), 3))).toEqual(['in-place order']);
    expect(rules(apply(gated().patch(3, { gate: 'False', mark: 'b' }), 3))).toEqual(['in-place order']);
  });

  it('names a gate that opened before the new container ran', () => {
    const opened = (state: { readonly running?: boolean; readonly containerID?: string }) =>
      apply(begin(gated(), 3), 3).change(3, state).patch(3, { gate: 'True' });

    expect(rules(opened({}))).toEqual(['in-place order']);
    expect(rules(opened({ running: false }))).toEqual(['in-place order']);
    expect(rules(opened({ running: true, containerID: 'c1' }))).toEqual([]);
  });

  it('lets the gate open when the change was taken back before kubelet saw it', () => {
    const evidence = apply(begin(gated(), 3), 3)
      .patch(3, { revision: 'a', image: 'app:1', mark: 'a' })
      .patch(3, { gate: 'True' });

    expect(rules(evidence)).toEqual([]);
  });

  it('does not charge labels of identity, adoption, or the first opening of the gate', () => {
    const evidence = new EvidenceBuilder()
      .set({ maxUnavailable: 1 })
      .readyPods(4)
      .patch(0, { gate: 'True' })
      .patch(1, { gate: 'True' });

    expect(verdict(evidence)).toMatchObject({ patches: 0, charged: 0, violations: [] });
  });

  it('charges metadata of a Ready pod', () => {
    const evidence = new EvidenceBuilder()
      .set({ maxUnavailable: 1 })
      .readyPods(4)
      .change(0, { ready: false })
      .wait(5_000);

    expect(rules(evidence.patch(3, { revision: 'b' }))).toEqual(['budget']);
  });
});

describe('pods of a DaemonSet', () => {
  const daemons = (description: SetDescription = {}) =>
    new EvidenceBuilder('DaemonSet').nodes(4).set(description).readyDaemons(4);
  /** The successor of a pod, on the same node under another name. */
  const successor = (evidence: EvidenceBuilder, ordinal: number, ready = true) =>
    evidence.create(ordinal + 10, { node: `node-${String(ordinal)}` }).change(ordinal + 10, { ready });

  it('counts nodes: a slot is free when the successor on the same node is Ready', () => {
    const replaced = successor(daemons({ maxUnavailable: 2 }).delete(3).delete(2).gone(3), 3);

    expect(verdict(replaced.delete(1))).toMatchObject({ deletes: 3, patches: 0, charged: 3, violations: [] });
  });

  it('names the delete that takes one node too many', () => {
    const { violations } = verdict(daemons({ maxUnavailable: 2 }).delete(3).delete(2).delete(1));

    expect(violations).toMatchObject([{ rule: 'budget', pod: 'web-1' }]);
    expect(violations[0]?.message).toContain('2 of 4 were unavailable already (web-2, web-3), and 2 may be');
  });

  it.each([
    ['26%', 2],
    ['25%', 1],
    [0, 1],
  ])('reads maxUnavailable %s of 4 nodes as %i, rounded up (C3)', (maxUnavailable, allowed) => {
    const evidence = daemons({ maxUnavailable });
    for (let ordinal = 0; ordinal < allowed; ordinal += 1) {
      evidence.delete(ordinal);
    }
    expect(rules(evidence)).toEqual([]);
    expect(rules(evidence.delete(allowed))).toEqual(['budget']);
  });

  it('leaves nodes that are not for it out of the budget (D1, D9)', () => {
    const evidence = new EvidenceBuilder('DaemonSet').nodes(4, 2).set({ maxUnavailable: 1 }).readyDaemons(4);

    expect(verdict(evidence.delete(0).delete(1).delete(2))).toMatchObject({ deletes: 1, violations: [] });
    expect(rules(evidence.delete(3))).toEqual(['budget']);
  });

  it('forgives a node that joined between plan and write, but not for long', () => {
    const joined = (pause: number) =>
      daemons({ maxUnavailable: 1 }).wait(5_000).node('node-9').wait(pause).delete(3);

    expect(rules(joined(300))).toEqual([]);
    expect(rules(joined(1_500))).toEqual(['budget']);
  });

  it('names a second pod on a node without a surge, also beside one that is terminating (D6)', () => {
    expect(rules(successor(daemons(), 3))).toEqual(['too many on a node']);
    expect(rules(successor(daemons().delete(3), 3))).toEqual(['too many on a node']);
    expect(rules(successor(daemons().delete(3).gone(3), 3))).toEqual([]);
  });

  it('allows a second pod on so many nodes as maxSurge says, and the old one goes for nothing (D16)', () => {
    const surging = () => daemons({ maxUnavailable: 0, maxSurge: 1 });

    expect(verdict(successor(surging(), 3).delete(3))).toMatchObject({
      deletes: 1,
      charged: 0,
      violations: [],
    });
    expect(rules(successor(successor(surging(), 3, false), 2, false))).toEqual(['too many on a node']);
    expect(rules(successor(successor(surging(), 3), 2, false))).toEqual([]);
    expect(rules(successor(surging(), 3, false).wait(5_000).delete(3))).toEqual(['budget']);
  });

  it('names a third pod on a node, whatever the surge', () => {
    const evidence = successor(daemons({ maxUnavailable: 0, maxSurge: 4 }), 3);

    expect(rules(evidence.create(23, { node: 'node-3' }))).toEqual(['too many on a node']);
  });
});

describe('what the judge cannot see', () => {
  it('refuses to judge when a write is missing among the events', () => {
    const evidence = cluster().delete(3);

    expect(() => judge(evidence.observations.slice(0, -1), evidence.writes)).toThrow('the checker was blind');
  });

  it('reads a delete from the audit log, and nothing else', () => {
    const event = {
      auditID: 'x',
      stage: 'ResponseComplete',
      verb: 'delete',
      requestURI: '/api/v1/namespaces/ns/pods/web-1',
      user: { username: 'worker' },
      objectRef: { resource: 'pods', namespace: 'ns', name: 'web-1', apiVersion: 'v1' },
      responseStatus: { code: 200 },
      requestReceivedTimestamp: '2026-01-01T00:00:00.123456Z',
      responseObject: { metadata: { name: 'web-1', uid: 'u', resourceVersion: '7' } },
    };
    const read = (change: object) =>
      readAuditLine(JSON.stringify({ ...event, ...change }), (user) => user === 'worker');

    expect(read({})).toMatchObject({ verb: 'delete', uid: 'u', resourceVersion: '7', name: 'web-1' });
    expect(read({ user: { username: 'kwok' } })).toBeUndefined();
    expect(read({ responseStatus: { code: 409 } })).toBeUndefined();
    expect(read({ verb: 'create' })).toBeUndefined();
    expect(read({ requestURI: '/api/v1/namespaces/ns/pods/web-1?dryRun=All' })).toBeUndefined();
    expect(() => read({ responseObject: undefined })).toThrow('does not hold the answer');
  });
});
