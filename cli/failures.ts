/** The one place where an error becomes words and an exit code. */

import { ApiError } from '../kubernetes/api-error.ts';
import type { ResourcePath } from '../kubernetes/client.ts';
import { toMessage } from '../kubernetes/api-error.ts';
import { ConfigurationError } from '../kubernetes/configuration-error.ts';
import { KubeconfigError } from '../kubernetes/kubeconfig-files.ts';
import { resourceId } from '../kubernetes/resource-path.ts';
import type { ExitCode } from './exit-codes.ts';
import { CliError, EXIT } from './exit-codes.ts';
import { manyLines } from '../kubernetes/safe-text.ts';
import { shellWord } from '../kubernetes/shell-word.ts';

export interface Failure {
  /** Without `error: `, without a line feed at the end. */
  readonly message: string;
  readonly exitCode: ExitCode;
}

/** Words and code of anything thrown by a verb. */
export function describeFailure(error: unknown): Failure {
  if (error instanceof CliError) {
    return { message: manyLines(error.message), exitCode: error.exitCode };
  }
  if (error instanceof ApiError) {
    return { message: manyLines(describeApiError(error)), exitCode: exitCodeOf(error) };
  }
  const exitCode =
    error instanceof ConfigurationError
      ? EXIT.usage
      : error instanceof KubeconfigError
        ? EXIT.kubernetesUnreachable
        : EXIT.failed;
  return { message: manyLines(toMessage(error)), exitCode };
}

function exitCodeOf(error: ApiError): ExitCode {
  const unreachable = error.status === 0 || error.status === 401 || error.status >= 500;
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

/** Names the rule that is missing and the commands that add it; a refusal by admission is quoted as it is. */
function describeForbidden(error: ApiError): string {
  const match = RBAC.exec(error.message);
  if (match === null || typeof error.path === 'string') {
    return error.message;
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
}

/** What may not be done, the rule, and the commands that mend it. */
export function missingPermission({ user, verb, resource, group, namespace }: Permission): string {
  const full = group === '' ? resource : `${resource}.${group}`;
  const where = namespace === undefined ? 'in all namespaces' : `in namespace ${namespace}`;
  const [role, binding, scope] =
    namespace === undefined
      ? ['clusterrole', 'clusterrolebinding', '']
      : ['role', 'rolebinding', ` -n ${shellWord(namespace)}`];
  const name = `fairlead-${verb}-${resource.replace('/', '-')}`;
  const [plain, subresource] = resource.split('/');
  const kubectlResource = `${group === '' ? String(plain) : `${String(plain)}.${group}`}${subresource === undefined ? '' : `/${subresource}`}`;
  return (
    `you (${user}) may not ${verb} ${full} ${where}\n` +
    `  missing rule: apiGroups: ["${group}"], resources: ["${resource}"], verbs: ["${verb}"]\n` +
    `  add it:       kubectl create ${role} ${name}${scope} --verb=${verb} --resource=${kubectlResource} && ` +
    `kubectl create ${binding} ${name}${scope} --${role}=${name} ${subjectFlag(user)}`
  );
}

function subjectFlag(user: string): string {
  const account = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(user);
  return account === null
    ? `--user=${shellWord(user)}`
    : `--serviceaccount=${shellWord(`${String(account[1])}:${String(account[2])}`)}`;
}
