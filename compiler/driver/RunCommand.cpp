// `recipec run FILE`: compile, write the plan, launch.
//
// 1. Compile. Reject a recipe for GPUs where there are none.
// 2. Write `train.dir`/plan.json, or a plan for each layout of an elastic run.
// 3. Print the predicted memory. Run `mpirun -np RANKS reciperun train PLAN`,
//    or `reciperun serve DIR` with the plan if the recipe serves, and return
//    its exit code. If mpirun starts no rank, report why.
//
// All points of a sweep are compiled before the first is launched. They run one
// after another; the first failure ends the sweep. A table compares them.

#include "compiler/driver/Commands.h"

#include "compiler/driver/Inputs.h"
#include "compiler/driver/MemoryReport.h"
#include "compiler/driver/OutputFile.h"
#include "compiler/driver/Pipeline.h"
#include "compiler/driver/RunFolders.h"
#include "compiler/driver/SweepTable.h"
#include "compiler/driver/Trial.h"
#include "compiler/recipe/Task.h"
#include "runtime/cli/Options.h"
#include "runtime/launch/HostFile.h"
#include "runtime/launch/Launch.h"
#include "runtime/launch/Mpirun.h"
#include "runtime/plan/Paths.h"
#include "runtime/plan/PlanJson.h"

#include "llvm/Support/FileSystem.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <ostream>
#include <string_view>
#include <unistd.h>
#include <utility>

namespace recipec::driver {
namespace {

namespace fs = std::filesystem;

/// reciperun is in the folder of recipec.
fs::path findRuntime(std::string_view program) {
  fs::path self = llvm::sys::fs::getMainExecutable(
      std::string(program).c_str(), reinterpret_cast<void*>(&findRuntime));
  return self.parent_path() / "reciperun";
}

/// Ranks write to pseudo-terminals of mpirun, so only this process knows
/// whether a person is watching.
std::string progressStyle(const Invocation& invocation) {
  if (invocation.progress != "auto")
    return invocation.progress;
  return isatty(STDOUT_FILENO) ? "bar" : "lines";
}

/// A further layout of a run.
struct NarrowerLayout {
  std::string name;
  reciperun::plan::Plan plan;
};

/// A plan to launch.
struct Job {
  std::string name;
  reciperun::plan::Plan plan;
  cost::MemoryTable memory;
  fs::path model = {};     // the folder to serve; empty for training
  std::string layout = {}; // the plan's name, if the run has several
  std::vector<NarrowerLayout> narrower = {};

