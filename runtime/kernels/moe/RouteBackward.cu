// The gradient of route on a GPU; see RouteBackward.cpp for the formulas.
//
//   1. With balancing losses, a block computes the totals of a sequence.
//   2. A warp processes a token. Its scores and their gradients are in shared
//      memory.

#include "runtime/kernels/common/CudaKernels.h"
#include "runtime/kernels/common/Scratch.cuh"
#include "runtime/kernels/moe/RouterScores.cuh"

namespace reciperun::kernels {
namespace {

using device::CudaKernelArgs;
using device::Tensor;

template <class T> struct Backward {
  RoutingSizes routing;
  const float* dgates; // or null
  const T* logits;
  const int32_t* segments;
  const int32_t* choices;
  const int32_t* counts;        // [batch, experts]; null without a loss
  const SequenceTotals* totals; // [batch]
  T* dlogits;
};

/// Adds ds of a token's gates to `slopes`. A token has few experts, so one lane
/// processes them in order.
__device__ void addGates(const RoutingSizes& routing, const float* scores,
                         const int32_t* choices, const float* dgates,
                         float* slopes) {
  float sum = float(tinyScore), pull = 0;
  for (int j = 0; j < routing.choices; ++j) {
    const float score = scores[routing.expertOf(choices[j])];
    sum += score;
    pull += choices[j] < 0 ? 0 : dgates[j] * score;
  }
  for (int j = 0; j < routing.choices; ++j) {
    const float own = choices[j] < 0 ? 0 : dgates[j];
    slopes[routing.expertOf(choices[j])] +=
        routing.scale * (routing.isNormalized ? (own - pull / sum) / sum : own);
  }
}

/// Adds ds of the balancing loss: `factor` counts[e] for each normalised score.
__device__ void addBalance(const RoutingSizes& routing, const float* scores,
                           const int32_t* counts, float factor, float* slopes) {
  const float sum = warpSumOfScores(routing, scores);
  float mean = 0;
  for (int e = int(threadIdx.x); routing.isSigmoid && e < routing.experts;
       e += lanes)
    mean += float(counts[e]) * scores[e] / sum;
  mean = acrossLanes(mean, lanes, Plus());
  for (int e = int(threadIdx.x); e < routing.experts; e += lanes)
    slopes[e] += factor * (float(counts[e]) - mean) / sum;
}

template <class T>
__global__ void __launch_bounds__(lanes* mostWarps) backward(Backward<T> a) {
  extern __shared__ float rows[];
  const RoutingSizes& routing = a.routing;
  const int64_t token = int64_t(blockIdx.x) * blockDim.y + threadIdx.y;
  if (token >= routing.tokens)
    return;
  const T* logits = a.logits + token * routing.experts;
  T* dlogits = a.dlogits + token * routing.experts;
  if (a.segments[token] < 0) {
    for (int e = int(threadIdx.x); e < routing.experts; e += lanes)
      dlogits[e] = rounded<T>(0.0f);
    return;
  }
  float* scores = rows + int(threadIdx.y) * 2 * routing.experts;
  float* slopes = scores + routing.experts;
  float logSum = warpScores(routing, logits, scores);
  for (int e = int(threadIdx.x); e < routing.experts; e += lanes)
    slopes[e] = 0;
  __syncwarp();
  if (a.dgates && threadIdx.x == 0)
    addGates(routing, scores, a.choices + token * routing.choices,
             a.dgates + token * routing.choices, slopes);
  __syncwarp();
  float pressure = 0;
  if (a.counts) {
    const int64_t number = token / routing.sequence;
    const SequenceTotals totals = a.totals[number];
    const double n = totals.tokens;
    const double balance = totals.weight * routing.balance * routing.experts /
                           (routing.choices * n * n);
    pressure = float(2 * totals.weight * routing.square / n);
    if (balance != 0)
      addBalance(routing, scores, a.counts + number * routing.experts,
                 float(balance), slopes);
  }
  float pull = 0;
  for (int e = int(threadIdx.x); !routing.isSigmoid && e < routing.experts;
       e += lanes)
    pull += slopes[e] * scores[e];
  pull = acrossLanes(pull, lanes, Plus());
  if (pressure != 0 && routing.isSigmoid)
    logSum = warpLogSum(logits, routing.experts);
  for (int e = int(threadIdx.x); e < routing.experts; e += lanes) {
    const float rest = routing.isSigmoid ? 1.0f - scores[e] : 1.0f;
    const float square =
        pressure == 0 ? 0 : pressure * logSum * expf(float(logits[e]) - logSum);
    dlogits[e] = rounded<T>(scores[e] * rest * (slopes[e] - pull) + square);
  }
}

template <class T> Status run(const CudaKernelArgs& args) {
  const Tensor &dgates = args.inputs[0], &logits = args.inputs[1],
               &choices = args.inputs[3], &weights = args.inputs[4];
  const Routing sizes(args.op, logits, choices);
  RECIPERUN_TRY(checkRoutedExperts(sizes.experts));
  const RoutingSizes routing(sizes);
  Backward<T> operands{routing,
                       dgates.as<float>(),
                       logits.as<T>(),
                       args.inputs[2].as<int32_t>(),
                       choices.as<int32_t>(),
                       nullptr,
                       nullptr,
                       args.outputs[0].as<T>()};
  if (sizes.hasLoss() && weights.present()) {
    Scratch scratch(args.context);
    auto* counts = scratch.take<int32_t>(sizes.batch * sizes.experts);
    auto* totals = scratch.take<SequenceTotals>(sizes.batch);
    if (scratch.leftBytes() < 0)
      return Status::error("its sequences and experts are too many for the "
                           "scratch of a GPU");
    totalSequences<<<unsigned(sizes.batch), totalThreads,
                     size_t(sizes.experts) * sizeof(int32_t),
                     args.context.stream()>>>(
        routing, operands.segments, operands.choices, weights.as<float>(),
        args.inputs[5].as<float>(), counts, totals);
    operands.counts = counts;
    operands.totals = totals;
  }
  const TokenBlocks blocks(routing.tokens, routing.experts);
  backward<T><<<blocks.blocks, blocks.threads(), blocks.sharedBytes,
                args.context.stream()>>>(operands);
  return device::launchStatus();
}

} // namespace

Status routeBackwardCudaKernel(const CudaKernelArgs& args) {
  return withDeviceType(args, args.inputs[1].type,
                        [&]<class T>(DeviceType<T>) { return run<T>(args); });
}

} // namespace reciperun::kernels
