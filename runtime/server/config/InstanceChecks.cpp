// Instance groups: see ConfigChecks.h.

#include "runtime/server/config/ConfigChecks.h"

#include "runtime/server/config/model_config.pb.h"

namespace reciperun::server {
namespace {

using inference::ModelConfig;
using inference::ModelInstanceGroup;

/// Of all groups of a model: an instance is a thread.
constexpr int64_t mostInstances = 1024;

/// Checks one instance group.
class GroupCheck {
public:
  GroupCheck(const ModelInstanceGroup& group, FieldPath path,
             const ModelConfig& config, ConfigMistakes& found)
      : group(group), path(std::move(path)), config(config), found(found) {}

  void run(const ServerGpus& gpus) {
    if (!ModelInstanceGroup::Kind_IsValid(group.kind()))
      return add(" has an unknown kind", "kind");
    const bool isOnGpu = group.kind() == ModelInstanceGroup::KIND_GPU;
    if (isOnGpu)
      checkGpus(gpus);
    else if (!group.gpus().empty())
      add(" has kind " + ModelInstanceGroup::Kind_Name(group.kind()) +
              " but specifies one or more GPUs",
          "gpus");
    if (!group.profile().empty() && config.platform() != "tensorrt_plan")
      // The missing space is Triton's.
      add(" and platform " + config.platform() +
              "specifies profile field which is only supported for TensorRT "
              "models",
          "profile");
  }

private:
  void add(const std::string& what, const char* field) {
    found.push_back(
        {"instance group " + group.name() + " of model " + config.name() + what,
         path / field});
  }

  void checkGpus(const ServerGpus& gpus);

  const ModelInstanceGroup& group;
  const FieldPath path;
  const ModelConfig& config;
  ConfigMistakes& found;
};

void GroupCheck::checkGpus(const ServerGpus& gpus) {
  if (gpus && group.gpus().empty())
    return add(gpus->empty() ? " has kind KIND_GPU but no GPUs are available"
                             : " has kind KIND_GPU but specifies no GPUs",
               "kind");
  for (const int32_t gpu : group.gpus()) {
    if (gpu >= 0 && (!gpus || gpus->contains(gpu)))
      continue;
    std::string known;
    for (const int32_t each : gpus.value_or(std::set<int32_t>()))
      known += (known.empty() ? "" : ", ") + std::to_string(each);
    return add(" specifies invalid or unsupported gpu id " +
                   std::to_string(gpu) +
                   ". GPUs with at least the minimum required CUDA compute "
                   "compatibility of 6.000000 are: " +
                   known,
               "gpus");
  }
}

} // namespace

void checkInstanceGroups(const ModelConfig& config, const ServerGpus& gpus,
                         ConfigMistakes& found) {
  if (config.has_ensemble_scheduling() || config.platform() == "ensemble")
    return;
  if (config.instance_group().empty()) {
    found.push_back(
        {"must specify one or more 'instance group's for " + config.name(),
         "instance_group"});
    return;
  }
  int64_t all = 0;
  bool isNegative = false;
  for (int i = 0; i < config.instance_group_size(); ++i) {
    const ModelInstanceGroup& group = config.instance_group(i);
    GroupCheck(group, FieldPath("instance_group")[i], config, found).run(gpus);
    all += group.count();
    isNegative |= group.count() < 0;
  }
  if (isNegative || all > mostInstances)
    found.push_back({"instance groups must have counts that are not negative "
                     "and at most " +
                         std::to_string(mostInstances) + " in all for " +
                         config.name(),
                     "instance_group"});
}

} // namespace reciperun::server
