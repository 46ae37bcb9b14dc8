// `recipec run FILE`: compile, write the plan, launch.
//
// 1. Compile; a recipe for a device that this build cannot run is refused.
// 2. Write `train.dir`/plan.json.
// 3. Say what memory is expected, then run
//    `mpirun -np RANKS reciperun train PLAN`, whose exit code is ours.
// The points of a sweep are all compiled before the first is launched, and run
// one after another; the first that fails ends it.

#include "compiler/driver/Driver.h"

#include "compiler/driver/Launch.h"
#include "compiler/driver/MemoryReport.h"
#include "compiler/driver/OutputFile.h"
#include "compiler/driver/Pipeline.h"
#include "runtime/plan/PlanJson.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <map>
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
  // Ranks share cores by themselves: reciperun divides the threads. And they
  // say themselves why they end; mpirun would add a page.
  for (const char* argument : {"--bind-to", "none", "--quiet"})
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
bool isLaunchable(diag::Engine& engine, const recipe::Recipe& recipe) {
  if (recipe.string("task") != "generate")
    return true;
  engine
      .report(diag::Kind::InvalidValue, recipe.at("task").origin.range,
              "`recipec run` launches a training, and `task` is `\"generate\"`")
      .help("`reciperun generate` answers from an exported model");
  return false;
}

/// A plan that is ready to be launched.
struct Job {
  std::string name;
  reciperun::plan::Plan plan;
  cost::MemoryTable memory;
};

/// Compiles all before the first is launched; none with diagnostics.
std::optional<std::vector<Job>> prepare(Session& session) {
  auto selection = session.select(sema::Extent::recipe);
  if (!selection)
    return std::nullopt;
  std::vector<Job> jobs;
  for (sema::Selection& each : *selection) {
    session.selected = std::move(each);
    diag::Engine engine;
    auto compilation = compile(session, engine);
    if (compilation && isLaunchable(engine, compilation->recipe))
      if (auto plan = makePlan(session, engine, *compilation))
        jobs.push_back({compilation->recipe.name, std::move(*plan),
                        compilation->estimate.memory});
    session.take(engine);
  }
  if (session.engine.hasErrors())
    return std::nullopt;
  return jobs;
}

/// What is on the host, for the line of the predicted memory.
std::string hostText(const cost::MemoryTable& memory) {
  std::string text;
  if (memory.host > 0)
    text += ", checkpoints " + formatBytes(memory.host);
  if (memory.offloaded > 0)
    text += ", offloaded " + formatBytes(memory.offloaded);
  return text;
}

/// A rank that dies cannot say so.
void tellSignal(const Job& job, int signal, const Invocation& invocation) {
  std::string help = "run it again: it goes on from its last checkpoint";
  if (!job.plan.checkpoint.saves())
    help = "run it again, with `checkpoint.every` set to go on from where it "
           "was";
  if (signal == SIGKILL)
    help += "; the system kills where its memory runs out";
  fail(invocation,
       "a rank of `" + job.name + "` was ended by signal " +
           std::to_string(signal) + " (" + strsignal(signal) + ")",
       help);
}

/// Writes the plan and launches it; gives the exit code.
int launchJob(const Job& job, const fs::path& runtime,
              const Invocation& invocation) {
  std::error_code error;
  fs::path folder = job.plan.train.directory;
  fs::create_directories(folder, error);
  if (error)
    return fail(invocation,
                "cannot make the folder `" + folder.string() +
                    "` of the run (`train.dir`): " + error.message());
  fs::path path = folder / "plan.json";
  if (!writeOutput(path.string(), reciperun::plan::toJson(job.plan),
                   invocation.err))
    return exitDiagnostics;
  invocation.out << "predicted memory of a rank: "
                 << formatBytes(job.memory.total) << " (arena "
                 << formatBytes(job.memory.arena) << ", libraries "
                 << formatBytes(job.memory.library) << hostText(job.memory)
                 << ")\n"
                 << std::flush;
  LaunchResult result =
      launch(launchCommand(runtime, job.plan.mesh.ranks, path));
  if (result.error != 0)
    return fail(invocation,
                std::string("cannot start `mpirun`: ") +
                    std::strerror(result.error),
                "install Open MPI (`openmpi-bin`)");
  if (result.exitCode > 128 && !result.wasAsked)
    tellSignal(job, result.exitCode - 128, invocation);
  return result.exitCode;
}

/// Points run one after another in folders of their own; two of one folder
/// would write over one another.
bool haveFolders(const std::vector<Job>& jobs, const Invocation& invocation) {
  std::map<std::string, const Job*> folders;
  for (const Job& job : jobs) {
    auto [first, isNew] = folders.emplace(job.plan.train.directory, &job);
    if (isNew)
      continue;
    fail(invocation,
         "`" + first->second->name + "` and `" + job.name +
             "` would both run in `" + first->first + "`",
         "make `train.dir` follow `name`, as in `dir = \"runs/{name}\"`");
    return false;
  }
  return true;
}

/// What is left after a point that failed, as commands.
void printRest(const std::vector<Job>& jobs, size_t failed,
               const Session& session, const Invocation& invocation) {
  invocation.err << "error: `" << jobs[failed].name << "` failed, point "
                 << failed + 1 << " of " << jobs.size()
                 << "\nhelp: the rest is run by\n";
  for (size_t i = failed; i < jobs.size(); ++i) {
    invocation.err << "  recipec run '" << session.target.file << ':'
                   << jobs[i].name << '\'';
    for (const std::string& set : invocation.sets)
      invocation.err << " --set '" << set << '\'';
    invocation.err << '\n';
  }
}

} // namespace

int runRun(const Invocation& invocation) {
  Session session(invocation.inputs[0]);
  std::optional<std::vector<Job>> jobs;
  if (session.open(invocation.sets))
    jobs = prepare(session);
  finish(session, invocation);
  if (!jobs || !haveFolders(*jobs, invocation))
    return exitDiagnostics;
  fs::path runtime = findRuntime(invocation.program);
  if (access(runtime.c_str(), X_OK) != 0)
    return fail(invocation,
                "there is no program `" + runtime.string() +
                    "` to launch: " + std::strerror(errno),
                "build the target `reciperun`");
  for (size_t i = 0; i < jobs->size(); ++i) {
    if (jobs->size() > 1)
      invocation.out << "point " << i + 1 << " of " << jobs->size() << ": `"
                     << (*jobs)[i].name << "`\n";
    int code = launchJob((*jobs)[i], runtime, invocation);
    if (code != exitSuccess && jobs->size() > 1)
      printRest(*jobs, i, session, invocation);
    if (code != exitSuccess)
      return code;
  }
  return exitSuccess;
}

} // namespace recipec::driver
