// See Facts.h.

#include "compiler/advice/Facts.h"

#include "compiler/cost/Roofline.h"
#include "compiler/recipe/Format.h"

#include <algorithm>
#include <cstdio>

namespace recipec::advice {

int64_t Facts::degree(std::string_view name) const {
  return recipe().integer("parallel." + std::string(name));
}

int64_t Facts::ranks() const {
  return recipe().integer("cluster.ranks");
}

int64_t Facts::linkRanks() const {
  return recipe().integer("cluster.hardware.link_ranks");
}

std::optional<int64_t> Facts::sizeOfModel(std::string_view field) const {
  const std::string path = "model." + std::string(field);
  const recipe::Value* value = recipe().find(path);
  const bool isSize =
      value && (std::holds_alternative<int64_t>(value->data) ||
                std::holds_alternative<recipe::DimValue>(value->data));
  return isSize ? std::optional(recipe().count(path)) : std::nullopt;
}

Growth Facts::growthFromTp(double factor) const {
  const std::string& shard = recipe().string("parallel.shard");
  const bool shardsGradients = shard == "gradients" || shard == "parameters";
  return {shard == "parameters" ? 1 : factor, shardsGradients ? 1 : factor,
          shard == "none" ? factor : 1, factor};
}

Growth Facts::growthFromCp(double factor) {
  return {1, 1, 1, factor};
}

bool Facts::dividesBatch(int64_t factor) const {
  const int64_t together =
      recipe().integer("batch.micro") * degree("dp") * factor;
  return recipe().integer("batch.global") % together == 0;
}

std::optional<int64_t> Facts::fittingTotal(const Growth& growth) const {
  double most = 0;
  for (const cost::MemoryTable& stage : estimate().stages) {
    const double more =
        (growth.parameters - 1) * double(stage.parameters) +
        (growth.gradients - 1) * double(stage.gradients) +
        (growth.optimizer - 1) * double(stage.optimizer) +
        (growth.activations - 1) * double(stage.activations + stage.workspace);
    most = std::max(most, double(stage.total) + more);
  }
  if (most > double(estimate().memory.capacity))
    return std::nullopt;
  return int64_t(most);
}

std::string Facts::memoryText(int64_t total) const {
  return "about " + recipe::formatBytes(total) + " of " +
         recipe::formatBytes(estimate().memory.capacity) + " a rank";
}

std::function<double(const ir::Op&)>
Facts::secondsIn(const ir::Module& stage) const {
  return cost::opSeconds(stage, recipe());
}

std::map<std::string, int> Facts::runsOf(const ir::Module& stage) {
  std::map<std::string, int> runs;
  for (const ir::Schedule& schedule : stage.schedules)
    if (schedule.name == "train")
      for (const ir::ScheduleStep& step : schedule.steps)
        if (step.kind == ir::ScheduleStep::Kind::run)
          ++runs[step.function];
  return runs;
}

bool Facts::isGiven(const std::string& path) const {
  using Kind = recipe::Origin::Kind;
  const Kind kind = recipe().at(path).origin.kind;
  return kind == Kind::written || kind == Kind::commandLine;
}

SourceRange Facts::placeOf(const std::vector<std::string>& paths) const {
  const auto given =
      std::find_if(paths.begin(), paths.end(),
                   [this](const std::string& path) { return isGiven(path); });
  return recipe()
      .at(given == paths.end() ? paths.front() : *given)
      .origin.range;
}

bool Facts::isMember(const recipe::Value& value, std::string_view name) const {
  const SourceRange range = value.origin.range;
  return value.origin.kind == recipe::Origin::Kind::written &&
         range.isValid() &&
         subject.sources.kind(range.source) == SourceKind::file &&
         subject.sources.text(range).starts_with(name);
}

void Facts::propose(diag::Builder& builder, std::string_view section,
                    const std::vector<Setting>& settings,
                    const std::string& before, const std::string& after) const {
  struct Edit {
    SourceRange range;
    std::string text;
  };
  std::vector<Edit> edits;
  std::string all, added;
  const recipe::Record& record = recipe().record(section);
  for (const Setting& setting : settings) {
    const std::string text = setting.name + " = " + setting.value;
    all += (all.empty() ? "" : ", ") + text;
    const recipe::Value& value = *record.find(setting.name);
    if (isMember(value, setting.name))
      edits.push_back({value.origin.range, text});
    else
      added += ", " + text;
  }
  const auto given = std::find_if(
      record.fields.begin(), record.fields.end(),
      [&](const auto& field) { return isMember(field.second, field.first); });
  if (edits.empty() && given != record.fields.end()) {
    const SourceRange range = given->second.origin.range;
    edits.push_back({range, std::string(subject.sources.text(range))});
  }
  if (edits.empty()) {
    builder.help(before + "`" + std::string(section) + " { " + all + " }`" +
                 after);
    return;
  }
  builder.help(before + "`" + all + "`" + after);
  edits.front().text += added;
  for (Edit& edit : edits)
    builder.fixIt(edit.range, std::move(edit.text));
}

std::string decimal(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", number);
  return text;
}

std::string percent(double fraction) {
  return decimal(100 * fraction) + " %";
}

std::string rateText(double bytesPerSecond) {
  return decimal(bytesPerSecond / 1e9) + " GB/s";
}

int64_t largestDivisor(int64_t number, int64_t most) {
  for (int64_t divisor = std::min(number, most); divisor > 1; --divisor)
    if (number % divisor == 0)
      return divisor;
  return 1;
}

bool nest(int64_t span, int64_t other) {
  return span % other == 0 || other % span == 0;
}

} // namespace recipec::advice
