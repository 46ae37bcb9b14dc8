// `recipec run FILE`: compile, write the plan, launch.
//
// 1. Compile; a recipe for a device that this build cannot run is refused.
// 2. Write `train.dir`/plan.json.
// 3. Say what memory is expected, then run
//    `mpirun -np RANKS reciperun train PLAN`, whose exit code is ours.
// The points of a sweep are all compiled before the first is launched, and run
// one after another; the first that fails ends it. A table compares them.

#include "compiler/driver/Commands.h"

#include "compiler/driver/Inputs.h"
#include "compiler/driver/Launch.h"
#include "compiler/driver/MemoryReport.h"
#include "compiler/driver/OutputFile.h"
#include "compiler/driver/Pipeline.h"
#include "compiler/driver/SweepTable.h"
#include "runtime/cli/Options.h"
#include "runtime/plan/Paths.h"
#include "runtime/plan/PlanJson.h"

#include "llvm/Support/FileSystem.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <map>
#include <ostream>
#include <string_view>
#include <thread>
#include <unistd.h>

namespace recipec::driver {
namespace {

namespace fs = std::filesystem;

/// reciperun stands beside recipec.
fs::path findRuntime(std::string_view program) {
  fs::path self = llvm::sys::fs::getMainExecutable(
      std::string(program).c_str(), reinterpret_cast<void*>(&findRuntime));
  return self.parent_path() / "reciperun";
}

/// Ranks write to pseudo-terminals of mpirun's: only here is it known whether a
/// person is watching.
std::string progressStyle(const Invocation& invocation) {
  if (invocation.progress != "auto")
    return invocation.progress;
  return isatty(STDOUT_FILENO) ? "bar" : "lines";
}

std::vector<std::string> launchCommand(const fs::path& runtime, int ranks,
                                       const fs::path& plan,
                                       const Invocation& invocation) {
  const std::vector<std::string>& others = invocation.launcher;
  auto isGiven = [&](const char* option) {
    return std::find(others.begin(), others.end(), option) != others.end();
  };
  std::vector<std::string> command = {"mpirun", "-np", std::to_string(ranks)};
  if (geteuid() == 0) // Open MPI refuses root unless asked
    command.push_back("--allow-run-as-root");
  const bool isHere = invocation.hostfile.empty() && others.empty();
  if (isHere && unsigned(ranks) > std::thread::hardware_concurrency())
    command.push_back("--oversubscribe");
  if (!invocation.hostfile.empty())
    command.insert(command.end(), {"--hostfile", invocation.hostfile});
  // Ranks share cores by themselves: reciperun divides the threads.
  if (!isGiven("--bind-to"))
    command.insert(command.end(), {"--bind-to", "none"});
  // They say themselves why they end; mpirun would add a page.
  command.push_back("--quiet");
  command.insert(command.end(), others.begin(), others.end());
  for (const std::string& argument :
       {runtime.string(), std::string("train"), plan.string(),
        "--progress=" + progressStyle(invocation)})
    command.push_back(argument);
  return command;
}

/// A command as a shell reads it.
std::string shellText(const std::vector<std::string>& command) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyz"
                                     "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                     "0123456789%+,-./:=@_";
  std::string text;
  for (const std::string& argument : command) {
    const bool isPlain = !argument.empty() &&
                         argument.find_first_not_of(plain) == std::string::npos;
    text += text.empty() ? "" : " ";
    text += isPlain ? argument : "'" + argument + "'";
  }
  return text;
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
      if (auto plan = makePlan(session, engine, *compilation)) {
        lookForInputs(session, engine, compilation->recipe, *plan,
                      /*isCertain=*/true);
        jobs.push_back({compilation->recipe.name, std::move(*plan),
                        compilation->estimate.memory});
      }
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

/// mpirun has codes of its own, above those of signals, for what it cannot do.
void tellLauncher(const std::vector<std::string>& command, int code,
                  const Invocation& invocation) {
  std::vector<std::string> loud = command;
  std::erase(loud, "--quiet");
  fail(invocation,
       "`mpirun` ended with exit code " + std::to_string(code) +
           ", which is none of a rank's",
       "see what it says by itself: " + shellText(loud));
}

/// Says why a job that was not asked to end has ended, where nobody else can.
void tellEnd(const Job& job, const std::vector<std::string>& command,
             const LaunchResult& result, const Invocation& invocation) {
  const int signal = result.exitCode - 128;
  if (result.wasAsked || signal <= 0)
    return;
  if (signal <= SIGRTMAX)
    tellSignal(job, signal, invocation);
  else
    tellLauncher(command, result.exitCode, invocation);
}

/// Where the job's folder is; `start` is where relative paths start.
fs::path folderOf(const Job& job, const std::string& start) {
  return reciperun::plan::resolvePath(start, job.plan.train.directory);
}

/// Writes the plan and launches it; gives the exit code.
int launchJob(Job& job, const std::string& start, const fs::path& runtime,
              const Invocation& invocation) {
  std::error_code error;
  fs::path folder = folderOf(job, start);
  fs::create_directories(folder, error);
  if (error)
    return fail(invocation,
                "cannot make the folder `" + folder.string() +
                    "` of the run (`train.dir`): " + error.message());
  fs::path path = folder / "plan.json";
  job.plan.folder = reciperun::plan::wayTo(start, folder);
  if (!writeOutput(path.string(), reciperun::plan::toJson(job.plan),
                   invocation.err))
    return exitDiagnostics;
  invocation.out << "predicted memory of a rank: "
                 << formatBytes(job.memory.total) << " (arena "
                 << formatBytes(job.memory.arena) << ", libraries "
                 << formatBytes(job.memory.library) << hostText(job.memory)
                 << ")\n"
                 << std::flush;
  const std::vector<std::string> command =
      launchCommand(runtime, job.plan.mesh.ranks, path, invocation);
  LaunchResult result = launch(command, invocation.err);
  if (result.error != 0)
    return fail(invocation,
                std::string("cannot start `mpirun`: ") +
                    std::strerror(result.error),
                "install Open MPI (`openmpi-bin`)");
  tellEnd(job, command, result, invocation);
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
    if (!invocation.folder.empty())
      invocation.err << " --folder '" << invocation.folder << '\'';
    if (invocation.progress != "auto")
      invocation.err << " --progress=" << invocation.progress;
    if (!invocation.hostfile.empty())
      invocation.err << " --hostfile='" << invocation.hostfile << '\'';
    if (!invocation.launcher.empty())
      invocation.err << " -- " << shellText(invocation.launcher);
    invocation.err << '\n';
  }
}

/// Whether mpirun could read the host file; says why not.
bool canReadHosts(const Invocation& invocation) {
  const std::string& hosts = invocation.hostfile;
  if (hosts.empty() || access(hosts.c_str(), R_OK) == 0)
    return true;
  fail(invocation,
       "cannot read the host file `" + hosts + "`: " + std::strerror(errno));
  return false;
}

/// Runs one point after another; gives the exit code of the first that fails,
/// and lists the others in `finished`.
int launchAll(std::vector<Job>& jobs, const fs::path& runtime,
              const Session& session, const Invocation& invocation,
              std::vector<FinishedPoint>& finished) {
  using Clock = std::chrono::steady_clock;
  for (size_t i = 0; i < jobs.size(); ++i) {
    Job& job = jobs[i];
    if (jobs.size() > 1)
      invocation.out << "point " << i + 1 << " of " << jobs.size() << ": `"
                     << job.name << "`\n";
    const Clock::time_point start = Clock::now();
    const int code = launchJob(job, session.folder, runtime, invocation);
    if (code != exitSuccess && jobs.size() > 1)
      printRest(jobs, i, session, invocation);
    if (code != exitSuccess)
      return code;
    finished.push_back(
        {job.name, folderOf(job, session.folder),
         std::chrono::duration<double>(Clock::now() - start).count()});
  }
  return exitSuccess;
}

int runRun(const Invocation& invocation) {
  if (!canReadHosts(invocation))
    return exitDiagnostics;
  Session session(invocation.inputs[0]);
  if (!invocation.folder.empty())
    session.folder = invocation.folder;
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
  std::vector<FinishedPoint> finished;
  const int code = launchAll(*jobs, runtime, session, invocation, finished);
  if (jobs->size() > 1 && !finished.empty())
    printSweep(finished, invocation.out);
  return code;
}

} // namespace

