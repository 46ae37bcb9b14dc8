// Cross-entropy over a vocabulary that may be sharded, on a GPU; see
// CrossEntropy.cpp for the steps. A block reads a row of logits in vectors and
// keeps the values that it exponentiates in registers.

#include "runtime/kernels/activation/Sigmoid.cuh"
#include "runtime/kernels/common/BlockSums.cuh"
#include "runtime/kernels/common/CudaKernels.h"
#include "runtime/kernels/common/CudaTypes.cuh"
#include "runtime/ops/LossOps.h"

#include <cmath>

namespace reciperun::kernels {
namespace {

using device::CudaKernelArgs;
using device::Tensor;

constexpr int rowThreads = 512;

/// Logits as rows over this rank's shard of the vocabulary.
struct Vocabulary {
  int64_t width; // entries on this rank
  int64_t first; // the id of entry 0

  /// The entry of a label, -1 if another rank (or no rank) holds it.
  __device__ int64_t entryOf(int32_t label) const {
    const int64_t entry = label - first;
    return entry >= 0 && entry < width ? entry : -1;
  }
};

Vocabulary vocabularyOf(const CudaKernelArgs& args, const Tensor& logits,
                        int64_t rows) {
  const int64_t width = logits.elements() / rows;
  return {width,
          width * args.coordinate(
                      ops::SoftmaxSumAttributes(args.op.attributes).axis)};
}

template <class T, int n>
__global__ void __launch_bounds__(rowThreads)
    largest(Vocabulary vocabulary, const T* logits, float* m) {
  __shared__ float room[32];
  float most[1] = {-INFINITY};
  forVectors<rowThreads, n>(logits + blockIdx.x * vocabulary.width,
                            vocabulary.width,
                            [&](int64_t, const Vector<T, n>& part) {
#pragma unroll
                              for (int e = 0; e < n; ++e)
                                most[0] = fmaxf(most[0], part[e]);
                            });
  acrossRow(most, room, Larger(), -INFINITY);
  if (threadIdx.x == 0)
    m[blockIdx.x] = most[0];
}

template <class T, int n>
__global__ void __launch_bounds__(rowThreads)
    sumExponentials(Vocabulary vocabulary, const T* logits, const float* m,
                    const int32_t* labels, float* stats) {
  __shared__ float room[32];
  const T* row = logits + blockIdx.x * vocabulary.width;
  const float level = m[blockIdx.x];
  float sum[1] = {0};
  forVectors<rowThreads, n>(row, vocabulary.width,
                            [&](int64_t, const Vector<T, n>& part) {
#pragma unroll
                              for (int e = 0; e < n; ++e)
                                sum[0] += fastExponential(part[e] - level);
                            });
  sumAcrossRow(sum, room);
  if (threadIdx.x == 0) {
    const int64_t label = vocabulary.entryOf(labels[blockIdx.x]);
    stats[2 * blockIdx.x] = sum[0];
    stats[2 * blockIdx.x + 1] = label < 0 ? 0 : float(row[label]);
  }
}

/// The largest logit so far and the sum of exponentials relative to it (Milakov
/// & Gimelshein 2018, arXiv 1805.02867, algorithm 3).
struct Softmax {
  float m = -INFINITY;
  float sum = 0;

