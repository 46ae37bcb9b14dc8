// The folder of an exported model: its plan, tokenizer and end tokens, and the
// model that guesses tokens for it.

#ifndef RECIPERUN_SERVE_ENGINE_MODELFOLDER_H
#define RECIPERUN_SERVE_ENGINE_MODELFOLDER_H

#include "runtime/base/Status.h"
#include "runtime/data/Tokenizer.h"
#include "runtime/plan/Plan.h"
#include "runtime/serve/engine/DraftFolder.h"
#include "runtime/serve/engine/Engine.h"
#include "runtime/serve/engine/StepModel.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace reciperun::serve {

struct ModelFolder {
  std::filesystem::path path;
  plan::Plan plan; // of serving
  /// Absent when the folder has no tokenizer.json: ids need none.
  std::optional<data::Tokenizer> tokenizer;
  /// Of generation_config.json and of the plan.
  std::set<int32_t> endTokens;
  std::optional<DraftFolder> draft = {}; // of `serve.draft`
};

/// Reads a folder with generate.plan.json, or with a config.json from which
/// `recipec` compiles the plan, with room for `adapters` in memory. A file
/// `plan` that is given takes the place of either. Fails, with
/// the remedy, when the path is no model, when the plan is of another task,
/// when a file is invalid, and when its draft model is none or has another
/// tokenizer. Reads no weights.
Expected<ModelFolder> readModelFolder(const std::filesystem::path& path,
                                      size_t adapters = 0,
                                      const std::filesystem::path& plan = {});

/// The ids before the answer to `prompt`, formatted as in the training data
/// (data.chat). Fails when the folder has no tokenizer.
Expected<std::vector<int32_t>> encodePrompt(const ModelFolder& folder,
                                            const std::string& prompt);

/// The error for a folder without a tokenizer, where texts need one.
Status noTokenizer(const ModelFolder& folder);

/// An engine on the folder's model, which has been opened. Opens the draft
/// model. Fails when that does.
Expected<std::unique_ptr<Engine>> makeEngine(const ModelFolder& folder,
                                             std::unique_ptr<StepModel> model);

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_ENGINE_MODELFOLDER_H
