// What one recipe may ask of the compiler. Real recipes stay far below; what
// goes beyond is a mistake, and is to be found in well under a second.

#ifndef RECIPEC_SEMA_VALUES_LIMITS_H
#define RECIPEC_SEMA_VALUES_LIMITS_H

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

} // namespace recipec::sema

#endif // RECIPEC_SEMA_VALUES_LIMITS_H
