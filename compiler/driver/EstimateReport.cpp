// The sections of an estimate, one function each.

#include "compiler/driver/EstimateReport.h"

#include "compiler/driver/MemoryReport.h"
#include "compiler/driver/ReportLines.h"
#include "compiler/driver/ServingReport.h"
#include "compiler/driver/StepLimit.h"
#include "compiler/recipe/Task.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace recipec::driver {
namespace {

using Json = nlohmann::ordered_json;

/// The degrees of the layout with their names, in the order of the mesh.
std::vector<std::pair<const char*, int64_t>>
degreesOf(const recipe::Recipe& recipe) {
  std::vector<std::pair<const char*, int64_t>> degrees;
  for (const char* name : {"dp", "cp", "tp", "pp", "vp", "ep", "etp"})
    degrees.emplace_back(name, recipe.integer("parallel." + std::string(name)));
  return degrees;
}

// ---- the text

std::string parametersText(const cost::ParameterCounts& counts) {
  std::string text = formatCount(counts.total);
  if (counts.active != counts.total)
    text += ", " + formatCount(counts.active) + " of them for a token";
  if (counts.trained != counts.total)
    text += ", " + formatCount(counts.trained) + " trained";
  return text;
}

/// `[PPGGGOOOOOOAAAAAWL........] 75 %`: one letter per category. The part after
/// a `|` does not fit.
std::string memoryBar(const cost::MemoryTable& memory) {
  constexpr int64_t columns = 60;
  int64_t whole = std::max(memory.total, memory.capacity);
  if (whole <= 0)
    return "";
  auto columnOf = [&](int64_t bytes) {
    return size_t(double(bytes) / double(whole) * columns + 0.5);
  };
  std::string bar;
  int64_t taken = 0;
  for (const MemoryRow& row : memoryRows(memory)) {
    if (taken >= memory.total) // host memory of a GPU follows the total
      break;
    taken += row.bytes;
    bar.resize(columnOf(taken), row.letter);
  }
  bar.resize(columns, '.');
  if (!memory.fits())
    bar.insert(columnOf(memory.capacity), "|");
  return "  [" + bar + "] " +
         formatted("%.0f %%",
                   100 * double(memory.total) /
                       double(std::max<int64_t>(1, memory.capacity))) +
         "\n";
}

std::string memoryText(const cost::MemoryTable& memory,
                       const std::string& device) {
  std::string text = memoryTableText(memory) + memoryBar(memory);
  if (!memory.fits())
    text += "  does not fit: " + formatBytes(memory.total - memory.capacity) +
            " more than the " + formatBytes(memory.capacity) + " of `" +
            device + "`\n";
  return text;
}

/// The range of memory over all stages except the fullest.
std::string otherStagesText(const std::vector<cost::MemoryTable>& stages,
                            size_t fullest) {
  int64_t least = 0, most = 0;
  size_t tooFull = 0;
  for (size_t i = 0; i < stages.size(); ++i) {
    if (i == fullest)
      continue;
    bool isFirst = i == (fullest == 0 ? 1u : 0u);
    least = isFirst ? stages[i].total : std::min(least, stages[i].total);
    most = std::max(most, stages[i].total);
    tooFull += !stages[i].fits();
  }
  size_t count = stages.size() - 1;
  std::string text =
      count == 1 ? "  the other stage takes "
                 : "  the other " + std::to_string(count) + " stages take ";
  text += formatBytes(least);
  if (formatBytes(most) != formatBytes(least))
    text += " to " + formatBytes(most);
  if (tooFull)
    text += "; " + std::to_string(tooFull) + " of them " +
            (tooFull == 1 ? "does" : "do") + " not fit";
  return text + "\n";
}

size_t fullestStage(const cost::Estimate& estimate) {
  auto most = std::max_element(estimate.stages.begin(), estimate.stages.end(),
                               [](const auto& left, const auto& right) {
                                 return left.total < right.total;
                               });
  return size_t(most - estimate.stages.begin());
}

std::string stagesText(const cost::Estimate& estimate,
                       const std::string& device) {
  size_t fullest = fullestStage(estimate);
  size_t count = estimate.stages.size();
  std::string text = "\nmemory of a rank";
  if (count > 1)
    text += " of stage " + std::to_string(fullest) + ", the fullest of " +
            std::to_string(count);
  text += ", in bytes\n" + memoryText(estimate.stages[fullest], device);
  return count > 1 ? text + otherStagesText(estimate.stages, fullest) : text;
}

/// `12.1 % (dp 1.3 %, tp 10.8 %)`
std::string communicationText(const cost::Estimate& estimate) {
  std::string kinds;
  for (const auto& [kind, share] : estimate.exposed)
    if (share >= 0.0005)
      kinds += (kinds.empty() ? "" : ", ") + kind + " " + percent(share);
  return percent(estimate.communication) +
         (kinds.empty() ? "" : " (" + kinds + ")");
}

/// Where the time of a step goes, the largest part first.
std::string partsText(const cost::Estimate& estimate) {
  std::vector<std::pair<double, std::string>> parts;
  for (const auto& [work, names] : workNames)
    if (const auto found = estimate.work.find(work);
        found != estimate.work.end())
      parts.emplace_back(
          found->second,
          reportLine(std::string("  ") + names.first, percent(found->second)));
  parts.emplace_back(
      estimate.communication,
      reportLine("  communication", communicationText(estimate)));
  if (estimate.copies >= 0.0005)
    parts.emplace_back(estimate.copies, reportLine("  copies to the host",
                                                   percent(estimate.copies)));
  if (estimate.stages.size() > 1)
    parts.emplace_back(estimate.bubble,
                       reportLine("  bubble", percent(estimate.bubble)));
  std::ranges::stable_sort(parts, std::greater(),
                           &std::pair<double, std::string>::first);
  std::string text = "  of it\n";
  for (const auto& [share, line] : parts)
    text += line;
  return text;
}

bool isOnCpu(const recipe::Recipe& recipe) {
  return recipe.string("cluster.hardware.kind") == "cpu";
}

std::string limitText(const StepLimit& limit) {
  return reportLine("what limits", limit.part + ", " + percent(limit.share)) +
         reportLine("what would help", limit.remedy);
}

/// CPUs have no MFU, because their peak is not measured on the machine.
std::string timeText(const cost::Estimate& estimate,
                     const recipe::Recipe& recipe) {
  const double seconds = estimate.stepSeconds;
  std::string text = "\na step, predicted\n";
  text += reportLine("FLOPs", formatted("%.4g", estimate.flopsPerStep));
  text += reportLine(
      "seconds", formatted("%.4g", seconds) + ", within " +
                     formatted("%.3g", seconds * (1 - estimate.uncertainty)) +
                     " to " +
                     formatted("%.3g", seconds * (1 + estimate.uncertainty)));
  text += reportLine("seconds, at least",
                     formatted("%.4g", estimate.leastStepSeconds) +
                         " by a roofline over the device's figures");
  text += reportLine("tokens/s of a rank",
                     formatted("%.4g", estimate.tokensPerSecondPerRank));
  text += reportLine("tokens/s in all",
                     formatted("%.4g", estimate.tokensPerSecond()));
  text += reportLine("TFLOP/s of a rank",
                     formatted("%.4g", estimate.tflopsPerRank));
  if (!isOnCpu(recipe))
    text += reportLine("MFU", percent(estimate.mfu));
  text += partsText(estimate);
  if (!isOnCpu(recipe))
    text += limitText(stepLimitOf(estimate, recipe));
  if (estimate.trainSteps > 0)
    text += reportLine("the run",
                       formatSeconds(estimate.trainSeconds()) + " for " +
                           formatted("%.0f", estimate.trainSteps) + " steps");
  return text;
}

// ---- JSON

Json stageJson(const cost::MemoryTable& memory) {
  Json stage = {{"total_bytes", memory.total}};
  for (const MemoryRow& row : memoryRows(memory))
    stage[std::string(row.name)] = row.bytes;
  return stage;
}

/// Fractions of the step.
Json timeJson(const cost::Estimate& estimate) {
  Json parts = Json::object();
  for (const auto& [work, names] : workNames)
    if (const auto found = estimate.work.find(work);
        found != estimate.work.end())
      parts[names.second] = found->second;
  return parts;
}

Json layoutJson(const recipe::Recipe& recipe) {
  Json layout = Json::object();
  for (const auto& [name, degree] : degreesOf(recipe))
    layout[name] = degree;
  return layout;
}

} // namespace

