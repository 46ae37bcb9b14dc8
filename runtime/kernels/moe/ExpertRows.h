// Maps rows of experts to the tokens that chose them, for dispatch, combine and
// their gradients.
//
// `rows` [tokens, choices] has the row of [groups * places, width] for each
// choice, or -1 for a choice without a row. A row has at most one choice, so
// copies in both directions have no collisions.

#ifndef RECIPERUN_KERNELS_MOE_EXPERTROWS_H
#define RECIPERUN_KERNELS_MOE_EXPERTROWS_H

#include "runtime/device/cpu/CpuContext.h"
#include "runtime/device/cpu/Parallel.h"
#include "runtime/kernels/common/Types.h"

#include <algorithm>

namespace reciperun::kernels {

/// The tokens' choices and their rows.
struct ExpertRows {
  int64_t tokens, choices, width;
  int64_t count; // rows of all experts
  const int32_t* rows;

  /// `numbers` [.., choices], `atTokens` [.., width], `atExperts` [g, p,
  /// width].
  ExpertRows(const device::Tensor& numbers, const device::Tensor& atTokens,
             const device::Tensor& atExperts)
      : tokens(numbers.elements() / numbers.shape.back()),
        choices(numbers.shape.back()), width(atTokens.shape.back()),
        count(atExperts.elements() / width), rows(numbers.as<int32_t>()) {}

  /// The row of a choice, or -1. It is checked against `count`, because it
  /// comes from a buffer.
  int64_t rowOf(int64_t choice) const {
    const int32_t row = rows[choice];
    return row < count ? row : -1;
  }
};

/// Below this number of tokens a second thread costs more than it saves.
inline constexpr int64_t tokenGrain = 4;

/// out[row] = gate x[token] for each choice, 0 elsewhere. The gate is 1 if
/// `gates` is null.
template <class T>
void scatterToExperts(const device::KernelArgs& args, const ExpertRows& experts,
                      const T* x, const Math<T>* gates, T* out) {
  using M = Math<T>;
  const int threads = args.context.threads();
  device::parallelFor(
      threads, experts.count, tokenGrain, [&](int64_t begin, int64_t end) {
        std::fill(out + begin * experts.width, out + end * experts.width, T());
      });
  device::parallelFor(
      threads, experts.tokens, tokenGrain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin * experts.choices; i < end * experts.choices;
             ++i) {
          const int64_t row = experts.rowOf(i);
          if (row < 0)
            continue;
          const T* from = x + i / experts.choices * experts.width;
          T* to = out + row * experts.width;
          if (!gates) {
            std::copy_n(from, experts.width, to);
            continue;
          }
#pragma omp simd
          for (int64_t c = 0; c < experts.width; ++c)
            to[c] = T(gates[i] * M(from[c]));
        }
      });
}

/// out[token] = the sum of gate y[row] over its choices, in order.
template <class T>
void gatherFromExperts(const device::KernelArgs& args,
                       const ExpertRows& experts, const T* y,
                       const Math<T>* gates, T* out) {
  using M = Math<T>;
  constexpr int64_t tile = 128; // columns that are summed at a time
  auto token = [&](int64_t t, int64_t first, int64_t count) {
    M sum[tile] = {};
    for (int64_t j = 0; j < experts.choices; ++j) {
      const int64_t i = t * experts.choices + j;
      const int64_t row = experts.rowOf(i);
      if (row < 0)
        continue;
      const T* from = y + row * experts.width + first;
      const M gate = gates ? gates[i] : M(1);
#pragma omp simd
      for (int64_t c = 0; c < count; ++c)
        sum[c] += gate * M(from[c]);
    }
    T* to = out + t * experts.width + first;
    for (int64_t c = 0; c < count; ++c)
      to[c] = T(sum[c]);
  };
  device::parallelFor(args.context.threads(), experts.tokens, tokenGrain,
                      [&](int64_t begin, int64_t end) {
                        for (int64_t t = begin; t < end; ++t)
                          for (int64_t c = 0; c < experts.width; c += tile)
                            token(t, c, std::min(tile, experts.width - c));
                      });
}

/// The dot product of two rows.
template <class T> Math<T> dotOfRows(const T* a, const T* b, int64_t width) {
  using M = Math<T>;
  M product = 0;
#pragma omp simd reduction(+ : product)
  for (int64_t c = 0; c < width; ++c)
    product += M(a[c]) * M(b[c]);
  return product;
}

/// dgates[choice] = the dot product of its token's row of `atTokens` and its
/// row of `atExperts`; 0 for a choice without a row.
template <class T>
void gradientOfGates(const device::KernelArgs& args, const ExpertRows& experts,
                     const T* atTokens, const T* atExperts, Math<T>* dgates) {
  device::parallelFor(
      args.context.threads(), experts.tokens, tokenGrain,
      [&](int64_t begin, int64_t end) {
        for (int64_t i = begin * experts.choices; i < end * experts.choices;
             ++i) {
          const int64_t row = experts.rowOf(i);
          dgates[i] =
              row < 0
                  ? 0
                  : dotOfRows(atTokens + i / experts.choices * experts.width,
                              atExperts + row * experts.width, experts.width);
        }
      });
}

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_MOE_EXPERTROWS_H
