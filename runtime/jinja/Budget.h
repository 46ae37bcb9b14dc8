// The limits of a rendering: steps, bytes and levels of nesting.
//
// Templates are untrusted. Each operation counts its work here, in proportion
// to the bytes that it makes, which bounds the memory, and to the bytes that it
// reads, which bounds the time.

#ifndef RECIPERUN_JINJA_BUDGET_H
#define RECIPERUN_JINJA_BUDGET_H

#include "runtime/base/Status.h"
#include "runtime/jinja/Template.h"

#include <cstddef>
#include <string>

namespace reciperun::jinja {

class Budget {
public:
  explicit Budget(const RenderLimits& limits) : limits(limits) {}

  /// Counts an expression or statement that is evaluated.
  Status takeStep() { return takeReads(RenderLimits::readsPerStep); }
  /// Counts bytes that an operation reads; `readsPerStep` of them are a step.
  Status takeReads(size_t count) {
    reads += count;
    return status();
  }
  /// Counts bytes of strings, and of the elements of lists and dictionaries,
  /// that an operation makes.
  Status takeBytes(size_t count) {
    bytes += count;
    return status();
  }
  /// Counts a value that is written as text: a step, and the bytes of the text.
  /// Returns false if the budget is exceeded.
  bool takeValue(size_t size) {
    reads += RenderLimits::readsPerStep;
    bytes += size;
    return !exceedsSteps() && !exceedsBytes();
  }
  /// Fails where the budget is exceeded.
  Status status() const {
    if (exceedsSteps())
      return Status::error("the template takes more than " +
                           std::to_string(limits.steps) + " steps");
    if (exceedsBytes())
      return Status::error("the template makes more than " +
                           std::to_string(limits.bytes) + " bytes");
    return {};
  }

private:
  friend class Level;

  bool exceedsSteps() const {
    return reads / RenderLimits::readsPerStep > size_t(limits.steps);
  }
  bool exceedsBytes() const { return bytes > limits.bytes; }

  const RenderLimits& limits;
  size_t reads = 0;
  size_t bytes = 0;
  int level = 0;
};

/// Counts as a level of nested statements, expressions or filters as long as it
/// lives. Each level takes some of the stack.
class Level {
public:
  explicit Level(Budget& budget) : budget(budget) { ++budget.level; }
  ~Level() { --budget.level; }
  Level(const Level&) = delete;
  Level& operator=(const Level&) = delete;

  /// Counts a step. Also fails if there are too many levels.
  Status takeStep() const {
    return budget.level > maxLevel
               ? Status::error("the template nests more than " +
                               std::to_string(maxLevel) + " evaluations")
               : budget.takeStep();
  }

private:
  static constexpr int maxLevel = 1000; // about 2 MiB of stack

  Budget& budget;
};

} // namespace reciperun::jinja

#endif // RECIPERUN_JINJA_BUDGET_H