std::string formatSeconds(double seconds) {
  constexpr std::pair<double, const char*> units[] = {
      {86400, " days"}, {3600, " h"}, {60, " min"}};
  for (const auto& [size, name] : units)
    if (seconds >= 2 * size)
      return formatted("%.3g", seconds / size) + name;
  return formatted("%.3g", seconds) + " s";
}

std::string percent(double part) {
  return formatted("%.1f %%", 100 * part);
}

std::string layoutText(const recipe::Recipe& recipe) {
  std::string text;
  for (const auto& [name, degree] : degreesOf(recipe))
    text += (text.empty() ? "" : ", ") + std::string(name) + " " +
            std::to_string(degree);
  return text;
}

std::string batchText(const recipe::Recipe& recipe) {
  return std::to_string(recipe.integer("batch.global")) + " sequences of " +
         std::to_string(recipe.integer("data.sequence")) + " tokens, in " +
         std::to_string(recipe.integer("batch.accumulation")) +
         " micro-batches of " + std::to_string(recipe.integer("batch.micro"));
}

std::string formatCount(int64_t count) {
  constexpr std::pair<double, const char*> units[] = {
      {1e12, " T"}, {1e9, " B"}, {1e6, " M"}, {1e3, " k"}};
  for (const auto& [size, name] : units)
    if (double(count) >= size)
      return formatted("%.3g", double(count) / size) + name;
  return std::to_string(count);
}

