// See StepModel.h.

#include "runtime/serve/engine/StepModel.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace reciperun::serve {
namespace {

constexpr const char* remedy = "; its weights are damaged, or too large for "
                               "the type that it computes in";

} // namespace

Status StepModel::addAdapter(AdapterId /*adapter*/,
                             const std::filesystem::path& /*directory*/) {
  return Status::error("the model serves no adapters; compile its plan with "
                       "`serve.adapters` = 1 or more");
}

Status StepModel::removeAdapter(AdapterId /*adapter*/) {
  return Status::ok();
}

Status checkFinite(std::span<const float> logits) {
  auto isFinite = [](float value) { return std::isfinite(value); };
  auto first = std::find_if_not(logits.begin(), logits.end(), isFinite);
  if (first == logits.end())
    return Status::ok();
  const auto count = std::count_if(first, logits.end(), isFinite);
  return Status::error("the model's logits are not finite: that of token " +
                       std::to_string(first - logits.begin()) + " is " +
                       std::to_string(*first) + ", and so are " +
                       std::to_string(logits.end() - first - count) +
                       " of the " + std::to_string(logits.size()) + remedy);
}

Status noChosen() {
  return Status::error(std::string("the model's logits are not finite") +
                       remedy);
}

} // namespace reciperun::serve
