/** Rules of annotations in Fairlead's name: wishes that can be read, settings in their place, no misspelt names. */

import { ANNOTATION, GROUP } from '../../../planners/names.ts';
import { joined, literal, literals, refusedIf } from '../cel.ts';
import { SETTINGS } from '../policy-view.ts';
import type { PolicyView, Variable } from '../policy-view.ts';

const PREFIX = literal(`${GROUP}/`);

const STRING = '"([^"\\\\\\x00-\\x1f]|\\\\.)*"';
const SCALAR = `(${STRING}|true|false|null|-?[0-9.]+)`;
const MEMBER = `\\s*${STRING}\\s*:\\s*${SCALAR}\\s*`;
/** A flat JSON object: all that wishes and pins are. CEL has no JSON parser. */
const JSON_OBJECT = `^\\s*\\{(\\s*|${MEMBER}(,${MEMBER})*)\\}\\s*$`;

/** What each wish takes besides a JSON object. */
const WISHES = [
  { key: ANNOTATION.paused, words: ['true', 'false'] },
  { key: ANNOTATION.pinned, words: ['true'] },
  { key: ANNOTATION.retried, words: ['true'] },
] as const;

/** Wishes, misplaced settings, unknown names (design §2 "operators' wishes"). */
export function annotationRules(view: PolicyView): readonly Variable[] {
  const known = knownAnnotations(view);
  return [
    ...WISHES.map(({ key, words }) => ({
      name: `${key.slice(GROUP.length + 1)}Wish`,
      expression: refusedIf(
        `${literal(key)} in variables.annotations && !(variables.annotations[${literal(key)}] in ${literals(words)}) && ` +
          `!variables.annotations[${literal(key)}].matches(${literal(JSON_OBJECT)})`,
        joined(
          literal(`metadata.annotations[${key}]: Invalid value: "`),
          `variables.annotations[${literal(key)}]`,
          literal(`": must be ${words.map((word) => `"${word}"`).join(', ')} or a JSON object `),
          literal('such as {"by": "…", "reason": "…"}'),
        ),
      ),
    })),
    ...(view.api === 'apps' ? [] : misplacedSettings(view)),
    {
      // In a pod template they would do nothing, and say nothing.
      name: 'annotationsOfTemplate',
      expression:
        `variables.template.?metadata.?annotations.orValue({})` +
        `.map(k, k in ${literals(known)}, "spec.template.metadata.annotations[" + k + "]: Forbidden: belongs to the ` +
        `workload's own metadata.annotations")`,
    },
    {
      // Only names that are new: an object that an older or newer Fairlead annotated can still be changed.
      name: 'annotationsUnknown',
      expression:
        `variables.annotations.map(k, k.startsWith(${PREFIX}) && !(k in ${literals(known)}) && ` +
        `!(k in variables.oldAnnotations), "metadata.annotations[" + k + "]: Forbidden: Fairlead knows no such annotation; ` +
        `for people are ${forPeople(view).join(', ')}")`,
    },
  ];
}

/** Every annotation of ours but the settings that the kind has not. */
function knownAnnotations({ settings }: PolicyView): readonly string[] {
  const absent = new Set<string>(
    Object.entries(SETTINGS)
      .filter(([name]) => !settings.some((setting) => setting === name))
      .map(([, { annotation }]) => annotation),
  );
  return Object.values(ANNOTATION).filter((key) => !absent.has(key));
}

/** Names without the prefix; the others are written by Fairlead alone. */
function forPeople(view: PolicyView): readonly string[] {
  const settings = view.settings.map((name) => SETTINGS[name].annotation);
  const keys = [...WISHES.map(({ key }) => key), ANNOTATION.wave, ...(view.api === 'apps' ? settings : [])];
  return keys.map((key) => key.slice(GROUP.length + 1));
}

/** A user who comes from apps/v1 must not lose settings silently. */
function misplacedSettings({ settings }: PolicyView): readonly Variable[] {
  return settings.map((name) => {
    const { field, annotation } = SETTINGS[name];
    return {
      name: `${name}Misplaced`,
      expression: refusedIf(
        `${literal(annotation)} in variables.annotations`,
        literal(
          `metadata.annotations[${annotation}]: Forbidden: read on apps/v1 objects only; use ${field} instead`,
        ),
      ),
    };
  });
}