std::string estimateText(const Compilation& compilation) {
  const cost::Estimate& estimate = compilation.estimate;
  const recipe::Recipe& recipe = compilation.recipe;
  const std::string& device = recipe.string("cluster.hardware.name");
  std::string text = "`" + recipe.name + "` on " +
                     std::to_string(estimate.ranks) + " x " + device + "\n";
  text += reportLine("parameters", parametersText(compilation.parameters));
  text += reportLine("layout", layoutText(recipe));
  if (recipe::serves(recipe)) {
    text += servingLimitsText(recipe) + stagesText(estimate, device);
    return text + servingText(compilation);
  }
  text += reportLine("global batch", batchText(recipe));
  text += stagesText(estimate, device);
  return estimate.stepSeconds > 0 ? text + timeText(estimate, recipe) : text;
}

Json estimateJson(const Compilation& compilation) {
  const cost::Estimate& estimate = compilation.estimate;
  const cost::ParameterCounts& counts = compilation.parameters;
  Json stages = Json::array();
  for (const cost::MemoryTable& each : estimate.stages)
    stages.push_back(stageJson(each));
  Json json = {
      {"fits", compilation.fits()},
      {"capacity_bytes", estimate.memory.capacity},
      {"stages", std::move(stages)},
      {"flops_per_step", estimate.flopsPerStep},
      {"step_seconds", estimate.stepSeconds},
      {"tokens_per_second_per_rank", estimate.tokensPerSecondPerRank},
      {"tflops_per_rank", estimate.tflopsPerRank},
      {"mfu", estimate.mfu},
      {"ranks", estimate.ranks},
      {"layers_per_chunk", estimate.layersPerChunk},
      {"parameters", counts.total},
      {"trained_parameters", counts.trained},
      {"active_parameters", counts.active},
      {"layout", layoutJson(compilation.recipe)},
      {"fullest_stage", fullestStage(estimate)},
      {"tokens_per_second", estimate.tokensPerSecond()},
      {"communication", estimate.communication},
      {"bubble", estimate.bubble},
      {"exposed_communication", estimate.exposed},
      {"exposed_copies", estimate.copies},
      {"work", timeJson(estimate)},
      {"uncertainty", estimate.uncertainty},
      {"bound_step_seconds", estimate.leastStepSeconds},
      {"train_steps", nullptr},
      {"train_seconds", nullptr},
  };
  if (recipe::serves(compilation.recipe))
    json["serving"] = servingJson(compilation);
  if (estimate.stepSeconds > 0 && !isOnCpu(compilation.recipe)) {
    const StepLimit limit = stepLimitOf(estimate, compilation.recipe);
    json["limit"] = {
        {"part", limit.part}, {"share", limit.share}, {"help", limit.remedy}};
  }
  if (estimate.trainSteps > 0) {
    json["train_steps"] = estimate.trainSteps;
    json["train_seconds"] = estimate.trainSeconds();
  }
  return json;
}

} // namespace recipec::driver
