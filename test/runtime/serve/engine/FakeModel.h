// A model without a device for tests of the scheduler and the engine.
//
// What it keeps of a token is a hash of the token and of what it has of the one
// before, as the keys and values of a model depend on all tokens before. The
// next token depends on the hashes of all tokens, as they are found through
// pages or states, so that a wrong page, position, slot or state changes the
// answer, as does a wrong adapter.

#ifndef RECIPERUN_TEST_SERVE_FAKEMODEL_H
#define RECIPERUN_TEST_SERVE_FAKEMODEL_H

#include "runtime/plan/Plan.h"
#include "runtime/serve/engine/StepModel.h"

#include <cstdint>
#include <deque>
#include <set>
#include <span>
#include <vector>

namespace reciperun::serve {

/// Limits of 8 sequences and 16 tokens a step, with buckets as the compiler
/// makes them.
plan::Serving smallLimits();
/// The same, with so many adapters in memory at once.
plan::Serving limitsOfAdapters(int64_t adapters);

/// The buckets of `limits`: 1, 2, 4, ... up to maxBatch, then doubled up to
/// the token budget.
std::vector<plan::Bucket> bucketsOf(const plan::Serving& limits);

class FakeModel : public StepModel {
public:
  static constexpr int64_t vocabulary = 50;

  /// `depth` steps may be underway at once.
  explicit FakeModel(const plan::Serving& limits, int depth = 1);

  /// The token that follows some tokens.
  static int32_t after(std::span<const int32_t> tokens,
                       AdapterId adapter = noAdapter);
  /// The answer to a prompt alone.
  static std::vector<int32_t> answer(std::vector<int32_t> prompt,
                                     int64_t tokens,
                                     AdapterId adapter = noAdapter);

  int64_t vocab() const override { return vocabulary; }
  /// A hidden state is the next token and the tokens so far.
  int64_t hiddenWidth() const override { return 2; }
  int depth() const override { return steps; }
  /// Fails the test when the step breaks a limit.
  Status start(const StepPlan& step) override;
  /// Logits are 1 for the next token, 0 for others.
  Status finish(StepResults& results) override;

  /// Fails for the folder `absent`.
  Status addAdapter(AdapterId adapter,
                    const std::filesystem::path& directory) override;
  Status removeAdapter(AdapterId adapter) override;
  /// The adapters that steps may load.
  const std::set<AdapterId>& adapters() const { return known; }

  /// The next token of each row of the last step that finished.
  const std::vector<int32_t>& rows() const { return last.next; }

  /// Rows of parts that have this token are not finite; -1: none are.
  int32_t poison = -1;

private:
  /// What a step has computed.
  struct Computed {
    StepReads reads;
    std::set<int> slots;
    std::set<int> places;       // of adapters
    std::vector<int32_t> next;  // by row
    std::vector<int64_t> ends;  // by row: the tokens up to it
    std::vector<int32_t> drawn; // by row
    std::set<int64_t> poisoned; // rows
  };

  void checkShape(const StepPlan& step) const;
  void checkSlots(const StepPlan& step) const;
  void copyPages(std::span<const PageCopy> copies);
  void load(const StepPlan& step);
  AdapterId adapterOf(const StepPart& part) const;
  uint64_t& cell(const StepPart& part, int64_t position);
  void enter(const StepPart& part);
  std::vector<uint64_t> cellsOf(const StepPart& part, int64_t end);

  plan::Serving limits;
  int steps;                                 // underway at most
  std::vector<uint64_t> cache;               // [pages, page]
  std::vector<uint64_t> host;                // [hostPages, page]
  std::vector<std::vector<uint64_t>> states; // by slot, of all tokens
  std::vector<AdapterId> places;             // of adapters
  std::set<AdapterId> known;
  std::deque<Computed> underway;
  std::vector<PageCopy> saves; // of the last step, made as late as is allowed
  Computed last;               // that finished
};

} // namespace reciperun::serve

#endif // RECIPERUN_TEST_SERVE_FAKEMODEL_H
