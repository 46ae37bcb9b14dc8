// What one recipe may ask of the compiler. Real recipes stay far below; what
// goes beyond is a mistake, and is to be found in well under a second.

#ifndef RECIPEC_SEMA_VALUES_LIMITS_H
#define RECIPEC_SEMA_VALUES_LIMITS_H

#include "compiler/base/Source.h"

#include <cstddef>
#include <cstdint>

namespace recipec::sema {

/// Evaluations of expressions, elements and fields. A recipe of hundreds of
/// layers takes some ten thousand.
inline constexpr int64_t maxSteps = 2'000'000;
/// Values that depend on one another in a chain. The stack of a thread, 8 MiB,
/// takes it also where the sanitizers have made every frame larger.
inline constexpr int maxDepth = 600;
/// Bytes of one string.
inline constexpr size_t maxString = 1 << 20;
/// Elements of one list, keys of one map.
inline constexpr size_t maxElements = 1'000'000;
/// Bytes of all values together, those that are needed no more included.
inline constexpr size_t maxBytes = size_t(256) << 20;

class Evaluator;

/// Counts what one analysis takes. The first limit that is reached is reported;
/// from then on nothing is evaluated.
class Limits {
public:
  explicit Limits(Evaluator& evaluator) : evaluator(evaluator) {}

  /// Counts one step of evaluation; false when the recipe asks for too much.
  bool takeStep(SourceRange range) { return takeSteps(1, range); }
  bool takeSteps(int64_t count, SourceRange range);
  /// Counts the memory of a value that is made.
  bool takeBytes(size_t count, SourceRange range);
  /// Whether a string or list may be this large; reports where not.
  bool fitsString(size_t bytes, SourceRange range);
  bool fitsElements(size_t count, SourceRange range);

  /// A level of evaluation, counted while it lives.
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
