// Tasks, processes and GPUs of an sbatch script; see Findings.h.
//
// 1. Read what the options give, and the command that starts the ranks.
// 2. Compare the ranks of a node with its GPUs, and the options of the command
//    with those of the script.
// 3. Compare the degrees of parallelism with the ranks.

#include "compiler/import/sbatch/Findings.h"

#include <algorithm>

namespace recipec::importer::sbatch {
namespace {

using diag::Kind;
using Program = manifest::Start::Program;

/// `1 task`, `2 tasks`, `2 processes`.
std::string numbered(int64_t count, std::string_view noun) {
  std::string text = std::to_string(count) + " " + std::string(noun);
  if (count != 1)
    text += noun.ends_with('s') ? "es" : "s";
  return text;
}

class TaskInspector {
public:
  TaskInspector(const Script& script, diag::Engine& engine)
      : script(script), engine(engine), given(allocationOf(script)),
        launch(launchOf(script)) {
    nodes = given.nodes ? given.nodes->value : 1;
    hasNodes = given.nodes || !script.find("nodes");
    tasksPerNode = given.tasksPerNode ? given.tasksPerNode->value : 1;
  }

  void inspect() {
    checkTotal();
    if (!launch)
      return;
    if (launch->hasSrun)
      checkSrun();
    if (launch->start.program == Program::torchrun)
      checkTorchrun();
    else if (launch->start.program == Program::mpirun)
      checkMpirun();
    else if (launch->hasSrun)
      checkTasks();
    else if (launch->start.program == Program::python && nodes > 1)
      reportFirstNode("`python`");
    checkDegrees();
  }

private:
  diag::Builder report(SourceRange range, std::string message) {
    return engine.report(Kind::ManifestRanks, range, std::move(message));
  }

  /// `--ntasks` beside `--nodes` and `--ntasks-per-node`.
  void checkTotal() {
    const Option* tasks = script.find("ntasks");
    const bool hasAll = tasks && given.nodes && script.find("ntasks-per-node");
    if (!hasAll || tasks->value == std::to_string(given.tasks()))
      return;
    report(tasks->range, "`--ntasks` = " + tasks->value + " is not " +
                             numbered(nodes, "node") + " with " +
                             numbered(tasksPerNode, "task") + " each")
        .label(given.tasksPerNode->range, "tasks of a node")
        .help("leave `--ntasks` out");
  }

  /// The options of srun ask for more than the job has.
  void checkSrun() {
    if (launch->perNode && given.tasksPerNode &&
        launch->perNode->value > tasksPerNode)
      report(launch->perNode->range,
             "srun starts " + numbered(launch->perNode->value, "task") +
                 " a node, and the job has " + std::to_string(tasksPerNode))
          .label(given.tasksPerNode->range, "tasks of a node")
          .help("give the number in the line `#SBATCH` alone: srun takes it "
                "over");
    if (launch->tasks && hasNodes && launch->tasks->value > given.tasks() &&
        !launch->perNode)
      report(launch->tasks->range,
             "srun starts " + numbered(launch->tasks->value, "task") +
                 ", and the job has " + std::to_string(given.tasks()))
          .help("give the number in the line `#SBATCH` alone: srun takes it "
                "over");
  }

  void reportFirstNode(const std::string& program) {
    report(launch->range, program + " runs on the first of " +
                              numbered(nodes, "node") +
                              ", as all commands of the script do")
        .label(given.nodes->range, "the nodes")
        .help("start it on all of them: `srun " +
              program.substr(1, program.size() - 2) + " ...`");
  }

