// Shared parts of route and its gradient on a GPU: sizes, a token's scores, and
// the totals of a sequence for its balancing losses.
//
// A warp processes a token and keeps its scores in shared memory.

#ifndef RECIPERUN_KERNELS_MOE_ROUTERSCORES_CUH
#define RECIPERUN_KERNELS_MOE_ROUTERSCORES_CUH

#include "runtime/kernels/common/BlockSums.cuh"
#include "runtime/kernels/common/CudaTypes.cuh"
#include "runtime/kernels/moe/RouterScores.h"

namespace reciperun::kernels {

inline constexpr int lanes = 32, mostWarps = 8;

/// A Routing as a kernel argument.
struct RoutingSizes {
  int64_t sequence, tokens; // of a sequence, of all
  int experts, choices;
  bool isSigmoid, isNormalized;
  float scale;
  double balance, square;

  explicit RoutingSizes(const Routing& from)
      : sequence(from.sequence), tokens(from.batch * from.sequence),
        experts(int(from.experts)), choices(int(from.choices)),
        isSigmoid(from.isSigmoid), isNormalized(from.isNormalized),
        scale(float(from.scale)), balance(from.balance), square(from.square) {}

  __device__ int expertOf(int32_t choice) const {
    return min(choice < 0 ? ~choice : choice, experts - 1);
  }
};

/// Blocks of warps; each warp has two rows of `experts` floats in shared
/// memory.
struct TokenBlocks {
  int warps;
  unsigned blocks;
  size_t sharedBytes;

  TokenBlocks(int64_t tokens, int experts) {
    constexpr int64_t room = 48 << 10; // the default limit of a block
    const int64_t ofWarp = 2 * int64_t(experts) * int64_t(sizeof(float));
    warps = int(std::clamp<int64_t>(room / ofWarp, 1, mostWarps));
    blocks = unsigned(ceilDivide(tokens, warps));
    sharedBytes = size_t(warps * ofWarp);
  }
  dim3 threads() const { return dim3(lanes, unsigned(warps)); }
};

/// The most experts whose scores fit into a warp's shared memory.
inline constexpr int64_t mostRoutedExperts = 6144;

inline Status checkRoutedExperts(int64_t experts) {
  if (experts <= mostRoutedExperts)
    return Status::ok();
  return Status::error("it routes to " + std::to_string(experts) +
                       " experts, and on GPUs it routes to at most " +
                       std::to_string(mostRoutedExperts));
}

/// Returns log sum exp of a token's logits to all lanes.
template <class T> __device__ float warpLogSum(const T* logits, int experts) {
  float highest = -INFINITY;
  for (int e = int(threadIdx.x); e < experts; e += lanes)
    highest = fmaxf(highest, float(logits[e]));
  highest = acrossLanes(highest, lanes, Larger());
  float sum = 0;
  for (int e = int(threadIdx.x); e < experts; e += lanes)
    sum += expf(float(logits[e]) - highest);
  return highest + logf(acrossLanes(sum, lanes, Plus()));
}

/// Writes a token's scores to shared memory; lane l writes experts l, l + 32,
/// ... Returns log sum exp of the logits for softmax, else 0.
template <class T>
__device__ float warpScores(const RoutingSizes& routing, const T* logits,
                            float* scores) {
  const float logSum =
      routing.isSigmoid ? 0.0f : warpLogSum(logits, routing.experts);
  for (int e = int(threadIdx.x); e < routing.experts; e += lanes)
    scores[e] = routing.isSigmoid ? 1.0f / (1.0f + expf(-float(logits[e])))
                                  : expf(float(logits[e]) - logSum);
  return logSum;
}

/// The sum of a token's scores, by which they are normalised to sum 1.
__device__ inline float warpSumOfScores(const RoutingSizes& routing,
                                        const float* scores) {
  if (!routing.isSigmoid)
    return 1;
  float sum = 0;
  for (int e = int(threadIdx.x); e < routing.experts; e += lanes)
    sum += scores[e];
  return float(tinyScore) + acrossLanes(sum, lanes, Plus());
}

/// The totals of a sequence for its losses and statistics.
struct SequenceTotals {
  double weight;  // the sum of its loss weights times the loss scale
  int32_t tokens; // without padding
  int32_t lost;   // choices without capacity
};

inline constexpr int totalThreads = 1024;

/// Block b computes the totals of sequence b and the number of tokens of each
/// expert. These are integers, so the order does not matter.
inline __global__ void __launch_bounds__(totalThreads)
    totalSequences(RoutingSizes routing, const int32_t* segments,
                   const int32_t* choices, const float* weights,
                   const float* lossScale, int32_t* counts,
                   SequenceTotals* totals) {
  extern __shared__ int32_t counted[]; // [experts]
  __shared__ double room[32];
  __shared__ int32_t whole[2];
  for (int e = int(threadIdx.x); e < routing.experts; e += totalThreads)
    counted[e] = 0;
  if (threadIdx.x < 2)
    whole[threadIdx.x] = 0;
  __syncthreads();
  const int64_t first = int64_t(blockIdx.x) * routing.sequence;
  const float scale = weights ? *lossScale : 0;
  double weight[1] = {0};
  int tokens = 0, lost = 0;
  for (int64_t t = first + threadIdx.x; t < first + routing.sequence;
       t += totalThreads) {
    weight[0] += weights ? double(weights[t]) * scale : 0.0;
    if (segments[t] < 0)
      continue;
    ++tokens;
    for (int j = 0; j < routing.choices; ++j) {
      const int32_t choice = choices[t * routing.choices + j];
      lost += choice < 0;
      atomicAdd(&counted[routing.expertOf(choice)], 1);
    }
  }
  atomicAdd(&whole[0], tokens);
  atomicAdd(&whole[1], lost);
  sumAcrossRow(weight, room);
  __syncthreads();
  for (int e = int(threadIdx.x); e < routing.experts; e += totalThreads)
    counts[int64_t(blockIdx.x) * routing.experts + e] = counted[e];
  if (threadIdx.x == 0)
    totals[blockIdx.x] = {weight[0], whole[0], whole[1]};
}

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_MOE_ROUTERSCORES_CUH
