// `recipec launch FILE --target=TARGET`: writes what a cluster needs to run a
// recipe.
//
// 1. Compile the recipe, or all its points and layouts. Report what the target
//    cannot run.
// 2. Write the plans, and the script or the manifests, into a folder.
// 3. With --submit, ask the cluster whether it takes the job, and start it.
//
// Nothing is written if a point is wrong.

#include "compiler/driver/Commands.h"

#include "compiler/driver/Inputs.h"
#include "compiler/driver/OutputFile.h"
#include "compiler/driver/Pipeline.h"
#include "compiler/driver/RunFolders.h"
#include "compiler/launch/Check.h"
#include "compiler/launch/Labels.h"
#include "compiler/launch/SlurmCluster.h"
#include "compiler/launch/kubernetes/Cluster.h"
#include "compiler/recipe/Task.h"
#include "runtime/base/Shell.h"
#include "runtime/cli/Options.h"
#include "runtime/launch/Launch.h"
#include "runtime/plan/Paths.h"
#include "runtime/plan/PlanJson.h"

#include <cstring>
#include <filesystem>
#include <ostream>

namespace recipec::driver {
namespace {

namespace fs = std::filesystem;

/// A compiled point.
struct LaunchPoint {
  launch::Job job;
  recipe::Recipe recipe;

  launch::Subject subject() const { return {job, recipe}; }
};

/// One call of the command.
class Launcher {
public:
  Launcher(Session& session, const Invocation& invocation)
      : session(session), invocation(invocation),
        target(*launch::findTarget(invocation.target)) {}

  int run() {
    if (!prepare() || !write())
      return exitDiagnostics;
    return invocation.submits ? submit() : exitSuccess;
  }

private:
  int fail(const std::string& message, const std::string& help) {
    invocation.err << "error: " << message << "\nhelp: " << help << '\n';
    return exitDiagnostics;
  }

  /// Compiles and checks all points and layouts. Prints the diagnostics.
  bool prepare() {
    auto selection = session.select(sema::Extent::recipe);
    if (selection) {
      const size_t count = selection->size();
      for (sema::Selection& each : *selection) {
        session.selected = std::move(each);
        diag::Engine engine;
        addPoint(count, engine);
        session.take(engine);
      }
    }
    return finish(session, invocation) == exitSuccess;
  }

  void addPoint(size_t count, diag::Engine& engine) {
    auto compilation = compile(session, engine);
    if (!compilation)
      return;
    auto plan = makePlan(session, engine, *compilation);
    if (!plan)
      return;
    const recipe::Recipe& recipe = compilation->recipe;
    lookForFiles(recipe, *plan, engine);
    folders.add(session.selected, recipe, engine);
    LaunchPoint point = {launch::jobOf(recipe, *plan), recipe};
    if (session.selected.layout)
      point.job.run = session.selected.run;
    choosePlaces(point, count > 1);
    plan->folder =
        target.system == launch::System::kubernetes
            ? point.job.podFolder
            : reciperun::plan::wayTo(
                  session.folder,
                  fs::path(point.job.planFile).parent_path().string());
    point.job.planText = reciperun::plan::toJson(*plan);
    launch::check(target, point.subject(), place, engine);
    if (!points.empty())
      launch::checkShape(target, points.front().job, point.subject(), engine);
    diag::Engine doubts;
    launch::doubt(target, point.subject(), doubts);
    session.doubt(doubts, recipe);
    points.push_back(std::move(point));
  }

  /// Files of the recipe that the job's nodes share with this machine must be
  /// here. Pods and containers have other files.
  void lookForFiles(const recipe::Recipe& recipe,
                    const reciperun::plan::Plan& plan, diag::Engine& engine) {
    if (target.system == launch::System::kubernetes || invocation.noFiles)
      return;
    const bool isShared = recipe.at("launch.image").isNone();
    lookForInputs(session, engine, recipe, plan,
                  isShared && invocation.submits);
  }

