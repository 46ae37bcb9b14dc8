// 1. The plan's description of data and training, as in its JSON, without paths
//    and fields that do not affect results.
// 2. The optimizer's hyperparameters, which are attributes of its ops.
// 3. Hashes of the files of the data and the tokenizer.

#include "runtime/train/Settings.h"

#include "runtime/base/Hash.h"
#include "runtime/base/InputFile.h"
#include "runtime/checkpoint/Files.h"
#include "runtime/data/SourceFiles.h"
#include "runtime/ops/OpKind.h"
#include "runtime/ops/OptimizerOps.h"
#include "runtime/plan/Paths.h"
#include "runtime/plan/PlanJson.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <string_view>

namespace reciperun::train {
namespace {

using checkpoint::Setting;
using Json = nlohmann::ordered_json;

/// Files with fewer bytes in total are hashed completely. In larger files about
/// that number of bytes is hashed, in samples spread over them.
constexpr int64_t hashedBytes = int64_t(64) << 20;
constexpr int64_t sampleBytes = int64_t(64) << 10;

struct Renamed {
  std::string_view plan, recipe;
};
/// Fields of the plan that have another name in the recipe, by prefix.
constexpr Renamed renamed[] = {
    {"train.learning_rate", "optimizer.lr"},
    {"train.global_batch", "batch.global"},
};

/// Fields that do not affect the results of steps.
constexpr std::string_view ignored[] = {
    "data.tokenizer",       "data.vocab",        "train.directory",
    "train.validate_every", "train.log_every",   "train.micro_batch",
    "train.accumulation",   "train.prompts",     "train.spike",
    "train.spike_window",   "train.spike_stops", "train.log_norms",
    "train.metrics_port",   "train.straggler",   "train.straggler_window",
    "train.spot_notices",   "train.tensorboard", "train.mlflow"};

std::string recipeName(const std::string& name) {
  for (const Renamed& each : renamed)
    if (name.starts_with(each.plan))
      return std::string(each.recipe) + name.substr(each.plan.size());
  return name;
}

bool isPath(std::string_view key) {
  return key == "path" || key == "paths";
}

/// Adds the leaves of a JSON value, named by their path with dots.
void flatten(const Json& json, const std::string& name,
             std::vector<Setting>& settings) {
  if (!json.is_structured()) {
    if (std::ranges::find(ignored, name) == std::end(ignored))
      settings.push_back({recipeName(name), json.dump()});
    return;
  }
  size_t number = 0;
  for (const auto& [key, value] : json.items())
    if (json.is_array())
      flatten(value, name + "[" + std::to_string(number++) + "]", settings);
    else if (!isPath(key))
      flatten(value, name + "." + key, settings);
}

/// Adds the fields of the plan's data and training, from a copy without ops and
/// parameters, whose JSON is short.
void addFields(const plan::Plan& whole, std::vector<Setting>& settings) {
  plan::Plan few;
  few.data = whole.data;
  few.train = whole.train;
  few.train.prompts.clear();
  const Json json = Json::parse(plan::toJson(few), nullptr, false);
  for (const char* section : {"data", "train"})
    if (json.is_object() && json.contains(section))
      flatten(json[section], section, settings);
}

std::string textOf(double number) {
  return Json(number).dump();
}

/// Adds the optimizer's hyperparameters. Ops may differ in one, for example no
/// weight decay for norms, so all its values are listed.
void addOptimizer(const plan::Plan& plan, std::vector<Setting>& settings) {
  using Attributes = ops::AdamWAttributes;
  for (auto [name, value] :
       {std::pair("beta1", &Attributes::beta1),
        std::pair("beta2", &Attributes::beta2),
        std::pair("eps", &Attributes::eps),
        std::pair("weight_decay", &Attributes::weightDecay),
        std::pair("clip", &Attributes::clip)}) {
    std::set<double> values;
    for (const plan::Stage& stage : plan.stages)
      for (const plan::Function& function : stage.functions)
        for (const plan::Op& op : function.ops)
          if (op.kind == plan::OpKind::AdamW)
            values.insert(Attributes(op.attributes).*value);
    std::string text;
    for (double value : values)
      text += (text.empty() ? "" : ", ") + textOf(value);
    if (!text.empty())
      settings.push_back({"optimizer." + std::string(name), text});
  }
}

/// Hashes a sample every `stride` bytes and the end of the file. A `stride` of
/// the sample size covers all bytes.
Status addSamples(const InputFile& file, int64_t stride, Hasher& hasher) {
  std::vector<std::byte> sample;
  auto add = [&](int64_t offset) {
    sample.resize(size_t(std::min(sampleBytes, file.size() - offset)));
    Status read = file.read(offset, sample);
    hasher.add(sample);
    return read;
  };
  for (int64_t offset = 0; offset < file.size(); offset += stride)
    RECIPERUN_TRY(add(offset));
  return stride == sampleBytes
             ? Status::ok()
             : add(std::max<int64_t>(0, file.size() - sampleBytes));
}

/// Adds the contents of all files that a source reads.
Status addContents(const std::string& name, const plan::DataSource& source,
                   std::vector<Setting>& settings) {
  std::vector<std::string> paths;
  plan::eachPathOf(
      source, name.c_str(),
      [&](const std::string& path, const char*) { paths.push_back(path); });
  if (paths.empty())
    return Status::ok();
  Expected<std::vector<std::string>> files = data::filesOf(paths);
  RECIPERUN_TRY(files);
  Expected<std::string> contents = contentsOf(*files);
  RECIPERUN_TRY(contents);
  settings.push_back({name + " (contents)", *contents});
  return Status::ok();
}

/// Adds the hash of the tokenizer. It may be missing when the data consists of
/// token ids.
Status addTokenizer(const plan::Data& data, std::vector<Setting>& settings) {
  if (data.tokenizer.empty() ||
      (!plan::readsText(data) && !isThere(data.tokenizer)))
    return Status::ok();
  Expected<std::string> text = readTextFile(data.tokenizer);
  RECIPERUN_TRY(text);
  settings.push_back({checkpoint::tokenizerSetting, hashOf(*text).text()});
  return Status::ok();
}

std::string shortened(const std::string& value) {
  constexpr size_t longest = 70;
  if (value.empty())
    return "none";
  return value.size() <= longest ? value : value.substr(0, longest) + "...";
}

std::string valueOf(const std::vector<Setting>& settings,
                    const std::string& name) {
  const auto found = std::ranges::find(settings, name, &Setting::name);
  return found == settings.end() ? std::string() : found->value;
}

} // namespace

Expected<std::string> contentsOf(const std::vector<std::string>& files) {
  std::vector<int64_t> sizes;
  int64_t total = 0;
  for (const std::string& path : files) {
    Expected<InputFile> file = InputFile::openNearby(path);
    RECIPERUN_TRY(file);
    sizes.push_back(file->size());
    total += file->size();
  }
  Hasher hasher;
  hasher.add(std::as_bytes(std::span(sizes)));
  const int64_t stride =
      std::max(sampleBytes,
               total / (hashedBytes / sampleBytes) / sampleBytes * sampleBytes);
  for (const std::string& path : files) {
    Expected<InputFile> file = InputFile::openNearby(path);
    RECIPERUN_TRY(file);
    RECIPERUN_TRY(addSamples(*file, stride, hasher));
  }
  return std::to_string(files.size()) +
         (files.size() == 1 ? " file, " : " files, ") + std::to_string(total) +
         " bytes, " + hasher.hash().text();
}

Expected<std::vector<Setting>> settingsOf(const plan::Plan& plan) {
  std::vector<Setting> settings;
  addFields(plan, settings);
  if (plan.data.train)
    RECIPERUN_TRY(addContents("data.train", *plan.data.train, settings));
  if (plan.data.valid)
    RECIPERUN_TRY(addContents("data.valid", *plan.data.valid, settings));
  RECIPERUN_TRY(addTokenizer(plan.data, settings));
  addOptimizer(plan, settings);
  return settings;
}

std::string Change::text() const {
  return "`" + name + "`: " + shortened(before) + " -> " + shortened(now);
}

std::vector<Change> changesOf(const std::vector<Setting>& before,
                              const std::vector<Setting>& now) {
  std::vector<Change> changes;
  for (const Setting& setting : now)
    if (std::string was = valueOf(before, setting.name); was != setting.value)
      changes.push_back({setting.name, was, setting.value});
  for (const Setting& setting : before)
    if (valueOf(now, setting.name).empty())
      changes.push_back({setting.name, setting.value, ""});
  return changes;
}

} // namespace reciperun::train
