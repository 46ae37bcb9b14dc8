// See LaunchSection.h. One function for each group of fields; each marks the
// fields that it has read, and what is left is listed with a reason.

#include "compiler/import/manifest/LaunchSection.h"

#include "compiler/environment/Variables.h"
#include "compiler/import/Recipes.h"
#include "compiler/import/manifest/Findings.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace recipec::importer::manifest {
namespace {

constexpr double mebibyte = 0x1p20;

/// A field of a manifest that a recipe does not have. `field` may end in `*`.
struct NoCounterpart {
  std::string_view field, reason;
};
constexpr std::string_view ofProgram =
    "a recipe runs `reciperun`; `recipec launch` writes its command";
constexpr std::string_view ofTarget =
    "`recipec launch` writes it for each target";
constexpr std::string_view ofSpread =
    "a recipe has `launch.node_selector` and `launch.tolerations`";
constexpr std::string_view ofImage = "the image has what the program needs";
constexpr NoCounterpart reasons[] = {
    {"command", ofProgram},
    {"args", ofProgram},
    {"workingDir", "`launch.folder` is the folder of relative paths"},
    {"ports", ofTarget},
    {"livenessProbe", ofTarget},
    {"readinessProbe", ofTarget},
    {"startupProbe", ofTarget},
    {"lifecycle", ofImage},
    {"initContainers", ofImage},
    {"imagePullPolicy", "name a tag or a digest in `launch.image`"},
    {"securityContext", "ranks run as the image's user; RDMA gets IPC_LOCK"},
    {"affinity", ofSpread},
    {"topologySpreadConstraints", ofSpread},
    {"schedulerName", "`launch.queue` names a queue of Kueue"},
    {"hostNetwork", "pods have a network of their own"},
    {"dnsPolicy", "pods have a network of their own"},
    {"hostIPC", "`launch.shared_memory` is the size of `/dev/shm`"},
    {"restartPolicy", ofTarget},
    {"cleanPodPolicy", ofTarget},
    {"completionMode", ofTarget},
    {"completions", "nodes follow from `cluster.ranks`"},
    {"parallelism", "nodes follow from `cluster.ranks`"},
    {"nprocPerNode", "`cluster.ranks_per_node` follows from the hardware"},
    {"slotsPerWorker", "`cluster.ranks_per_node` follows from the hardware"},
    {"elasticPolicy", "the plan is for one number of ranks"},
    {"podFailurePolicy", ofTarget},
    {"successPolicy", ofTarget},
    {"mpiImplementation", "reciperun is built with Open MPI"},
};

std::string reasonOf(std::string_view field) {
  for (const NoCounterpart& each : reasons)
    if (each.field == field)
      return std::string(each.reason);
  return "this command knows no counterpart";
}

/// Variables that launchers and PyTorch read, which a recipe does not run.
std::string_view ofVariable(std::string_view name) {
  for (const char* rendezvous :
       {"MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK", "LOCAL_RANK",
        "NODE_RANK", "NNODES", "NPROC_PER_NODE"})
    if (name == rendezvous)
      return "mpirun tells ranks how many they are";
  for (const char* prefix : {"PET_", "TORCH", "PYTORCH_", "PYTHON", "NVTE_",
                             "HYDRA_", "TOKENIZERS_", "WANDB_", "HF_HUB_"})
    if (name.starts_with(prefix))
      return "a recipe runs no Python";
  return {};
}

/// A size as the language writes it: `80GiB`, `512MiB`.
std::string sizeText(double bytes) {
  const double mebibytes = std::ceil(bytes / mebibyte);
  const bool isWhole = std::fmod(mebibytes, 1024) == 0 && mebibytes > 0;
  return isWhole ? std::to_string(int64_t(mebibytes / 1024)) + "GiB"
                 : std::to_string(int64_t(mebibytes)) + "MiB";
}

std::string durationText(int64_t seconds) {
  if (seconds % 3600 == 0)
    return std::to_string(seconds / 3600) + "h";
  if (seconds % 60 == 0)
    return std::to_string(seconds / 60) + "min";
  return std::to_string(seconds) + "s";
}

bool isIdentifier(std::string_view name) {
  return !name.empty() && !std::isdigit(static_cast<unsigned char>(name[0])) &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return std::isalnum(c) || c == '_';
         });
}

