// The model that an engine runs its steps on.

#ifndef RECIPERUN_SERVE_ENGINE_STEPMODEL_H
#define RECIPERUN_SERVE_ENGINE_STEPMODEL_H

#include "runtime/base/Status.h"
#include "runtime/serve/engine/StepPlan.h"

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace reciperun::serve {

/// The results of a step that its parts want.
struct StepResults {
  /// The sampled token of each row; -1 if the row has a logit that is not
  /// finite. Empty when all parts want logits.
  std::vector<int32_t> chosen;
  /// [rows, vocab]; rows whose logits no part wants are not written.
  std::vector<float> logits;
  /// [rows, width]; rows whose hidden states no part wants are not written.
  std::vector<float> hidden;

  /// Allocates the wanted results. Keeps memory that is large enough.
  void resize(const StepReads& reads, int64_t vocab, int64_t width = 0) {
    chosen.resize(reads.chosen ? size_t(reads.rows) : 0);
    if (!reads.logits.empty() && logits.size() < size_t(reads.rows * vocab))
      logits.resize(size_t(reads.rows * vocab));
    if (!reads.hidden.empty() && hidden.size() < size_t(reads.rows * width))
      hidden.resize(size_t(reads.rows * width));
  }
  std::span<float> logitsOf(int64_t row, int64_t rows, int64_t vocab) {
    return std::span(logits).subspan(size_t(row * vocab), size_t(rows * vocab));
  }
  std::span<float> hiddenOf(int64_t row, int64_t rows, int64_t width) {
    return std::span(hidden).subspan(size_t(row * width), size_t(rows * width));
  }
};

class StepModel {
public:
  virtual ~StepModel() = default;
  /// The number of logits in a row.
  virtual int64_t vocab() const = 0;
  /// The length of a hidden state after the last norm; 0: the model cannot
  /// return hidden states.
  virtual int64_t hiddenWidth() const { return 0; }
  /// The most steps that may be underway: one for each pipeline stage.
  virtual int depth() const { return 1; }
  /// Starts a step. Fails when the device does.
  virtual Status start(const StepPlan& step) = 0;
  /// Waits for the earliest step underway, and reads its results.
  virtual Status finish(StepResults& results) = 0;
  /// Reads an adapter, which later steps may load. Fails, with the remedy, when
  /// the model serves no adapters or the adapter does not fit it.
  virtual Status addAdapter(AdapterId adapter,
                            const std::filesystem::path& directory);
  /// Frees an adapter that no step loads or uses any more.
  virtual Status removeAdapter(AdapterId adapter);
  /// The number of CPU threads that choose tokens.
  virtual int threads() const { return 1; }
};

/// Fails when logits are not finite: they do not define a distribution.
Status checkFinite(std::span<const float> logits);
/// The failure of checkFinite() for a step that chose no token.
Status noChosen();

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_ENGINE_STEPMODEL_H
