// The section `serve` of a recipe as numbers; see ServingLimits.h.

#include "compiler/passes/inference/ServingLimits.h"

namespace recipec::passes {

ServingLimits servingLimits(const recipe::Recipe& recipe) {
  ServingLimits limits;
  limits.maxBatch = recipe.integer("serve.max_batch");
  limits.maxTokens = recipe.integer("data.sequence");
  limits.tokenBudget = recipe.integer("serve.token_budget");
  limits.page = recipe.integer("serve.page");
  return limits;
}

std::vector<int64_t> stepWidths(const ServingLimits& limits) {
  std::vector<int64_t> widths;
  for (int64_t width = 1; width < limits.maxBatch; width *= 2)
    widths.push_back(width);
  for (int64_t width = limits.maxBatch; width < limits.tokenBudget; width *= 2)
    widths.push_back(width);
  widths.push_back(limits.tokenBudget);
  return widths;
}

std::string stepFunction(int64_t tokens) {
  return "step_" + std::to_string(tokens);
}

std::string stepBinding(const std::string& role, int64_t tokens) {
  return role + "_" + std::to_string(tokens);
}

} // namespace recipec::passes
