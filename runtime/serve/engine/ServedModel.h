// A rank's part of a model that is served: device, arena, weights and the
// schedules of the buckets.
//
// A step runs the schedule of its bucket, which loads the inputs, runs the
// stage's layers and leaves the logits in the last stage's arena. The keys and
// values of all sequences stay in the arena too.

#ifndef RECIPERUN_SERVE_ENGINE_SERVEDMODEL_H
#define RECIPERUN_SERVE_ENGINE_SERVEDMODEL_H

#include "runtime/checkpoint/LoraAdapter.h"
#include "runtime/exec/Executor.h"
#include "runtime/exec/RankDevice.h"
#include "runtime/memory/Arena.h"
#include "runtime/plan/Plan.h"
#include "runtime/serve/engine/HiddenRows.h"
#include "runtime/serve/engine/HostPages.h"
#include "runtime/serve/engine/StepModel.h"

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace reciperun::serve {

class ServedModel : public StepModel {
public:
  /// Loads this rank's part of the weights of a Hugging Face directory. If
  /// `weights` is empty, initializes it like a training run. The plan must be
  /// valid, and `rank` opened for it. Fails on all ranks when, on any of them,
  /// memory is insufficient or the weights do not fit the plan. Collective.
  static Expected<std::unique_ptr<ServedModel>>
  open(const std::filesystem::path& weights, plan::Plan plan,
       exec::RankDevice rank);
  /// The same for a plan of one rank. Opens the rank's device.
  static Expected<std::unique_ptr<ServedModel>>
  open(const std::filesystem::path& weights, plan::Plan plan, int threads);

  ServedModel(const ServedModel&) = delete;
  ServedModel& operator=(const ServedModel&) = delete;

  const plan::Plan& plan() const { return program; }
  const plan::Serving& limits() const { return *program.serving; }

  device::Device& device() { return *rank.device; }
  /// Reports all ops to `follower` from now on. `follower` must outlive its
  /// use; null ends the reports.
  void follow(exec::Observer* follower) { executor->setObserver(follower); }

  int64_t vocab() const override { return program.data.vocab; }
  int64_t hiddenWidth() const override { return hidden.width(); }
  int threads() const override { return rank.threads; }
  /// For a plan of one rank: start() and finish() of the whole model.
  Status start(const StepPlan& step) override;
  Status finish(StepResults& results) override;
  /// Keeps this rank's part of the adapter in host memory.
  Status addAdapter(AdapterId adapter,
                    const std::filesystem::path& directory) override;
  Status removeAdapter(AdapterId adapter) override;

  /// Runs this rank's part of a step.
  Status run(const StepPlan& step);
  /// Reads results of the last step that ran, on a rank of the last stage.
  Status read(const StepReads& reads, StepResults& results);

private:
  ServedModel(plan::Plan plan, exec::RankDevice rank)
      : program(std::move(plan)), rank(std::move(rank)), hidden(program) {}

  Status takeMemory();
  Status prepareKernels();
  Status load(const std::filesystem::path& weights);
  const plan::Stage& stage() const {
    return plan::stageOf(program, rank.communicator->rank());
  }
  Status loadAdapters(const StepPlan& step);
  Status runSchedule(const StepPlan& step);
  Status writeInputs(const plan::StepInputs& inputs, const StepPlan& step);
  Status writeTokens(const plan::StepInputs& inputs, const StepPlan& step);
  Status writeRows(const plan::StepInputs& inputs, const StepPlan& step);
  Status writeDraws(const plan::StepInputs& inputs, const StepPlan& step);
  Status writePages(const plan::StepInputs& inputs, const StepPlan& step);
  Status readLogits(int64_t first, const exec::Tensor& logits,
                    std::span<float> out);

  plan::Plan program;
  exec::RankDevice rank;
  memory::Arena arena;
  std::optional<exec::Executor> executor;
  /// The page table in each buffer of pages, so that only changed rows are
  /// uploaded.
  std::map<int, std::vector<int32_t>> pageTables;
  std::map<AdapterId, checkpoint::LoraAdapter> adapters;
  HostPages hostPages;
  HiddenRows hidden;
  StepReads underway; // of start()
};

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_ENGINE_SERVEDMODEL_H