/// A key of a map in the language.
std::string keyText(const std::string& key) {
  return isIdentifier(key) ? key : "[" + literal(key) + "]";
}

std::string mapText(const std::vector<std::string>& entries) {
  return "{ " + llvm::join(entries, ", ") + " }";
}

/// The path from the pod or the container on, which a reader knows.
std::string pathInPod(std::string path) {
  for (const std::string_view outer : {"template.spec.", "containers[0]."})
    if (const size_t at = path.rfind(outer); at != path.npos)
      path = path.substr(at + outer.size());
  return path;
}

class SectionWriter {
public:
  SectionWriter(const Training& training, Job& job)
      : training(training), job(job), object(*training.object),
        spec(training.pod ? training.pod->spec : Node()),
        container(training.container) {}

  void write() {
    setText("launch.name", object.root.at("metadata.name"));
    setText("launch.namespace", object.root.at("metadata.namespace"));
    setText("launch.image", container["image"]);
    if (container["image"])
      job.remarks.push_back("`launch.image` has to have `reciperun`, Open MPI "
                            "and OpenSSH.");
    writePolicies();
    writePod();
    writeVolumes();
    writeResources();
    writeEnvironment();
    omitRest(container,
             {"name", "image", "env", "envFrom", "resources", "volumeMounts"});
    omitRest(spec, {"containers", "volumes", "serviceAccountName",
                    "priorityClassName", "imagePullSecrets", "nodeSelector",
                    "tolerations", "terminationGracePeriodSeconds",
                    "restartPolicy", "subdomain", "hostname"});
    omitRest(object.spec(),
             {"template", "pytorchReplicaSpecs", "mpiReplicaSpecs",
              "replicatedJobs", "runPolicy", "trainer", "runtimeRef",
              "backoffLimit", "activeDeadlineSeconds", "failurePolicy",
              "ttlSecondsAfterFinished", "network", "selector"});
  }

private:
  void set(const char* field, const std::string& value) {
    job.set(field, value);
  }
  void setText(const char* field, const Node& node) {
    if (node.isText())
      set(field, literal(node.text()));
  }
  void omit(const Node& node, std::string reason) {
    const std::string text = node.text();
    const bool isShort =
        !text.empty() && text.find('\n') == text.npos && text.size() < 60;
    job.omit(pathInPod(node.path()) + (isShort ? " = " + text : ""),
             std::move(reason));
  }
  void omitRest(const Node& record, const std::set<std::string>& known) {
    for (const Node& each : record.fields())
      if (each && !known.contains(each.name()))
        omit(each, reasonOf(each.name()));
  }

  void writePolicies();
  void writePod();
  void writeVolumes();
  void writeVolume(const Node& mount, const Node& volume,
                   std::vector<std::string>& volumes);
  void writeResources();
  void writeEnvironment();

  const Training& training;
  Job& job;
  const Object& object;
  Node spec, container;
  double sharedBytes = 0;
};

void SectionWriter::writePolicies() {
  const Node own = object.spec(), policy = own["runPolicy"];
  for (const Node& limit :
       {own["activeDeadlineSeconds"], policy["activeDeadlineSeconds"]})
    if (const auto seconds = limit.count(); seconds && *seconds >= 60)
      set("launch.time", durationText(*seconds));
  for (const Node& restarts : {own["backoffLimit"], policy["backoffLimit"],
                               own.at("failurePolicy.maxRestarts")})
    if (restarts.count())
      set("launch.restarts", restarts.text());
  const Node labels = object.root.at("metadata.labels");
  setText("launch.queue", labels["kueue.x-k8s.io/queue-name"]);
  for (const Node& keep :
       {own["ttlSecondsAfterFinished"], policy["ttlSecondsAfterFinished"]})
    if (keep)
      omit(keep, "finished jobs stay until they are deleted");
}

