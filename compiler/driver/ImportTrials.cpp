#include "compiler/driver/ImportTrials.h"

#include "compiler/driver/Pipeline.h"
#include "compiler/import/Recipes.h"

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

} // namespace recipec::driver
