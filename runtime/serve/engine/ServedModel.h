// A model by its serving plan: device, arena, weights and the functions of the
// buckets.
//
// A step writes the inputs of its bucket, runs the bucket's function and leaves
// the logits in the arena, where the keys and values of all sequences stay too.

#ifndef RECIPERUN_SERVE_ENGINE_SERVEDMODEL_H
#define RECIPERUN_SERVE_ENGINE_SERVEDMODEL_H

#include "runtime/exec/Executor.h"
#include "runtime/exec/RankDevice.h"
#include "runtime/memory/Arena.h"
#include "runtime/plan/Plan.h"
#include "runtime/serve/engine/StepModel.h"

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace reciperun::serve {

class ServedModel : public StepModel {
public:
  /// Loads this rank's part of the weights of a Hugging Face directory, or
  /// draws it as a training would when `weights` is empty. The plan has been
  /// validated, and `rank` opened for it. Fails on all ranks when memory is
  /// insufficient or the weights do not fit the plan on one of them.
  /// Collective.
  static Expected<std::unique_ptr<ServedModel>>
  open(const std::filesystem::path& weights, plan::Plan plan,
       exec::RankDevice rank);
  /// The same for a plan of one rank, whose device it opens.
  static Expected<std::unique_ptr<ServedModel>>
  open(const std::filesystem::path& weights, plan::Plan plan, int threads);

  ServedModel(const ServedModel&) = delete;
  ServedModel& operator=(const ServedModel&) = delete;

  const plan::Plan& plan() const { return program; }
  const plan::Serving& limits() const { return *program.serving; }

  int64_t vocab() const override;
  Status run(const StepPlan& step) override;
  Status readRows(int64_t first, std::span<float> out) override;
  Status readLikeliest(std::span<int32_t> out) override;
  int threads() const override { return rank.threads; }

private:
  ServedModel(plan::Plan plan, exec::RankDevice rank)
      : program(std::move(plan)), rank(std::move(rank)) {}

  Status takeMemory();
  Status prepareKernels();
  Status load(const std::filesystem::path& weights);
  device::Device& device() { return *rank.device; }
  const plan::Bucket& bucketOf(const StepPlan& step) const;
  const plan::Bucket& lastBucket() const {
    return limits().buckets[size_t(last)];
  }
  Status writeTokens(const plan::Bucket& bucket, const StepPlan& step);
  Status writeRows(const plan::Bucket& bucket, const StepPlan& step);
  Status writePages(const plan::Bucket& bucket, const StepPlan& step);

  plan::Plan program;
  exec::RankDevice rank;
  memory::Arena arena;
  std::optional<exec::Executor> executor;
  /// What each buffer of pages has, so that only changed rows are copied to it.
  std::map<int, std::vector<int32_t>> pageTables;
  int last = 0; // the bucket of the last step
};

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_ENGINE_SERVEDMODEL_H
