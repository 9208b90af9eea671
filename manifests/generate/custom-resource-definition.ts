/** Builds the CustomResourceDefinition of one kind of the table. */

import { GROUP, VERSION } from '../../planners/names.ts';
import { schemaRules } from './schema-rules.ts';
import type { WorkloadDefinition } from './kinds.ts';
import { structuralSchema } from './structural-schema.ts';
import type { OpenApi, Schema } from './structural-schema.ts';

/** The CRD of `workload`, from the schemas of the apiserver itself. Throws if a path of the table is not in the schema. */
export function customResourceDefinition(openapi: OpenApi, workload: WorkloadDefinition): object {
  const { kind, plural, singular, shortName } = workload;
  let schema = structuralSchema(openapi, workload.definition);
  schema = {
    ...schema,
    properties: { ...schema.properties, metadata: { type: 'object' } },
    required: ['spec'],
  };
  for (const [path, fields] of Object.entries(workload.fields)) {
    schema = changed(schema, path, (target) => ({
      ...target,
      properties: { ...target.properties, ...fields },
    }));
  }
  for (const [path, value] of Object.entries(workload.defaults)) {
    schema = changed(schema, path, (target) => ({ ...target, default: value }));
  }
  for (const [path, rules] of Object.entries(schemaRules(workload))) {
    schema = changed(schema, path, (target) => ({ ...target, 'x-kubernetes-validations': rules }));
  }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${GROUP}`, labels: { 'app.kubernetes.io/part-of': 'fairlead' } },
    spec: {
      group: GROUP,
      names: {
        kind,
        listKind: `${kind}List`,
        plural,
        singular,
        shortNames: [shortName],
        categories: ['all'],
      },
      scope: 'Namespaced',
      versions: [
        {
          name: VERSION,
          served: true,
          storage: true,
          schema: { openAPIV3Schema: schema },
          subresources: {
            status: {},
            ...(workload.scalable && {
              scale: {
                specReplicasPath: '.spec.replicas',
                statusReplicasPath: '.status.replicas',
                labelSelectorPath: '.status.labelSelector',
              },
            }),
          },
          additionalPrinterColumns: workload.columns,
        },
      ],
    },
  };
}

/** A copy of `schema` in which the schema at `path` (dots; `[]` = items of a list) is replaced. */
function changed(schema: Schema, path: string, change: (target: Schema) => Schema): Schema {
  if (path === '') return change(schema);
  const [field = '', ...rest] = path.split('.');
  if (field === '[]') {
    if (schema.items === undefined) throw new Error(`no list at …${path}`);
    return { ...schema, items: changed(schema.items, rest.join('.'), change) };
  }
  const property = schema.properties?.[field];
  if (property === undefined) throw new Error(`the schema has no field ${path}`);
  return {
    ...schema,
    properties: { ...schema.properties, [field]: changed(property, rest.join('.'), change) },
  };
}