void SectionWriter::writePod() {
  setText("launch.service_account", spec["serviceAccountName"]);
  setText("launch.priority", spec["priorityClassName"]);
  if (const auto grace = spec["terminationGracePeriodSeconds"].count())
    set("launch.grace", durationText(std::max<int64_t>(1, *grace)));
  std::vector<std::string> secrets, labels, tolerations;
  for (const Node& each : spec["imagePullSecrets"].elements())
    secrets.push_back(literal(each["name"].text()));
  for (const Node& each : spec["nodeSelector"].fields())
    labels.push_back(keyText(each.name()) + " = " + literal(each.text()));
  for (const Node& each : spec["tolerations"].elements()) {
    if (!each["key"]) {
      omit(each, "a toleration of a recipe names its key");
      continue;
    }
    std::string text = "toleration(" + literal(each["key"].text());
    if (each["value"])
      text += ", value = " + literal(each["value"].text());
    if (each["effect"])
      text += ", effect = " + literal(each["effect"].text());
    tolerations.push_back(text + ")");
  }
  if (!secrets.empty())
    set("launch.pull_secrets", "[" + llvm::join(secrets, ", ") + "]");
  if (!labels.empty())
    set("launch.node_selector", mapText(labels));
  if (!tolerations.empty())
    set("launch.tolerations", "[" + llvm::join(tolerations, ", ") + "]");
}

void SectionWriter::writeVolume(const Node& mount, const Node& volume,
                                std::vector<std::string>& volumes) {
  const std::string path = mount["mountPath"].text();
  const Node claim = volume.at("persistentVolumeClaim.claimName"),
             folder = volume.at("hostPath.path");
  if (path == "/dev/shm") {
    if (const auto size = quantityOf(volume.at("emptyDir.sizeLimit").text())) {
      sharedBytes = *size;
      set("launch.shared_memory", sizeText(*size));
    }
    return;
  }
  if (!claim && !folder) {
    omit(mount["mountPath"],
         "volumes of a recipe are claims, or folders of the nodes");
    return;
  }
  std::string text = "volume(" + literal(path);
  text += claim ? ", claim = " + literal(claim.text())
                : ", host = " + literal(folder.text());
  if (mount["readOnly"].isTrue())
    text += ", read_only = true";
  if (mount["subPath"])
    omit(mount["subPath"], "a volume of a recipe is mounted whole");
  volumes.push_back(text + ")");
}

void SectionWriter::writeVolumes() {
  std::vector<std::string> volumes;
  for (const Node& mount : container["volumeMounts"].elements())
    for (const Node& volume : spec["volumes"].elements())
      if (volume["name"].text() == mount["name"].text())
        writeVolume(mount, volume, volumes);
  if (!volumes.empty())
    set("launch.volumes", "[" + llvm::join(volumes, ", ") + "]");
}

void SectionWriter::writeResources() {
  const Node amounts = container["resources"].isRecord()
                           ? container["resources"]
                           : container["resourcesPerNode"];
  std::vector<std::string> others;
  std::set<std::string> seen;
  for (const char* list : {"limits", "requests"})
    for (const Node& each : amounts[list].fields()) {
      if (!seen.insert(each.name()).second)
        continue;
      const auto amount = quantityOf(each.text());
      if (isGpu(each.name())) {
        if (each.name() != "nvidia.com/gpu")
          set("launch.gpu_resource", literal(each.name()));
      } else if (each.name() == "cpu" && amount) {
        set("launch.cpus", std::to_string(std::max<int64_t>(
                               1, int64_t(*amount) / training.ranksPerNode)));
      } else if (each.name() == "memory" && amount) {
        // A pod of `recipec launch` asks for this and for `/dev/shm`.
        set("launch.host_memory",
            sizeText(std::max(mebibyte, *amount - sharedBytes)));
      } else if (each.name().find('/') != std::string::npos && each.count()) {
        others.push_back(keyText(each.name()) + " = " + each.text());
      } else {
        omit(each, reasonOf(each.name()));
      }
    }
  if (!others.empty())
    set("launch.resources", mapText(others));
}

void SectionWriter::writeEnvironment() {
  std::vector<std::string> entries;
  for (const Node& each : container["env"].elements()) {
    const std::string name = each["name"].text();
    const Node secret = each.at("valueFrom.secretKeyRef");
    const environment::Mistake* mistake = environment::findMistake(name);
    if (mistake) {
      job.omit(name, std::string(mistake->reason));
    } else if (const std::string_view reason = ofVariable(name);
               !reason.empty()) {
      job.omit(name, std::string(reason));
    } else if (secret) {
      entries.push_back(keyText(name) + " = secret(" +
                        literal(secret["name"].text()) +
                        ", key = " + literal(secret["key"].text()) + ")");
    } else if (each["valueFrom"]) {
      job.omit(name, "a variable of a recipe is a text or a secret");
    } else if (isSecretVariable(name, each["value"].text())) {
      job.omit(name, "its value is a secret: create one, and write `" + name +
                         " = secret(\"NAME\", key = \"KEY\")` in `launch.env`");
    } else {
      entries.push_back(keyText(name) + " = " + literal(each["value"].text()));
    }
  }
  for (const Node& each : container["envFrom"].elements())
    omit(each, "`launch.env` lists each variable");
  if (!entries.empty())
    set("launch.env", mapText(entries));
}

