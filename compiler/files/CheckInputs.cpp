// 1. Paths of data: a file of `jsonl`; files, folders and patterns of `text`
//    and of tokens.
// 2. What is there is looked into: see Heads.h.
// 3. The tokenizer, where the run tokenizes anything; it must be one that the
//    runtime applies, and have the control tokens of a chat.
// 4. The weights: a checkpoint, or a Hugging Face directory with all shards;
//    and the checkpoint that `checkpoint.resume` names.

#include "compiler/files/CheckInputs.h"

#include "compiler/files/Chat.h"
#include "compiler/files/Heads.h"
#include "compiler/files/Place.h"
#include "compiler/files/Weights.h"
#include "runtime/data/FileHead.h"
#include "runtime/data/SourceFiles.h"
#include "runtime/data/Tokenizer.h"
#include "runtime/plan/Paths.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

namespace recipec::files {
namespace {

namespace data = reciperun::data;
namespace plan = reciperun::plan;

class Inputs {
public:
  Inputs(const recipe::Recipe& recipe, const plan::Plan& plan,
         const std::string& folder, Findings& found)
      : recipe(recipe), plan(plan), folder(folder), found(found) {}

  void check();

private:
  Place place(const std::string& setting, const std::string& path) const;
  void source(const std::string& setting, const plan::DataSource& source);
  void reportVocab(const std::string& setting, const std::string& fault);
  bool filesOf(const std::string& setting, const plan::DataSource& source,
               std::vector<std::string>& files);
  void tokenizer();
  std::string tokenizerSetting() const;

  const recipe::Recipe& recipe;
  const plan::Plan& plan;
  const std::string& folder;
  Findings& found;
  std::optional<data::Tokenizer> words; // where there is one to apply
  bool isVocabReported = false;
};

Place Inputs::place(const std::string& setting, const std::string& path) const {
  return {setting, path, plan::resolvePath(folder, path), folder,
          rangeOf(recipe, setting, path)};
}

/// The tokenizer's path follows from `weights` where the recipe names none.
std::string Inputs::tokenizerSetting() const {
  return recipe.at("tokenizer").isNone() ? "weights" : "tokenizer";
}

void Inputs::tokenizer() {
  const std::string& path = plan.data.tokenizer;
  if (path.empty() || plan::isRemote(path) ||
      (!plan::readsText(plan.data) && plan.train.prompts.empty()))
    return;
  std::string setting = tokenizerSetting();
  Place where = place(setting, path);
  if (setting == "weights") {
    where.range = rangeOf(recipe, setting, plan.exchange.weights);
    // Then it is the weights that are missing.
    if (!data::whyNoFolder(plan::resolvePath(folder, plan.exchange.weights))
             .empty())
      return;
  }
  std::string cause = data::whyNoFile(where.resolved);
  if (!cause.empty())
    return reportMissing(found.faults, where, cause);
  auto read = data::Tokenizer::read(where.resolved);
  if (read)
    words = *std::move(read);
  else
    found.faults.report(diag::Kind::InvalidData, where.range,
                        "`" + setting + "`: " + read.message());
}

/// The files of a source; false where one of its paths leads to none.
bool Inputs::filesOf(const std::string& setting, const plan::DataSource& source,
                     std::vector<std::string>& files) {
  std::vector<std::string> paths = source.paths;
  if (!source.path.empty())
    paths.push_back(source.path);
  bool areThere = true;
  for (const std::string& path : paths) {
    Place where = place(setting, path);
    if (plan::isRemote(path))
      continue;
    std::error_code code;
    bool isMany = !source.paths.empty() &&
                  (path.find_first_of("*?[") != std::string::npos ||
                   std::filesystem::is_directory(where.resolved, code));
    std::string cause = isMany ? "" : data::whyNoFile(where.resolved);
    if (cause.empty() && isMany) {
      // Megatron's indices lie beside what is read.
      auto matched = data::filesOf({where.resolved},
                                   source.kind == "token_file" ? ".idx" : "");
      if (matched)
        files.insert(files.end(), matched->begin(), matched->end());
      else
        cause = matched.message();
    } else if (cause.empty()) {
      files.push_back(where.resolved);
    }
    if (!cause.empty())
      reportMissing(found.faults, where, cause);
    areThere &= cause.empty();
  }
  return areThere;
}

void Inputs::source(const std::string& setting,
                    const plan::DataSource& source) {
  for (const plan::DataSource& blended : source.sources)
    this->source(setting, blended);
  std::vector<std::string> files;
  if (!filesOf(setting, source, files) || files.empty())
    return;
  Fault fault = lookInto(source, plan.data, files, words ? &*words : nullptr);
  if (fault.isOfVocab)
    return reportVocab(setting, fault.text);
  if (!fault.text.empty())
    found.faults.report(
        diag::Kind::InvalidData,
        rangeOf(recipe, setting,
                source.paths.empty() ? source.path : source.paths[0]),
        "`" + setting + "`: " + fault.text);
}

/// Once: the sources have the tokenizer in common.
void Inputs::reportVocab(const std::string& setting, const std::string& fault) {
  if (std::exchange(isVocabReported, true))
    return;
  const std::string size = std::to_string(words->size());
  const recipe::Value* vocab = recipe.find("model.vocab");
  auto builder = found.faults.report(
      diag::Kind::InvalidData,
      vocab ? vocab->origin.range : rangeOf(recipe, tokenizerSetting(), ""),
      "`" + setting + "`: " + fault);
  builder.note("the tokenizer `" + plan.data.tokenizer + "` has " + size +
               " tokens");
  builder.help("set `model.vocab` to " + size +
               ", or use the model's own tokenizer");
}

void Inputs::check() {
  tokenizer();
  if (plan.data.train)
    source("data.train", *plan.data.train);
  if (plan.data.valid)
    source("data.valid", *plan.data.valid);
  if (words)
    checkChat(recipe, plan.data, *words, found.doubts);
  if (!plan.exchange.weights.empty() && !plan::isRemote(plan.exchange.weights))
    checkWeights(place("weights", plan.exchange.weights), recipe, found.faults);
  const plan::Checkpoint& checkpoint = plan.checkpoint;
  if (checkpoint.resumesFromPath() && !plan::isRemote(checkpoint.resume))
    checkCheckpoint(place("checkpoint.resume", checkpoint.resume),
                    found.faults);
}

} // namespace

Findings checkInputs(const recipe::Recipe& recipe, const plan::Plan& plan,
                     const std::string& folder) {
  Findings found;
  // A plan that answers prompts reads the folder that its command names.
  if (plan.task != "generate")
    Inputs(recipe, plan, folder, found).check();
  return found;
}

} // namespace recipec::files
