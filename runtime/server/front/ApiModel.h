// What a server serves, as the API's handlers see it.

#ifndef RECIPERUN_SERVER_FRONT_APIMODEL_H
#define RECIPERUN_SERVER_FRONT_APIMODEL_H

#include "runtime/plan/Plan.h"
#include "runtime/serve/engine/ModelFolder.h"
#include "runtime/serve/prompts/PromptTokens.h"
#include "runtime/serve/sampling/GenerationConfig.h"

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <vector>

namespace reciperun::server {

/// A model and the adapters beside it. The folder has a tokenizer, and plan and
/// tokenizer outlive the object.
struct ApiModel {
  std::string name;                  // the `model` of a request
  std::vector<std::string> adapters; // further values of `model`
  const serve::ModelFolder& folder;
  const serve::PromptTokens& prompts;
  /// The sampling of requests that do not set it: of a generation_config.json
  /// that draws tokens.
  std::optional<serve::GenerationConfig> defaults = {};
  int64_t vocab = 0; // of the logits
  std::time_t created = 0;

  const plan::Serving& limits() const { return *folder.plan.serving; }
  const data::Tokenizer& tokenizer() const { return *folder.tokenizer; }
  bool has(const std::string& model) const {
    return model == name || isAdapter(model);
  }
  bool isAdapter(const std::string& model) const {
    return std::ranges::find(adapters, model) != adapters.end();
  }
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_FRONT_APIMODEL_H
