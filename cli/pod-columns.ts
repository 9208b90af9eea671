/** Pods as lines of a tree: which columns there is room for, and how wide they are. Pure. */

import stringWidth from 'string-width';

import { oneLine } from '../kubernetes/safe-text.ts';
import type { Colors } from './colors.ts';
import { ageOf } from './durations.ts';
import { cutToEnd } from './table.ts';
import type { PodLine } from './watch-view.ts';

interface PodCell {
  readonly value: (pod: PodLine, now: number) => string;
  readonly paint?: (text: string, pod: PodLine, colors: Colors) => string;
  /** Left away in a window too narrow for all, the lowest first. @default never */
  readonly worth?: number;
}

export interface PodColumn extends PodCell {
  readonly width: number;
}

const UID_LENGTH = 8;
const GAP = '  ';
/** Of a name that is cut: enough to tell pods apart by its end. */
const LEAST_NAME_COLUMNS = 9;

const TROUBLE = /BackOff|Err|Failed|Unknown|OOM|ExitCode|Invalid/;

function paintReadiness(text: string, pod: PodLine, colors: Colors): string {
  return (pod.ready ? colors.good : TROUBLE.test(pod.status) ? colors.bad : colors.busy)(text);
}

const POD_CELLS: readonly PodCell[] = [
  { value: ({ name }) => oneLine(name) },
  {
    value: ({ uid }) => oneLine(uid.slice(0, UID_LENGTH)),
    paint: (text, _pod, colors) => colors.dim(text),
    worth: 2,
  },
  { value: ({ containers }) => containers, paint: paintReadiness },
  { value: ({ status }) => oneLine(status), paint: paintReadiness },
  { value: ({ images }) => oneLine(images.map(shortImage).join(',')), worth: 5 },
  { value: ({ node }) => oneLine(node), worth: 1 },
  {
    value: ({ restarts }) =>
      restarts === 0 ? '' : `${String(restarts)} ${restarts === 1 ? 'restart' : 'restarts'}`,
    worth: 4,
  },
  { value: ({ createdAt }, now) => ageOf(createdAt, now), worth: 3 },
];

/**
 * The columns that there is room for, as wide as their widest cell; the name gives up what is still too much.
 *
 * @param columns Of the terminal, without what stands before a pod
 * @param now Milliseconds since the epoch
 */
export function podLayout(pods: readonly PodLine[], columns: number, now: number): readonly PodColumn[] {
  const all = POD_CELLS.map((cell): PodColumn => {
    const width = Math.max(0, ...pods.map((pod) => stringWidth(cell.value(pod, now))));
    return { ...cell, width };
  });
  const worths = all.flatMap(({ worth }) => worth ?? []).sort((a, b) => a - b);
  const layouts = [0, ...worths].map((least) =>
    all.filter(({ worth }) => worth === undefined || worth > least),
  );
  return layouts.find((layout) => widthOf(layout) <= columns) ?? narrowed(layouts.at(-1) ?? all, columns);
}

function widthOf(layout: readonly PodColumn[]): number {
  return layout.reduce((sum, { width }) => sum + width + GAP.length, -GAP.length);
}

/** With a name cut to what is left; more than `columns` if not even a few letters of it have room. */
function narrowed([name, ...others]: readonly PodColumn[], columns: number): readonly PodColumn[] {
  if (name === undefined) return others;
  const room = columns - widthOf(others) - GAP.length;
  return [{ ...name, width: Math.min(name.width, Math.max(LEAST_NAME_COLUMNS, room)) }, ...others];
}

/** The cells of a pod under each other's, coloured. `now` in milliseconds since the epoch. */
export function formatPod(
  pod: PodLine,
  layout: readonly PodColumn[],
  { now, colors }: { readonly now: number; readonly colors: Colors },
): string {
  const cells = layout.map(({ value, width, paint }) => {
    const text = cutToEnd(value(pod, now), width);
    const padded = text + ' '.repeat(width - stringWidth(text));
    return paint === undefined ? padded : paint(padded, pod, colors);
  });
  return cells.join(GAP).trimEnd();
}

/** `registry.example/team/web:1.2@sha256:…` → `web:1.2`. */
export function shortImage(image: string): string {
  const [path = '', digest] = image.split('@');
  const name = path.slice(path.lastIndexOf('/') + 1);
  return digest === undefined || name.includes(':') ? name : `${name}@${digest.slice(0, 15)}`;
}