  bool serves() const { return !model.empty(); }
};

/// The arguments after `--` are for mpirun, or for the server if the job
/// serves.
const std::vector<std::string>& optionsOfMpirun(const Job& job,
                                                const Invocation& invocation) {
  static const std::vector<std::string> none;
  return job.serves() ? none : invocation.passedOn;
}

std::vector<std::string>
launcherCommand(const Job& job, const Invocation& invocation, bool isQuiet) {
  return reciperun::launch::mpirun(job.plan.mesh.ranks,
                                   {.hostfile = invocation.hostfile,
                                    .others = optionsOfMpirun(job, invocation),
                                    .isQuiet = isQuiet});
}

/// Whether reciperun starts and restarts the job's ranks itself.
bool startsItsRanks(const Job& job, const Invocation& invocation) {
  if (!job.serves())
    return invocation.restarts > 0;
  return std::ranges::any_of(invocation.passedOn, [](const std::string& each) {
    return each == "--restart" || each.starts_with("--restart=");
  });
}

/// What reciperun needs to start the ranks of a training itself.
void addRestarts(std::vector<std::string>& command,
                 const Invocation& invocation) {
  command.insert(command.end(),
                 {"--restarts", std::to_string(invocation.restarts)});
  if (!invocation.hostfile.empty())
    command.insert(command.end(), {"--hostfile", invocation.hostfile});
  if (invocation.passedOn.empty())
    return;
  command.emplace_back("--");
  command.insert(command.end(), invocation.passedOn.begin(),
                 invocation.passedOn.end());
}

/// `plans` begins with the job's plan. Restarts choose between them.
std::vector<std::string> launchCommand(const fs::path& runtime, const Job& job,
                                       const std::vector<std::string>& plans,
                                       const Invocation& invocation) {
  std::vector<std::string> command;
  if (!startsItsRanks(job, invocation))
    command = launcherCommand(job, invocation, true);
  command.push_back(runtime.string());
  if (!job.serves()) {
    command.insert(command.end(), {"train", plans.front()});
    if (startsItsRanks(job, invocation))
      command.insert(command.end(), plans.begin() + 1, plans.end());
    command.push_back("--progress=" + progressStyle(invocation));
    if (startsItsRanks(job, invocation))
      addRestarts(command, invocation);
    return command;
  }
  command.insert(command.end(),
                 {"serve", job.model.string(), "--plan", plans.front()});
  command.insert(command.end(), invocation.passedOn.begin(),
                 invocation.passedOn.end());
  return command;
}

/// Formats a command with a shell's quoting.
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

/// Reports a recipe for GPUs on a machine without GPUs, unless a host file or
/// mpirun's options may name other machines.
void checkDevice(Session& session, diag::Engine& engine,
                 const recipe::Recipe& recipe, const Invocation& invocation) {
  const bool isHere = invocation.hostfile.empty() &&
                      (invocation.passedOn.empty() || recipe::serves(recipe));
  if (!isHere || isForThisMachine(recipe))
    return;
  auto builder = engine.report(
      diag::Kind::InvalidValue, recipe.at("cluster.hardware").origin.range,
      "`hardware` = `" + recipe.string("cluster.hardware.name") +
          "` is a GPU, and this machine has none");
  builder.help(
      "run it on a machine with GPUs: `--hostfile=HOSTS` names others, "
      "and `recipec check` needs none");
  const auto onCpu = compileTrial(session, {"cluster.hardware=cpu"});
  if (onCpu && onCpu->estimate.memory.fits())
    builder.help("`--set cluster.hardware=cpu` runs it here");
}

/// The setting with the model folder of a server: `export.hf` of a training, or
/// its `weights`; empty if neither is set.
const char* modelSetting(const recipe::Recipe& recipe) {
  for (const char* setting : {"export.hf", "weights"})
    if (!recipe.at(setting).isNone())
      return setting;
  return "";
}

/// Whether the recipe can be launched by this command. Reports why not.
bool isLaunchable(diag::Engine& engine, const recipe::Recipe& recipe) {
  if (!recipe::serves(recipe))
    return true;
  const std::string& task = recipe.string("task");
  if (task == "serve" && *modelSetting(recipe))
    return true;
  auto builder = engine.report(
      diag::Kind::InvalidValue, recipe.at("task").origin.range,
      task == "serve" ? "`task` is `\"serve\"`, and the recipe names no model"
                      : "`recipec run` launches a training or a server, and "
                        "`task` is `\"" +
                            task + "\"`");
  if (task == "serve")
    builder.help("name the folder of its weights: `--set 'weights=\"DIR\"'`");
  else
    builder.help("`reciperun generate DIR` answers prompts with the model in a "
                 "folder, and `--set 'task=\"serve\"'` serves it");
  return false;
}

/// Adds a compiled layout to the job of its run, or a new job.
void addJob(const sema::Selection& selected, Job job, std::vector<Job>& jobs) {
  if (!selected.layout) {
    jobs.push_back(std::move(job));
    return;
  }
  job.layout = std::exchange(job.name, selected.run);
  if (!jobs.empty() && jobs.back().name == job.name)
    jobs.back().narrower.push_back({job.layout, std::move(job.plan)});
  else
    jobs.push_back(std::move(job));
}

/// Compiles all points and layouts before the first is launched. Returns
/// nullopt with diagnostics.
std::optional<std::vector<Job>> prepare(Session& session,
                                        const Invocation& invocation) {
  auto selection = session.select(sema::Extent::recipe);
  if (!selection)
    return std::nullopt;
  std::vector<Job> jobs;
  RunFolders folders;
  for (sema::Selection& each : *selection) {
    session.selected = std::move(each);
    diag::Engine engine;
    auto compilation = compile(session, engine);
    if (compilation && isLaunchable(engine, compilation->recipe))
      if (auto plan = makePlan(session, engine, *compilation)) {
        lookForInputs(session, engine, compilation->recipe, *plan,
                      /*isCertain=*/true);
        checkDevice(session, engine, compilation->recipe, invocation);
        folders.add(session.selected, compilation->recipe, engine);
        Job job = {compilation->recipe.name, std::move(*plan),
                   compilation->estimate.memory};
        if (recipe::serves(compilation->recipe))
          job.model = reciperun::plan::resolvePath(
              session.folder,
              compilation->recipe.string(modelSetting(compilation->recipe)));
        addJob(session.selected, std::move(job), jobs);
      }
    session.take(engine);
  }
  if (session.engine.hasErrors())
    return std::nullopt;
  return jobs;
}

/// The host memory, for the line with the predicted memory.
std::string hostText(const cost::MemoryTable& memory) {
  std::string text;
  if (memory.host > 0)
    text += ", checkpoints " + formatBytes(memory.host);
  if (memory.offloaded > 0)
    text += ", offloaded " + formatBytes(memory.offloaded);
  return text;
}

/// Reports a rank that was ended by a signal, because the rank cannot report
/// it.
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

/// Reports a host file with fewer slots than ranks. Returns false if it has
/// enough.
bool tellSlots(const Job& job, Session& session, const Invocation& invocation) {
  const auto hosts = reciperun::launch::hostsOf(invocation.hostfile);
  const auto slots = hosts ? reciperun::launch::slotsOf(*hosts) : std::nullopt;
  const int ranks = job.plan.mesh.ranks;
  const std::vector<std::string>& others = optionsOfMpirun(job, invocation);
  const bool mayShare =
      std::any_of(others.begin(), others.end(), [](const std::string& each) {
        return each.find("oversubscribe") != each.npos ||
               each.find("OVERSUBSCRIBE") != each.npos;
      });
  if (!slots || mayShare || *slots >= ranks)
    return false;
  std::string help = hosts->size() == 1
                         ? "write `slots=" + std::to_string(ranks) + "` there"
                         : "raise the `slots=` of its hosts to " +
                               std::to_string(ranks) + " in all";
  const std::string fewer = "cluster.ranks=" + std::to_string(*slots);
  if (session.selected.name == job.name && compileTrial(session, {fewer}))
    help += ", or take fewer ranks, `--set " + fewer + "`";
  fail(invocation,
       "`" + invocation.hostfile + "` gives " + std::to_string(*slots) +
           (*slots == 1 ? " slot" : " slots") + ", and `" + job.name +
           "` has " + std::to_string(ranks) + " ranks",
       help);
  return true;
}

/// Reports why mpirun started no rank. `--quiet` hid its message, so mpirun is
/// run again with a trivial program. Returns false if that works.
bool tellLauncher(const Job& job, Session& session,
                  const Invocation& invocation) {
  if (tellSlots(job, session, invocation))
    return true;
  std::vector<std::string> probe = launcherCommand(job, invocation, false);
  probe.emplace_back("true");
  if (reciperun::launch::run(probe, invocation.err).exitCode == 0)
    return false;
  fail(invocation,
       "`mpirun` starts no rank of `" + job.name + "`; its message is above",
       "its command is `" + shellText(probe) + "`");
  return true;
}

/// Reports why a job ended unexpectedly, unless its ranks have reported it.
void tellEnd(const Job& job, std::vector<std::string> command,
             const reciperun::launch::LaunchResult& result, Session& session,
             const Invocation& invocation) {
  if (result.wasAsked || result.exitCode == 0)
    return;
  if (!result.hasOutput && tellLauncher(job, session, invocation))
    return;
  const int signal = result.exitCode - 128;
  if (signal <= 0)
    return;
  if (signal <= SIGRTMAX)
    return tellSignal(job, signal, invocation);
  std::erase(command, "--quiet");
  fail(invocation,
       "`mpirun` ended with exit code " + std::to_string(result.exitCode) +
           ", which is none of a rank's",
       "see what it says by itself: " + shellText(command));
}

/// The job's folder. `start` is the base of relative paths.
fs::path folderOf(const Job& job, const std::string& start) {
  return reciperun::plan::resolvePath(start, job.plan.train.directory);
}

/// Writes the plans of a job into its folder, the launched one first. Returns
/// their paths, or nullopt with a message.
std::optional<std::vector<std::string>>
writePlans(Job& job, const fs::path& folder, const std::string& start,
           const Invocation& invocation) {
  const std::string way = reciperun::plan::wayTo(start, folder);
  std::vector<std::string> paths;
  const auto write = [&](const std::string& name, reciperun::plan::Plan& plan) {
    plan.folder = way;
    const std::string prefix = name.empty() ? "" : name + ".";
    paths.push_back((folder / (prefix + "plan.json")).string());
    return writeOutput(paths.back(), reciperun::plan::toJson(plan),
                       invocation.err);
  };
  if (!write(job.layout, job.plan))
    return std::nullopt;
  for (NarrowerLayout& each : job.narrower)
    if (!write(each.name, each.plan))
      return std::nullopt;
  return paths;
}

/// Writes the plan, launches it and returns the exit code.
int launchJob(Job& job, Session& session, const fs::path& runtime,
              const Invocation& invocation) {
  const std::string& start = session.folder;
  std::error_code error;
  fs::path folder = folderOf(job, start);
  fs::create_directories(folder, error);
  if (error)
    return fail(invocation,
                "cannot make the folder `" + folder.string() +
                    "` of the run (`train.dir`): " + error.message(),
                "name one that you may write to: `--set 'train.dir=\"DIR\"'`");
  if (job.serves() && startsItsRanks(job, invocation) &&
      !invocation.hostfile.empty())
    return fail(invocation,
                "`--restart` starts the ranks of a server on this machine, and "
                "`--hostfile` names others",
                "leave out one of them");
  const auto plans = writePlans(job, folder, start, invocation);
  if (!plans)
    return exitDiagnostics;
  invocation.out << "predicted memory of a rank: "
                 << formatBytes(job.memory.total) << " (arena "
                 << formatBytes(job.memory.arena) << ", libraries "
                 << formatBytes(job.memory.library) << hostText(job.memory)
                 << ")\n"
                 << std::flush;
  const std::vector<std::string> command =
      launchCommand(runtime, job, *plans, invocation);
  const reciperun::launch::LaunchResult result =
      reciperun::launch::run(command, invocation.err);
  if (result.error != 0)
    return fail(invocation,
                "cannot start `" + command.front() +
                    "`: " + std::strerror(result.error),
                command.front() == "mpirun" ? "install Open MPI (`openmpi-bin`)"
                                            : "build the target `reciperun`");
  tellEnd(job, command, result, session, invocation);
  return result.exitCode;
}

/// Prints the commands that run the remaining points after a failed one.
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
    if (invocation.restarts > 0)
      invocation.err << " --restarts " << invocation.restarts;
    if (!invocation.passedOn.empty())
      invocation.err << " -- " << shellText(invocation.passedOn);
    invocation.err << '\n';
  }
}

