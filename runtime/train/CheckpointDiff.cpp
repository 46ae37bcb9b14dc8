// Prints, in this order:
// 1. the differences in position and settings;
// 2. the parameters that cannot be compared;
// 3. the parameters whose values differ, the largest relative difference first.

#include "runtime/train/CheckpointDiff.h"

#include "runtime/checkpoint/Differences.h"
#include "runtime/train/Settings.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace reciperun::train {
namespace {

using checkpoint::Manifest;
using checkpoint::ParameterDifference;
using Json = nlohmann::ordered_json;

/// The number of parameters that are listed without `--all`.
constexpr size_t listed = 20;

std::vector<Change> changesBetween(const Manifest& a, const Manifest& b) {
  std::vector<Change> changes;
  auto compare = [&](const char* name, const std::string& before,
                     const std::string& now) {
    if (before != now)
      changes.push_back({name, before, now});
  };
  compare("recipe", a.recipe, b.recipe);
  compare("step", std::to_string(a.position.step),
          std::to_string(b.position.step));
  compare("samples", std::to_string(a.position.samples),
          std::to_string(b.position.samples));
  compare("config.json", a.model.config, b.model.config);
  for (Change& change : changesOf(a.settings, b.settings))
    changes.push_back(std::move(change));
  return changes;
}

Json numberOf(double value) {
  return std::isfinite(value) ? Json(value) : Json("infinite");
}

void printJson(const std::vector<Change>& changes,
               const std::vector<ParameterDifference>& parameters) {
  Json json = {{"settings", Json::array()}, {"parameters", Json::array()}};
  for (const Change& change : changes)
    json["settings"].push_back({{"name", change.name},
                                {"before", change.before},
                                {"now", change.now}});
  for (const ParameterDifference& each : parameters) {
    Json entry = {{"name", each.name}};
    if (!each.apart.empty())
      entry["apart"] = each.apart;
    if (!each.types.empty())
      entry["types"] = each.types;
    entry["elements"] = each.elements;
    entry["different"] = each.different;
    entry["largest"] = numberOf(each.largest);
    entry["relative"] = numberOf(each.relative);
    json["parameters"].push_back(std::move(entry));
  }
  std::printf("%s\n",
              json.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
}

void print(const ParameterDifference& each) {
  if (!each.apart.empty()) {
    std::printf("  %-40s %s\n", each.name.c_str(), each.apart.c_str());
    return;
  }
  const double share = 100 * double(each.different) /
                       double(std::max<int64_t>(1, each.elements));
  std::printf("  %-40s %12.4g %12.4g %9.1f %%  %s\n", each.name.c_str(),
              each.relative, each.largest, share, each.types.c_str());
}

void printText(const std::vector<Change>& changes,
               std::vector<ParameterDifference> parameters, bool all) {
  for (const Change& change : changes)
    std::printf("%s\n", change.text().c_str());
  const size_t count = parameters.size();
  std::erase_if(parameters,
                [](const ParameterDifference& each) { return each.isNone(); });
  std::printf("%zu of %zu parameters are the same\n", count - parameters.size(),
              count);
  if (parameters.empty())
    return;
  std::ranges::stable_sort(parameters, [](const auto& a, const auto& b) {
    return std::pair(!a.apart.empty(), a.relative) >
           std::pair(!b.apart.empty(), b.relative);
  });
  std::printf("  %-40s %12s %12s %11s\n", "parameter", "relative", "largest",
              "elements");
  const size_t shown = all ? parameters.size() : listed;
  for (size_t i = 0; i < parameters.size() && i < shown; ++i)
    print(parameters[i]);
  if (shown < parameters.size())
    std::printf("  and %zu more: `--all` lists them\n",
                parameters.size() - shown);
}

} // namespace

Status printDifferences(const std::filesystem::path& a,
                        const std::filesystem::path& b,
                        const DiffStyle& style) {
  auto first = checkpoint::StateReader::open(a);
  RECIPERUN_TRY(first);
  auto second = checkpoint::StateReader::open(b);
  RECIPERUN_TRY(second);
  auto parameters = checkpoint::differencesOf(*first, *second);
  RECIPERUN_TRY(parameters);
  const std::vector<Change> changes =
      changesBetween(first->manifest(), second->manifest());
  if (style.json)
    printJson(changes, *parameters);
  else
    printText(changes, *std::move(parameters), style.all);
  return Status::ok();
}

} // namespace reciperun::train