  /// The first point names the folder if none is given.
  void choosePlaces(LaunchPoint& point, bool isOneOfMany) {
    launch::Job& job = point.job;
    job.family = session.selected.recipe;
    if (place.folder.empty()) {
      const std::string name = isOneOfMany ? session.selected.recipe : job.name;
      const fs::path folder =
          invocation.output.empty()
              ? fs::path("launch") / (name + "." + std::string(target.name))
              : fs::path(invocation.output);
      place.folder = absolute(folder);
      if (!invocation.hostfile.empty())
        place.hostfile = absolute(invocation.hostfile);
    }
    job.folder = absolute(session.folder);
    fs::path plan = place.folder;
    if (isOneOfMany)
      plan /= job.name;
    job.planFile = (plan / "plan.json").string();
    if (job.serves())
      job.model = modelOf(point.recipe);
  }

  static std::string absolute(const fs::path& path) {
    fs::path whole = fs::absolute(path).lexically_normal();
    return (whole.has_filename() ? whole : whole.parent_path()).string();
  }

  /// The folder of the model that a server serves, as the recipe has it.
  static std::string modelOf(const recipe::Recipe& recipe) {
    for (const char* setting : {"export.hf", "weights"})
      if (!recipe.at(setting).isNone())
        return recipe.string(setting);
    return {};
  }

  bool writeFile(const fs::path& path, const std::string& text) {
    std::error_code error;
    fs::create_directories(path.parent_path(), error);
    if (error) {
      fail("cannot make the folder `" + path.parent_path().string() +
               "`: " + error.message(),
           "name one that you may write to, `--output=DIR`");
      return false;
    }
    return writeOutput(path.string(), text, invocation.err);
  }

  bool write() {
    std::vector<launch::Job> jobs;
    for (const LaunchPoint& point : points) {
      jobs.push_back(point.job);
      if (!writeFile(point.job.planFile, point.job.planText))
        return false;
    }
    for (const launch::File& file : target.write(jobs, place)) {
      const fs::path path = fs::path(place.folder) / file.name;
      if (!writeFile(path, file.text))
        return false;
      if (file.isProgram)
        fs::permissions(path, fs::perms::owner_exec | fs::perms::group_exec,
                        fs::perm_options::add);
      invocation.out << "wrote `" << shown(path) << "`\n";
      written.push_back(path.string());
    }
    if (!invocation.submits)
      invocation.out << "start it with `" << startText() << "`\n";
    return true;
  }

  /// The path from the working folder, if it is below that.
  static std::string shown(const fs::path& path) {
    const fs::path way = path.lexically_relative(fs::current_path());
    return way.empty() || *way.begin() == ".." ? path.string() : way.string();
  }

  std::string startText() const {
    const std::string file = reciperun::shellWord(shown(written.front()));
    if (target.system == launch::System::slurm)
      return "sbatch " + file;
    if (target.system == launch::System::kubernetes)
      return "kubectl apply --server-side -f " +
             (written.size() > 1 ? reciperun::shellWord(shown(place.folder))
                                 : file);
    return "bash " + file;
  }

  int submit() {
    if (target.system == launch::System::kubernetes)
      return submitToKubernetes();
    if (!launch::hasSecrets(points.front().subject(), session.engine))
      return finish(session, invocation);
    if (target.system == launch::System::slurm)
      return submitJobToSlurm();
    return runScript();
  }

  int runScript() {
    invocation.out << std::flush; // before the output of the job
    const auto result =
        reciperun::launch::run({"bash", written.front()}, invocation.err);
    if (result.error != 0)
      return fail(std::string("cannot start `bash`: ") +
                      std::strerror(result.error),
                  "start the script yourself: `" + startText() + "`");
    return result.exitCode;
  }

