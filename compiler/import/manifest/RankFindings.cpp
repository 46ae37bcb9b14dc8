// Numbers of processes, pods and GPUs; see Findings.h.
//
// 1. Count the pods of an object and their GPUs.
// 2. Find the command that starts ranks, and count the ranks.
// 3. Compare both, and the degrees of parallelism of the command.

#include "compiler/import/manifest/Findings.h"

#include "compiler/import/manifest/Commands.h"

#include <algorithm>

namespace recipec::importer::manifest {
namespace {

using diag::Kind;

std::string counted(int64_t count, const char* noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

/// Numbers of ranks, and where the file says so.
struct RankCount {
  int64_t ranks = 0;
  SourceRange range;
  std::string reason; // "4 pods with 1 process each"
};

class RankInspector {
public:
  RankInspector(const Manifest& manifest, const Object& object,
                diag::Engine& engine)
      : manifest(manifest), object(object), engine(engine) {
    for (const Pod& pod : manifest.pods)
      if (pod.owner == &object) {
        pods.push_back(&pod);
        podCount += pod.count;
        gpuCount += pod.count * pod.gpus();
      }
  }

  void inspect() {
    if (object.kind == "NeMoTraining")
      return checkNemo();
    if (object.kind == "TrainJob")
      return checkTrainJob();
    if (gpuCount == 0)
      return;
    findStart();
    checkEven();
    std::optional<RankCount> count;
    if (object.kind == "MPIJob")
      count = countMpiJob();
    else if (object.kind == "PyTorchJob")
      count = countPyTorchJob();
    else
      count = countStarted();
    checkWorldSize();
    if (object.kind.ends_with("TrainingRuntime"))
      return checkRuntime();
    const bool isWrong = count && count->ranks != gpuCount;
    if (isWrong)
      reportRanks(*count);
    if (start)
      checkStart();
    checkDegrees(isWrong ? count->ranks : worldOfDegrees());
  }

private:
  /// GPUs of a pod; 0 if the pods differ.
  int64_t gpusOfPod() const {
    int64_t gpus = 0;
    for (const Pod* pod : pods)
      if (const int64_t own = pod->gpus(); own > 0)
        gpus = gpus == 0 || gpus == own ? own : -1;
    return std::max<int64_t>(gpus, 0);
  }
  /// Where the GPUs of a pod are written.
  static SourceRange gpuRange(const Pod& pod) {
    for (const Node& container : pod.containers())
      for (const char* amounts : {"limits", "requests"})
        for (const Node& each : container["resources"][amounts].fields())
          if (isGpu(each.name()))
            return each.valueRange();
    return {};
  }
  const Pod* podOf(std::string_view role) const {
    const auto found = std::ranges::find(pods, role, &Pod::role);
    return found == pods.end() ? nullptr : *found;
  }
  diag::Builder report(SourceRange range, std::string message) {
    return engine.report(Kind::ManifestRanks, range, std::move(message));
  }
  /// Copies of one server do not work together.
  bool isServer() const {
    return object.kind == "Deployment" || object.kind == "StatefulSet" ||
           object.kind == "DaemonSet" || object.kind == "ReplicaSet";
  }
  int64_t worldOfDegrees() const { return isServer() ? gpusOfPod() : gpuCount; }

  void findStart();
  void checkEven();
  std::optional<RankCount> countMpiJob();
  std::optional<RankCount> countPyTorchJob();
  std::optional<RankCount> countStarted();
  void reportRanks(const RankCount& count);
  void checkStart();
  void checkWorldSize();
  void checkDegrees(int64_t ranks);
  void checkDegree(const Degree& degree);
  void checkRuntime();
  void checkTrainJob();
  void checkNemo();

  const Manifest& manifest;
  const Object& object;
  diag::Engine& engine;
  std::vector<const Pod*> pods;
  int64_t podCount = 0, gpuCount = 0;
  std::optional<Start> start;
  Command training;
};

void RankInspector::findStart() {
  for (const Pod* pod : pods)
    for (const Node& container : pod->containers()) {
      const std::vector<Command> commands =
          commandsOf(*pod, container, manifest);
      if (!start && (start = startOf(commands)))
        training = start->training;
      if (training.empty() && commands.size() == 1)
        training = commands.front();
    }
}

/// One number of processes is for all pods.
void RankInspector::checkEven() {
  const Pod* first = nullptr;
  if (object.kind != "PyTorchJob")
    return;
  for (const Pod* pod : pods) {
    if (!first)
      first = pod;
    if (pod->gpus() == first->gpus())
      continue;
    const SourceRange own = gpuRange(*pod);
    report(own.isValid() ? own : pod->spec["containers"].range(),
           "a pod of `" + pod->role + "` has " + counted(pod->gpus(), "GPU") +
               ", and one of `" + first->role + "` has " +
               std::to_string(first->gpus()))
        .help("give all pods the same number: each starts as many processes");
    return;
  }
}

std::optional<RankCount> RankInspector::countPyTorchJob() {
  const Node given = object.spec()["nprocPerNode"];
  const Node specs = object.spec()["pytorchReplicaSpecs"];
  const std::string pod = counted(podCount, "pod");
  if (start && start->program == Start::Program::mpirun)
    return countStarted();
  if (start && start->program == Start::Program::torchrun && start->hasPerNode)
    return countStarted();
  if (given && !given.count())
    return std::nullopt; // `auto`, `gpu`
  const int64_t processes = given.count().value_or(1);
  const bool isPython = start && start->program == Start::Program::python;
  if (!start && !given)
    return std::nullopt; // an unknown program may start several
  if (isPython && processes > 1)
    return RankCount{podCount, given.range(),
                     "`python` starts one process in each of " + pod +
                         ", and WORLD_SIZE is " +
                         std::to_string(podCount * processes)};
  return RankCount{podCount * processes, given ? given.range() : specs.range(),
                   "WORLD_SIZE is " + std::to_string(podCount * processes) +
                       ", " + pod + " with " + std::to_string(processes) +
                       (processes == 1 ? " process each" : " processes each")};
}

std::optional<RankCount> RankInspector::countMpiJob() {
  const Pod* worker = podOf("Worker");
  const Pod* launcher = podOf("Launcher");
  if (!worker)
    return std::nullopt;
  const Node given = object.spec()["slotsPerWorker"];
  const int64_t slots = given.count().value_or(1);
  const bool hasLauncher = object.spec()["runLauncherAsWorker"].isTrue();
  if (launcher && launcher->gpus() > 0 && !hasLauncher) {
    report(gpuRange(*launcher), "the launcher of an MPIJob has " +
                                    counted(launcher->gpus(), "GPU") +
                                    ", and no ranks run in it")
        .help("leave them out, or write `runLauncherAsWorker: true`");
    gpuCount -= launcher->count * launcher->gpus();
  }
  const int64_t nodes = worker->count + (hasLauncher ? 1 : 0);
  if (worker->gpus() > 0 && slots != worker->gpus())
    report(given ? given.range()
                 : object.spec()["mpiReplicaSpecs"]["Worker"].range(),
           "`slotsPerWorker` = " + std::to_string(slots) +
               (given ? "" : ", the default,") + " and a worker has " +
               counted(worker->gpus(), "GPU"))
        .help("write `slotsPerWorker: " + std::to_string(worker->gpus()) + "`");
  else if (start && start->ranks && start->ranks->value != slots * nodes)
    report(start->ranks->range,
           "mpirun starts " + counted(start->ranks->value, "rank") +
               ", and the workers have " + counted(slots * nodes, "slot"))
        .help("write `-np " + std::to_string(slots * nodes) +
              "`, or leave it out: mpirun fills the slots");
  return std::nullopt;
}

/// Ranks that the command itself counts.
std::optional<RankCount> RankInspector::countStarted() {
  if (!start || isServer())
    return std::nullopt;
  if (start->program == Start::Program::mpirun && start->ranks)
    return RankCount{start->ranks->value, start->ranks->range,
                     "mpirun starts " + counted(start->ranks->value, "rank")};
  if (start->program == Start::Program::torchrun && start->perNode)
    return RankCount{
        podCount * start->perNode->value, start->perNode->range,
        "torchrun starts " + std::to_string(start->perNode->value) +
            (start->perNode->value == 1 ? " process" : " processes") +
            " in each of " + counted(podCount, "pod")};
  return std::nullopt;
}

void RankInspector::reportRanks(const RankCount& count) {
  const int64_t perPod = gpusOfPod();
  auto builder =
      report(count.range, count.reason + ", on " + counted(gpuCount, "GPU"));
  for (const Pod* pod : pods)
    if (pod->gpus() > 0)
      builder.label(gpuRange(*pod), counted(pod->gpus(), "GPU") +
                                        " in each of " +
                                        counted(pod->count, "pod"));
  if (perPod == 0)
    return;
  const std::string each = std::to_string(perPod);
  if (start && start->program == Start::Program::mpirun)
    builder.help("write `-np " + std::to_string(gpuCount) + "`");
  else if (start && start->perNode)
    builder.help("write `--nproc-per-node=" + each + "`");
  else if (start && start->program == Start::Program::python)
    builder.help("write `nprocPerNode: \"" + each +
                 "\"` in `spec`, and start the program by `torchrun`, which "
                 "reads it");
  else
    builder.help("write `nprocPerNode: \"" + each + "\"` in `spec`");
}

void RankInspector::checkStart() {
  if (start->nodes && start->nodes->value != podCount && !isServer() &&
      start->program == Start::Program::torchrun)
    report(start->nodes->range,
           "torchrun waits for " + counted(start->nodes->value, "node") +
               ", and the job has " + counted(podCount, "pod"))
        .help("write `--nnodes=" + std::to_string(podCount) + "`");
}

/// A WORLD_SIZE that is written out.
void RankInspector::checkWorldSize() {
  if (isServer())
    return;
  for (const Pod* pod : pods)
    for (const Node& container : pod->containers())
      for (const Node& each : container["env"].elements()) {
        const auto given = each["value"].count();
        if (each["name"].text() != "WORLD_SIZE" || !given || *given == gpuCount)
          continue;
        report(each["value"].range(), "WORLD_SIZE is " +
                                          std::to_string(*given) + ", on " +
                                          counted(gpuCount, "GPU"))
            .help(object.kind == "PyTorchJob"
                      ? "leave it out: the operator sets it from "
                        "`nprocPerNode`"
                      : "leave it out: torchrun sets it");
        return;
      }
}

void RankInspector::checkDegree(const Degree& degree) {
  const int64_t gpus = gpusOfPod();
  const bool isNodes = degree.name == "nodes";
  const int64_t wanted = isNodes ? podCount : gpus;
  if (wanted == 0 || degree.given.value == wanted || isServer())
    return;
  report(degree.given.range,
         "the training expects " +
             (isNodes ? counted(degree.given.value, "node")
                      : counted(degree.given.value, "GPU") + " a node") +
             ", and the manifest has " +
             (isNodes ? counted(podCount, "pod")
                      : counted(gpus, "GPU") + " a pod"))
      .help("write " + std::to_string(wanted) + ", or change the pods");
}

void RankInspector::checkDegrees(int64_t ranks) {
  int64_t product = 1, replicas = 0;
  std::string text;
  const Degree* last = nullptr;
  const std::vector<Degree> degrees = degreesOf(training);
  for (const Degree& each : degrees) {
    if (each.name == "nodes" || each.name == "devices") {
      checkDegree(each);
      continue;
    }
    last = &each;
    if (each.name == "dp") {
      replicas = each.given.value;
      continue;
    }
    product *= each.given.value;
    text += (text.empty() ? "" : " * ") + each.name;
  }
  if (!last || ranks == 0)
    return;
  const bool isWrong = isServer()     ? product != ranks
                       : replicas > 0 ? product * replicas != ranks
                                      : ranks % product != 0;
  if (!isWrong)
    return;
  if (replicas > 0)
    text += (text.empty() ? "dp" : " * dp");
  product *= std::max<int64_t>(1, replicas);
  report(last->given.range,
         text + " = " + std::to_string(product) +
             (isServer()     ? " is not the number of GPUs of a pod, "
              : replicas > 0 ? " is not the number of ranks, "
                             : " does not divide the number of ranks, ") +
             std::to_string(ranks))
      .help(isServer() ? "ask for as many GPUs, or change a degree"
                       : "change a degree, or the number of pods");
}

/// Kubeflow Trainer 2: the runtime has the pods, the TrainJob their numbers.
void RankInspector::checkRuntime() {
  const Node given = object.spec().at("mlPolicy.mpi.numProcPerNode");
  const int64_t gpus = gpusOfPod();
  if (given.count() && gpus > 0 && *given.count() != gpus)
    report(given.range(), "`numProcPerNode` = " + given.text() +
                              ", and a pod has " + counted(gpus, "GPU"))
        .help("write `numProcPerNode: " + std::to_string(gpus) + "`");
}

void RankInspector::checkTrainJob() {
  const Node trainer = object.spec()["trainer"];
  const Node processes = trainer["numProcPerNode"];
  int64_t gpus = 0;
  for (const char* amounts : {"limits", "requests"})
    for (const Node& each : trainer["resourcesPerNode"][amounts].fields())
      if (isGpu(each.name()))
        gpus = std::max(gpus, each.count().value_or(0));
  const auto given = processes.count();
  if (given && gpus > 0 && *given != gpus)
    report(processes.range(), "`numProcPerNode` = " + processes.text() +
                                  ", and a node has " + counted(gpus, "GPU"))
        .help("write `numProcPerNode: " + std::to_string(gpus) +
              "`, or leave it out");
  for (const char* list : {"command", "args"})
    for (const Node& each : trainer[list].elements())
      training.push_back({each.text(), each.valueRange()});
  checkDegrees(gpus * trainer["numNodes"].count().value_or(1));
}

void RankInspector::checkNemo() {
  const Node spec = object.spec();
  const Node resources = spec["resources"];
  const int64_t ranks = resources["nodes"].count().value_or(1) *
                        resources["gpusPerNode"].count().value_or(1);
  for (const Node& each : spec.at("training.distributed").fields())
    if (const auto count = each.count())
      training.push_back(
          {each.name() + "=" + std::to_string(*count), each.valueRange()});
  checkDegrees(ranks);
}

} // namespace

void checkRanks(const Manifest& manifest, diag::Engine& engine) {
  for (const Object& each : manifest.objects)
    RankInspector(manifest, each, engine).inspect();
}

} // namespace recipec::importer::manifest
