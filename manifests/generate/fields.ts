/** The fields that Fairlead adds to the schemas of `apps/v1` (design "our fields"). */

import type { Schema } from './structural-schema.ts';

export const POD_UPDATE_POLICIES = ['ReCreate', 'InPlaceIfPossible', 'InPlaceOnly'] as const;
export const ON_DEADLINE = ['Report', 'Pause', 'Rollback'] as const;

const SECONDS: Schema = { type: 'integer', format: 'int32', minimum: 0 };

const ON_DEADLINE_FIELD: Schema = {
  description: 'What happens at the deadline: Report (default), Pause or Rollback.',
  type: 'string',
  enum: ON_DEADLINE,
};

export const POD_REPLACEMENT_POLICIES = ['TerminationStarted', 'TerminationComplete'] as const;

/** Fields of `spec` of a Deployment, which has its own for pause and deadline. */
export const DEPLOYMENT_FIELDS: Readonly<Record<string, Schema>> = {
  onDeadline: ON_DEADLINE_FIELD,
  podReplacementPolicy: {
    description:
      'When the place of a pod that is being deleted is free for another: TerminationStarted (default), or ' +
      'TerminationComplete, so that there are never more pods than replicas and maxSurge, terminating ones included.',
    type: 'string',
    enum: POD_REPLACEMENT_POLICIES,
  },
};

/** Fields of `spec` that every kind has. */
export const COMMON_FIELDS: Readonly<Record<string, Schema>> = {
  paused: {
    description: 'Stops rollouts before the next pod is taken down; scaling and healing go on.',
    type: 'boolean',
  },
  progressDeadlineSeconds: {
    description: 'Seconds without progress after which onDeadline happens. Default: no deadline.',
    type: 'integer',
    format: 'int32',
  },
  onDeadline: ON_DEADLINE_FIELD,
};

/** Fields of `spec.updateStrategy.rollingUpdate` of kinds whose pods can be updated in place. */
export const IN_PLACE_FIELDS: Readonly<Record<string, Schema>> = {
  podUpdatePolicy: {
    description: 'How a pod is updated: ReCreate (default), InPlaceIfPossible or InPlaceOnly.',
    type: 'string',
    enum: POD_UPDATE_POLICIES,
  },
  inPlaceUpdateStrategy: {
    description: 'How pods are updated in place.',
    type: 'object',
    properties: {
      gracePeriodSeconds: {
        description: 'Seconds between the pod not being Ready and its containers restarting.',
        ...SECONDS,
      },
    },
  },
};

export const MAX_UNAVAILABLE: Schema = {
  description: 'Pods (or % of replicas, rounded down, at least 1) that may be unavailable. Default 1.',
  'x-kubernetes-int-or-string': true,
};

const PARTITION: Schema = {
  description: 'Nodes that keep the revision that they have. Default 0.',
  type: 'integer',
  format: 'int32',
  minimum: 0,
};

export const NOT_READY_NODES = ['Ignore', 'Count'] as const;

/** Which nodes are updated, and in which order. */
export const NODE_FIELDS: Readonly<Record<string, Schema>> = {
  partition: PARTITION,
  nodeSelector: {
    description:
      'Labels of the nodes that are updated; the others keep the revision that they have. Default: all.',
    type: 'object',
    additionalProperties: {
      type: 'string',
      maxLength: 63,
      pattern: '^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$',
    },
  },
  topologyKey: {
    description:
      'Label of nodes: those of one value are updated and available before those of the next begin. Default: no order.',
    type: 'string',
    maxLength: 317,
  },
  notReadyNodes: {
    description:
      'Nodes that were not Ready before the rollout began: Ignore (default) or Count them as unavailable.',
    type: 'string',
    enum: NOT_READY_NODES,
  },
  drain: {
    description:
      'Cordons a node and evicts its other pods (but those of DaemonSets) before its pod is replaced, and uncordons it ' +
      'when the new one is available. Default: other pods stay.',
    type: 'object',
    properties: {
      timeoutSeconds: {
        description:
          'After so many seconds a node whose pods cannot be evicted is put back into service and tried again later. ' +
          'Default 300.',
        type: 'integer',
        format: 'int32',
        minimum: 1,
      },
    },
  },
  prePull: {
    description: 'Pulls new images before pods are replaced. Default: the new pod pulls.',
    type: 'object',
    properties: {
      nodes: {
        description: 'On so many nodes more than may be updated now. Default 1.',
        type: 'integer',
        format: 'int32',
        minimum: 0,
      },
      timeoutSeconds: {
        description: 'A node whose images take longer is updated without. Default 300.',
        type: 'integer',
        format: 'int32',
        minimum: 1,
      },
    },
  },
};

/** Serialised selector for the scale subresource (HPA); native objects get it from Go code. */
export const LABEL_SELECTOR: Schema = {
  description: 'The selector as a string, for the scale subresource.',
  type: 'string',
};
