// See ClusterExplanations.h; see Explanations.cpp for the form.

#include "compiler/diag/ClusterExplanations.h"

#include <cassert>

namespace recipec::diag {

std::string_view clusterText(Kind kind) {
  switch (kind) {
  case Kind::ManifestSchema:
    return R"(
The API server of Kubernetes refuses the object: a field that its kind does not
have, a value of another type, a required field that is missing, or a rule of
the server or of a controller's webhook. In

    kind: PyTorchJob
    spec:
      pytorchReplicaSpecs:
        Worker: { replicas: "3", comand: [python] }

`replicas` is a whole number, a replica has no `comand`, and `template` is
missing. Without strict validation an unknown field is dropped silently, and the
default takes its place. Write the field where its kind has it: the help names
that place. sbatch refuses an option that it does not have, too.)";
  case Kind::ManifestVersion:
    return R"(
The pair of `apiVersion` and `kind` names no object that a current cluster
serves: the version was removed, the kind belongs to another group, or it exists
in a documentation alone. In

    apiVersion: extensions/v1beta1
    kind: Deployment

the group left Kubernetes with 1.16: write `apps/v1`, and the selector that this
version requires. No controller reads a `NeMoTraining`: it shows what a job
could look like. Use a PyTorchJob or a TrainJob, or let `recipec launch` write
one.)";
  case Kind::ManifestRanks:
    return R"(
The numbers of processes, pods and GPUs do not agree. A GPU without a process is
paid for and idle, and a rank without a GPU fails. In

    kind: PyTorchJob
    spec:
      pytorchReplicaSpecs:
        Master: { replicas: 1 }    # 8 GPUs
        Worker: { replicas: 3 }    # 8 GPUs each

the operator sets WORLD_SIZE = pods * `nprocPerNode` = 4 on 32 GPUs, because
`nprocPerNode` is 1 by default: write `nprocPerNode: "8"` and start the program
with `torchrun`, which reads it. An MPIJob has `slotsPerWorker`, a TrainJob
`numProcPerNode`, and `tp * pp * cp` of a training divides the ranks.

In an sbatch script, `srun python` needs a task for each GPU,
`--ntasks-per-node=8`, and `srun torchrun` one task a node: torchrun starts the
ranks. The script itself runs on the first node, once: `localhost` and
`SLURM_PROCID` in it are those of this node, for all tasks.)";
  case Kind::ManifestReference:
    return R"(
An object refers to another by a name, a label or a port, and the files have no
such object. Kubernetes accepts that, and nothing happens: a Service without
endpoints, a monitor without targets, a HorizontalPodAutoscaler without pods. In

    kind: Service
    spec: { selector: { app: triton } }
    ---
    kind: Deployment
    spec: { template: { metadata: { labels: { app: triton-server } } } }

the Service selects no pod: write `app: triton-server`. If the object is in
another file, name that file too: `recipec import-manifest a.yaml b.yaml`.)";
  case Kind::ManifestPod:
    return R"(
The cluster runs the pods, and the training in them fails or is slow. In

    resources: { limits: { nvidia.com/gpu: 8, rdma/ib: 8 } }

the container has 64 MiB of /dev/shm, which NCCL and data loaders exceed: mount
an `emptyDir` with `medium: Memory` there. RDMA registers memory that must stay
in place: `securityContext: { capabilities: { add: [IPC_LOCK] } }`. A pod with
`hostNetwork: true` finds no Service by name without `dnsPolicy:
ClusterFirstWithHostNet`. A server without a `readinessProbe` gets requests
while its model is still being loaded.)";
  case Kind::ManifestPolicy:
    return R"(
A rule of a job that probably does another thing than was meant. In

    kind: Job
    spec:
      ttlSecondsAfterFinished: 0
      template: ...

a training that fails is started six more times, from the beginning if it does
not resume, and its pods vanish with their logs as soon as they end: write a
`backoffLimit`, and a `ttlSecondsAfterFinished` of a day or so. Replicas with
`restartPolicy: Always` start again after success, too.

In an sbatch script, a line `#SBATCH` behind the first command is not read;
`--signal=USR1@120` reaches the ranks, and `--signal=B:USR1@120` the script,
whose `trap` runs once the command in the foreground has ended: start that with
`&` and `wait` for it.)";
  case Kind::ManifestSecret:
    return R"(
A password or a token stands in the manifest. Whoever reads the repository, the
object or the logs of a deployment has it. In

    env:
      - name: HF_TOKEN
        value: hf_example

create a Secret, `kubectl create secret generic hub --from-literal=token=...`,
and refer to it: `valueFrom: { secretKeyRef: { name: hub, key: token } }`. Then
replace the token, which has been published. In a recipe this is
`launch { env = { HF_TOKEN = secret("hub", key = "token") } }`.)";
  case Kind::EnvironmentUnused:
    return R"(
No library reads the variable, or its value is the default, or it takes effect
only together with another one. In

    launch { env = { NCCL_COMM_WAIT_TIMEOUT = "1800", NCCL_CROSS_NIC = "2" } }

NCCL has no variable of the first name, and 2 is the default of the second:
leave both out. `recipec explain NCCL_CROSS_NIC` tells what a variable does.
Settings that are carried along hide the ones that matter.)";
  case Kind::EnvironmentOutdated:
    return R"(
The variable, or the form of its value, is of older versions. In

    launch { env = { NCCL_MIN_NCHANNELS = "4", NCCL_NET_GDR_LEVEL = "5" } }

the first was replaced by NCCL_MIN_CTAS in NCCL 2.17, and the integer stands for
SYS. Leave such variables out: current versions of NCCL and aws-ofi-nccl choose
by the topology.)";
  case Kind::EnvironmentValue:
    return R"(
The library does not accept the value. It ignores some, and ends with an error
for others, such as an unknown algorithm since NCCL 2.24. In

    launch { env = { NCCL_DEBUG = "DEBUG" } }

the levels are VERSION, WARN, INFO and TRACE: write `"INFO"`. The note has the
default; a variable that is left out has that.)";
  case Kind::EnvironmentHarmful:
    return R"(
The library does what the variable says, and that costs speed or correctness. In

    launch { env = { NCCL_NVLS_ENABLE = "0", NCCL_PROTO = "LL128" } }

the first lowers the bus bandwidth of 8 H100 from 480 to 370 GB/s, and the
second forces a protocol that can corrupt data where the hardware lacks its
stores. NVIDIA advises against such variables in production: leave them out, or
keep one with `silence = ["EnvironmentHarmful"]` where you have measured it.)";
  case Kind::EnvironmentContradiction:
    return R"(
Two variables exclude each other, so that one of them does nothing or the
library ends with an error. In

    launch { env = { NCCL_IB_DISABLE = "1", NCCL_IB_HCA = "mlx5" } }

the adapters are chosen and turned off: leave one of the two out.)";
  default:
    break;
  }
  assert(false && "not a kind of this file");
  return {};
}

} // namespace recipec::diag
