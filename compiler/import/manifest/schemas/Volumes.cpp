// The fields of volumes and claims, by the API reference of Kubernetes.

#include "compiler/import/manifest/schemas/Schemas.h"

namespace recipec::importer::manifest {

const std::string_view volumeTypes = R"(
type KeyPath = {key* string, mode int, path* string}
type SecretReference = {name string}
type DownwardItem = {
  fieldRef {apiVersion string, fieldPath* string}, mode int, path* string,
  resourceFieldRef {containerName string, divisor quantity, resource* string}
}
type Volume = {
  name* label,
  awsElasticBlockStore {fsType string, partition int, readOnly bool,
    volumeID* string},
  azureDisk {cachingMode string, diskName* string, diskURI* string, fsType string,
    kind string, readOnly bool},
  azureFile {readOnly bool, secretName* string, shareName* string},
  cephfs any, cinder any,
  configMap {defaultMode int, items [KeyPath], name string, optional bool},
  csi {driver* string, fsType string, nodePublishSecretRef SecretReference,
    readOnly bool, volumeAttributes map string},
  downwardAPI {defaultMode int, items [DownwardItem]},
  emptyDir {medium string, sizeLimit quantity},
  ephemeral {volumeClaimTemplate {metadata Metadata, spec* ClaimSpec}},
  fc any, flexVolume any, flocker any,
  gcePersistentDisk {fsType string, partition int, pdName* string, readOnly bool},
  gitRepo any, glusterfs any, hostPath {path* string, type string},
  image {pullPolicy Always | IfNotPresent | Never, reference string}, iscsi any,
  nfs {path* string, readOnly bool, server* string},
  persistentVolumeClaim {claimName* string, readOnly bool},
  photonPersistentDisk any, portworxVolume any,
  projected {defaultMode int, sources [{
    clusterTrustBundle any,
    configMap {items [KeyPath], name string, optional bool},
    downwardAPI {items [DownwardItem]}, podCertificate any,
    secret {items [KeyPath], name string, optional bool},
    serviceAccountToken {audience string, expirationSeconds positive,
      path* string}
  }]},
  quobyte any, rbd any, scaleIO any,
  secret {defaultMode int, items [KeyPath], optional bool, secretName string},
  storageos any, vsphereVolume any
}
type DataSource = {apiGroup string, kind* string, name* string, namespace string}
type ClaimSpec = {
  accessModes
    [ReadWriteOnce | ReadOnlyMany | ReadWriteMany | ReadWriteOncePod],
  dataSource DataSource, dataSourceRef DataSource, resources Resources,
  selector Selector, storageClassName string, volumeAttributesClassName string,
  volumeMode Filesystem | Block, volumeName string
}
)";

} // namespace recipec::importer::manifest
