// 1. Find the objects that train, and the command of their ranks.
// 2. Make a job of a NeMoTraining, of a command of Megatron-LM or of NeMo; of
//    other commands a mixin with the layout that they name.
// 3. Add the section `launch`.

#include "compiler/driver/ManifestRecipe.h"

#include "compiler/driver/ImportTable.h"
#include "compiler/driver/ImportTrials.h"
#include "compiler/driver/ImportYaml.h"
#include "compiler/import/MegatronArguments.h"
#include "compiler/import/Recipes.h"
#include "compiler/import/manifest/LaunchSection.h"

#include <algorithm>

namespace recipec::driver {
namespace {

namespace manifest = importer::manifest;
using importer::Job;
using importer::Word;
using manifest::Training;

/// A value of a NeMoTraining as an entry of NeMo's YAML.
void addEntries(const manifest::Node& node,
                std::vector<importer::Entry>& entries) {
  for (const manifest::Node& field : node.fields())
    addEntries(field, entries);
  if (!node.isRecord() && !node.isList() && node)
    entries.push_back({node.path(), {node.text()}, false, node.range()});
}

std::optional<Job> jobOfNemoTraining(Session& session,
                                     const Training& training) {
  std::vector<importer::Entry> entries;
  for (const manifest::Node& part : training.object->spec().fields())
    if (part.name() != "image") // becomes `launch.image`
      addEntries(part, entries);
  return nemoJob(session, importer::identifierOf(training.object->name),
                 entries, training.object->root["kind"].range());
}

/// The command with the numbers of ranks, as Megatron's users write it.
std::vector<Word> megatronWords(const Training& training) {
  const std::vector<Word>& own = training.start.training;
  const auto word = [&](std::string text) {
    return Word{std::move(text), own.front().range};
  };
  std::vector<Word> words = {
      word("torchrun"), word("--nproc_per_node"),
      word(std::to_string(training.ranksPerNode)), word("--nnodes"),
      word(std::to_string(training.ranks / training.ranksPerNode))};
  words.insert(words.end(), own.begin(), own.end());
  return words;
}

std::optional<Job> jobOfMegatron(Session& session, const Training& training,
                                 diag::Engine& engine) {
  auto made = importer::megatronJob(megatronWords(training), engine);
  if (!made)
    return std::nullopt;
  importer::fitJob(made->job, factsOf(session.loader, made->job.model));
  return onFewestNodes(session.loader, *made);
}

bool isPerformanceScript(const std::vector<Word>& words) {
  return std::any_of(words.begin(), words.end(), [](const Word& word) {
    return word.text.find("scripts.performance.llm") != word.text.npos ||
           word.text.find("scripts/performance/llm") != word.text.npos;
  });
}

/// The settings of other commands.
Job mixinOf(const Training& training) {
  Job job;
  job.isMixin = true;
  job.set("cluster.ranks", std::to_string(training.ranks));
  std::vector<std::string> seen;
  for (const manifest::Degree& each :
       manifest::degreesOf(training.start.training)) {
    const bool isOfLayout =
        each.name == "tp" || each.name == "pp" || each.name == "cp";
    if (!isOfLayout ||
        std::find(seen.begin(), seen.end(), each.name) != seen.end())
      continue;
    seen.push_back(each.name);
    if (each.given.value > 1)
      job.set("parallel." + each.name, std::to_string(each.given.value));
  }
  job.remarks.push_back("A manifest names no kind of GPU and no model: use the "
                        "mixin with a recipe, `recipe NAME amends BASE with "
                        "...`.");
  return job;
}

/// Why a command has no recipe: the first error.
void addReason(const diag::Engine& engine, Job& job) {
  for (const diag::Diagnostic& each : engine.all())
    if (diag::kindSeverity(each.kind) == diag::Severity::error) {
      job.omit("the model of the command", each.message);
      return;
    }
}

Job jobOfTraining(Session& session, const Training& training) {
  diag::Engine engine;
  std::optional<Job> job;
  const std::vector<Word>& words = training.start.training;
  if (training.object->is("NeMoTraining"))
    job = jobOfNemoTraining(session, training);
  else if (!words.empty() && importer::isMegatron(words))
    job = jobOfMegatron(session, training, engine);
  else if (isPerformanceScript(words)) {
    std::vector<Job> jobs = importScript(session, words, "");
    if (!jobs.empty())
      job = std::move(jobs.front());
  }
  if (!job) {
    job = mixinOf(training);
    addReason(engine, *job);
  }
  job->name = importer::identifierOf(training.object->name);
  job->summary = "The " + training.object->title() + ".";
  addLaunchSection(training, *job);
  return std::move(*job);
}

} // namespace

std::vector<importer::Job> jobsOfManifest(Session& session,
                                          const manifest::Manifest& objects) {
  std::vector<Job> jobs;
  for (const Training& each : manifest::trainingsOf(objects))
    jobs.push_back(jobOfTraining(session, each));
  importer::distinguishNames(jobs);
  return jobs;
}

} // namespace recipec::driver
