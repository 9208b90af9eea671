/**
 * The types of a pod template in k8s.io/api v0.36.3, read off the Go types: which fields are left out when empty, which are
 * pointers, which are quantities. The revision bytes of the built-in controllers follow from these properties (C9), and an
 * OpenAPI schema does not tell them.
 *
 * A field is its name and how it is written:
 *   `name`        scalar, left out when it has its zero value
 *   `name!zero`   scalar, always written
 *   `name*`       pointer: written unless null, also when zero or empty
 *   `name=Type`   struct, always written          `name?Type`  pointer to a struct
 *   `name[]Type`  list, left out when empty       `name![]`    list, null when empty
 *   `name{}`      map, left out when empty        `name!i`     number or text, always written
 *   `q` as a type is a quantity, `{q}` a map of quantities.
 */
export const POD_TEMPLATE_TYPES: Readonly<Record<string, string>> = {
  AWSElasticBlockStoreVolumeSource: "volumeID!'' fsType partition readOnly",
  Affinity: 'nodeAffinity?NodeAffinity podAffinity?PodAffinity podAntiAffinity?PodAntiAffinity',
  AppArmorProfile: "type!'' localhostProfile*",
  AzureDiskVolumeSource: "diskName!'' diskURI!'' cachingMode* fsType* readOnly* kind*",
  AzureFileVolumeSource: "secretName!'' shareName!'' readOnly",
  CSIVolumeSource: "driver!'' readOnly* fsType* volumeAttributes{} nodePublishSecretRef?LocalObjectReference",
  Capabilities: 'add[] drop[]',
  CephFSVolumeSource: 'monitors![] path user secretFile secretRef?LocalObjectReference readOnly',
  CinderVolumeSource: "volumeID!'' fsType readOnly secretRef?LocalObjectReference",
  ClusterTrustBundleProjection: "name* signerName* labelSelector?LabelSelector optional* path!''",
  ConfigMapEnvSource: 'name optional*',
  ConfigMapKeySelector: "name key!'' optional*",
  ConfigMapProjection: 'name items[]KeyToPath optional*',
  ConfigMapVolumeSource: 'name items[]KeyToPath defaultMode* optional*',
  Container:
    "name!'' image command[] args[] workingDir ports[]ContainerPort envFrom[]EnvFromSource env[]EnvVar resources=ResourceRequirements resizePolicy[]ContainerResizePolicy restartPolicy* restartPolicyRules[]ContainerRestartRule volumeMounts[]VolumeMount volumeDevices[]VolumeDevice livenessProbe?Probe readinessProbe?Probe startupProbe?Probe lifecycle?Lifecycle terminationMessagePath terminationMessagePolicy imagePullPolicy securityContext?SecurityContext stdin stdinOnce tty",
  ContainerPort: 'name hostPort containerPort!0 protocol hostIP',
  ContainerResizePolicy: "resourceName!'' restartPolicy!''",
  ContainerRestartRule: 'action exitCodes?ContainerRestartRuleOnExitCodes',
  ContainerRestartRuleOnExitCodes: 'operator values[]',
  DownwardAPIProjection: 'items[]DownwardAPIVolumeFile',
  DownwardAPIVolumeFile: "path!'' fieldRef?ObjectFieldSelector resourceFieldRef?ResourceFieldSelector mode*",
  DownwardAPIVolumeSource: 'items[]DownwardAPIVolumeFile defaultMode*',
  EmptyDirVolumeSource: 'medium sizeLimit?q',
  EnvFromSource: 'prefix configMapRef?ConfigMapEnvSource secretRef?SecretEnvSource',
  EnvVar: "name!'' value valueFrom?EnvVarSource",
  EnvVarSource:
    'fieldRef?ObjectFieldSelector resourceFieldRef?ResourceFieldSelector configMapKeyRef?ConfigMapKeySelector secretKeyRef?SecretKeySelector fileKeyRef?FileKeySelector',
  EphemeralContainer:
    "name!'' image command[] args[] workingDir ports[]ContainerPort envFrom[]EnvFromSource env[]EnvVar resources=ResourceRequirements resizePolicy[]ContainerResizePolicy restartPolicy* restartPolicyRules[]ContainerRestartRule volumeMounts[]VolumeMount volumeDevices[]VolumeDevice livenessProbe?Probe readinessProbe?Probe startupProbe?Probe lifecycle?Lifecycle terminationMessagePath terminationMessagePolicy imagePullPolicy securityContext?SecurityContext stdin stdinOnce tty targetContainerName",
  EphemeralVolumeSource: 'volumeClaimTemplate?PersistentVolumeClaimTemplate',
  ExecAction: 'command[]',
  FCVolumeSource: 'targetWWNs[] lun* fsType readOnly wwids[]',
  FileKeySelector: "volumeName!'' path!'' key!'' optional*",
  FlexVolumeSource: "driver!'' fsType secretRef?LocalObjectReference readOnly options{}",
  FlockerVolumeSource: 'datasetName datasetUUID',
  GCEPersistentDiskVolumeSource: "pdName!'' fsType partition readOnly",
  GRPCAction: 'port!0 service*',
  GitRepoVolumeSource: "repository!'' revision directory",
  GlusterfsVolumeSource: "endpoints!'' path!'' readOnly",
  HTTPGetAction: 'path port!i host scheme httpHeaders[]HTTPHeader',
  HTTPHeader: "name!'' value!''",
  HostAlias: "ip!'' hostnames[]",
  HostPathVolumeSource: "path!'' type*",
  ISCSIVolumeSource:
    "targetPortal!'' iqn!'' lun!0 iscsiInterface fsType readOnly portals[] chapAuthDiscovery chapAuthSession secretRef?LocalObjectReference initiatorName*",
  ImageVolumeSource: 'reference pullPolicy',
  KeyToPath: "key!'' path!'' mode*",
  LabelSelector: 'matchLabels{} matchExpressions[]LabelSelectorRequirement',
  LabelSelectorRequirement: "key!'' operator!'' values[]",
  Lifecycle: 'postStart?LifecycleHandler preStop?LifecycleHandler stopSignal*',
  LifecycleHandler: 'exec?ExecAction httpGet?HTTPGetAction tcpSocket?TCPSocketAction sleep?SleepAction',
  LocalObjectReference: 'name',
  NFSVolumeSource: "server!'' path!'' readOnly",
  NodeAffinity:
    'requiredDuringSchedulingIgnoredDuringExecution?NodeSelector preferredDuringSchedulingIgnoredDuringExecution[]PreferredSchedulingTerm',
  NodeSelector: 'nodeSelectorTerms![]NodeSelectorTerm',
  NodeSelectorRequirement: "key!'' operator!'' values[]",
  NodeSelectorTerm: 'matchExpressions[]NodeSelectorRequirement matchFields[]NodeSelectorRequirement',
  ObjectFieldSelector: "apiVersion fieldPath!''",
  ObjectMeta:
    'name generateName namespace selfLink uid resourceVersion generation creationTimestamp deletionTimestamp* deletionGracePeriodSeconds* labels{} annotations{} ownerReferences[]OwnerReference finalizers[] managedFields*',
  OwnerReference: "apiVersion!'' kind!'' name!'' uid!'' controller* blockOwnerDeletion*",
  PersistentVolumeClaimSpec:
    'accessModes[] selector?LabelSelector resources=VolumeResourceRequirements volumeName storageClassName* volumeMode* dataSource?TypedLocalObjectReference dataSourceRef?TypedObjectReference volumeAttributesClassName*',
  PersistentVolumeClaimTemplate: 'metadata=ObjectMeta spec=PersistentVolumeClaimSpec',
  PersistentVolumeClaimVolumeSource: "claimName!'' readOnly",
  PhotonPersistentDiskVolumeSource: "pdID!'' fsType",
  PodAffinity:
    'requiredDuringSchedulingIgnoredDuringExecution[]PodAffinityTerm preferredDuringSchedulingIgnoredDuringExecution[]WeightedPodAffinityTerm',
  PodAffinityTerm:
    "labelSelector?LabelSelector namespaces[] topologyKey!'' namespaceSelector?LabelSelector matchLabelKeys[] mismatchLabelKeys[]",
  PodAntiAffinity:
    'requiredDuringSchedulingIgnoredDuringExecution[]PodAffinityTerm preferredDuringSchedulingIgnoredDuringExecution[]WeightedPodAffinityTerm',
  PodCertificateProjection:
    'signerName keyType maxExpirationSeconds* credentialBundlePath keyPath certificateChainPath userAnnotations{}',
  PodDNSConfig: 'nameservers[] searches[] options[]PodDNSConfigOption',
  PodDNSConfigOption: 'name value*',
  PodOS: "name!''",
  PodReadinessGate: "conditionType!''",
  PodResourceClaim: "name!'' resourceClaimName* resourceClaimTemplateName*",
  PodSchedulingGate: "name!''",
  PodSchedulingGroup: 'podGroupName*',
  PodSecurityContext:
    'seLinuxOptions?SELinuxOptions windowsOptions?WindowsSecurityContextOptions runAsUser* runAsGroup* runAsNonRoot* supplementalGroups[] supplementalGroupsPolicy* fsGroup* sysctls[]Sysctl fsGroupChangePolicy* seccompProfile?SeccompProfile appArmorProfile?AppArmorProfile seLinuxChangePolicy*',
  PodSpec:
    'volumes[]Volume initContainers[]Container containers![]Container ephemeralContainers[]EphemeralContainer restartPolicy terminationGracePeriodSeconds* activeDeadlineSeconds* dnsPolicy nodeSelector{} serviceAccountName serviceAccount automountServiceAccountToken* nodeName hostNetwork hostPID hostIPC shareProcessNamespace* securityContext?PodSecurityContext imagePullSecrets[]LocalObjectReference hostname subdomain affinity?Affinity schedulerName tolerations[]Toleration hostAliases[]HostAlias priorityClassName priority* dnsConfig?PodDNSConfig readinessGates[]PodReadinessGate runtimeClassName* enableServiceLinks* preemptionPolicy* overhead{q} topologySpreadConstraints[]TopologySpreadConstraint setHostnameAsFQDN* os?PodOS hostUsers* schedulingGates[]PodSchedulingGate resourceClaims[]PodResourceClaim resources?ResourceRequirements hostnameOverride* schedulingGroup?PodSchedulingGroup',
  PodTemplateSpec: 'metadata=ObjectMeta spec=PodSpec',
  PortworxVolumeSource: "volumeID!'' fsType readOnly",
  PreferredSchedulingTerm: 'weight!0 preference=NodeSelectorTerm',
  Probe:
    'exec?ExecAction httpGet?HTTPGetAction tcpSocket?TCPSocketAction grpc?GRPCAction initialDelaySeconds timeoutSeconds periodSeconds successThreshold failureThreshold terminationGracePeriodSeconds*',
  ProjectedVolumeSource: 'sources![]VolumeProjection defaultMode*',
  QuobyteVolumeSource: "registry!'' volume!'' readOnly user group tenant",
  RBDVolumeSource: "monitors![] image!'' fsType pool user keyring secretRef?LocalObjectReference readOnly",
  ResourceClaim: "name!'' request",
  ResourceFieldSelector: "containerName resource!'' divisor=q",
  ResourceRequirements: 'limits{q} requests{q} claims[]ResourceClaim',
  SELinuxOptions: 'user role type level',
  ScaleIOVolumeSource:
    "gateway!'' system!'' secretRef?LocalObjectReference sslEnabled protectionDomain storagePool storageMode volumeName fsType readOnly",
  SeccompProfile: "type!'' localhostProfile*",
  SecretEnvSource: 'name optional*',
  SecretKeySelector: "name key!'' optional*",
  SecretProjection: 'name items[]KeyToPath optional*',
  SecretVolumeSource: 'secretName items[]KeyToPath defaultMode* optional*',
  SecurityContext:
    'capabilities?Capabilities privileged* seLinuxOptions?SELinuxOptions windowsOptions?WindowsSecurityContextOptions runAsUser* runAsGroup* runAsNonRoot* readOnlyRootFilesystem* allowPrivilegeEscalation* procMount* seccompProfile?SeccompProfile appArmorProfile?AppArmorProfile',
  ServiceAccountTokenProjection: "audience expirationSeconds* path!''",
  SleepAction: 'seconds!0',
  StorageOSVolumeSource: 'volumeName volumeNamespace fsType readOnly secretRef?LocalObjectReference',
  Sysctl: "name!'' value!''",
  TCPSocketAction: 'port!i host',
  Toleration: 'key operator value effect tolerationSeconds*',
  TopologySpreadConstraint:
    "maxSkew!0 topologyKey!'' whenUnsatisfiable!'' labelSelector?LabelSelector minDomains* nodeAffinityPolicy* nodeTaintsPolicy* matchLabelKeys[]",
  TypedLocalObjectReference: "apiGroup* kind!'' name!''",
  TypedObjectReference: "apiGroup* kind!'' name!'' namespace*",
  Volume:
    "name!'' hostPath?HostPathVolumeSource emptyDir?EmptyDirVolumeSource gcePersistentDisk?GCEPersistentDiskVolumeSource awsElasticBlockStore?AWSElasticBlockStoreVolumeSource gitRepo?GitRepoVolumeSource secret?SecretVolumeSource nfs?NFSVolumeSource iscsi?ISCSIVolumeSource glusterfs?GlusterfsVolumeSource persistentVolumeClaim?PersistentVolumeClaimVolumeSource rbd?RBDVolumeSource flexVolume?FlexVolumeSource cinder?CinderVolumeSource cephfs?CephFSVolumeSource flocker?FlockerVolumeSource downwardAPI?DownwardAPIVolumeSource fc?FCVolumeSource azureFile?AzureFileVolumeSource configMap?ConfigMapVolumeSource vsphereVolume?VsphereVirtualDiskVolumeSource quobyte?QuobyteVolumeSource azureDisk?AzureDiskVolumeSource photonPersistentDisk?PhotonPersistentDiskVolumeSource projected?ProjectedVolumeSource portworxVolume?PortworxVolumeSource scaleIO?ScaleIOVolumeSource storageos?StorageOSVolumeSource csi?CSIVolumeSource ephemeral?EphemeralVolumeSource image?ImageVolumeSource",
  VolumeDevice: "name!'' devicePath!''",
  VolumeMount: "name!'' readOnly recursiveReadOnly* mountPath!'' subPath mountPropagation* subPathExpr",
  VolumeProjection:
    'secret?SecretProjection downwardAPI?DownwardAPIProjection configMap?ConfigMapProjection serviceAccountToken?ServiceAccountTokenProjection clusterTrustBundle?ClusterTrustBundleProjection podCertificate?PodCertificateProjection',
  VolumeResourceRequirements: 'limits{q} requests{q}',
  VsphereVirtualDiskVolumeSource: "volumePath!'' fsType storagePolicyName storagePolicyID",
  WeightedPodAffinityTerm: 'weight!0 podAffinityTerm=PodAffinityTerm',
  WindowsSecurityContextOptions: 'gmsaCredentialSpecName* gmsaCredentialSpec* runAsUserName* hostProcess*',
};
