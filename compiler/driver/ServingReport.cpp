// The sections of an estimate of serving, one function each.

#include "compiler/driver/ServingReport.h"

#include "compiler/cost/ServingBounds.h"
#include "compiler/driver/MemoryReport.h"
#include "compiler/driver/ReportLines.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace recipec::driver {
namespace {

using Json = nlohmann::ordered_json;

/// A sequence length, and how many such sequences the cache holds.
struct Holds {
  int64_t tokens = 0;
  int64_t sequences = 0;
};

/// Lists the longest length, half of it, a quarter, and so on, down to a page.
std::vector<Holds> heldSequences(const Compilation& compilation) {
  const passes::CacheSize& cache = compilation.cache;
  std::vector<Holds> rows;
  if (cache.pageTokens == 0)
    return rows;
  int64_t length = compilation.recipe.integer("data.sequence");
  do {
    rows.push_back({length, cache.pages / ((length + cache.pageTokens - 1) /
                                           cache.pageTokens)});
    length /= 2;
  } while (rows.size() < 5 && length >= cache.pageTokens);
  return rows;
}

/// The bytes of state-space states, in the stage to which the cache's figures
/// apply.
int64_t stateBytes(const Compilation& compilation) {
  const passes::CacheSize& cache = compilation.cache;
  return compilation.estimate.stages[size_t(cache.stage)].cache - cache.bytes;
}

/// Tokens and pages: `32768, in 1024 pages of 32`.
std::string pagesText(int64_t pages, int64_t pageTokens) {
  return std::to_string(pages * pageTokens) + ", in " + std::to_string(pages) +
         " pages of " + std::to_string(pageTokens);
}

std::string cacheText(const Compilation& compilation) {
  const passes::CacheSize& cache = compilation.cache;
  const int64_t states = stateBytes(compilation);
  std::string text = "\nthe cache\n";
  if (cache.pageTokens > 0)
    text += reportLine("keys and values, bytes", std::to_string(cache.bytes)) +
            reportLine("tokens", pagesText(cache.pages, cache.pageTokens));
  if (cache.hostPages > 0)
    text += reportLine("tokens on the host",
                       pagesText(cache.hostPages, cache.pageTokens));
  if (states > 0)
    text += reportLine("states, bytes", std::to_string(states));
  if (!cache.holdsSequence())
    text +=
        reportLine("does not fit",
                   "a sequence takes " +
                       formatBytes(cache.least *
                                   (cache.pageBytes + cache.draftPageBytes)) +
                       ", " + formatBytes(std::max<int64_t>(0, cache.room)) +
                       " are left for it");
  for (const Holds& row : heldSequences(compilation))
    text += reportLine("sequences of " + std::to_string(row.tokens),
                       std::to_string(row.sequences));
  return text;
}

const char* binding(const cost::StepBound& bound) {
  return bound.isMemoryBound() ? "memory" : "compute";
}

std::string speedText(const cost::ServingBounds& bounds) {
  auto answers = [&](int64_t sequences, double speed,
                     const cost::StepBound& bound) {
    return reportLine("tokens/s of " + std::to_string(sequences) + ", at most",
                      formatted("%.4g", speed) + ", bound by " +
                          binding(bound));
  };
  std::string text =
      "\nspeed at best: bounds, by a roofline over the device's figures\n";
  text += reportLine("first token, at least",
                     formatted("%.4g", bounds.prefill.seconds) +
                         " s for a prompt of " + std::to_string(bounds.prompt) +
                         " tokens, bound by " + binding(bounds.prefill));
  text += answers(1, bounds.tokensPerSecondAlone(), bounds.single);
  text += answers(bounds.sequences, bounds.tokensPerSecondFull(), bounds.full);
  return text + "  answers are at " + std::to_string(bounds.context) +
         " tokens of their sequences\n";
}

Json boundJson(int64_t sequences, double speed, const cost::StepBound& bound) {
  return {{"sequences", sequences},
          {"step_seconds", bound.seconds},
          {"tokens_per_second", speed},
          {"bound_by", binding(bound)}};
}

std::string adaptersText(const recipe::Recipe& recipe) {
  const int64_t adapters = recipe.integer("serve.adapters");
  return adapters == 0
             ? ""
             : reportLine(
                   "adapters at once",
                   std::to_string(adapters) + ", of rank " +
                       std::to_string(recipe.integer("serve.adapter_rank")) +
                       " or less");
}

/// The maximum bytes of adapters that a rank keeps.
int64_t adapterBytes(const Compilation& compilation) {
  int64_t most = 0;
  for (const ir::Module& stage : compilation.stages) {
    int64_t bytes = 0;
    for (const ir::Param& param : stage.params)
      if (param.adapter)
        bytes += ir::localBytes(stage, param.value);
    most = std::max(most, bytes);
  }
  return most;
}

cost::ServingBounds boundsOf(const Compilation& compilation) {
  return cost::servingBounds(compilation.stages, compilation.recipe,
                             compilation.cache.pages);
}

} // namespace

std::string servingLimitsText(const recipe::Recipe& recipe) {
  const std::string longest = std::to_string(recipe.integer("data.sequence"));
  return reportLine("sequences at once",
                    std::to_string(recipe.integer("serve.max_batch")) +
                        ", of up to " + longest + " tokens") +
         reportLine("tokens in a step",
                    "up to " +
                        std::to_string(recipe.integer("serve.token_budget"))) +
         adaptersText(recipe);
}

std::string servingText(const Compilation& compilation) {
  return cacheText(compilation) + speedText(boundsOf(compilation));
}

Json servingJson(const Compilation& compilation) {
  const recipe::Recipe& recipe = compilation.recipe;
  const passes::CacheSize& cache = compilation.cache;
  const cost::ServingBounds bounds = boundsOf(compilation);
  Json held = Json::array();
  for (const Holds& row : heldSequences(compilation))
    held.push_back({{"tokens", row.tokens}, {"sequences", row.sequences}});
  return {
      {"max_batch", recipe.integer("serve.max_batch")},
      {"token_budget", recipe.integer("serve.token_budget")},
      {"cache_bytes", cache.bytes},
      {"cache_tokens", cache.pages * cache.pageTokens},
      {"page", cache.pageTokens},
      {"pages", cache.pages},
      {"host_pages", cache.hostPages},
      {"state_bytes", stateBytes(compilation)},
      {"adapters", recipe.integer("serve.adapters")},
      {"adapter_bytes", adapterBytes(compilation)},
      {"fits_at_once", std::move(held)},
      {"first_token_seconds", bounds.prefill.seconds},
      {"first_token_bound_by", binding(bounds.prefill)},
      {"context", bounds.context},
      {"single", boundJson(1, bounds.tokensPerSecondAlone(), bounds.single)},
      {"full",
       boundJson(bounds.sequences, bounds.tokensPerSecondFull(), bounds.full)},
  };
}

} // namespace recipec::driver
