/** Pod templates that touch every rule of normalisation: defaults, zero values, quantities, aliases, odd characters. */

import type { JsonObject } from '../../planners/objects.ts';

const PORT = { containerPort: 8080 };

/** Templates by what they are about; labels `app: web` are added by the tests. */
export const RICH_TEMPLATES: Readonly<Record<string, JsonObject>> = {
  'the least that is valid': { spec: { containers: [{ name: 'main', image: 'web' }] } },
  'pull policies follow from tags': {
    spec: {
      containers: [
        'web:latest',
        'web:1',
        'registry.example:5000/team/web',
        'registry.example:5000/team/web:2',
        `web@sha256:${'0'.repeat(64)}`,
        `web:3@sha256:${'1'.repeat(64)}`,
        'Not-A-Reference',
        'localhost/web',
        'web:',
      ].map((image, index) => ({ name: `c${String(index)}`, image })),
    },
  },
  'probes, hooks, ports': {
    spec: {
      containers: [
        {
          name: 'main',
          image: 'web:1',
          ports: [PORT, { name: 'dns', containerPort: 53, protocol: 'UDP', hostPort: 0 }],
          livenessProbe: { httpGet: { port: 8080 } },
          readinessProbe: {
            grpc: { port: 9 },
            periodSeconds: 3,
            initialDelaySeconds: 0,
            failureThreshold: 0,
          },
          startupProbe: { tcpSocket: { port: 'dns' }, terminationGracePeriodSeconds: 5 },
          lifecycle: {
            postStart: { httpGet: { port: 'dns', path: '/a?b=1&c=<2>' } },
            preStop: { exec: { command: ['sh', '-c', 'sleep 1 && echo "\u2028 done" > /tmp/x'] } },
          },
          stdin: false,
          tty: true,
          securityContext: { privileged: false, runAsUser: 0, capabilities: { add: [], drop: ['ALL'] } },
        },
        { name: 'exec', image: 'web:1', livenessProbe: { exec: { command: ['true'] } }, securityContext: {} },
      ],
    },
  },
  environment: {
    metadata: { annotations: { 'example.com/note': 'a <b> & "c" \u2028 ü 🚀 \u0007\b\f\n\t', empty: '' } },
    spec: {
      containers: [
        {
          name: 'main',
          image: 'web:1',
          env: [
            { name: 'EMPTY', value: '' },
            { name: 'NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
            { name: 'CPU', valueFrom: { resourceFieldRef: { resource: 'limits.cpu' } } },
            {
              name: 'MEMORY',
              valueFrom: {
                resourceFieldRef: { containerName: 'main', resource: 'limits.memory', divisor: '1024Ki' },
              },
            },
            { name: 'SECRET', valueFrom: { secretKeyRef: { name: 's', key: 'k', optional: false } } },
            { name: 'CONFIG', valueFrom: { configMapKeyRef: { name: 'c', key: 'k' } } },
          ],
          envFrom: [
            { configMapRef: { name: 'c' } },
            { prefix: 'P_', secretRef: { name: 's', optional: true } },
          ],
          command: [],
          args: ['--flag'],
        },
      ],
    },
  },
  quantities: {
    spec: {
      containers: [
        ['1000m', '1024Mi'],
        ['0.5', '0.5Gi'],
        ['1e3', '1500M'],
        ['1.250', '128974848'],
        ['2', '1G'],
        ['100u', '1025Ki'],
        ['1.5', '100000k'],
        ['0.1', '1E'],
        ['12e2', '64e6'],
        ['+5', '512'],
        ['3.000', '2048'],
        ['0100m', '1.5Gi'],
      ].map(([cpu, memory], index) => ({
        name: `c${String(index)}`,
        image: 'web:1',
        resources: { requests: { cpu, memory } },
      })),
    },
  },
  'resources of all kinds': {
    spec: {
      overhead: {},
      containers: [
        { name: 'none', image: 'web:1', resources: { limits: {}, requests: {} } },
        {
          name: 'limits',
          image: 'web:1',
          resources: { limits: { cpu: '1', 'ephemeral-storage': '1000Mi' } },
        },
        {
          name: 'policy',
          image: 'web:1',
          resizePolicy: [{ resourceName: 'cpu', restartPolicy: 'NotRequired' }],
        },
      ],
    },
  },
  volumes: {
    spec: {
      containers: [
        {
          name: 'main',
          image: 'web:1',
          volumeMounts: [
            { name: 'empty', mountPath: '/empty', readOnly: false },
            { name: 'secret', mountPath: '/secret', subPath: 'x', readOnly: true },
          ],
        },
      ],
      volumes: [
        { name: 'empty' },
        { name: 'sized', emptyDir: { sizeLimit: '1000Mi', medium: '' } },
        { name: 'host', hostPath: { path: '/var' } },
        { name: 'secret', secret: { secretName: 's', items: [{ key: 'k', path: 'p' }] } },
        { name: 'config', configMap: { name: 'c', defaultMode: 0, optional: false } },
        {
          name: 'downward',
          downwardAPI: {
            items: [
              { path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } },
              { path: 'cpu', resourceFieldRef: { containerName: 'main', resource: 'limits.cpu' }, mode: 0 },
            ],
          },
        },
        {
          name: 'projected',
          projected: {
            sources: [
              { serviceAccountToken: { path: 'token' } },
              { downwardAPI: { items: [{ path: 'name', fieldRef: { fieldPath: 'metadata.name' } }] } },
              { configMap: { name: 'c' } },
              { secret: { name: 's', optional: true } },
            ],
          },
        },
        { name: 'claim', persistentVolumeClaim: { claimName: 'c', readOnly: false } },
        { name: 'nfs', nfs: { server: 'example.com', path: '/x' } },
        { name: 'iscsi', iscsi: { targetPortal: '10.0.0.1:3260', iqn: 'iqn.2001-04.com.example:x', lun: 0 } },
        { name: 'rbd', rbd: { monitors: ['10.0.0.1'], image: 'x' } },
        { name: 'csi', csi: { driver: 'csi.example.com', readOnly: false, volumeAttributes: {} } },
        {
          name: 'ephemeral',
          ephemeral: {
            volumeClaimTemplate: {
              metadata: { labels: { a: 'b' } },
              spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1024Mi' } } },
            },
          },
        },
        { name: 'image', image: { reference: 'data:latest' } },
        { name: 'azure', azureDisk: { diskName: 'd', diskURI: 'https://blob/d.vhd' } },
      ],
    },
  },
  'pod settings': {
    metadata: { annotations: {}, labels: { extra: '' }, finalizers: ['example.com/hold'] },
    spec: {
      serviceAccount: 'robot',
      hostNetwork: false,
      hostUsers: true,
      shareProcessNamespace: false,
      enableServiceLinks: false,
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: 0,
      nodeSelector: { 'kubernetes.io/os': 'linux' },
      imagePullSecrets: [{ name: 'pull' }],
      hostAliases: [{ ip: '10.0.0.9', hostnames: ['a', 'b'] }],
      readinessGates: [{ conditionType: 'InPlaceUpdateReady' }],
      dnsConfig: { options: [{ name: 'ndots', value: '2' }, { name: 'edns0' }], searches: [] },
      securityContext: {
        fsGroup: 0,
        runAsNonRoot: false,
        sysctls: [{ name: 'net.ipv4.ip_unprivileged_port_start', value: '0' }],
      },
      tolerations: [{ operator: 'Exists' }, { key: 'a', effect: 'NoExecute', tolerationSeconds: 0 }],
      topologySpreadConstraints: [
        {
          maxSkew: 1,
          topologyKey: 'zone',
          whenUnsatisfiable: 'ScheduleAnyway',
          labelSelector: { matchLabels: { app: 'web' } },
        },
      ],
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{ matchExpressions: [{ key: 'zone', operator: 'Exists' }] }],
          },
          preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, preference: { matchFields: [] } }],
        },
        podAntiAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [
            { weight: 100, podAffinityTerm: { topologyKey: 'host', labelSelector: {} } },
          ],
        },
      },
      initContainers: [
        {
          name: 'sidecar',
          image: 'proxy',
          restartPolicy: 'Always',
          startupProbe: { exec: { command: ['true'] } },
        },
        { name: 'init', image: 'setup:1', command: ['true'] },
      ],
      containers: [
        { name: 'main', image: 'web:1', imagePullPolicy: 'Never', terminationMessagePath: '/tmp/end' },
      ],
    },
  },
  'texts that look like nothing': {
    metadata: { labels: { zero: '0' }, annotations: { nought: '00' } },
    spec: {
      hostname: '0',
      containers: [
        {
          name: 'main',
          image: 'web:1',
          workingDir: '0',
          args: ['0', ' '],
          env: [
            { name: 'DEBUG', value: '0' },
            { name: 'BLANK', value: ' ' },
            { name: 'HEX', value: '0x0' },
            { name: 'FRACTION', value: '0.0' },
            { name: 'EMPTY', value: '' },
          ],
        },
      ],
      tolerations: [{ key: 'tainted', value: '0' }],
    },
  },
};