/// The container with GPUs, or the first one.
Node trainerOf(const Pod& pod) {
  for (const Node& each : pod.containers())
    for (const char* list : {"limits", "requests"})
      for (const Node& amount : each["resources"][list].fields())
        if (isGpu(amount.name()))
          return each;
  return pod.containers().empty() ? Node() : pod.containers().front();
}

/// The command that starts ranks, in any pod of the object.
std::optional<Start> startOfObject(const Manifest& manifest,
                                   const Object& object) {
  for (const Pod& pod : manifest.pods) {
    if (pod.owner != &object)
      continue;
    for (const Node& container : pod.containers())
      if (auto start = startOf(commandsOf(pod, container, manifest)))
        return start;
  }
  return std::nullopt;
}

std::optional<Training> trainingOfPods(const Manifest& manifest,
                                       const Object& object) {
  Training training{.object = &object};
  int64_t gpus = 0;
  for (const Pod& pod : manifest.pods) {
    if (pod.owner != &object)
      continue;
    const int64_t own = pod.gpus();
    gpus += pod.count * own;
    if (own > 0 && !training.pod) {
      training.pod = &pod;
      training.ranksPerNode = own;
    }
  }
  const auto start = startOfObject(manifest, object);
  if (!training.pod || !start)
    return std::nullopt;
  training.container = trainerOf(*training.pod);
  training.ranks = gpus;
  training.start = *start;
  return training;
}

std::optional<Training> trainingOfTrainJob(const Object& object) {
  const Node trainer = object.spec()["trainer"];
  Command command;
  for (const char* list : {"command", "args"})
    for (const Node& each : trainer[list].elements())
      command.push_back({each.text(), each.valueRange()});
  const auto start = startOf({command});
  if (!start)
    return std::nullopt;
  Training training{.object = &object, .container = trainer, .start = *start};
  for (const Node& each : trainer.at("resourcesPerNode.limits").fields())
    if (isGpu(each.name()))
      training.ranksPerNode = each.count().value_or(1);
  if (const auto given = trainer["numProcPerNode"].count())
    training.ranksPerNode = *given;
  training.ranks =
      training.ranksPerNode * trainer["numNodes"].count().value_or(1);
  return training;
}

} // namespace

std::vector<Training> trainingsOf(const Manifest& manifest) {
  std::vector<Training> trainings;
  constexpr std::string_view kinds[] = {"PyTorchJob", "MPIJob", "Job",
                                        "JobSet",     "Pod",    "StatefulSet"};
  for (const Object& each : manifest.objects) {
    std::optional<Training> training;
    if (each.is("NeMoTraining"))
      training = Training{.object = &each};
    else if (each.is("TrainJob"))
      training = trainingOfTrainJob(each);
    else if (each.known &&
             std::ranges::find(kinds, each.kind) != std::end(kinds))
      training = trainingOfPods(manifest, each);
    if (training)
      trainings.push_back(std::move(*training));
  }
  return trainings;
}

/// A NeMoTraining has no pods; its other fields describe the training.
void addNemoSection(const Object& object, Job& job) {
  const Node image = object.spec()["image"];
  const Node tag = image["tag"];
  job.set("launch.name", literal(object.name));
  if (!object.space.empty())
    job.set("launch.namespace", literal(object.space));
  job.omit("spec.image = " + image["repository"].text() +
               (tag ? ":" + tag.text() : ""),
           "a recipe runs `reciperun`, which NeMo's image does not have");
  std::vector<std::string> secrets;
  for (const Node& each : image["pullSecrets"].elements())
    secrets.push_back(literal(each["name"].text()));
  if (!secrets.empty())
    job.set("launch.pull_secrets", "[" + llvm::join(secrets, ", ") + "]");
}

void addLaunchSection(const Training& training, Job& job) {
  if (training.object->is("NeMoTraining"))
    return addNemoSection(*training.object, job);
  SectionWriter(training, job).write();
}

} // namespace recipec::importer::manifest
