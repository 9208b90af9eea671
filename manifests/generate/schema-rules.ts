/** CEL rules inside the CRDs, by path of the schema that they bind. */

import type { WorkloadDefinition } from './kinds.ts';

export interface SchemaRule {
  readonly rule: string;
  readonly message?: string;
  readonly messageExpression?: string;
  readonly reason: 'FieldValueForbidden' | 'FieldValueInvalid' | 'FieldValueRequired';
  readonly fieldPath?: string;
}

/** The rules of one kind. */
export function schemaRules(workload: WorkloadDefinition): Readonly<Record<string, readonly SchemaRule[]>> {
  return {
    'spec.template.spec': [
      {
        rule: '!has(self.activeDeadlineSeconds)',
        message: `activeDeadlineSeconds in ${workload.kind} is not Supported`,
        reason: 'FieldValueForbidden',
        fieldPath: '.activeDeadlineSeconds',
      },
    ],
  };
}
