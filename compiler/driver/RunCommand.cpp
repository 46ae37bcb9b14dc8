// `recipec run FILE`: compile, write the plan, launch.
//
// 1. Compile; a recipe for a device that this build cannot run is refused.
// 2. Write `train.dir`/plan.json.
// 3. Say what memory is expected, then run
//    `mpirun -np RANKS reciperun train PLAN`, whose exit code is ours.

#include "compiler/driver/Driver.h"

#include "compiler/driver/Launch.h"
#include "compiler/driver/MemoryReport.h"
#include "compiler/driver/OutputFile.h"
#include "compiler/driver/Pipeline.h"
#include "runtime/plan/PlanJson.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <ostream>
#include <thread>
#include <unistd.h>

namespace recipec::driver {
namespace {

namespace fs = std::filesystem;

/// reciperun stands beside recipec.
fs::path findRuntime(std::string_view program) {
  std::error_code error;
  fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (error)
    self = fs::absolute(fs::path(program), error);
  return self.parent_path() / "reciperun";
}

std::vector<std::string> launchCommand(const fs::path& runtime, int ranks,
                                       const fs::path& plan) {
  std::vector<std::string> command = {"mpirun", "-np", std::to_string(ranks)};
  if (geteuid() == 0) // Open MPI refuses root unless asked
    command.push_back("--allow-run-as-root");
  if (unsigned(ranks) > std::thread::hardware_concurrency())
    command.push_back("--oversubscribe");
  // Ranks share cores by themselves: reciperun divides the threads.
  for (const char* argument : {"--bind-to", "none"})
    command.push_back(argument);
  for (const std::string& argument :
       {runtime.string(), std::string("train"), plan.string()})
    command.push_back(argument);
  // Ranks write to pseudo-terminals of mpirun's: only here is it known whether
  // a person is watching.
  command.push_back(isatty(STDOUT_FILENO) ? "--progress=bar"
                                          : "--progress=lines");
  return command;
}

int fail(const Invocation& invocation, const std::string& message,
         const std::string& help = "") {
  invocation.err << "error: " << message << '\n';
  if (!help.empty())
    invocation.err << "help: " << help << '\n';
  return exitDiagnostics;
}

/// A recipe that cannot be launched from here; says why.
bool isLaunchable(Session& session, const recipe::Recipe& recipe) {
  const std::string& kind = recipe.string("cluster.hardware.kind");
  if (kind != "cpu") {
    session.engine
        .report(diag::Kind::InvalidValue,
                recipe.at("cluster.hardware").origin.range,
                "the runtime of this build has no `" + kind + "` devices")
        .help("set `cluster.hardware` to `cpu`, or print the plan with "
              "`recipec plan`");
    return false;
  }
  if (recipe.string("task") != "generate")
    return true;
  session.engine
      .report(diag::Kind::InvalidValue, recipe.at("task").origin.range,
              "`recipec run` launches a training, and `task` is `\"generate\"`")
      .help("`reciperun generate` answers from an exported model");
  return false;
}

} // namespace

int runRun(const Invocation& invocation) {
  Session session(invocation.inputs[0]);
  std::optional<Compilation> compilation;
  std::optional<reciperun::plan::Plan> plan;
  if (session.open(invocation.sets) && session.selectOne())
    compilation = compile(session, session.engine);
  if (compilation && isLaunchable(session, compilation->recipe))
    plan = makePlan(session, session.engine, *compilation);
  finish(session, invocation);
  if (!plan)
    return exitDiagnostics;

  fs::path runtime = findRuntime(invocation.program);
  if (access(runtime.c_str(), X_OK) != 0)
    return fail(invocation,
                "there is no program `" + runtime.string() +
                    "` to launch: " + std::strerror(errno),
                "build the target `reciperun`");
  std::error_code error;
  fs::path folder = plan->train.directory;
  fs::create_directories(folder, error);
  if (error)
    return fail(invocation,
                "cannot make the folder `" + folder.string() +
                    "` of the run (`train.dir`): " + error.message());
  fs::path path = folder / "plan.json";
  if (!writeOutput(path.string(), reciperun::plan::toJson(*plan),
                   invocation.err))
    return exitDiagnostics;
  const cost::MemoryTable& memory = compilation->estimate.memory;
  invocation.out << "predicted memory of a rank: " << formatBytes(memory.total)
                 << " (arena " << formatBytes(memory.arena) << ", libraries "
                 << formatBytes(memory.library) << ")\n"
                 << std::flush;
  LaunchResult result = launch(launchCommand(runtime, plan->mesh.ranks, path));
  if (result.error == 0)
    return result.exitCode;
  return fail(invocation,
              std::string("cannot start `mpirun`: ") +
                  std::strerror(result.error),
              "install Open MPI (`openmpi-bin`)");
}

} // namespace recipec::driver
