// Limits on what one recipe may ask of the compiler. Real recipes stay far
// below them. A recipe that exceeds one is a mistake, which is reported in well
// under a second.

#ifndef RECIPEC_SEMA_VALUES_LIMITS_H
#define RECIPEC_SEMA_VALUES_LIMITS_H

#include "compiler/base/Source.h"

#include <cstddef>
#include <cstdint>

namespace recipec::sema {

/// Evaluations of expressions, elements and fields. A recipe with hundreds of
/// layers takes about ten thousand.
inline constexpr int64_t maxSteps = 2'000'000;
/// The longest chain of values that depend on one another. It fits the stack of
/// a thread, 8 MiB, even with the larger frames of the sanitizers.
inline constexpr int maxDepth = 600;
/// Bytes of one string.
inline constexpr size_t maxString = 1 << 20;
/// Elements of one list, or keys of one map.
inline constexpr size_t maxElements = 1'000'000;
/// Bytes of all values together, including values no longer needed.
inline constexpr size_t maxBytes = size_t(256) << 20;

class Evaluator;

/// Counts the resources of one analysis. Reports the first limit that is
/// reached; nothing is evaluated after that.
class Limits {
public:
  explicit Limits(Evaluator& evaluator) : evaluator(evaluator) {}

  /// Counts one step of evaluation. Returns false when a limit is reached.
  bool takeStep(SourceRange range) { return takeSteps(1, range); }
  bool takeSteps(int64_t count, SourceRange range);
  /// Counts the memory of a new value.
  bool takeBytes(size_t count, SourceRange range);
  /// Whether half of the steps or bytes are used up. Trials that only serve a
  /// help stop then, to leave the rest for the analysis itself.
  bool isHalfSpent() const {
    return isExhausted || steps > maxSteps / 2 || bytes > maxBytes / 2;
  }
  /// Whether a string or list may have this size. Reports when it may not.
  bool fitsString(size_t bytes, SourceRange range);
  bool fitsElements(size_t count, SourceRange range);

  /// Counts one level of evaluation during its lifetime.
  class Level {
  public:
    explicit Level(Limits& limits) : limits(limits) { ++limits.depth; }
    ~Level() { --limits.depth; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

  private:
    Limits& limits;
  };

private:
  void reportDepth(SourceRange range);

  Evaluator& evaluator;
  bool isExhausted = false;
  int depth = 0;
  int64_t steps = 0;
  size_t bytes = 0;
};

} // namespace recipec::sema

#endif // RECIPEC_SEMA_VALUES_LIMITS_H
