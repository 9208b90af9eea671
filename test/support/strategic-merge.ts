/** Strategic merge patch, as far as the writes of planners need it. */

type Fields = Readonly<Record<string, unknown>>;

/** Merge keys of the lists that are patched; other lists are replaced. */
const MERGE_KEYS: Readonly<Record<string, string>> = {
  conditions: 'type',
  containers: 'name',
  initContainers: 'name',
  ownerReferences: 'uid',
};

/** The object with the patch applied; neither is changed. */
export function strategicMerge(object: unknown, patch: Fields): Fields {
  const result: Record<string, unknown> = { ...(isFields(object) ? object : {}) };
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) {
      delete result[key];
    } else if (Array.isArray(value)) {
      const mergeKey = MERGE_KEYS[key];
      result[key] = mergeKey === undefined ? value : mergeList(result[key], value as Fields[], mergeKey);
    } else {
      result[key] = isFields(value) ? strategicMerge(result[key], value) : value;
    }
  }
  return result;
}

function mergeList(present: unknown, patches: readonly Fields[], mergeKey: string): readonly Fields[] {
  let list = Array.isArray(present) ? (present as Fields[]) : [];
  for (const patch of patches) {
    const index = list.findIndex((element) => element[mergeKey] === patch[mergeKey]);
    if (patch['$patch'] === 'delete') {
      list = list.filter((element) => element[mergeKey] !== patch[mergeKey]);
    } else if (index < 0) {
      list = [...list, strategicMerge({}, patch)];
    } else {
      list = list.with(index, strategicMerge(list[index], patch));
    }
  }
  return list;
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