  /// The sum relative to `level`, which is at least m. An empty sum stays 0,
  /// and NaN stays NaN.
  __device__ float sumBelow(float level) const {
    return sum == 0 ? 0 : sum * fastExponential(m - level);
  }
};

template <class T, int n>
__global__ void __launch_bounds__(rowThreads)
    softmaxStats(Vocabulary vocabulary, const T* logits, const int32_t* labels,
                 float* m, float* stats) {
  __shared__ float room[2][32];
  const T* row = logits + blockIdx.x * vocabulary.width;
  Softmax mine;
  forVectors<rowThreads, n>(
      row, vocabulary.width, [&](int64_t, const Vector<T, n>& part) {
        float most = mine.m;
#pragma unroll
        for (int e = 0; e < n; ++e)
          most = fmaxf(most, part[e]);
        if (most > mine.m) { // rare after the first vectors
          mine.sum = mine.sumBelow(most);
          mine.m = most;
        }
        const float level = most == -INFINITY ? 0 : most;
        float sums[2] = {0, 0};
#pragma unroll
        for (int e = 0; e < n; ++e)
          sums[e % 2] += fastExponential(part[e] - level);
        mine.sum += sums[0] + sums[1];
      });
  float most[1] = {mine.m};
  acrossRow(most, room[0], Larger(), -INFINITY);
  float sum[1] = {mine.sumBelow(most[0])};
  sumAcrossRow(sum, room[1]);
  if (threadIdx.x == 0) {
    const int64_t label = vocabulary.entryOf(labels[blockIdx.x]);
    m[blockIdx.x] = most[0];
    stats[2 * blockIdx.x] = sum[0];
    stats[2 * blockIdx.x + 1] = label < 0 ? 0 : float(row[label]);
  }
}

/// Runs in one block, because there are few terms.
__global__ void __launch_bounds__(1024)
    sumLosses(int64_t rows, const float* m, const float* stats,
              const float* weights, const float* scale, double* loss) {
  __shared__ double room[32];
  double sum[1] = {0};
  for (int64_t i = threadIdx.x; i < rows; i += blockDim.x)
    if (weights[i] != 0)
      sum[0] += weights[i] * (log(double(stats[2 * i])) + double(m[i]) -
                              double(stats[2 * i + 1]));
  sumAcrossRow(sum, room);
  if (threadIdx.x == 0)
    *loss += sum[0] * *scale;
}

template <class T> struct Gradient {
  Vocabulary vocabulary;
  const T* logits;
  const float* m;
  const float* stats;
  const int32_t* labels;
  const float* weights;
  const float* scale;
  T* out; // may be logits: each thread writes the elements that it has read
};

template <class T, int n>
__global__ void __launch_bounds__(rowThreads) gradient(Gradient<T> a) {
  const int64_t width = a.vocabulary.width, row = blockIdx.x;
  const float weight = a.weights[row] * *a.scale;
  T* out = a.out + row * width;
  if (weight == 0) {
    for (int64_t at = int64_t(threadIdx.x) * n; at < width;
         at += rowThreads * n)
      Vector<T, n>{}.store(out + at);
    return;
  }
  const float level = a.m[row], sum = a.stats[2 * row];
  const float factor = weight / sum;
  const int64_t label = a.vocabulary.entryOf(a.labels[row]);
  forVectors<rowThreads, n>(
      a.logits + row * width, width, [&](int64_t at, const Vector<T, n>& part) {
        float values[n];
#pragma unroll
        for (int e = 0; e < n; ++e)
          values[e] = fastExponential(part[e] - level) * factor;
        if (label >= at && label < at + n) {
#pragma unroll
          for (int e = 0; e < n; ++e)
            if (at + e == label)
              values[e] =
                  (fastExponential(part[e] - level) / sum - 1.0f) * weight;
        }
        rounded<T, n>(values).store(out + at);
      });
}

/// Calls body(DeviceType<T>(), n) for rows of logits and of `other`.
template <class Body>
Status withLogits(const CudaKernelArgs& args, const Tensor& logits,
                  int64_t width, const void* other, Body body) {
  return withDeviceType(args, logits.type, [&]<class T>(DeviceType<T> type) {
    withVectors<T>(
        width, [&](auto n) { body(type, n); }, logits.data, other);
  });
}

} // namespace

Status softmaxMaxCudaKernel(const CudaKernelArgs& args) {
  const Tensor &logits = args.inputs[0], &m = args.outputs[0];
  const int64_t rows = m.elements();
  const Vocabulary vocabulary = vocabularyOf(args, logits, rows);
  return withLogits(
      args, logits, vocabulary.width, nullptr,
      [&]<class T>(DeviceType<T>, auto n) {
        largest<T, n.value>
            <<<unsigned(rows), rowThreads, 0, args.context.stream()>>>(
                vocabulary, logits.as<T>(), m.as<float>());
      });
}

Status softmaxSumCudaKernel(const CudaKernelArgs& args) {
  const Tensor &logits = args.inputs[0], &m = args.inputs[1];
  const int64_t rows = m.elements();
  const Vocabulary vocabulary = vocabularyOf(args, logits, rows);
  return withLogits(
      args, logits, vocabulary.width, nullptr,
      [&]<class T>(DeviceType<T>, auto n) {
        sumExponentials<T, n.value>
            <<<unsigned(rows), rowThreads, 0, args.context.stream()>>>(
                vocabulary, logits.as<T>(), m.as<float>(),
                args.inputs[2].as<int32_t>(), args.outputs[0].as<float>());
      });
}

Status softmaxStatsCudaKernel(const CudaKernelArgs& args) {
  const Tensor &logits = args.inputs[0], &m = args.outputs[0];
  const int64_t rows = m.elements();
  const Vocabulary vocabulary = vocabularyOf(args, logits, rows);
  return withLogits(
      args, logits, vocabulary.width, nullptr,
      [&]<class T>(DeviceType<T>, auto n) {
        softmaxStats<T, n.value>
            <<<unsigned(rows), rowThreads, 0, args.context.stream()>>>(
                vocabulary, logits.as<T>(), args.inputs[1].as<int32_t>(),
                m.as<float>(), args.outputs[1].as<float>());
      });
}

Status nllCudaKernel(const CudaKernelArgs& args) {
  const Tensor& m = args.inputs[0];
  if (m.type != plan::DType::f32)
    return noDeviceType(args);
  sumLosses<<<1, 1024, 0, args.context.stream()>>>(
      m.elements(), m.as<float>(), args.inputs[1].as<float>(),
      args.inputs[2].as<float>(), args.inputs[3].as<float>(),
      args.outputs[0].as<double>());
  return device::launchStatus();
}

Status crossEntropyBackwardCudaKernel(const CudaKernelArgs& args) {
  const Tensor &logits = args.inputs[0], &m = args.inputs[1];
  const int64_t rows = m.elements();
  const Vocabulary vocabulary = vocabularyOf(args, logits, rows);
  return withLogits(
      args, logits, vocabulary.width, args.outputs[0].data,
      [&]<class T>(DeviceType<T>, auto n) {
        const Gradient<T> operands{vocabulary,
                                   logits.as<T>(),
                                   m.as<float>(),
                                   args.inputs[2].as<float>(),
                                   args.inputs[3].as<int32_t>(),
                                   args.inputs[4].as<float>(),
                                   args.inputs[5].as<float>(),
                                   args.outputs[0].as<T>()};
        gradient<T, n.value>
            <<<unsigned(rows), rowThreads, 0, args.context.stream()>>>(
                operands);
      });
}

} // namespace reciperun::kernels
