/** What to do about a rolling update, or its way back, that is refused. */

import { LABEL, ROLLING_UPDATE } from '../planners/names.ts';
import { partnerOf } from '../planners/replication-controller.ts';
import type { Refused, StartRefusal } from '../planners/rolling-update-refusals.ts';
import { decideRollback } from '../planners/rolling-update-rollback.ts';
import type { UpdateView } from '../planners/rolling-update-view.ts';
import { viewUpdate } from '../planners/rolling-update-view.ts';
import { CliError, EXIT } from './exit-codes.ts';
import { commandFor, laterName } from './update-state.ts';

const USAGE: readonly StartRefusal[] = ['NothingAsked', 'SeveralContainers', 'NoContainer', 'KeyTaken'];

/** The refusal with what helps, which is never a command that would be refused too. */
export function updateRefusal(view: UpdateView, { code, message, about = '' }: Refused): CliError {
  const { name, namespace, old, last } = view;
  // What has taken its place under a name of its own.
  const present = old === undefined ? (last?.to ?? name) : name;
  const explain = `\`fairlead explain rc/${name} -n ${namespace}\` says`;
  const hints: Readonly<Record<StartRefusal, string>> = {
    NotFound: isGone(view)
      ? `${explain} how it stands; when it is over, an earlier image can be rolled out`
      : (wayOfLaterName(view) ??
        `\`fairlead get rc -n ${namespace}\` shows what there is; choose a namespace with -n`),
    NoChange: 'there is nothing to do; another --image, or another template in -f FILE, rolls something out',
    NothingAsked: 'say what with --image=IMAGE or -f FILE',
    NoReplicas:
      view.state.desired > 0
        ? 'the file has `replicas: 0`: give it another number, or leave it out to keep the present size'
        : `without pods a changed template is enough; or first: kubectl scale rc/${name} --replicas=1 -n ${namespace}`,
    NoContainer: 'choose one with --container',
    SeveralContainers: 'choose one with --container',
    OtherChange: canTurn(view)
      ? `let it finish, or turn it round first: fairlead rolling-update ${name} --rollback -n ${namespace}`
      : `let it finish, it cannot go back any more: ${explain} what it waits for; then begin again`,
    RollingBack: `\`fairlead rollout status rc/${name} -n ${namespace}\` follows it; then begin again`,
    KeyTaken: `choose a key that nothing else uses: --deployment-label-key=${LABEL.deployment}`,
    TooLarge: 'keep what is large in a ConfigMap that the template mounts',
    SelectorSame: `in the file, give ${keysToDiffer(view)} a value that ${name} does not have, in spec.selector and in spec.template.metadata.labels`,
    SelectorShared: `give one of the two a selector of its own, or keep the new one's name, which needs no rename: fairlead rolling-update ${name} NEW … -n ${namespace}`,
    IsNext: wayToUpdate(view, about) ?? `${explain} how it stands`,
    OtherUpdate: 'choose another name for the next controller: fairlead rolling-update OLD NEW',
    LeftBehind: commandToDelete(about, namespace),
    NameTaken: `choose a name that is free: fairlead rolling-update ${name} NEW …, or none`,
    Renaming: `${explain} what it waits for; when it is over, the same command holds the next update`,
    NotInProgress: `to go back to an earlier image, roll it out: fairlead rolling-update ${present} --image=… -n ${namespace}`,
  };
  const exitCode = USAGE.includes(code) ? EXIT.usage : EXIT.failed;
  return new CliError(`${message} (namespace ${namespace})\n  ${hints[code]}`, exitCode, { code });
}

/** Any key of the old selector will do; the label of the update as well, which the old controller gets in any case then. */
function keysToDiffer({ old }: UpdateView): string {
  const keys = new Set([...Object.keys(old?.spec.selector ?? {}), ROLLING_UPDATE.deployment]);
  return [...keys].join(' or ');
}

/** What ends a controller that is left of an update: nothing else does. */
export function commandToDelete(name: string, namespace: string): string {
  return `delete it and its pods: kubectl delete rc ${name} -n ${namespace}`;
}

/** Updates go by the name of the old controller. Undefined where this one cannot be turned round any more. */
function wayToUpdate(view: UpdateView, name: string): string | undefined {
  if (!canTurn({ ...view, name })) return undefined;
  const whole = viewUpdate({ ...view, name, next: undefined });
  const back = `fairlead rolling-update ${name} --rollback -n ${view.namespace}`;
  return `turn it round: ${back}; or follow it: ${commandFor(whole)}`;
}

/** An update has given it another name, under which it is to be updated from then on. */
function wayOfLaterName(view: UpdateView): string | undefined {
  const later = laterName(view);
  const isThere = view.controllers.some(({ metadata }) => metadata.name === later);
  if (later === undefined || !isThere) return undefined;
  return `it has become ${later}: fairlead rolling-update ${later} … -n ${view.namespace}`;
}

/** The update may have been looked at under a name that another one was to have. */
function canTurn(view: UpdateView): boolean {
  return decideRollback(viewUpdate({ ...view, next: undefined }), {}).do !== 'refuse';
}

/** Its update goes on without it. */
function isGone({ old, nextController: next, record, name }: UpdateView): boolean {
  if (old !== undefined) return old.metadata.deletionTimestamp !== undefined;
  return record !== undefined || (next !== undefined && partnerOf(next) === name);
}
