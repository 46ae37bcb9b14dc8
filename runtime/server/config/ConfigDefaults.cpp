// completeModelConfig of ModelConfig.h: what Triton fills in as well, so that
// clients find the same values.

#include "runtime/server/config/ModelConfig.h"

#include "runtime/server/config/model_config.pb.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace reciperun::server {
namespace {

using inference::ModelConfig;
using inference::ModelInstanceGroup;
using inference::ModelQueuePolicy;

/// A sequence without requests for this time ends.
constexpr uint64_t defaultIdleMicroseconds = 1'000'000;
/// 100 years. Clocks count nanoseconds in 64 bits.
constexpr uint64_t mostMicroseconds =
    uint64_t(100) * 365 * 24 * 3600 * 1'000'000;

void completeBackend(ModelConfig& config) {
  struct Row {
    std::string_view platform, backend;
  };
  constexpr auto rows =
      std::to_array<Row>({{"tensorrt_plan", "tensorrt"},
                          {"onnxruntime_onnx", "onnxruntime"},
                          {"pytorch_libtorch", "pytorch"},
                          {"tensorflow_savedmodel", "tensorflow"},
                          {"tensorflow_graphdef", "tensorflow"}});
  for (const Row& row : rows) {
    if (config.backend().empty() && config.platform() == row.platform)
      config.set_backend(std::string(row.backend));
    if (config.platform().empty() && config.backend() == row.backend)
      config.set_platform(std::string(row.platform));
  }
}

/// Without a kind: on GPUs where the server has all that the group names.
void completeKind(ModelInstanceGroup& group, const ServerGpus& gpus) {
  if (group.kind() != ModelInstanceGroup::KIND_AUTO)
    return;
  const bool isOnGpu =
      gpus ? !gpus->empty() &&
                 std::ranges::all_of(
                     group.gpus(), [&](int gpu) { return gpus->contains(gpu); })
           : !group.gpus().empty();
  group.set_kind(isOnGpu ? ModelInstanceGroup::KIND_GPU
                         : ModelInstanceGroup::KIND_CPU);
}

void completeGroups(ModelConfig& config, const ServerGpus& gpus) {
  if (config.instance_group().empty())
    config.add_instance_group()->set_name(config.name());
  int index = 0;
  for (ModelInstanceGroup& group : *config.mutable_instance_group()) {
    if (group.name().empty())
      group.set_name(config.name() + "_" + std::to_string(index));
    if (group.count() == 0)
      group.set_count(1);
    completeKind(group, gpus);
    if (group.kind() == ModelInstanceGroup::KIND_GPU && gpus &&
        group.gpus().empty())
      group.mutable_gpus()->Add(gpus->begin(), gpus->end());
    ++index;
  }
}

void completePinnedMemory(ModelConfig& config) {
  auto& optimization = *config.mutable_optimization();
  if (!optimization.has_input_pinned_memory())
    optimization.mutable_input_pinned_memory()->set_enable(true);
  if (!optimization.has_output_pinned_memory())
    optimization.mutable_output_pinned_memory()->set_enable(true);
}

uint64_t limited(uint64_t microseconds) {
  return std::min(microseconds, mostMicroseconds);
}

void limitTimeout(ModelQueuePolicy& policy) {
  policy.set_default_timeout_microseconds(
      limited(policy.default_timeout_microseconds()));
}

void completeDynamic(ModelConfig& config) {
  if (!config.has_dynamic_batching())
    return;
  auto& batching = *config.mutable_dynamic_batching();
  if (batching.preferred_batch_size().empty() && config.max_batch_size() > 0)
    batching.add_preferred_batch_size(config.max_batch_size());
  batching.set_max_queue_delay_microseconds(
      limited(batching.max_queue_delay_microseconds()));
  if (batching.has_default_queue_policy())
    limitTimeout(*batching.mutable_default_queue_policy());
  for (auto& [level, policy] : *batching.mutable_priority_queue_policy())
    limitTimeout(policy);
}

void completeSequences(ModelConfig& config) {
  if (!config.has_sequence_batching())
    return;
  auto& batching = *config.mutable_sequence_batching();
  const uint64_t idle = batching.max_sequence_idle_microseconds();
  batching.set_max_sequence_idle_microseconds(
      idle == 0 ? defaultIdleMicroseconds : limited(idle));
  if (batching.has_direct())
    batching.mutable_direct()->set_max_queue_delay_microseconds(
        limited(batching.direct().max_queue_delay_microseconds()));
  if (!batching.has_oldest())
    return;
  auto& oldest = *batching.mutable_oldest();
  oldest.set_max_queue_delay_microseconds(
      limited(oldest.max_queue_delay_microseconds()));
  if (oldest.preferred_batch_size().empty() && config.max_batch_size() > 0)
    oldest.add_preferred_batch_size(config.max_batch_size());
}

} // namespace

void completeModelConfig(ModelConfig& config, const ServerGpus& gpus) {
  if (!config.version_policy().policy_choice_case())
    config.mutable_version_policy()->mutable_latest()->set_num_versions(1);
  completeBackend(config);
  completeDynamic(config);
  completeSequences(config);
  if (config.has_ensemble_scheduling() || config.platform() == "ensemble")
    return;
  completeGroups(config, gpus);
  completePinnedMemory(config);
}

} // namespace reciperun::server
