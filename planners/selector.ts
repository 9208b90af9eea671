/** Label selectors, as apimachinery reads them. */

import type { LabelSelector } from './objects.ts';

type Labels = Readonly<Record<string, string>> | undefined;

/** True for `{}`, which selects everything (C16). */
export function isEmptySelector(selector: LabelSelector): boolean {
  return (
    Object.keys(selector.matchLabels ?? {}).length === 0 && (selector.matchExpressions ?? []).length === 0
  );
}

/** Whether the labels satisfy every requirement. `NotIn` and `DoesNotExist` hold for a missing key. */
export function matchesSelector(selector: LabelSelector, labels: Labels): boolean {
  for (const key in selector.matchLabels) {
    if (labels?.[key] !== selector.matchLabels[key]) return false;
  }
  return (selector.matchExpressions ?? []).every(({ key, operator, values }) => {
    const value = labels?.[key];
    switch (operator) {
      case 'In':
        return value !== undefined && values?.includes(value) === true;
      case 'NotIn':
        return value === undefined || values?.includes(value) !== true;
      case 'Exists':
        return value !== undefined;
      case 'DoesNotExist':
        return value === undefined;
    }
  });
}

/** The selector as one string with sorted keys and values: what the scale subresource and `-l` take. */
export function formatSelector(selector: LabelSelector): string {
  const equalities = Object.entries(selector.matchLabels ?? {}).map(([key, value]) => ({
    key,
    text: `${key}=${value}`,
  }));
  const expressions = (selector.matchExpressions ?? []).map(({ key, operator, values }) => {
    const list = `(${[...(values ?? [])].sort().join(',')})`;
    switch (operator) {
      case 'In':
        return { key, text: `${key} in ${list}` };
      case 'NotIn':
        return { key, text: `${key} notin ${list}` };
      case 'Exists':
        return { key, text: key };
      case 'DoesNotExist':
        return { key, text: `!${key}` };
    }
  });
  return [...equalities, ...expressions]
    .sort((a, b) => compareText(a.key, b.key))
    .map(({ text }) => text)
    .join(',');
}

function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
