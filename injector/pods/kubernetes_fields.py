"""Fields of a Pod by type, and the resources without a namespace, as kube-apiserver describes them.

Made by `make kubernetes-fields` from its OpenAPI and discovery documents: do not edit. `[T]` is a list of T, `{T}` a
map from strings to T. `by` names a list's merge keys (`x-kubernetes-list-map-keys`); `set` and `atomic` are list and
map types (`x-kubernetes-list-type`, `x-kubernetes-map-type`); a list without any is atomic. Of a `union` one member is
set (`x-kubernetes-unions`). `=` precedes a default.
"""

VERSION = "v1.36.3"

#: The fields of each type. `injector.pods.fields` reads it.
TYPES = """\
AWSElasticBlockStoreVolumeSource: fsType string, partition integer, readOnly boolean, volumeID string
Affinity: nodeAffinity NodeAffinity, podAffinity PodAffinity, podAntiAffinity PodAntiAffinity
AppArmorProfile union: localhostProfile string, type string
AzureDiskVolumeSource: cachingMode string =ReadWrite, diskName string, diskURI string, fsType string =ext4, kind string
  =Shared, readOnly boolean
AzureFileVolumeSource: readOnly boolean, secretName string, shareName string
CSIVolumeSource: driver string, fsType string, nodePublishSecretRef LocalObjectReference, readOnly boolean,
  volumeAttributes {string}
Capabilities: add [string], drop [string]
CephFSVolumeSource: monitors [string], path string, readOnly boolean, secretFile string, secretRef LocalObjectReference,
  user string
CinderVolumeSource: fsType string, readOnly boolean, secretRef LocalObjectReference, volumeID string
ClusterTrustBundleProjection: labelSelector LabelSelector, name string, optional boolean, path string, signerName string
ConfigMapEnvSource: name string, optional boolean
ConfigMapKeySelector atomic: key string, name string, optional boolean
ConfigMapProjection: items [KeyToPath], name string, optional boolean
ConfigMapVolumeSource: defaultMode integer, items [KeyToPath], name string, optional boolean
Container: args [string], command [string], env [EnvVar] by name, envFrom [EnvFromSource], image string, imagePullPolicy
  string, lifecycle Lifecycle, livenessProbe Probe, name string, ports [ContainerPort] by containerPort protocol,
  readinessProbe Probe, resizePolicy [ContainerResizePolicy], resources ResourceRequirements, restartPolicy string,
  restartPolicyRules [ContainerRestartRule], securityContext SecurityContext, startupProbe Probe, stdin boolean,
  stdinOnce boolean, terminationMessagePath string, terminationMessagePolicy string, tty boolean, volumeDevices
  [VolumeDevice] by devicePath, volumeMounts [VolumeMount] by mountPath, workingDir string
ContainerPort: containerPort integer, hostIP string, hostPort integer, name string, protocol string =TCP
ContainerResizePolicy: resourceName string, restartPolicy string
ContainerRestartRule: action string, exitCodes ContainerRestartRuleOnExitCodes
ContainerRestartRuleOnExitCodes: operator string, values [integer] set
DownwardAPIProjection: items [DownwardAPIVolumeFile]
DownwardAPIVolumeFile: fieldRef ObjectFieldSelector, mode integer, path string, resourceFieldRef ResourceFieldSelector
DownwardAPIVolumeSource: defaultMode integer, items [DownwardAPIVolumeFile]
EmptyDirVolumeSource: medium string, sizeLimit Quantity
EnvFromSource: configMapRef ConfigMapEnvSource, prefix string, secretRef SecretEnvSource
EnvVar: name string, value string, valueFrom EnvVarSource
EnvVarSource: configMapKeyRef ConfigMapKeySelector, fieldRef ObjectFieldSelector, fileKeyRef FileKeySelector,
  resourceFieldRef ResourceFieldSelector, secretKeyRef SecretKeySelector
EphemeralContainer: args [string], command [string], env [EnvVar] by name, envFrom [EnvFromSource], image string,
  imagePullPolicy string, lifecycle Lifecycle, livenessProbe Probe, name string, ports [ContainerPort] by containerPort
  protocol, readinessProbe Probe, resizePolicy [ContainerResizePolicy], resources ResourceRequirements, restartPolicy
  string, restartPolicyRules [ContainerRestartRule], securityContext SecurityContext, startupProbe Probe, stdin boolean,
  stdinOnce boolean, targetContainerName string, terminationMessagePath string, terminationMessagePolicy string, tty
  boolean, volumeDevices [VolumeDevice] by devicePath, volumeMounts [VolumeMount] by mountPath, workingDir string
EphemeralVolumeSource: volumeClaimTemplate PersistentVolumeClaimTemplate
ExecAction: command [string]
FCVolumeSource: fsType string, lun integer, readOnly boolean, targetWWNs [string], wwids [string]
FileKeySelector atomic: key string, optional boolean, path string, volumeName string
FlexVolumeSource: driver string, fsType string, options {string}, readOnly boolean, secretRef LocalObjectReference
FlockerVolumeSource: datasetName string, datasetUUID string
GCEPersistentDiskVolumeSource: fsType string, partition integer, pdName string, readOnly boolean
GRPCAction: port integer, service string
GitRepoVolumeSource: directory string, repository string, revision string
GlusterfsVolumeSource: endpoints string, path string, readOnly boolean
HTTPGetAction: host string, httpHeaders [HTTPHeader], path string, port IntOrString, scheme string
HTTPHeader: name string, value string
HostAlias: hostnames [string], ip string
HostPathVolumeSource: path string, type string
ISCSIVolumeSource: chapAuthDiscovery boolean, chapAuthSession boolean, fsType string, initiatorName string, iqn string,
  iscsiInterface string =default, lun integer, portals [string], readOnly boolean, secretRef LocalObjectReference,
  targetPortal string
ImageVolumeSource: pullPolicy string, reference string
KeyToPath: key string, mode integer, path string
LabelSelector atomic: matchExpressions [LabelSelectorRequirement], matchLabels {string}
LabelSelectorRequirement: key string, operator string, values [string]
Lifecycle: postStart LifecycleHandler, preStop LifecycleHandler, stopSignal string
LifecycleHandler: exec ExecAction, httpGet HTTPGetAction, sleep SleepAction, tcpSocket TCPSocketAction
LocalObjectReference atomic: name string
NFSVolumeSource: path string, readOnly boolean, server string
NodeAffinity: preferredDuringSchedulingIgnoredDuringExecution [PreferredSchedulingTerm],
  requiredDuringSchedulingIgnoredDuringExecution NodeSelector
NodeSelector atomic: nodeSelectorTerms [NodeSelectorTerm]
NodeSelectorRequirement: key string, operator string, values [string]
NodeSelectorTerm atomic: matchExpressions [NodeSelectorRequirement], matchFields [NodeSelectorRequirement]
ObjectFieldSelector atomic: apiVersion string, fieldPath string
ObjectMeta: annotations {string}, creationTimestamp string, deletionGracePeriodSeconds integer, deletionTimestamp
  string, finalizers [string] set, generateName string, generation integer, labels {string}, name string, namespace
  string, ownerReferences [OwnerReference] by uid, resourceVersion string, selfLink string, uid string
OwnerReference atomic: apiVersion string, blockOwnerDeletion boolean, controller boolean, kind string, name string, uid
  string
PersistentVolumeClaimSpec: accessModes [string], dataSource TypedLocalObjectReference, dataSourceRef
  TypedObjectReference, resources VolumeResourceRequirements, selector LabelSelector, storageClassName string,
  volumeAttributesClassName string, volumeMode string, volumeName string
PersistentVolumeClaimTemplate: metadata ObjectMeta, spec PersistentVolumeClaimSpec
PersistentVolumeClaimVolumeSource: claimName string, readOnly boolean
PhotonPersistentDiskVolumeSource: fsType string, pdID string
Pod: apiVersion string, kind string, metadata ObjectMeta, spec PodSpec
PodAffinity: preferredDuringSchedulingIgnoredDuringExecution [WeightedPodAffinityTerm],
  requiredDuringSchedulingIgnoredDuringExecution [PodAffinityTerm]
PodAffinityTerm: labelSelector LabelSelector, matchLabelKeys [string], mismatchLabelKeys [string], namespaceSelector
  LabelSelector, namespaces [string], topologyKey string
PodAntiAffinity: preferredDuringSchedulingIgnoredDuringExecution [WeightedPodAffinityTerm],
  requiredDuringSchedulingIgnoredDuringExecution [PodAffinityTerm]
PodCertificateProjection: certificateChainPath string, credentialBundlePath string, keyPath string, keyType string,
  maxExpirationSeconds integer, signerName string, userAnnotations {string}
PodDNSConfig: nameservers [string], options [PodDNSConfigOption], searches [string]
PodDNSConfigOption: name string, value string
PodOS: name string
PodReadinessGate: conditionType string
PodResourceClaim: name string, resourceClaimName string, resourceClaimTemplateName string
PodSchedulingGate: name string
PodSchedulingGroup union: podGroupName string
PodSecurityContext: appArmorProfile AppArmorProfile, fsGroup integer, fsGroupChangePolicy string, runAsGroup integer,
  runAsNonRoot boolean, runAsUser integer, seLinuxChangePolicy string, seLinuxOptions SELinuxOptions, seccompProfile
  SeccompProfile, supplementalGroups [integer], supplementalGroupsPolicy string, sysctls [Sysctl], windowsOptions
  WindowsSecurityContextOptions
PodSpec: activeDeadlineSeconds integer, affinity Affinity, automountServiceAccountToken boolean, containers [Container]
  by name, dnsConfig PodDNSConfig, dnsPolicy string, enableServiceLinks boolean, ephemeralContainers
  [EphemeralContainer] by name, hostAliases [HostAlias] by ip, hostIPC boolean, hostNetwork boolean, hostPID boolean,
  hostUsers boolean, hostname string, hostnameOverride string, imagePullSecrets [LocalObjectReference] by name,
  initContainers [Container] by name, nodeName string, nodeSelector {string} atomic, os PodOS, overhead {Quantity},
  preemptionPolicy string, priority integer, priorityClassName string, readinessGates [PodReadinessGate], resourceClaims
  [PodResourceClaim] by name, resources ResourceRequirements, restartPolicy string, runtimeClassName string,
  schedulerName string, schedulingGates [PodSchedulingGate] by name, schedulingGroup PodSchedulingGroup, securityContext
  PodSecurityContext, serviceAccount string, serviceAccountName string, setHostnameAsFQDN boolean, shareProcessNamespace
  boolean, subdomain string, terminationGracePeriodSeconds integer, tolerations [Toleration], topologySpreadConstraints
  [TopologySpreadConstraint] by topologyKey whenUnsatisfiable, volumes [Volume] by name
PortworxVolumeSource: fsType string, readOnly boolean, volumeID string
PreferredSchedulingTerm: preference NodeSelectorTerm, weight integer
Probe: exec ExecAction, failureThreshold integer, grpc GRPCAction, httpGet HTTPGetAction, initialDelaySeconds integer,
  periodSeconds integer, successThreshold integer, tcpSocket TCPSocketAction, terminationGracePeriodSeconds integer,
  timeoutSeconds integer
ProjectedVolumeSource: defaultMode integer, sources [VolumeProjection]
QuobyteVolumeSource: group string, readOnly boolean, registry string, tenant string, user string, volume string
RBDVolumeSource: fsType string, image string, keyring string =/etc/ceph/keyring, monitors [string], pool string =rbd,
  readOnly boolean, secretRef LocalObjectReference, user string =admin
ResourceClaim: name string, request string
ResourceFieldSelector atomic: containerName string, divisor Quantity, resource string
ResourceRequirements: claims [ResourceClaim] by name, limits {Quantity}, requests {Quantity}
SELinuxOptions: level string, role string, type string, user string
ScaleIOVolumeSource: fsType string =xfs, gateway string, protectionDomain string, readOnly boolean, secretRef
  LocalObjectReference, sslEnabled boolean, storageMode string =ThinProvisioned, storagePool string, system string,
  volumeName string
SeccompProfile union: localhostProfile string, type string
SecretEnvSource: name string, optional boolean
SecretKeySelector atomic: key string, name string, optional boolean
SecretProjection: items [KeyToPath], name string, optional boolean
SecretVolumeSource: defaultMode integer, items [KeyToPath], optional boolean, secretName string
SecurityContext: allowPrivilegeEscalation boolean, appArmorProfile AppArmorProfile, capabilities Capabilities,
  privileged boolean, procMount string, readOnlyRootFilesystem boolean, runAsGroup integer, runAsNonRoot boolean,
  runAsUser integer, seLinuxOptions SELinuxOptions, seccompProfile SeccompProfile, windowsOptions
  WindowsSecurityContextOptions
ServiceAccountTokenProjection: audience string, expirationSeconds integer, path string
SleepAction: seconds integer
StorageOSVolumeSource: fsType string, readOnly boolean, secretRef LocalObjectReference, volumeName string,
  volumeNamespace string
Sysctl: name string, value string
TCPSocketAction: host string, port IntOrString
Toleration: effect string, key string, operator string, tolerationSeconds integer, value string
TopologySpreadConstraint: labelSelector LabelSelector, matchLabelKeys [string], maxSkew integer, minDomains integer,
  nodeAffinityPolicy string, nodeTaintsPolicy string, topologyKey string, whenUnsatisfiable string
TypedLocalObjectReference atomic: apiGroup string, kind string, name string
TypedObjectReference: apiGroup string, kind string, name string, namespace string
Volume: awsElasticBlockStore AWSElasticBlockStoreVolumeSource, azureDisk AzureDiskVolumeSource, azureFile
  AzureFileVolumeSource, cephfs CephFSVolumeSource, cinder CinderVolumeSource, configMap ConfigMapVolumeSource, csi
  CSIVolumeSource, downwardAPI DownwardAPIVolumeSource, emptyDir EmptyDirVolumeSource, ephemeral EphemeralVolumeSource,
  fc FCVolumeSource, flexVolume FlexVolumeSource, flocker FlockerVolumeSource, gcePersistentDisk
  GCEPersistentDiskVolumeSource, gitRepo GitRepoVolumeSource, glusterfs GlusterfsVolumeSource, hostPath
  HostPathVolumeSource, image ImageVolumeSource, iscsi ISCSIVolumeSource, name string, nfs NFSVolumeSource,
  persistentVolumeClaim PersistentVolumeClaimVolumeSource, photonPersistentDisk PhotonPersistentDiskVolumeSource,
  portworxVolume PortworxVolumeSource, projected ProjectedVolumeSource, quobyte QuobyteVolumeSource, rbd
  RBDVolumeSource, scaleIO ScaleIOVolumeSource, secret SecretVolumeSource, storageos StorageOSVolumeSource,
  vsphereVolume VsphereVirtualDiskVolumeSource
VolumeDevice: devicePath string, name string
VolumeMount: mountPath string, mountPropagation string, name string, readOnly boolean, recursiveReadOnly string, subPath
  string, subPathExpr string
VolumeProjection: clusterTrustBundle ClusterTrustBundleProjection, configMap ConfigMapProjection, downwardAPI
  DownwardAPIProjection, podCertificate PodCertificateProjection, secret SecretProjection, serviceAccountToken
  ServiceAccountTokenProjection
VolumeResourceRequirements: limits {Quantity}, requests {Quantity}
VsphereVirtualDiskVolumeSource: fsType string, storagePolicyID string, storagePolicyName string, volumePath string
WeightedPodAffinityTerm: podAffinityTerm PodAffinityTerm, weight integer
WindowsSecurityContextOptions: gmsaCredentialSpec string, gmsaCredentialSpecName string, hostProcess boolean,
  runAsUserName string
"""

#: Resources that lie in no namespace, by API group.
CLUSTER_SCOPED = """\
: componentstatuses, namespaces, nodes, persistentvolumes
admissionregistration.k8s.io: mutatingadmissionpolicies, mutatingadmissionpolicybindings, mutatingwebhookconfigurations,
  validatingadmissionpolicies, validatingadmissionpolicybindings, validatingwebhookconfigurations
apiextensions.k8s.io: customresourcedefinitions
apiregistration.k8s.io: apiservices
authentication.k8s.io: selfsubjectreviews, tokenreviews
authorization.k8s.io: selfsubjectaccessreviews, selfsubjectrulesreviews, subjectaccessreviews
certificates.k8s.io: certificatesigningrequests
flowcontrol.apiserver.k8s.io: flowschemas, prioritylevelconfigurations
networking.k8s.io: ingressclasses, ipaddresses, servicecidrs
node.k8s.io: runtimeclasses
rbac.authorization.k8s.io: clusterrolebindings, clusterroles
resource.k8s.io: deviceclasses, resourceslices
scheduling.k8s.io: priorityclasses
storage.k8s.io: csidrivers, csinodes, storageclasses, volumeattachments, volumeattributesclasses
"""
