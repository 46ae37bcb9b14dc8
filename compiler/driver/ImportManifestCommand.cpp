// `recipec import-manifest FILE...`: findings on manifests of Kubernetes and on
// sbatch scripts, and the recipe of a training that the manifests run.
//
//   1. Read the documents of all files, and the scripts.
//   2. Report the findings.
//   3. Write the recipes of the trainings.

#include "compiler/driver/Commands.h"

#include "compiler/diag/Render.h"
#include "compiler/driver/ManifestRecipe.h"
#include "compiler/driver/OutputFile.h"
#include "compiler/driver/RecipeText.h"
#include "compiler/driver/Session.h"
#include "compiler/driver/Terminal.h"
#include "compiler/import/Recipes.h"
#include "compiler/import/manifest/Findings.h"
#include "compiler/import/sbatch/Findings.h"
#include "compiler/parse/Data.h"
#include "runtime/cli/Options.h"

#include <algorithm>
#include <deque>
#include <filesystem>
#include <ostream>

namespace recipec::driver {
namespace {

namespace manifest = importer::manifest;
namespace sbatch = importer::sbatch;

/// Reads the objects and scripts of all files. `documents` must outlive them.
manifest::Manifest readObjects(Session& session, const Invocation& invocation,
                               std::deque<ast::File>& documents,
                               std::vector<sbatch::Script>& scripts) {
  manifest::Manifest objects;
  for (const std::string& path : invocation.inputs) {
    sema::Loaded::State state{};
    const SourceId source = session.loader.addSource(path, state);
    if (source == SourceId::none) {
      if (state == sema::Loaded::State::notFound)
        session.engine.report(diag::Kind::FileNotReadable, {},
                              "there is no file `" + path + "`");
      continue;
    }
    if (sbatch::isScript(session.sources.text(source))) {
      scripts.push_back(sbatch::readScript(source, session.sources));
      continue;
    }
    documents.push_back(
        parse::parseDocuments(session.sources, source, session.engine));
    manifest::addObjects(documents.back(), session.sources, objects,
                         session.engine);
  }
  if (objects.objects.empty() && scripts.empty() && !session.engine.hasErrors())
    session.engine
        .report(diag::Kind::FileNotReadable, {},
                "`" + invocation.inputs.front() + "` has no objects")
        .help("name manifests of Kubernetes in YAML, with `apiVersion` and "
              "`kind`, or sbatch scripts");
  manifest::addPods(objects);
  return objects;
}

/// Removes the warnings that `--silence` names.
bool silence(Session& session, const Invocation& invocation) {
  for (const std::string& name : invocation.silenced) {
    const auto kind = diag::findKind(name);
    if (!kind || diag::kindSeverity(*kind) != diag::Severity::warning) {
      invocation.err << "error: `--silence=" << name
                     << "` is not the name of a warning\nhelp: a warning ends "
                        "in its name: `[ManifestPod]`\n";
      return false;
    }
    session.engine.remove(*kind);
  }
  return true;
}

std::string recipeText(const std::vector<importer::Job>& jobs,
                       const Invocation& invocation) {
  std::string call = "recipec import-manifest";
  for (const std::string& input : invocation.inputs)
    call += " " + std::filesystem::path(input).filename().string();
  return importer::recipesText(jobs, {"Written by `" + call + "`."});
}

int report(Session& session, const Invocation& invocation) {
  if (!invocation.json)
    return finish(session, invocation);
  session.arrange();
  diag::RenderOptions options;
  options.most = invocation.mostErrors;
  invocation.out << diag::renderJson(session.engine, session.sources, options)
                 << '\n';
  return session.engine.hasErrors() ? exitDiagnostics : exitSuccess;
}

/// `2 objects and 1 script`
std::string countsText(size_t objects, size_t scripts) {
  std::string text;
  if (objects > 0 || scripts == 0)
    text = std::to_string(objects) + (objects == 1 ? " object" : " objects");
  if (scripts > 0)
    text += (text.empty() ? "" : " and ") + std::to_string(scripts) +
            (scripts == 1 ? " script" : " scripts");
  return text;
}

int runImportManifest(const Invocation& invocation) {
  Session session(Target{invocation.inputs[0], "", ""});
  std::deque<ast::File> documents;
  std::vector<sbatch::Script> scripts;
  const manifest::Manifest objects =
      readObjects(session, invocation, documents, scripts);
  manifest::checkManifest(objects, session.engine);
  for (const sbatch::Script& script : scripts)
    sbatch::checkScript(script, session.engine);
  std::vector<importer::Job> jobs;
  if (!invocation.json)
    jobs = jobsOfManifest(session, objects);
  if (!silence(session, invocation))
    return exitUsage;
  const int result = report(session, invocation);
  if (jobs.empty()) {
    if (session.engine.all().empty() && !invocation.json)
      invocation.out << countsText(objects.objects.size(), scripts.size())
                     << ", no findings\n";
    return result;
  }
  const std::string text = inOneStyle(recipeText(jobs, invocation));
  if (invocation.output.empty() || isStandardOutput(invocation.output))
    invocation.out << text;
  else if (!writeOutput(invocation.output, text, invocation.err))
    return exitDiagnostics;
  return result;
}

cli::Option silenceOption(Invocation& invocation) {
  return {.name = "--silence",
          .valueName = "KIND",
          .help = "leave out the warnings that end in `[KIND]`; may be "
                  "repeated",
          .repeats = true,
          .store = [&invocation](const cli::Given& given) -> cli::Check {
            invocation.silenced.push_back(given.value);
            return std::nullopt;
          }};
}

} // namespace

cli::Command importManifestCommand(Invocation& invocation) {
  cli::Option output =
      cli::text("--output", "OUT",
                "write the recipe to the file OUT instead of standard "
                "output",
                invocation.output);
  output.shortName = "-o";
  return {
      .name = "import-manifest",
      .synopsis = "FILE... [-o OUT]",
      .summary = "check manifests of Kubernetes or sbatch scripts, and write "
                 "the recipe of a training",
      .details =
          "Reads manifests in YAML and reports what a cluster would refuse, or "
          "would accept without doing what was meant: fields against closed "
          "schemas, removed versions, processes against GPUs, restarts, "
          "selectors, shared memory, RDMA, secrets in plain text, and the "
          "environment of NCCL. The kinds are Pod, Job, CronJob, Deployment, "
          "StatefulSet, DaemonSet, Service, HorizontalPodAutoscaler, "
          "PersistentVolumeClaim, ConfigMap, Secret, JobSet, PyTorchJob, "
          "MPIJob, TrainJob, TrainingRuntime, ServiceMonitor, PodMonitor, "
          "PrometheusRule and NeMoTraining. Files that refer to each other are "
          "named together. `recipec explain KIND` has the reason for a "
          "finding. The exit code is 1 where there are errors.\n\n"
          "Of an sbatch script, it reads the lines `#SBATCH` and the commands: "
          "options that sbatch refuses or does not read, tasks and GPUs of a "
          "node against srun, torchrun and mpirun, signals and requeues, and "
          "the variables of the ranks.\n\n"
          "For an object that trains a model, a recipe is printed, or a mixin "
          "with its section `launch`. What has no counterpart is listed above "
          "it, with the reason.",
      .options = {std::move(output), silenceOption(invocation),
                  jsonOption(invocation), maxErrorsOption(invocation)},
      .operands = {1, cli::Operands::anyNumber, "a file", &invocation.inputs},
      .run = [&invocation] { return runImportManifest(invocation); }};
}

} // namespace recipec::driver
