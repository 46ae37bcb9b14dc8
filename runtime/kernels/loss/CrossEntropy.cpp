// Cross-entropy over a vocabulary that may be sharded along an axis.
//
// The steps, and the reductions over the axis that the communicator runs
// between them:
//   1. softmax_max: m = max of this rank's logits           (all-reduce max)
//   2. softmax_sum: sum of exp(logit - m); the label's logit (all-reduce sum)
//   3. nll: weights (log sum + m - label's logit), summed
//   4. backward: weight scale (exp(logit - m) / sum - [label])
// Step 4 skips the computation for rows with weight 0, which may have any
// label.

#include "runtime/device/cpu/CpuContext.h"
#include "runtime/device/cpu/Parallel.h"
#include "runtime/kernels/common/Exponential.h"
#include "runtime/kernels/common/Kernels.h"
#include "runtime/kernels/common/Types.h"
#include "runtime/ops/LossOps.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace reciperun::kernels {
namespace {

using device::KernelArgs;
using device::Tensor;

/// Logits as rows over this rank's shard of the vocabulary.
struct Vocabulary {
  int64_t rows;
  int64_t width; // entries on this rank
  int64_t first; // the id of entry 0

  /// The entry of a label, -1 if another rank (or no rank) holds it.
  int64_t entryOf(int32_t label) const {
    const int64_t entry = label - first;
    return entry >= 0 && entry < width ? entry : -1;
  }
};

Vocabulary vocabularyOf(const KernelArgs& args, const Tensor& logits,
                        int64_t rows) {
  const int64_t width = logits.elements() / rows;
  return {rows, width,
          width * args.coordinate(
                      ops::SoftmaxSumAttributes(args.op.attributes).axis)};
}

template <class T> Math<T> largest(const T* logits, int64_t width) {
  using M = Math<T>;
  M result = -std::numeric_limits<M>::infinity();
#pragma omp simd reduction(max : result)
  for (int64_t j = 0; j < width; ++j) {
    const M logit = M(logits[j]);
    result = logit > result ? logit : result;
  }
  return result;
}

template <class T>
Math<T> sumOfExponentials(const T* logits, int64_t width, Math<T> m) {
  using M = Math<T>;
  M sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t j = 0; j < width; ++j)
    sum += exponential(M(logits[j]) - m);
  return sum;
}

template <class T>
void gradientRow(const T* logits, int64_t width, int64_t label, Math<T> m,
                 Math<T> sum, Math<T> weight, T* out) {
  using M = Math<T>;
  if (weight == 0) {
    std::fill_n(out, width, T());
    return;
  }
  // Read the label's logit before writing `out`, which may be the buffer of
  // `logits`.
  const M share = label < 0 ? M(0) : exponential(M(logits[label]) - m) / sum;
  const M factor = weight / sum;
#pragma omp simd
  for (int64_t j = 0; j < width; ++j)
    out[j] = T(exponential(M(logits[j]) - m) * factor);
  if (label >= 0)
    out[label] = T((share - M(1)) * weight);
}

template <class M> double sumOfLosses(const KernelArgs& args) {
  const M* m = args.inputs[0].as<M>();
  const M* stats = args.inputs[1].as<M>();
  const float* weights = args.inputs[2].as<float>();
  double sum = 0;
  for (int64_t i = 0; i < args.inputs[0].elements(); ++i)
    if (weights[i] != 0)
      sum += weights[i] * (std::log(double(stats[2 * i])) + double(m[i]) -
                           double(stats[2 * i + 1]));
  return sum;
}

} // namespace

Status softmaxMaxKernel(const KernelArgs& args) {
  const Tensor &logits = args.inputs[0], &m = args.outputs[0];
  const Vocabulary vocabulary = vocabularyOf(args, logits, m.elements());
  return withType(args, logits.type, [&]<class T>(Type<T>) {
    device::parallelFor(args.context.threads(), vocabulary.rows, 1,
                        [&](int64_t begin, int64_t end) {
                          for (int64_t i = begin; i < end; ++i)
                            m.as<Math<T>>()[i] =
                                largest(logits.as<T>() + i * vocabulary.width,
                                        vocabulary.width);
                        });
  });
}

Status softmaxSumKernel(const KernelArgs& args) {
  const Tensor &logits = args.inputs[0], &m = args.inputs[1];
  const int32_t* labels = args.inputs[2].as<int32_t>();
  const Vocabulary vocabulary = vocabularyOf(args, logits, m.elements());
  return withType(args, logits.type, [&]<class T>(Type<T>) {
    using M = Math<T>;
    M* stats = args.outputs[0].as<M>();
    device::parallelFor(args.context.threads(), vocabulary.rows, 1,
                        [&](int64_t begin, int64_t end) {
                          for (int64_t i = begin; i < end; ++i) {
                            const T* row =
                                logits.as<T>() + i * vocabulary.width;
                            const int64_t label = vocabulary.entryOf(labels[i]);
                            stats[2 * i] = sumOfExponentials(
                                row, vocabulary.width, m.as<M>()[i]);
                            stats[2 * i + 1] = label < 0 ? M(0) : M(row[label]);
                          }
                        });
  });
}

Status softmaxStatsKernel(const KernelArgs& args) {
  const Tensor &logits = args.inputs[0], &max = args.outputs[0];
  const int32_t* labels = args.inputs[1].as<int32_t>();
  const Vocabulary vocabulary = vocabularyOf(args, logits, max.elements());
  return withType(args, logits.type, [&]<class T>(Type<T>) {
    using M = Math<T>;
    M *m = max.as<M>(), *stats = args.outputs[1].as<M>();
    device::parallelFor(args.context.threads(), vocabulary.rows, 1,
                        [&](int64_t begin, int64_t end) {
                          for (int64_t i = begin; i < end; ++i) {
                            const T* row =
                                logits.as<T>() + i * vocabulary.width;
                            const int64_t label = vocabulary.entryOf(labels[i]);
                            m[i] = largest(row, vocabulary.width);
                            stats[2 * i] =
                                sumOfExponentials(row, vocabulary.width, m[i]);
                            stats[2 * i + 1] = label < 0 ? M(0) : M(row[label]);
                          }
                        });
  });
}

Status nllKernel(const KernelArgs& args) {
  return withType(args, args.inputs[0].type, [&]<class T>(Type<T>) {
    const float scale = *args.inputs[3].as<float>();
    *args.outputs[0].as<double>() += sumOfLosses<Math<T>>(args) * scale;
  });
}

Status crossEntropyBackwardKernel(const KernelArgs& args) {
  const Tensor &logits = args.inputs[0], &m = args.inputs[1];
  const int32_t* labels = args.inputs[3].as<int32_t>();
  const float* weights = args.inputs[4].as<float>();
  const float scale = *args.inputs[5].as<float>();
  const Vocabulary vocabulary = vocabularyOf(args, logits, m.elements());
  return withType(args, logits.type, [&]<class T>(Type<T>) {
    using M = Math<T>;
    const M* stats = args.inputs[2].as<M>();
    device::parallelFor(args.context.threads(), vocabulary.rows, 1,
                        [&](int64_t begin, int64_t end) {
                          for (int64_t i = begin; i < end; ++i) {
                            const int64_t at = i * vocabulary.width;
                            gradientRow(logits.as<T>() + at, vocabulary.width,
                                        vocabulary.entryOf(labels[i]),
                                        m.as<M>()[i], stats[2 * i],
                                        M(weights[i]) * M(scale),
                                        args.outputs[0].as<T>() + at);
                          }
                        });
  });
}

} // namespace reciperun::kernels
