// Attention of new tokens of one sequence to all tokens so far, whose keys and
// values are in a KV cache.
//
// 1. Write the new keys and values into the cache at their positions.
// 2. For each new token and query head, run a softmax over the visible
//    positions up to the token's own, 64 at a time (Milakov & Gimelshein 2018):
//    scores, raised maximum, rescaled sum and output.

#include "runtime/device/cpu/CpuContext.h"
#include "runtime/device/cpu/Parallel.h"
#include "runtime/kernels/attention/AttentionTiles.h"
#include "runtime/kernels/common/Exponential.h"
#include "runtime/kernels/common/HyperbolicTangent.h"
#include "runtime/kernels/common/Kernels.h"
#include "runtime/kernels/common/Types.h"
#include "runtime/ops/AttentionOps.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace reciperun::kernels {
namespace {

using device::KernelArgs;
using device::Tensor;

constexpr int64_t block = 64;

template <class T> class Cached {
  using M = Math<T>;

public:
  explicit Cached(const KernelArgs& args)
      : args(args), tokens(args.inputs[3].elements()),
        heads(args.inputs[0].shape[2]), keyHeads(args.inputs[1].shape[2]),
        width(args.inputs[0].shape[3]),
        positions(args.inputs[3].as<int32_t>(),
                  args.inputs[3].as<int32_t>() + tokens),
        scale(M(ops::AttentionCachedAttributes(args.op.attributes).scale)),
        softcap(M(ops::AttentionCachedAttributes(args.op.attributes).softcap)),
        mask(ops::AttentionAttributes(args.op.attributes)) {
    if (scale == 0)
      scale = M(1) / std::sqrt(M(width));
  }

  Status run() {
    const int64_t capacity = args.outputs[1].shape[0];
    for (int32_t position : positions)
      if (position >= capacity)
        return Status::error("position " + std::to_string(position) +
                             " lies outside of a cache of " +
                             std::to_string(capacity) + " tokens");
    remember(args.inputs[1], args.outputs[1]);
    remember(args.inputs[2], args.outputs[2]);
    device::parallelItems(args.context.threads(), tokens * heads,
                          [&](int64_t item, int thread) {
                            attend(item / heads, item % heads, thread);
                          });
    return Status::ok();
  }

private:
  void remember(const Tensor& fresh, const Tensor& cache) {
    const int64_t row = keyHeads * width;
    for (int64_t i = 0; i < tokens; ++i) {
      if (positions[i] < 0)
        continue;
      std::copy_n(fresh.as<T>() + i * row, row,
                  cache.as<T>() + positions[i] * row);
    }
  }

  void attend(int64_t token, int64_t head, int thread) {
    T* out = args.outputs[0].as<T>() + (token * heads + head) * width;
    if (positions[token] < 0) {
      std::fill_n(out, width, T());
      return;
    }
    const int64_t seen = positions[token] + 1;
    const int64_t row = keyHeads * width;
    const int64_t column = head / (heads / keyHeads) * width;
    const T* q = args.inputs[0].as<T>() + (token * heads + head) * width;
    const T* keys = args.outputs[1].as<T>() + column;
    const T* values = args.outputs[2].as<T>() + column;
    M* sum = args.context.scratch<M>(thread, size_t(width));
    std::fill_n(sum, width, M(0));
    M maximum = std::numeric_limits<M>::lowest() / 2;
    M total = 0;
    for (int64_t first = firstSeen(positions[token]); first < seen;
         first += block) {
      const int64_t count = std::min(block, seen - first);
      M weights[block];
      for (int64_t i = 0; i < count; ++i)
        weights[i] = capped(scale * dot(q, keys + (first + i) * row));
      const M raised =
          std::max(maximum, *std::max_element(weights, weights + count));
      const M rescale = exponential(maximum - raised);
      maximum = raised;
      total *= rescale;
#pragma omp simd
      for (int64_t d = 0; d < width; ++d)
        sum[d] *= rescale;
      for (int64_t i = 0; i < count; ++i) {
        const M weight = exponential(weights[i] - maximum);
        total += weight;
        addScaled(weight, values + (first + i) * row, sum);
      }
    }
#pragma omp simd
    for (int64_t d = 0; d < width; ++d)
      out[d] = T(sum[d] / total);
  }

  /// The first position that a token sees, given its window and chunk.
  int64_t firstSeen(int64_t position) const {
    int64_t first = 0;
    if (mask.window)
      first = std::max(first, position + 1 - mask.window);
    if (mask.chunk)
      first = std::max(first, position / mask.chunk * mask.chunk);
    return first;
  }

  M capped(M score) const {
    return softcap ? softcap * hyperbolicTangent(score / softcap) : score;
  }

  M dot(const T* a, const T* b) const {
    M sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t d = 0; d < width; ++d)
      sum += M(a[d]) * M(b[d]);
    return sum;
  }

  void addScaled(M factor, const T* from, M* to) const {
#pragma omp simd
    for (int64_t d = 0; d < width; ++d)
      to[d] += factor * M(from[d]);
  }

  const KernelArgs& args;
  const int64_t tokens, heads, keyHeads, width;
  /// A copy, because the plan may place the cache over the positions.
  const std::vector<int32_t> positions;
  M scale;
  const M softcap; // 0: no softcap
  const AttentionMask mask;
};

} // namespace

Status attentionCachedKernel(const device::KernelArgs& args) {
  Status inner;
  const Status outer =
      withType(args, args.inputs[0].type,
               [&]<class T>(Type<T>) { inner = Cached<T>(args).run(); });
  return outer.isOk() ? inner : outer;
}

} // namespace reciperun::kernels
