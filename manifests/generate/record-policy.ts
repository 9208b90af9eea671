/**
 * Who may write records of rolling updates. The workers carry out what a record holds with rights of their own, so a record asks for those
 * that it stands for: otherwise `create` of ControllerRevisions alone would run any pod.
 */

import { LABEL } from '../../planners/names.ts';
import { literal } from './cel.ts';

const NAME = 'fairlead-rolling-update-records';

/** The policy and its binding. */
export function recordPolicy(): readonly object[] {
  const labels = { 'app.kubernetes.io/part-of': 'fairlead' };
  const metadata = { name: NAME, labels };
  const isRecord = (object: string) =>
    `${literal(LABEL.rollingUpdate)} in dyn(${object}.metadata).?labels.orValue({})`;
  const may = (verb: string) =>
    `authorizer.group("").resource("replicationcontrollers").namespace(request.namespace).check("${verb}").allowed()`;
  const policy = {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    metadata,
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: {
        resourceRules: [
          {
            apiGroups: ['apps'],
            apiVersions: ['*'],
            operations: ['CREATE', 'UPDATE'],
            resources: ['controllerrevisions'],
          },
        ],
      },
      matchConditions: [
        {
          name: 'is-a-record',
          expression: `${isRecord('object')} || (oldObject != null && ${isRecord('oldObject')})`,
        },
      ],
      validations: [
        {
          // The garbage collector takes owners away from records, and may patch everything.
          expression: `request.operation == "CREATE" ? ${may('create')} : (${may('patch')} || ${may('update')})`,
          message: `metadata.labels[${LABEL.rollingUpdate}]: Forbidden: workers roll out what such a record holds, so whoever writes one has to be allowed to create and patch replicationcontrollers in the namespace`,
          reason: 'Forbidden',
        },
      ],
    },
  };
  const binding = {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata,
    spec: { policyName: NAME, validationActions: ['Deny'] },
  };
  return [policy, binding];
}
