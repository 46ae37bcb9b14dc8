// See ImportTrials.h.

#include "compiler/driver/ImportTrials.h"

#include "compiler/driver/Pipeline.h"
#include "compiler/import/Recipes.h"

#include <numeric>
#include <string>

namespace recipec::driver {
namespace {

constexpr const char* trialFile = "imported.recipe";

/// Opens the text of one recipe and selects it.
bool openText(Session& session, const FileLoader& library,
              const std::string& text) {
  session.loader.adopt(library);
  session.loader.useTexts({{trialFile, text}});
  return session.open({}) && session.selectOne();
}

constexpr int64_t ranksOfNode = 8;
constexpr int64_t mostTried = 1024; // ranks

importer::Job onRanks(const importer::UnsizedJob& unsized, int64_t ranks) {
  importer::Job job = unsized.job;
  job.layout.ranks = ranks;
  const int64_t parts = job.layout.tp * job.layout.cp * job.layout.pp;
  if (unsized.perRank > 0)
    job.set("batch.global", std::to_string(unsized.perRank * (ranks / parts)));
  return job;
}

/// A size of the model; 0 if it has none.
int64_t sizeOf(const recipe::Recipe& recipe, std::string_view path) {
  return recipe.find(path) ? recipe.count(path) : 0;
}

/// A job on one CPU, which is valid for any model.
importer::Job smallestJob(const importer::Model& model) {
  importer::Job job;
  job.name = "facts";
  job.model = model;
  job.hardware = "cpu";
  job.set("batch.global", "1");
  job.set("data.train", "mock()");
  job.sequence = 1;
  job.set("train.steps", "1");
  return job;
}

} // namespace

importer::ModelFacts factsOf(const FileLoader& library,
                             const importer::Model& model) {
  Session session(Target{trialFile, "", ""});
  const importer::Job job = smallestJob(model);
  if (!openText(session, library, importer::recipesText({job}, {})))
    return {};
  const auto recipe = evaluateRecipe(session, session.engine);
  if (!recipe)
    return {};
  return {.layers = sizeOf(*recipe, "model.layers"),
          .experts = sizeOf(*recipe, "model.experts"),
          .vocab = sizeOf(*recipe, "model.vocab"),
          .maxPositions = sizeOf(*recipe, "model.max_positions")};
}

bool fits(const FileLoader& library, const importer::Job& job) {
  Session session(Target{trialFile, "", ""});
  if (!openText(session, library, importer::recipesText({job}, {})))
    return false;
  diag::Engine silent;
  const auto compilation = compile(session, silent, {}, Verification::none);
  return compilation && !silent.hasErrors() && compilation->fits();
}

importer::Job onFewestNodes(const FileLoader& library,
                            const importer::UnsizedJob& unsized) {
  if (unsized.multiple == 0)
    return unsized.job;
  const int64_t fewest = std::lcm(ranksOfNode, unsized.multiple);
  int64_t ranks = fewest;
  while (ranks < mostTried && !fits(library, onRanks(unsized, ranks)))
    ranks *= 2;
  if (ranks >= mostTried)
    ranks = fewest; // `check` reports why none fits
  importer::Job job = onRanks(unsized, ranks);
  job.remarks.push_back("The number of ranks is the launcher's: the recipe "
                        "takes the fewest nodes that it fits on.");
  return job;
}

} // namespace recipec::driver
