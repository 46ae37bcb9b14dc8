// See ModelConfig.h.

#include "runtime/server/config/ModelConfig.h"

#include "runtime/server/config/ConfigText.h"
#include "runtime/server/config/TensorRtLlm.h"
#include "runtime/server/config/model_config.pb.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

namespace reciperun::server {
namespace {

namespace fs = std::filesystem;
using inference::ModelConfig;

constexpr uintmax_t mostBytes = uintmax_t(4) << 20;

Status invalid(const std::string& message) {
  return Status::error(message, StatusCode::invalidArgument);
}

/// The text of a file that is a regular one below `folder`, also after links.
Expected<std::string> readBelow(const fs::path& folder, const fs::path& file) {
  const std::string name = file.string();
  std::error_code code;
  const fs::path real = fs::canonical(folder / file, code);
  if (code)
    return invalid("`" + name + "` cannot be read: " + code.message());
  const fs::path root = fs::canonical(folder, code);
  const auto [rootEnd, rest] =
      std::mismatch(root.begin(), root.end(), real.begin(), real.end());
  if (code || rootEnd != root.end())
    return invalid("`" + name + "` is a link out of the model's folder");
  if (!fs::is_regular_file(real, code) || fs::file_size(real, code) > mostBytes)
    return invalid("`" + name + "` must be a file of at most 4 MiB");
  std::ifstream input(real, std::ios::binary);
  std::ostringstream text;
  text << input.rdbuf();
  if (!input)
    return invalid("`" + name + "` cannot be read");
  return text.str();
}

/// Fills in what a configuration leaves out.
void complete(ModelConfig& config) {
  if (!config.version_policy().policy_choice_case())
    config.mutable_version_policy()->mutable_latest()->set_num_versions(1);
  if (config.has_ensemble_scheduling())
    return;
  if (config.instance_group().empty())
    config.add_instance_group()->set_kind(
        inference::ModelInstanceGroup::KIND_CPU);
  int index = 0;
  for (auto& group : *config.mutable_instance_group()) {
    if (group.name().empty())
      group.set_name(config.name() + "_" + std::to_string(index));
    if (group.count() == 0)
      group.set_count(1);
    if (group.kind() == inference::ModelInstanceGroup::KIND_AUTO)
      group.set_kind(group.gpus().empty()
                         ? inference::ModelInstanceGroup::KIND_CPU
                         : inference::ModelInstanceGroup::KIND_GPU);
    ++index;
  }
  if (!config.has_dynamic_batching())
    return;
  auto& batching = *config.mutable_dynamic_batching();
  if (batching.preferred_batch_size().empty() && config.max_batch_size() > 0)
    batching.add_preferred_batch_size(config.max_batch_size());
}

/// Names, completes and verifies what was parsed.
Expected<ReadConfig> finish(ReadConfig read, const std::string& model) {
  ModelConfig& config = *read.config;
  if (!config.name().empty() && config.name() != model)
    return invalid("the `name` '" + config.name() +
                   "' must be that of the folder, '" + model + "'");
  config.set_name(model);
  complete(config);
  RECIPERUN_TRY(checkModelConfig(config));
  RECIPERUN_TRY(adaptTensorRtLlm(config, read.warnings));
  return read;
}

} // namespace

Expected<ReadConfig> readModelConfig(const fs::path& folder,
                                     const std::string& model,
                                     const std::string& configName) {
  fs::path file = "config.pbtxt";
  std::error_code code;
  if (const fs::path named = fs::path("configs") / (configName + ".pbtxt");
      !configName.empty() && fs::exists(folder / named, code))
    file = named;
  const auto text = readBelow(folder, file);
  RECIPERUN_TRY(text);
  return parseModelConfig(*text, model, file.string());
}

Expected<ReadConfig> parseModelConfig(std::string_view text,
                                      const std::string& model,
                                      const std::string& file) {
  auto read = parseConfigText(text, file);
  RECIPERUN_TRY(read);
  return finish(*std::move(read), model);
}

Expected<ReadConfig> readModelConfigJson(std::string_view json,
                                         const std::string& model) {
  if (json.size() > mostBytes)
    return invalid("Invalid config override: it has more than 4 MiB");
  ReadConfig read{.config = std::make_shared<ModelConfig>(), .warnings = {}};
  const auto parsed = google::protobuf::util::JsonStringToMessage(
      google::protobuf::StringPiece(json.data(), json.size()),
      read.config.get());
  if (!parsed.ok())
    return invalid("Invalid config override: " + parsed.message().ToString());
  return finish(std::move(read), model);
}

std::vector<int64_t> versionsOf(const fs::path& folder,
                                const ModelConfig& config) {
  std::vector<int64_t> found;
  std::error_code code;
  for (auto each = fs::directory_iterator(folder, code);
       !code && each != fs::directory_iterator(); each.increment(code)) {
    const std::string name = each->path().filename().string();
    int64_t number = 0;
    const auto [end, error] =
        std::from_chars(name.data(), name.data() + name.size(), number);
    if (error == std::errc() && end == name.data() + name.size() &&
        name[0] != '0' && name[0] != '-' && each->is_directory(code))
      found.push_back(number);
  }
  std::ranges::sort(found);
  const inference::ModelVersionPolicy& policy = config.version_policy();
  if (policy.has_all())
    return found;
  if (policy.has_specific()) {
    const auto& wanted = policy.specific().versions();
    std::erase_if(found, [&](int64_t number) {
      return std::ranges::find(wanted, number) == wanted.end();
    });
    return found;
  }
  const size_t most = std::max<uint32_t>(1, policy.latest().num_versions());
  if (found.size() > most)
    found.erase(found.begin(), found.end() - ptrdiff_t(most));
  return found;
}

} // namespace reciperun::server
