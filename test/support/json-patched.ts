/** What an apiserver makes of a JSON patch (RFC 6902), as far as ours go: add, replace and remove of members and of list items. */

interface Operation {
  readonly op: string;
  readonly path: string;
  readonly value?: unknown;
}

/** The object, copied, after all operations; a `test` is not judged. @throws Error for a path that leads nowhere */
export function jsonPatched<T>(object: T, operations: readonly Operation[]): T {
  const copy = structuredClone(object);
  for (const { op, path, value } of operations.filter((operation) => operation.op !== 'test')) {
    const names = path
      .split('/')
      .slice(1)
      .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'));
    const last = names.pop() ?? '';
    let parent = copy as Record<string, unknown>;
    for (const name of names) {
      const next = parent[name];
      if (typeof next !== 'object' || next === null) throw new Error(`nothing at ${path}`);
      parent = next as Record<string, unknown>;
    }
    if (op === 'remove') Reflect.deleteProperty(parent, last);
    else parent[last] = value;
  }
  return copy;
}
