/**
 * What the apiserver writes into the audit log: every write, so that a checker outside of the product can judge it.
 * Of pods also the request body, which holds the preconditions of a delete and the patch itself, and the answer to those two,
 * whose resourceVersion places the write among the events of a watch. Never a Secret's or a token's body: those are at level
 * Metadata like everything else.
 */
export function auditPolicy(): string {
  const writes = ['create', 'update', 'patch', 'delete', 'deletecollection'];
  return JSON.stringify({
    apiVersion: 'audit.k8s.io/v1',
    kind: 'Policy',
    omitStages: ['RequestReceived', 'ResponseStarted'],
    omitManagedFields: true,
    rules: [
      // Heartbeats of leases and nodes would be most of the file.
      { level: 'None', users: ['kwok'], resources: [{ group: 'coordination.k8s.io' }] },
      // What the simulated kubelets report is seen in the watch.
      { level: 'Metadata', users: ['kwok'], verbs: writes },
      {
        level: 'RequestResponse',
        verbs: ['update', 'patch', 'delete'],
        resources: [{ group: '', resources: ['pods', 'pods/status', 'pods/resize'] }],
      },
      { level: 'Request', verbs: writes, resources: [{ group: '', resources: ['pods', 'pods/*'] }] },
      { level: 'Metadata', verbs: writes },
      { level: 'None' },
    ],
  });
}
