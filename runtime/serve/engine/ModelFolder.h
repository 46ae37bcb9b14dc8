// The folder of an exported model: its plan, tokenizer and end tokens, and its
// draft model.

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
/// `recipec` compiles the plan, with room for `adapters` adapters in memory.
/// `plan`, if given, is the file of a plan to use instead. Fails, with the
/// remedy, when the path is no model, when the plan is for another task, when a
/// file is invalid, and when the draft model is invalid or has another
/// tokenizer. Reads no weights.
Expected<ModelFolder> readModelFolder(const std::filesystem::path& path,
                                      size_t adapters = 0,
                                      const std::filesystem::path& plan = {});

/// Encodes `prompt`, formatted as in the training data (data.chat), up to the
/// start of the answer. Fails when the folder has no tokenizer.
Expected<std::vector<int32_t>> encodePrompt(const ModelFolder& folder,
                                            const std::string& prompt);

/// The error for a folder without a tokenizer when there is text to encode.
Status noTokenizer(const ModelFolder& folder);

/// Makes an engine for the folder's model `model`, which is open. Opens the
/// draft model, and fails when that fails.
Expected<std::unique_ptr<Engine>> makeEngine(const ModelFolder& folder,
                                             std::unique_ptr<StepModel> model);

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_ENGINE_MODELFOLDER_H
