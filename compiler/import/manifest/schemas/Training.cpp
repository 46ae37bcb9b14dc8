// The fields of training jobs: JobSet, Kubeflow's operators, and NeMoTraining.

#include "compiler/import/manifest/schemas/Schemas.h"

namespace recipec::importer::manifest {

const std::string_view trainingTypes = R"(
type JobTemplate = {metadata Metadata, spec* JobSpec}
type JobSetSpec = {
  coordinator {jobIndex count, podIndex count, replicatedJob* string},
  failurePolicy {
    maxRestarts count,
    restartStrategy Recreate | BlockingRecreate | InPlaceRestart,
    rules [{
      action* FailJobSet | RestartJobSet | RestartJobSetAndIgnoreMaxRestarts |
        RestartJob | RestartJobAndIgnoreMaxRestarts,
      name* string, onJobFailureMessagePatterns [string],
      onJobFailureReasons [string], targetReplicatedJobs [string]
    }]
  },
  managedBy string,
  network {enableDNSHostnames bool, publishNotReadyAddresses bool,
    subdomain string},
  replicatedJobs* [{
    dependsOn [{name* string, status* Ready | Complete}], groupName string,
    name* label, replicas count, template* JobTemplate
  }],
  startupPolicy {startupPolicyOrder* AnyOrder | InOrder},
  successPolicy {operator* All | Any, targetReplicatedJobs [string]},
  suspend bool, ttlSecondsAfterFinished count, volumeClaimPolicies [any]
}
type JobSet = {
  apiVersion* string, kind* string, metadata* Metadata, spec* JobSetSpec,
  status any
}

type RunPolicy = {
  activeDeadlineSeconds positive, backoffLimit count,
  cleanPodPolicy All | Running | None, managedBy string,
  schedulingPolicy {
    minAvailable count, minResources map quantity, priorityClass string,
    queue string, scheduleTimeoutSeconds count
  },
  suspend bool, ttlSecondsAfterFinished count
}
type Replica = {
  replicas count, restartPolicy Always | OnFailure | Never | ExitCode,
  template* PodTemplate
}
type PyTorchJob = {
  apiVersion* string, kind* string, metadata* Metadata, status any,
  spec* {
    nprocPerNode string, pytorchReplicaSpecs* {Master Replica, Worker Replica},
    runPolicy RunPolicy,
    elasticPolicy {
      maxReplicas positive, maxRestarts count, metrics [any], minReplicas positive,
      nProcPerNode positive, rdzvBackend c10d | etcd | etcd-v2,
      rdzvConf [{key string, value string}], rdzvHost string, rdzvId string,
      rdzvPort positive, standalone bool
    }
  }
}
type MpiReplica = {
  replicas count, restartPolicy Never | OnFailure, template* PodTemplate
}
type MpiJob = {
  apiVersion* string, kind* string, metadata* Metadata, status any,
  spec* {
    launcherCreationPolicy AtStartup | WaitForWorkersReady,
    mpiImplementation OpenMPI | Intel | MPICH,
    mpiReplicaSpecs* {Launcher* MpiReplica, Worker MpiReplica},
    runLauncherAsWorker bool, runPolicy RunPolicy, slotsPerWorker positive,
    sshAuthMountPath string
  }
}
type OldMpiJob = {
  apiVersion* string, kind* string, metadata* Metadata, status any,
  spec* {
    cleanPodPolicy All | Running | None, mainContainer string,
    mpiReplicaSpecs* {Launcher* Replica, Worker Replica}, runPolicy RunPolicy,
    slotsPerWorker positive
  }
}

type InitializerPart = {
  env [EnvVar], secretRef SecretReference, storageUri string
}
type TrainJob = {
  apiVersion* string, kind* string, metadata* Metadata, status any,
  spec* {
    activeDeadlineSeconds positive, annotations map string,
    initializer {dataset InitializerPart, model InitializerPart},
    labels map string, managedBy string, podSpecOverrides [any],
    podTemplateOverrides [any], runtimePatches [any],
    runtimeRef* {apiGroup string, kind string, name* name}, suspend bool,
    trainer {
      args [string], command [string], env [EnvVar], image string,
      numNodes positive, numProcPerNode int-or-string, resourcesPerNode Resources
    }
  }
}
type TrainingRuntime = {
  apiVersion* string, kind* string, metadata* Metadata,
  spec* {
    mlPolicy {
      numNodes positive, flux {numProcPerNode positive}, jax any,
      mpi {mpiImplementation "OpenMPI", numProcPerNode positive,
        runLauncherAsNode bool, sshAuthMountPath string},
      torch {elasticPolicy any, envInjection any, numProcPerNode int-or-string},
      xgboost any
    },
    podGroupPolicy {
      coscheduling {scheduleTimeoutSeconds count},
      volcano {networkTopology {highestTierAllowed count, mode hard | soft}}
    },
    template* {metadata Metadata, spec* JobSetSpec}
  }
}

type NemoTraining = {
  apiVersion* string, kind* string, metadata* Metadata, status any,
  spec* {
    checkpoint {enabled bool, path string, saveInterval positive},
    data {format string, trainDataset string, valDataset string},
    image {pullSecrets [LocalReference], repository string, tag string},
    model {name string, source string},
    resources {gpuType string, gpusPerNode positive, nodes positive},
    training {
      batchSize positive, epochs number, gradientAccumulationSteps positive,
      learningRate number, type string,
      distributed {
        contextParallelism positive, dataParallelism positive,
        pipelineParallelism positive, tensorParallelism positive
      }
    }
  }
}
)";

} // namespace recipec::importer::manifest
