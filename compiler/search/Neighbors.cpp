// Steps along the axes of the search; see Neighbors.h.

#include "compiler/search/Neighbors.h"

#include <algorithm>

namespace recipec::search {
namespace {

/// The divisors of `whole` next to `value`, below and above.
std::vector<int64_t> steps(int64_t whole, int64_t value) {
  const std::vector<int64_t> divisors = divisorsOf(whole);
  std::vector<int64_t> next;
  auto above = std::upper_bound(divisors.begin(), divisors.end(), value);
  auto here = std::lower_bound(divisors.begin(), divisors.end(), value);
  if (here != divisors.begin())
    next.push_back(*std::prev(here));
  if (above != divisors.end())
    next.push_back(*above);
  return next;
}

constexpr const char* shards[] = {"none", "optimizer", "gradients",
                                  "parameters"};

std::vector<std::string> nextShards(const std::string& shard) {
  const auto* here = std::find(std::begin(shards), std::end(shards), shard);
  std::vector<std::string> next;
  if (here != std::begin(shards))
    next.emplace_back(*std::prev(here));
  if (std::next(here) != std::end(shards))
    next.emplace_back(*std::next(here));
  return next;
}

Activations selective(std::vector<std::string> modules) {
  return {.recompute = "selective", .modules = std::move(modules)};
}

} // namespace

std::vector<int64_t> divisorsOf(int64_t number) {
  std::vector<int64_t> small, large;
  for (int64_t each = 1; each <= number / each; ++each)
    if (number % each == 0) {
      small.push_back(each);
      if (each != number / each)
        large.push_back(number / each);
    }
  small.insert(small.end(), large.rbegin(), large.rend());
  return small;
}

bool isWithinLimits(const Facts& facts, const Layout& written,
                    const Layout& layout) {
  constexpr int64_t fewestTokens = 1024;
  const int64_t widest = std::max(facts.ranksPerNode, facts.linkRanks);
  return layout.tp <= std::max(widest, written.tp) &&
         (layout.cp <= written.cp || layout.cp == 1 ||
          facts.sequence / layout.cp >= fewestTokens);
}

std::vector<Activations> activationChoices(const Facts& facts) {
  std::vector<Activations> choices = {
      {},
      selective({"attention"}),
      selective({"norm", "activation"}),
      selective({"mlp"}),
      selective({"norm", "mlp"}),
      {.recompute = "full"},
      {.offloadLayers = facts.layers},
  };
  if (facts.experts > 0) {
    choices.push_back(selective({"experts"}));
    choices.push_back(selective({"norm", "mlp", "experts"}));
  }
  if (facts.hasLatentAttention)
    choices.push_back(selective({"mla_up", "mlp", "experts"}));
  return choices;
}

std::vector<Layout> neighborsOf(const Facts& facts, const Layout& layout,
                                const std::vector<Activations>& activations) {
  std::vector<Layout> neighbors;
  auto add = [&](auto change) { change(neighbors.emplace_back(layout)); };
  for (int64_t tp : steps(facts.ranks, layout.tp))
    add([&](Layout& next) {
      next.tp = tp;
      if (layout.etp == layout.tp)
        next.etp = tp;
    });
  for (const std::string& shard : nextShards(layout.shard))
    add([&](Layout& next) { next.shard = shard; });
  for (int64_t cp : steps(facts.ranks, layout.cp))
    add([&](Layout& next) { next.cp = cp; });
  for (int64_t micro : steps(facts.globalBatch, layout.micro))
    add([&](Layout& next) { next.micro = micro; });
  if (facts.experts > 0) {
    for (int64_t ep : steps(facts.experts, layout.ep))
      add([&](Layout& next) { next.ep = ep; });
    if (layout.tp > 1)
      for (int64_t etp : {int64_t(1), layout.tp})
        add([&](Layout& next) { next.etp = etp; });
  }
  for (const Activations& each : activations)
    add([&](Layout& next) { next.activations = each; });
  std::erase(neighbors, layout);
  return neighbors;
}

} // namespace recipec::search