  void checkTorchrun() {
    const manifest::Start& start = launch->start;
    if (!launch->hasSrun && nodes > 1)
      reportFirstNode("`torchrun`");
    const int64_t copies =
        launch->perNode ? launch->perNode->value : tasksPerNode;
    if (launch->hasSrun && copies > 1)
      report(launch->perNode      ? launch->perNode->range
             : given.tasksPerNode ? given.tasksPerNode->range
                                  : launch->range,
             "srun starts " + numbered(copies, "torchrun") +
                 " on each node, and each starts the ranks of the node")
          .help("write `#SBATCH --ntasks-per-node=1`");
    if (start.nodes && given.nodes && start.nodes->value != nodes)
      report(start.nodes->range,
             "torchrun waits for " + numbered(start.nodes->value, "node") +
                 ", and the job has " + std::to_string(nodes))
          .label(given.nodes->range, "the nodes")
          .help("write `--nnodes=$SLURM_NNODES`");
    if (start.perNode)
      checkGpus(start.perNode->value, start.perNode->range,
                "torchrun starts " + numbered(start.perNode->value, "process"),
                "write `--nproc_per_node=" + gpuText() + "`");
    else if (!start.hasPerNode && given.gpusPerNode &&
             given.gpusPerNode->value > 1)
      checkGpus(1, launch->range,
                "torchrun without `--nproc_per_node` starts 1 process",
                "write `--nproc_per_node=" + gpuText() + "`");
  }

  void checkMpirun() {
    const manifest::Start& start = launch->start;
    if (!start.ranks || !hasNodes)
      return;
    if (given.tasksPerNode && start.ranks->value > given.tasks())
      report(start.ranks->range,
             "mpirun starts " + numbered(start.ranks->value, "rank") +
                 ", and the job has " + numbered(given.tasks(), "task"))
          .label(given.tasksPerNode->range, "tasks of a node")
          .help("leave `-np` out: mpirun takes the tasks of the job");
    else if (given.gpusPerNode &&
             start.ranks->value != nodes * given.gpusPerNode->value)
      report(start.ranks->range,
             "mpirun starts " + numbered(start.ranks->value, "rank") + " on " +
                 numbered(nodes * given.gpusPerNode->value, "GPU"))
          .label(given.gpusPerNode->range, gpuText() + " a node")
          .help("start one rank for each GPU");
  }

  /// srun starts the ranks themselves.
  void checkTasks() {
    const int64_t tasks =
        launch->perNode ? launch->perNode->value : tasksPerNode;
    const SourceRange range = launch->perNode      ? launch->perNode->range
                              : given.tasksPerNode ? given.tasksPerNode->range
                                                   : launch->range;
    checkGpus(tasks, range, "srun starts " + numbered(tasks, "task"),
              "write `#SBATCH --ntasks-per-node=" + gpuText() + "`");
  }

  std::string gpuText() const {
    return given.gpusPerNode ? std::to_string(given.gpusPerNode->value) : "8";
  }

  void checkGpus(int64_t count, SourceRange range, const std::string& what,
                 const std::string& help) {
    if (!given.gpusPerNode || count == given.gpusPerNode->value)
      return;
    report(range, what + " on each node, which has " +
                      numbered(given.gpusPerNode->value, "GPU"))
        .label(given.gpusPerNode->range, "GPUs of a node")
        .help(help);
  }

  /// `tp * pp * cp` divides the ranks.
  void checkDegrees() {
    if (!given.gpusPerNode || !hasNodes)
      return;
    const int64_t ranks = nodes * given.gpusPerNode->value;
    int64_t product = 1;
    std::string names;
    SourceRange range;
    for (const manifest::Degree& each :
         manifest::degreesOf(launch->start.training)) {
      if (each.name != "tp" && each.name != "pp" && each.name != "cp")
        continue;
      product *= each.given.value;
      names += (names.empty() ? "`" : " * `") + each.name + "`";
      range =
          range.isValid() ? cover(range, each.given.range) : each.given.range;
    }
    if (ranks % product == 0)
      return;
    report(range, names + " = " + std::to_string(product) +
                      " does not divide the " + numbered(ranks, "rank") +
                      " of the job")
        .label(given.gpusPerNode->range,
               "GPUs of each of " + numbered(nodes, "node"))
        .help("choose degrees whose product divides the ranks");
  }

  const Script& script;
  diag::Engine& engine;
  const Allocation given;
  const std::optional<Launch> launch;
  int64_t nodes = 1, tasksPerNode = 1;
  bool hasNodes = true; // known
};

} // namespace

void checkRanks(const Script& script, diag::Engine& engine) {
  TaskInspector(script, engine).inspect();
}

} // namespace recipec::importer::sbatch
