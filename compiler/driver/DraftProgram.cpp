// 1. Find the library's model for the config.json of the folder, and write a
//    mixin that sets it.
// 2. Compile the served recipe with this mixin and the mixin `generation`,
//    which selects one rank. Changes that are being tried apply if they set
//    limits or the device, but not if they set the model or its layout.
// 3. Check that the model can produce guesses for the served one.

#include "compiler/driver/DraftProgram.h"

#include "compiler/driver/GeneratingRecipe.h"
#include "compiler/files/Place.h"
#include "compiler/passes/inference/ServingLimits.h"
#include "compiler/recipe/Task.h"
#include "runtime/data/FileHead.h"
#include "runtime/ops/OpKind.h"
#include "runtime/plan/Paths.h"

#include <algorithm>
#include <filesystem>
#include <string>

namespace recipec::driver {
namespace {

constexpr const char* mixinName = "draft";

/// The folder as the recipe names it.
files::Place placeOf(const Session& session, const recipe::Recipe& recipe) {
  const std::string& written = recipe.string("serve.draft.path");
  return {"serve.draft", written,
          reciperun::plan::resolvePath(session.folder, written), session.folder,
          recipe.at("serve.draft.path").origin.range};
}

/// Reports a path that is not a folder with a config.json.
bool checkFolder(const files::Place& place, diag::Engine& engine) {
  if (isModelFolder(place.resolved))
    return true;
  const std::string cause = reciperun::data::whyNoFolder(place.resolved);
  if (!cause.empty())
    files::reportMissing(engine, place, cause);
  else
    engine
        .report(diag::Kind::InvalidData, place.range,
                "`serve.draft`: `" + place.written +
                    "` holds no `config.json`, so that it is no model")
        .help("name the folder of a Hugging Face model, or the one that "
              "`export.hf` of its training names");
  return false;
}

/// The text of the mixin that sets the folder's model; nullopt with a
/// diagnostic.
std::optional<std::string> mixinText(const Session& session,
                                     const files::Place& place,
                                     diag::Engine& engine) {
  Session reader(Target{place.resolved, "", ""});
  reader.loader.adopt(session.loader);
  const std::optional<FolderModel> model =
      modelOfFolder(reader, place.resolved);
  if (model)
    return "import std.models." + model->module + " as library\n\nmixin " +
           mixinName + " {\n  model = " + model->value +
           "  serve { draft = none, adapters = 0, exclude_modules = [] }\n}\n";
  engine
      .report(diag::Kind::InvalidData, place.range,
              "`serve.draft`: `" + place.written +
                  "/config.json`: " + reader.engine.all().front().message)
      .help("name a model whose architecture `recipec doc models` lists");
  return std::nullopt;
}

/// Whether a change that is being tried also applies to the draft model.
bool isOfLimits(const sema::Override& change) {
  const std::string& section = change.path.front().text;
  if (section == "serve" && change.path.size() > 1)
    return change.path[1].text != "draft" && change.path[1].text != "adapters";
  const bool isOfHardware = section == "cluster" && change.path.size() > 1 &&
                            change.path[1].text == "hardware";
  return section == "serve" || section == "data" || section == "precision" ||
         isOfHardware;
}

sema::Changes changesFor(sema::Changes changes, const std::string& file) {
  changes.mixins.push_back(generationMixin);
  changes.mixins.push_back({file, mixinName});
  std::erase_if(changes.overrides,
                [](const sema::Override& each) { return !isOfLimits(each); });
  return changes;
}

bool keepsStates(const std::vector<ir::Module>& stages) {
  for (const ir::Function& function : stages.front().functions)
    for (const ir::Op& op : function.ops)
      if (op.kind == ir::OpKind::StateScanStep)
        return true;
  return false;
}

/// Whether the draft model can discard wrong guesses.
bool canTakeBack(const Compilation& draft, const files::Place& place,
                 diag::Engine& engine) {
  const bool hasStates = keepsStates(draft.stages);
  if (!hasStates && draft.cache.pageBytes > 0)
    return true;
  engine
      .report(diag::Kind::InvalidValue, place.range,
              "`serve.draft`: the model of `" + place.written + "` has " +
                  (hasStates ? "state-space layers, whose states cannot take "
                               "wrong guesses back"
                             : "no attention, and guesses from the last token "
                               "alone"))
      .help("name a model whose layers all have attention, or write `draft = "
            "\"ngram\"`");
  return false;
}

/// The vocabulary size of a serving Program.
int64_t vocabularyOf(const std::vector<ir::Module>& stages,
                     const recipe::Recipe& recipe) {
  const int64_t width =
      passes::stepWidths(passes::servingLimits(recipe)).front();
  const ir::Module& last = stages.back();
  const ir::ValueId logits =
      last.bindings.at(passes::stepBinding("logits", width));
  return last[last[logits].dims.back()].size;
}

} // namespace

bool hasDraftModel(const recipe::Recipe& recipe) {
  return recipe::serves(recipe) && recipe.find("serve.draft.path") != nullptr;
}

std::shared_ptr<Compilation> compileDraft(Session& session,
                                          diag::Engine& engine,
                                          const recipe::Recipe& served,
                                          const sema::Changes& changes,
                                          Verification verification) {
  const files::Place place = placeOf(session, served);
  if (!checkFolder(place, engine))
    return nullptr;
  const std::optional<std::string> text = mixinText(session, place, engine);
  if (!text)
    return nullptr;
  const std::string file =
      (std::filesystem::path(place.resolved) / "draft.recipe").string();
  session.loader.replaceText(file, *text);
  diag::Engine found;
  std::optional<Compilation> draft =
      compile(session, found, changesFor(changes, file), verification);
  if (!draft) {
    const diag::Diagnostic& first = found.all().front();
    engine.report(
        first.kind, place.range,
        "`serve.draft`: the model of `" + place.written +
            "` cannot be served with these settings: " + first.message);
    return nullptr;
  }
  if (!canTakeBack(*draft, place, engine))
    return nullptr;
  return std::make_shared<Compilation>(*std::move(draft));
}

void countDraft(Compilation& draft, const recipe::Recipe& served,
                cost::Estimate& estimate) {
  draft.estimate = cost::estimate(draft.stages, std::nullopt, draft.recipe);
  draft.cache = passes::measureCache(draft.stages, draft.recipe);
  cost::MemoryTable& first = estimate.stages.front();
  first.draft = cost::draftBytes(draft.stages.front(), served);
  first.total += first.draft;
  estimate.memory = cost::fullest(estimate.stages);
}

void checkDraftVocabulary(const Compilation& draft,
                          const std::vector<ir::Module>& stages,
                          const recipe::Recipe& served, diag::Engine& engine) {
  const int64_t own = vocabularyOf(draft.stages, draft.recipe);
  const int64_t wanted = vocabularyOf(stages, served);
  if (own == wanted)
    return;
  engine
      .report(diag::Kind::InvalidValue,
              served.at("serve.draft.path").origin.range,
              "`serve.draft`: the vocabulary of `" +
                  served.string("serve.draft.path") + "` has " +
                  std::to_string(own) + " tokens, and that of `model` has " +
                  std::to_string(wanted))
      .help("name a smaller model of the same family, whose tokenizer is that "
            "of `model`, or write `draft = \"ngram\"`");
}

} // namespace recipec::driver
