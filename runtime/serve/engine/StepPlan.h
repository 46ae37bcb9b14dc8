// What one step of a served model computes.

#ifndef RECIPERUN_SERVE_ENGINE_STEPPLAN_H
#define RECIPERUN_SERVE_ENGINE_STEPPLAN_H

#include "runtime/plan/Plan.h"
#include "runtime/serve/engine/AdapterPool.h"
#include "runtime/serve/engine/PageCache.h"
#include "runtime/serve/engine/Sequence.h"
#include "runtime/serve/sampling/AnswerDraw.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace reciperun::serve {

/// The tokens of one sequence in a step. The spans point into the sequence.
struct StepPart {
  RequestId request = -1;
  int slot = 0;
  int64_t position = 0; // of the first token
  std::span<const int32_t> ids;
  /// The sequence's pages, at least up to its last token.
  std::span<const int32_t> pages;
  int64_t rows = 0;       // logits are computed for so many last tokens
  int64_t promptRows = 0; // rows, the first ones, before a prompt token
  /// How the step samples the tokens of the rows after the first `promptRows`;
  /// nullopt: their logits are wanted instead.
  std::optional<AnswerDraw> draw = std::nullopt;
  int adapter = -1; // its place; -1: none
  /// Whether the hidden states of the rows are wanted, too.
  bool wantsHidden = false;
};

/// A step. The rows of logits follow the order of the parts.
struct StepPlan {
  int bucket = -1;    // of plan::Serving
  int64_t tokens = 0; // of all parts, at most the bucket's
  int64_t rows = 0;   // of all parts, at most the bucket's
  std::vector<StepPart> parts;
  /// The pages to copy before the step, in this order.
  std::vector<PageCopy> copies = {};
  /// The pages to copy to the host while the step runs, which does not write
  /// them, and before the next step.
  std::vector<PageCopy> saves = {};
  /// The adapters to load before the step, into places that no step underway
  /// reads.
  std::vector<AdapterLoad> loads = {};
};

/// The index of the first bucket that holds so many tokens and rows. The last
/// one must hold them.
int bucketFor(const std::vector<plan::Bucket>& buckets, int64_t tokens,
              int64_t rows);

/// Consecutive rows of logits.
struct RowRange {
  int64_t first = 0, count = 0;
};

/// Which results of a step the host reads.
struct StepReads {
  int bucket = -1;
  int64_t rows = 0;    // of the step
  bool chosen = false; // tokens of all rows
  std::vector<RowRange> logits;
  std::vector<RowRange> hidden; // after the last norm
};

/// The results that the parts of a step want.
StepReads readsOf(const StepPlan& step);

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_ENGINE_STEPPLAN_H
