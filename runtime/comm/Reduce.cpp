// Reductions over the ranks' contributions, in rank order.
//
// The elements are processed in tiles that fit the L1 cache. A tile starts as
// the first rank's contribution, widened to f32 for bf16, and accumulates the
// others one after another.

#include "runtime/comm/Reduce.h"

#include "runtime/device/BFloat16.h"

#include <algorithm>
#include <cmath>

namespace reciperun::comm {
namespace {

constexpr int64_t tileElements = 1024;

using device::bf16;

template <class T> T sum(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return T(std::make_unsigned_t<T>(a) + std::make_unsigned_t<T>(b));
  else
    return a + b;
}
template <class T> T larger(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return a > b || std::isnan(a) ? a : b;
  else
    return std::max(a, b);
}
template <class T> T smaller(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return a < b || std::isnan(a) ? a : b;
  else
    return std::min(a, b);
}
template <class T> T product(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return T(std::make_unsigned_t<T>(a) * std::make_unsigned_t<T>(b));
  else
    return a * b;
}

/// tile[i] = combine(tile[i], part[i])
template <class Wide, class Stored, class Combine>
void accumulate(Wide* tile, const Stored* part, int64_t count,
                Combine combine) {
  for (int64_t i = 0; i < count; ++i)
    tile[i] = combine(tile[i], Wide(part[i]));
}

template <class Wide, class Stored>
void accumulate(Reduction reduction, Wide* tile, const Stored* part,
                int64_t count) {
  switch (reduction) {
  case Reduction::sum:
    return accumulate(tile, part, count,
                      [](Wide a, Wide b) { return sum(a, b); });
  case Reduction::max:
    return accumulate(tile, part, count,
                      [](Wide a, Wide b) { return larger(a, b); });
  case Reduction::min:
    return accumulate(tile, part, count,
                      [](Wide a, Wide b) { return smaller(a, b); });
  case Reduction::product:
    return accumulate(tile, part, count,
                      [](Wide a, Wide b) { return product(a, b); });
  }
}

template <class Stored, class Wide>
void reduce(Reduction reduction, const std::byte* in, int64_t stride, int ranks,
            int64_t elements, Stored* out) {
  Wide tile[tileElements];
  for (int64_t begin = 0; begin < elements; begin += tileElements) {
    int64_t count = std::min(tileElements, elements - begin);
    for (int rank = 0; rank < ranks; ++rank) {
      auto* part = reinterpret_cast<const Stored*>(in + rank * stride) + begin;
      if (rank == 0)
        for (int64_t i = 0; i < count; ++i)
          tile[i] = Wide(part[i]);
      else
        accumulate(reduction, tile, part, count);
    }
    for (int64_t i = 0; i < count; ++i)
      out[begin + i] = Stored(tile[i]);
  }
}

} // namespace

void reduceInRankOrder(plan::DType type, Reduction reduction,
                       const std::byte* in, int64_t stride, int ranks,
                       int64_t elements, std::byte* out) {
  auto run = [&]<class Stored, class Wide>() {
    reduce<Stored, Wide>(reduction, in, stride, ranks, elements,
                         reinterpret_cast<Stored*>(out));
  };
  switch (type) {
  case plan::DType::f64:
    return run.operator()<double, double>();
  case plan::DType::f32:
    return run.operator()<float, float>();
  case plan::DType::bf16:
    return run.operator()<bf16, float>();
  case plan::DType::i32:
    return run.operator()<int32_t, int32_t>();
  case plan::DType::i64:
    return run.operator()<int64_t, int64_t>();
  case plan::DType::u16:
  case plan::DType::f8e4m3:
  case plan::DType::f8e5m2:
  case plan::DType::f8e8m0:
  case plan::DType::i8:
  case plan::DType::u8:
    assert(false && "these are moved, and never added");
  }
}

} // namespace reciperun::comm
