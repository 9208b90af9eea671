/** Why some of upstream's tests say nothing here, whoever the controller is. */

interface Reason {
  readonly pattern: RegExp;
  readonly reason: string;
}

const NOT_HERE: readonly Reason[] = [
  {
    pattern: /should serve a basic image on each replica with a public image/,
    reason: 'asks each pod over the network for its name: no container runs here that could answer',
  },
  {
    pattern: /should serve a basic image on each replica with a private image/,
    reason: 'pulls from a private registry, and skips itself outside of the cloud that has it',
  },
  {
    pattern: /Should recreate evicted statefulset/,
    reason:
      'needs a kubelet that refuses a pod because its host port is taken: simulated nodes have no ports',
  },
  {
    pattern: /should provide basic identity/,
    reason: 'runs commands in containers: their host names, and files on volumes that outlive a pod',
  },
  {
    pattern: /should not deadlock when a pod's predecessor fails/,
    reason:
      'the file that makes a pod ready is on a volume and outlives the pod: simulated volumes hold nothing',
  },
  {
    pattern: /should creating a working (zookeeper|mysql|CockroachDB) cluster/,
    reason: 'writes to and reads from a real database; marked as for a special environment',
  },
  {
    pattern: /should not disrupt a cloud load-balancer's connectivity/,
    reason: 'needs the load balancer of a cloud',
  },
];

/** Why a test cannot pass in this cluster with any controller; undefined: it is not known to be so. */
export function whyNot(name: string): string | undefined {
  return NOT_HERE.find(({ pattern }) => pattern.test(name))?.reason;
}
