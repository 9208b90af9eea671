/** The search attributes of the design, all of type Keyword. Without imports: whoever starts or checks a server needs the names alone. */

export const SEARCH_ATTRIBUTES = [
  'KubeCluster',
  'WorkloadKind',
  'WorkloadNamespace',
  'WorkloadName',
  'WorkloadRevision',
  'RolloutPhase',
  'GitCommit',
] as const;

/** Which of them the namespace knows is asked first: an unknown one would wedge the workflow task. */
export type SearchAttributeName = (typeof SEARCH_ATTRIBUTES)[number];