/// Whether mpirun can read the host file. Reports why not.
bool canReadHosts(const Invocation& invocation) {
  const std::string& hosts = invocation.hostfile;
  if (hosts.empty() || access(hosts.c_str(), R_OK) == 0)
    return true;
  fail(invocation,
       "cannot read the host file `" + hosts + "`: " + std::strerror(errno),
       "name a file with a line `HOST slots=N` for each host");
  return false;
}

/// Runs the points one after another. Returns the exit code of the first that
/// fails, and adds the others to `finished`.
int launchAll(std::vector<Job>& jobs, const fs::path& runtime, Session& session,
              const Invocation& invocation,
              std::vector<FinishedPoint>& finished) {
  using Clock = std::chrono::steady_clock;
  for (size_t i = 0; i < jobs.size(); ++i) {
    Job& job = jobs[i];
    if (jobs.size() > 1)
      invocation.out << "point " << i + 1 << " of " << jobs.size() << ": `"
                     << job.name << "`\n";
    const Clock::time_point start = Clock::now();
    const int code = launchJob(job, session, runtime, invocation);
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
    jobs = prepare(session, invocation);
  finish(session, invocation);
  if (!jobs)
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
      .synopsis = "FILE[:NAME] [options] [-- OPTIONS]",
      .summary = "compile a recipe and launch it with mpirun",
      .details =
          "Compiles a recipe, writes the plan to `train.dir`/plan.json and "
          "launches `mpirun reciperun train` on it. Exits as the run does. Of "
          "a list of `cluster.ranks` the first count starts; with --restarts, "
          "each start takes the first that the hosts have slots for. A "
          "recipe with `task = \"serve\"` starts `mpirun reciperun serve` on "
          "the folder of `export.hf`, or of `weights`. "
          "The points of a sweep run one after another, and a table "
          "compares them at the end. Relative paths start in the recipe's "
          "folder. What stands behind `--` goes to mpirun, as in `recipec run "
          "FILE --hostfile=HOSTS -- --map-by node`, or to a server: `recipec "
          "run FILE -- --port 8080`.",
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
                  cli::number("--restarts", "N",
                              "start a training up to N times again after a "
                              "failure, from its last checkpoint",
                              0, invocation.restarts),
                  maxErrorsOption(invocation)},
      .operands = {1, 1, "a file", &invocation.inputs},
      .passedOn = &invocation.passedOn,
      .run = [&invocation] { return runRun(invocation); }};
}

} // namespace recipec::driver
