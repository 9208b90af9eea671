/** The one place where an error becomes words and an exit code. */

import { adviseAdmission, formatAdvice, readAdmission } from '../kubernetes/admission-refusal.ts';
import { ApiError } from '../kubernetes/api-error.ts';
import type { ResourcePath } from '../kubernetes/client.ts';
import { toMessage } from '../kubernetes/api-error.ts';
import { ConfigurationError } from '../kubernetes/configuration-error.ts';
import { KubeconfigError } from '../kubernetes/kubeconfig-files.ts';
import { resourceId } from '../kubernetes/resource-path.ts';
import type { ExitCode } from './exit-codes.ts';
import { CliError, EXIT } from './exit-codes.ts';
import type { GlobalOptions, Io } from './io.ts';
import type { Document } from './structured.ts';
import { CLI_API_VERSION, toYaml } from './structured.ts';
import { stringifyJson } from '../kubernetes/json.ts';
import { escapeUnsafe, manyLines } from '../kubernetes/safe-text.ts';
import { WishRefusedError } from '../kubernetes/wish-refused-error.ts';
import { shellWord } from '../kubernetes/shell-word.ts';
import { codeOf, remedyOf } from '../kubernetes/unreached.ts';

export interface Failure {
  /** Without `error: `, without a line feed at the end. */
  readonly message: string;
  readonly exitCode: ExitCode;
  /** Stable: what was refused, the apiserver's reason, or what the exit code means. */
  readonly code: string;
}

/** What is said where nothing more precise is known. */
const CODES: Readonly<Partial<Record<ExitCode, string>>> = {
  [EXIT.usage]: 'Usage',
  [EXIT.timeout]: 'Timeout',
  [EXIT.temporalUnreachable]: 'TemporalUnreachable',
  [EXIT.kubernetesUnreachable]: 'KubernetesUnreachable',
};

/** Words and code of anything thrown by a verb. */
export function describeFailure(error: unknown): Failure {
  if (error instanceof CliError) {
    return failure(error.message, error.exitCode, error.code);
  }
  if (error instanceof ApiError) {
    const exitCode = exitCodeOf(error);
    const isRefused = exitCode === EXIT.failed && error.reason !== '';
    const reason = error.unreached === undefined ? error.reason : codeOf(error.unreached);
    return failure(describeApiError(error), exitCode, isRefused ? reason : undefined);
  }
  const exitCode =
    error instanceof ConfigurationError
      ? EXIT.usage
      : error instanceof KubeconfigError
        ? EXIT.kubernetesUnreachable
        : EXIT.failed;
  return failure(toMessage(error), exitCode, error instanceof WishRefusedError ? error.code : undefined);
}

function failure(message: string, exitCode: ExitCode, code = CODES[exitCode] ?? 'Failed'): Failure {
  return { message: manyLines(message), exitCode, code };
}

interface FailureDocument extends Document, Failure {
  readonly kind: 'Failure';
}

/**
 * What programs read on stdout where `-o json` or `-o yaml` was asked for; people have been told on stderr. JSON is one line, for
 * those who read `watch`.
 */
export async function printFailure(
  { out }: Pick<Io, 'out'>,
  { output }: Pick<GlobalOptions, 'output'>,
  { code, message, exitCode }: Failure,
): Promise<void> {
  const document: FailureDocument = { apiVersion: CLI_API_VERSION, kind: 'Failure', code, message, exitCode };
  if (output === 'json') out(`${escapeUnsafe(stringifyJson(document))}\n`);
  if (output === 'yaml') out(await toYaml(document));
}

function exitCodeOf(error: ApiError): ExitCode {
  const hasAnswered = error.unreached !== undefined;
  const unreachable = error.status === 0 || error.status === 401 || (error.status >= 500 && !hasAnswered);
  return unreachable ? EXIT.kubernetesUnreachable : EXIT.failed;
}

function describeApiError(error: ApiError): string {
  if (error.status === 0) {
    return (
      `the apiserver does not answer: ${error.message}\n` +
      '  check `kubectl cluster-info`, --context and KUBECONFIG; `fairlead check` looks at everything'
    );
  }
  if (error.status === 401) {
    return `the apiserver does not know who you are: ${error.message}\n  renew the credentials of your kubeconfig's user`;
  }
  if (error.unreached !== undefined) {
    const { advice, command, shows } = remedyOf(error.unreached);
    return `${error.message}\n  ${advice}: ${command}   # ${shows}`;
  }
  if (error.status === 403) {
    return describeForbidden(error);
  }
  if (error.status === 404 && typeof error.path !== 'string' && !namesObject(error)) {
    return describeUnserved(error.path, error.message);
  }
  return error.message;
}

