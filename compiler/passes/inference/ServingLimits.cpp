// The section `serve` of a recipe as numbers; see ServingLimits.h.

#include "compiler/passes/inference/ServingLimits.h"

#include "runtime/ops/OpKind.h"
#include "runtime/sizes/WeightScales.h"

#include <bit>
#include <cassert>
#include <set>

namespace recipec::passes {
namespace {

/// Whether the model has experts. With experts, the ranks of `tp` each process
/// a slice of the step's tokens (Sharder::dispatch).
bool hasExperts(const recipe::Recipe& recipe) {
  return std::ranges::any_of(recipe.model.calls, [](const recipe::Call& call) {
    return call.op == "dispatch";
  });
}

std::optional<ir::DType> cacheTypeOf(const std::string& format) {
  if (format == "bf16")
    return std::nullopt;
  auto known = reciperun::sizes::findWeightFormat(format);
  assert(known && "the schema has a format that runtime/sizes lacks");
  return reciperun::sizes::storedType(*known);
}

/// Widths double up to 512 tokens: up to there a matmul takes as long as
/// reading its weights. Above, each token of padding takes time, so there are
/// four widths to each doubling.
int64_t widthAfter(int64_t width) {
  constexpr int64_t widestDoubled = 512;
  return width < widestDoubled
             ? 2 * width
             : width + int64_t(std::bit_floor(uint64_t(width))) / 4;
}

} // namespace

ServingLimits servingLimits(const recipe::Recipe& recipe) {
  ServingLimits limits;
  limits.maxBatch = recipe.integer("serve.max_batch");
  limits.maxTokens = recipe.integer("data.sequence");
  limits.tokenBudget = recipe.integer("serve.token_budget");
  limits.page = recipe.integer("serve.page");
  limits.cacheType = cacheTypeOf(recipe.string("serve.kv"));
  limits.draftTokens = recipe.integer("serve.drafted");
  limits.draftRange = recipe.at("serve.draft").origin.range;
  if (!recipe.at("serve.host_memory").isNone())
    limits.hostBytes = recipe.count("serve.host_memory");
  limits.hostRange = recipe.at("serve.host_memory").origin.range;
  if (hasExperts(recipe))
    limits.tokenRanks = recipe.integer("parallel.tp");
  limits.tokenBudget = limits.rounded(limits.tokenBudget);
  return limits;
}

std::vector<int64_t> stepWidths(const ServingLimits& limits) {
  std::set<int64_t> widths = {limits.rounded(limits.maxBatch),
                              limits.tokenBudget};
  for (int64_t width = 1; width < limits.tokenBudget; width = widthAfter(width))
    widths.insert(limits.rounded(width));
  return {widths.begin(), widths.end()};
}

std::string stepFunction(int64_t tokens) {
  return "step_" + std::to_string(tokens);
}

std::string stepBinding(const std::string& role, int64_t tokens) {
  return role + "_" + std::to_string(tokens);
}

} // namespace recipec::passes
