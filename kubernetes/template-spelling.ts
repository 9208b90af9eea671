/**
 * Going back to a template without writing anew what is only spelled otherwise. A template of ours is stored as it was written, one
 * that comes from a revision is normalised: beside its defaults it lacks what was written but is the same as nothing, such as
 * `tty: false`. Written whole it would change fields that nobody means to change, which InPlaceOnly refuses.
 */

import { canonicalJson } from '../planners/canonical-json.ts';
import type { PodTemplate } from '../planners/objects.ts';
import { normaliseTemplate } from '../planners/template-defaults.ts';
import { asFields, trusted } from '../planners/values.ts';

/** `wanted` in the spelling of `present`: only what differs in meaning is another. Where that cannot be, `wanted` as it is. */
export function inSpellingOf(present: PodTemplate, wanted: PodTemplate): PodTemplate {
  const meaning = normaliseTemplate(wanted);
  const normal = normaliseTemplate(present);
  // A default may follow from what differs, as a pull policy from the tag of an image: then the defaults beside it are said.
  const spelled = [false, true].map((saysDefaults) =>
    trusted<PodTemplate>(respelled(present, normal, meaning, saysDefaults)),
  );
  const isMeant = (template: PodTemplate): boolean =>
    canonicalJson(normaliseTemplate(template)) === canonicalJson(meaning);
  return spelled.find(isMeant) ?? wanted;
}

/** @param normal What `written` means */
function respelled(written: unknown, normal: unknown, wanted: unknown, saysDefaults: boolean): unknown {
  if (isSame(normal, wanted)) return written ?? (saysDefaults ? wanted : undefined);
  if (Array.isArray(written) && Array.isArray(normal) && Array.isArray(wanted)) {
    const isSameLength = written.length === normal.length && normal.length === wanted.length;
    if (!isSameLength) return wanted;
    return wanted.map((item, index) => respelled(written[index], normal[index], item, saysDefaults));
  }
  const [before, meant, after] = [asFields(written), asFields(normal), asFields(wanted)];
  if (before === undefined || meant === undefined || after === undefined) return wanted;
  return Object.fromEntries(
    [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((key) => {
      const value = respelled(before[key], meant[key], after[key], saysDefaults);
      return value === undefined ? [] : [[key, value]];
    }),
  );
}

function isSame(one: unknown, other: unknown): boolean {
  return (
    one === other || (one !== undefined && other !== undefined && canonicalJson(one) === canonicalJson(other))
  );
}