  int submitJobToSlurm() {
    const LaunchPoint& first = points.front();
    std::optional<std::string> id;
    if (launch::askSlurm(first.subject(), written.front(), session.engine))
      id = launch::submitToSlurm(first.subject(), written.front(),
                                 session.engine);
    if (!id)
      return finish(session, invocation);
    const std::string log =
        points.size() > 1 && first.job.run != points.back().job.run
            ? launch::labelOf(first.job.family) + "-" + *id + "_*.log"
            : first.job.label + "-" + *id + ".log";
    invocation.out << "submitted job " << *id << "; it writes to `"
                   << shown(fs::path(place.folder) / log) << "`\n";
    return exitSuccess;
  }

  int submitToKubernetes() {
    for (size_t i = 0; i < points.size(); ++i)
      invocation.out << launch::applyToKubernetes(points[i].subject(),
                                                  written[i], session.engine);
    return finish(session, invocation);
  }

  Session& session;
  const Invocation& invocation;
  const launch::Target& target;
  launch::Place place;
  RunFolders folders;
  std::vector<LaunchPoint> points;
  std::vector<std::string> written; // absolute paths
};

int runLaunch(const Invocation& invocation) {
  Session session(invocation.inputs[0]);
  if (!invocation.folder.empty())
    session.folder = invocation.folder;
  if (!session.open(invocation.sets))
    return finish(session, invocation);
  return Launcher(session, invocation).run();
}

std::vector<cli::Choice> targetChoices() {
  std::vector<cli::Choice> choices;
  for (const launch::Target& each : launch::targets())
    choices.push_back({std::string(each.name), std::string(each.help)});
  return choices;
}

cli::Option targetOption(Invocation& invocation) {
  return {.name = "--target",
          .valueName = "TARGET",
          .help = "what runs the job:",
          .choices = targetChoices(),
          .store = [&invocation](const cli::Given& given) {
            invocation.target = given.value;
            return cli::checkChoice("--target", targetChoices(), given.value);
          }};
}

cli::Check checkLaunch(const Invocation& invocation) {
  if (invocation.target.empty())
    return cli::UsageError{"`recipec launch` needs the cluster to launch at",
                           "`--target=slurm`, for instance; `recipec launch "
                           "--help` lists the targets"};
  if (!invocation.hostfile.empty() && invocation.target != "mpirun")
    return cli::UsageError{"`--hostfile` is for `--target=mpirun`, and the "
                           "cluster chooses the hosts of `--target=" +
                               invocation.target + "`",
                           "leave it out"};
  return std::nullopt;
}

} // namespace

cli::Command launchCommand(Invocation& invocation) {
  cli::Option output =
      cli::text("--output", "DIR",
                "write into the folder DIR instead of `launch/NAME.TARGET`",
                invocation.output);
  output.shortName = "-o";
  return {
      .name = "launch",
      .synopsis = "FILE[:NAME] --target=TARGET [options]",
      .summary = "write what a cluster needs to run a recipe, and submit it",
      .details =
          "Compiles a recipe and writes its plan and a script or manifests "
          "that run it on a cluster, with the settings of the section "
          "`launch` (`recipec doc launch`). The cluster needs only "
          "`reciperun`. With --submit the cluster is asked whether it takes "
          "the job, and the job is started. A job that is started again "
          "resumes from its last checkpoint.",
      .options = {targetOption(invocation), output,
                  cli::flag("--submit", "also start the job",
                            invocation.submits),
                  cli::text("--hostfile", "FILE",
                            "the hosts of `--target=mpirun`, a line `HOST "
                            "slots=N` each",
                            invocation.hostfile),
                  setOption(invocation), folderOption(invocation),
                  noFilesOption(invocation), maxErrorsOption(invocation)},
      .operands = {1, 1, "a file", &invocation.inputs},
      .check = [&invocation] { return checkLaunch(invocation); },
      .run = [&invocation] { return runLaunch(invocation); }};
}

} // namespace recipec::driver