/** Whether the apiserver says that it knows the kind but not the object. */
function namesObject(error: ApiError): boolean {
  return error.details?.name !== undefined && error.details.name !== '';
}

function describeUnserved(path: ResourcePath, message: string): string {
  const what = resourceId(path);
  if (path.group !== 'fairlead.dev') {
    return message;
  }
  return (
    `this cluster does not serve ${what} (${path.group}/${path.version}): Fairlead's CRDs are not installed\n` +
    '  install them:        kubectl apply --server-side -f manifests/crds\n' +
    '  or use native kinds: --workload-api apps/v1 (or FAIRLEAD_WORKLOAD_API)'
  );
}

const RBAC = /User "([^"]+)" cannot (\w+) resource "([^"]+)" in API group "([^"]*)"/;

/** Names the rule that is missing and the commands that add it; a refusal by admission is quoted, with what to do about it. */
function describeForbidden(error: ApiError): string {
  if (typeof error.path === 'string') return error.message;
  const match = RBAC.exec(error.message);
  if (match === null) {
    const refusal = readAdmission(error.message);
    if (refusal === undefined) return error.message;
    return `${error.message}\n  ${formatAdvice(adviseAdmission(refusal, error.path.namespace ?? ''))}`;
  }
  const [, user = '', verb = '', resource = '', group = ''] = match;
  const { namespace } = error.path;
  return missingPermission({ user, verb, resource, group, namespace });
}

export interface Permission {
  readonly user: string;
  readonly verb: string;
  /** With its subresource: `pods/status`. */
  readonly resource: string;
  readonly group: string;
  readonly namespace?: string | undefined;
  /** Of the only object that it is about. */
  readonly name?: string | undefined;
}

/** What may not be done, the rule, and the commands that mend it. */
export function missingPermission(permission: Permission): string {
  const { user, verb, resource, group, namespace, name } = permission;
  const full = group === '' ? resource : `${resource}.${group}`;
  const where =
    namespace !== undefined ? `in namespace ${namespace}` : name === undefined ? 'in all namespaces' : name;
  const names = name === undefined ? '' : `, resourceNames: ["${name}"]`;
  return (
    `you (${user}) may not ${verb} ${full} ${where}\n` +
    `  missing rule: apiGroups: ["${group}"], resources: ["${resource}"]${names}, verbs: ["${verb}"]\n` +
    `  add it:       ${commandToAllow(permission)}`
  );
}

/** The commands that give it, whoever else was given it or something like it before: what they make is called after what it allows, and to whom. */
export function commandToAllow({ user, verb, resource, group, namespace, name }: Permission): string {
  const [role, binding, scope] =
    namespace === undefined
      ? ['clusterrole', 'clusterrolebinding', '']
      : ['role', 'rolebinding', ` -n ${shellWord(namespace)}`];
  const only = name === undefined ? '' : ` --resource-name=${shellWord(name)}`;
  const [plain, subresource] = resource.split('/');
  const kubectlResource = `${group === '' ? String(plain) : `${String(plain)}.${group}`}${subresource === undefined ? '' : `/${subresource}`}`;
  const called = ['fairlead', verb, kubectlResource.replace('/', '-'), name ?? []].flat().join('-');
  // A user may be called anything, an object may not.
  const bound = shellWord(`${called}-${user.replace(/[/%]/g, '-')}`);
  return (
    `kubectl create ${role} ${called}${scope} --verb=${verb} --resource=${kubectlResource}${only} --dry-run=client -o yaml | kubectl apply -f - && ` +
    `kubectl create ${binding} ${bound}${scope} --${role}=${called} ${subjectFlag(user)}`
  );
}

/** Whom the apiserver's own refusal names; undefined for one by admission. */
export function refusedUser({ message }: ApiError): string | undefined {
  return RBAC.exec(message)?.[1];
}

function subjectFlag(user: string): string {
  const account = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(user);
  return account === null
    ? `--user=${shellWord(user)}`
    : `--serviceaccount=${shellWord(`${String(account[1])}:${String(account[2])}`)}`;
}
