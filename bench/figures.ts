/** Everything that is measured, with the words and units in which it is printed. */

export const FIGURES = {
  seconds: { label: 'rollout: until every pod is new and ready, s', digits: 2 },
  statusSeconds: { label: 'until the status says so, s', digits: 2 },
  brokenSeconds: {
    label: 'broken revision: until every pod is new, and ready but for those that never are, s',
    digits: 2,
  },
  fixSeconds: { label: 'fix: until every pod is new and ready, s', digits: 2 },
  fixStatusSeconds: { label: 'fix: until the status says so, s', digits: 2 },
  writesPerPod: { label: 'API writes per pod', digits: 2 },
  podCreatesPerPod: { label: '… creates of pods', digits: 2 },
  podDeletesPerPod: { label: '… deletes of pods', digits: 2 },
  podPatchesPerPod: { label: '… patches of pods', digits: 2 },
  statusWritesPerPod: { label: '… status of the set', digits: 2 },
  eventsPerPod: { label: '… events', digits: 2 },
  otherWritesPerPod: { label: '… revisions and metadata', digits: 2 },
  dryRuns: { label: 'requests that only try a write (dry runs), in all', digits: 0 },
  statusWrites: { label: 'status writes in all', digits: 0 },
  failedWrites: { label: 'writes that were refused or conflicted', digits: 0 },
  mostUnavailable: { label: 'pods not ready at once, at most', digits: 0 },
  cpuSeconds: { label: 'CPU of the process, s', digits: 2 },
  maxRssMiB: { label: 'resident memory, at most, MiB', digits: 0 },
  actions: { label: 'Temporal actions (heartbeats included)', digits: 0 },
  heartbeats: { label: '… of them heartbeats', digits: 0 },
  batches: { label: 'batches', digits: 0 },
  longestGapSeconds: { label: 'longest time without a write to a pod, s', digits: 2 },
  writesPerPodOf5: { label: 'API writes per pod, 5 at a time', digits: 2 },
  writesPerPodOf10: { label: 'API writes per pod, 10 at a time', digits: 2 },
  writesPerPodOf25: { label: 'API writes per pod, 25 at a time', digits: 2 },
  writesPerPodOf50: { label: 'API writes per pod, 50 at a time', digits: 2 },
  firstWriteSeconds: { label: 'until the first pod is written, s', digits: 2 },
  pushedSeconds: { label: 'commit → first write to a pod, s', digits: 2 },
  handoverSeconds: { label: 'until the superseded run is closed, s', digits: 2 },
  resumedSeconds: { label: 'worker started again → first write to a pod, s', digits: 2 },
  outageSeconds: { label: 'killed → first write to a pod, s', digits: 2 },
  healSeconds: { label: 'a pod is killed → as many are ready again, s, the slowest of five', digits: 2 },
  planSeconds: { label: 'fairlead plan of all objects, s', digits: 2 },
  applySeconds: { label: 'first apply, s', digits: 2 },
  unchangedSeconds: { label: 'commit without a change, s', digits: 2 },
  unchangedWrites: { label: 'commit without a change: writes of objects', digits: 0 },
  changeSeconds: { label: 'commit that changes one object, s', digits: 2 },
  changeWrites: { label: 'commit that changes one object: writes of objects', digits: 0 },
  pruneSeconds: { label: 'commit that removes all objects but one, s', digits: 2 },
  helpMilliseconds: { label: 'fairlead --help, ms', digits: 0 },
  getMilliseconds: { label: 'fairlead get statefulsets, ms', digits: 0 },
} as const;

export type FigureName = keyof typeof FIGURES;

/** One run of one side. */
export type Figures = Readonly<Partial<Record<FigureName, number>>>;
