// A rank's part of a model by its serving plan: device, arena, weights and the
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

  device::Device& device() { return *rank.device; }
  /// Reports all ops from now on to `follower`, which must outlive its use;
  /// null ends that.
  void follow(exec::Observer* follower) { executor->setObserver(follower); }

  int64_t vocab() const override { return program.data.vocab; }
  int64_t hiddenWidth() const override { return hidden.width(); }
  int threads() const override { return rank.threads; }
  /// The model as a whole, for a plan of one rank.
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
  /// What each buffer of pages has, so that only changed rows are copied to it.
  std::map<int, std::vector<int32_t>> pageTables;
  std::map<AdapterId, checkpoint::LoraAdapter> adapters;
  HiddenRows hidden;
  StepReads underway; // of start()
};

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_ENGINE_SERVEDMODEL_H