cli::Command runCommand(Invocation& invocation) {
  return {
      .name = "run",
      .synopsis = "FILE[:NAME] [options] [-- MPIRUN-OPTIONS]",
      .summary = "compile a recipe and launch it with mpirun",
      .details =
          "Compiles a recipe, writes the plan to `train.dir`/plan.json and "
          "launches `mpirun reciperun train` on it. Exits as the run does. "
          "The points of a sweep run one after another, and a table "
          "compares them at the end. Relative paths start in the recipe's "
          "folder. What stands behind `--` goes to mpirun: `recipec run "
          "FILE --hostfile=HOSTS -- --map-by node`.",
      .options = {setOption(invocation), folderOption(invocation),
                  cli::choice(
                      "--progress", "STYLE", "how a run tells how far it is:",
                      {{"auto", "auto",
                        "a bar on a terminal, lines elsewhere "
                        "(default)"},
                       {"bar", "bar", "a bar"},
                       {"lines", "lines", "a line for each logged step"}},
                      invocation.progress),
                  cli::text("--hostfile", "FILE",
                            "the hosts to run on, as mpirun reads them",
                            invocation.hostfile),
                  maxErrorsOption(invocation)},
      .operands = {1, 1, "a file", &invocation.inputs},
      .passedOn = &invocation.launcher,
      .run = [&invocation] { return runRun(invocation); }};
}

} // namespace recipec::driver
