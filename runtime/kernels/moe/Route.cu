// Chooses the experts of each token on a GPU; see Route.cpp for the steps.
//
//   1. A warp processes a token (steps 1 and 2). Its scores and the compared
//      values are in shared memory. For equal values the lower index wins.
//   2. With a limit, a block processes an expert of a sequence (step 3). It
//      finds the smallest remaining gate digit by digit, on bits that compare
//      like floats, and keeps the first of equal gates.
//   3. A block computes the totals of a sequence, warps compute the losses of
//      tokens, and one block adds them in a fixed order (step 4).

#include "runtime/kernels/common/CudaKernels.h"
#include "runtime/kernels/common/Scratch.cuh"
#include "runtime/kernels/moe/RouterScores.cuh"
#include "runtime/ops/ExpertOps.h"

#include <cfloat>

namespace reciperun::kernels {
namespace {

using device::CudaKernelArgs;
using device::Tensor;

// ---- steps 1 and 2

/// An expert and its compared value.
struct Candidate {
  float value;
  int expert;

  __device__ bool isBehind(const Candidate& other) const {
    return other.value > value ||
           (other.value == value && other.expert < expert);
  }
};

/// The sum of the `count` largest values of a group.
__device__ float valueOfGroup(const float* group, int width, int count) {
  float sum = 0, last = INFINITY;
  int lastAt = -1;
  for (int i = 0; i < count; ++i) {
    // The next in the order of (value descending, index ascending).
    int best = -1;
    for (int e = 0; e < width; ++e) {
      const bool isBehind = group[e] < last || (group[e] == last && e > lastAt);
      if (isBehind && (best < 0 || group[e] > group[best]))
        best = e;
    }
    if (best < 0)
      break; // NaN
    last = group[best];
    lastAt = best;
    sum += last;
  }
  return sum;
}

/// Lowers the values of all groups except the `kept` best. There are at most 64
/// groups, two per lane.
__device__ void dropGroups(const RoutingSizes& routing, int groups, int kept,
                           float* values) {
  const int width = routing.experts / groups;
  const int count = min(width, max(1, routing.choices / kept));
  float own[2] = {};
  for (int i = 0; i < 2; ++i)
    if (const int group = i * lanes + int(threadIdx.x); group < groups)
      own[i] = valueOfGroup(values + group * width, width, count);
  int better[2] = {};
  for (int other = 0; other < groups; ++other) {
    const float value =
        __shfl_sync(~0u, other < lanes ? own[0] : own[1], other % lanes);
    for (int i = 0; i < 2; ++i)
      better[i] += value > own[i] ||
                   (value == own[i] && other < i * lanes + int(threadIdx.x));
  }
  for (int i = 0; i < 2; ++i)
    if (const int group = i * lanes + int(threadIdx.x);
        group < groups && better[i] >= kept)
      for (int e = 0; e < width; ++e)
        values[group * width + e] = -FLT_MAX;
  __syncwarp();
}

/// Returns the expert with the largest value to all lanes.
__device__ int largestOf(const float* values, int experts) {
  Candidate best{-INFINITY, experts - 1};
  for (int e = int(threadIdx.x); e < experts; e += lanes) {
    const Candidate next{values[e], e};
    if (best.isBehind(next))
      best = next;
  }
#pragma unroll
  for (int step = lanes / 2; step > 0; step /= 2) {
    const Candidate other{__shfl_xor_sync(~0u, best.value, step),
                          __shfl_xor_sync(~0u, best.expert, step)};
    if (best.isBehind(other))
      best = other;
  }
  return best.expert;
}

template <class T> struct Choosing {
  RoutingSizes routing;
  int groups, kept;
  const T* logits;
  const int32_t* segments;
  const float* bias; // or null
  int32_t* choices;
  float* gates;
};

template <class T>
__global__ void __launch_bounds__(lanes* mostWarps) choose(Choosing<T> a) {
  extern __shared__ float rows[];
  const RoutingSizes& routing = a.routing;
  const int64_t token = int64_t(blockIdx.x) * blockDim.y + threadIdx.y;
  if (token >= routing.tokens)
    return;
  int32_t* choices = a.choices + token * routing.choices;
  float* gates = a.gates + token * routing.choices;
  if (a.segments[token] < 0) {
    for (int j = int(threadIdx.x); j < routing.choices; j += lanes) {
      choices[j] = -1;
      gates[j] = 0;
    }
    return;
  }
  float* scores = rows + int(threadIdx.y) * 2 * routing.experts;
  float* values = scores + routing.experts;
  warpScores(routing, a.logits + token * routing.experts, scores);
  for (int e = int(threadIdx.x); e < routing.experts; e += lanes)
    values[e] = scores[e] + (a.bias ? a.bias[e] : 0.0f);
  __syncwarp();
  if (a.kept < a.groups)
    dropGroups(routing, a.groups, a.kept, values);
  float sum = float(tinyScore);
  for (int j = 0; j < routing.choices; ++j) {
    const int best = largestOf(values, routing.experts);
    sum += scores[best];
    __syncwarp();
    if (threadIdx.x == 0) {
      values[best] = -INFINITY;
      choices[j] = best;
    }
    __syncwarp();
  }
  const float factor = routing.scale / (routing.isNormalized ? sum : 1.0f);
  for (int j = int(threadIdx.x); j < routing.choices; j += lanes)
    gates[j] = scores[choices[j]] * factor;
}

// ---- step 3

constexpr int limitThreads = 256, digits = 256;

/// Maps a float to bits that compare in the same order.
__device__ uint32_t orderedBits(float value) {
  const uint32_t bits = __float_as_uint(value);
  return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

/// The number of earlier threads of the block with `isSet`, and the number of
/// all threads with it.
struct Before {
  int count, all;
};
__device__ Before countBefore(bool isSet, int (&room)[limitThreads / lanes]) {
  const int lane = int(threadIdx.x) % lanes, warp = int(threadIdx.x) / lanes;
  const unsigned votes = __ballot_sync(~0u, isSet);
  if (lane == 0)
    room[warp] = __popc(votes);
  __syncthreads();
  Before result{__popc(votes & ((1u << lane) - 1)), 0};
  for (int w = 0; w < limitThreads / lanes; ++w) {
    result.count += w < warp ? room[w] : 0;
    result.all += room[w];
  }
  __syncthreads();
  return result;
}

/// Block (expert, sequence).
__global__ void __launch_bounds__(limitThreads)
    dropBeyond(RoutingSizes routing, int limit, int32_t* choices,
               float* gates) {
  __shared__ int counts[digits];
  __shared__ int room[limitThreads / lanes];
  __shared__ uint32_t chosenDigit;
  __shared__ int leftOver;
  const int expert = int(blockIdx.x);
  const int64_t all = routing.sequence * routing.choices;
  choices += blockIdx.y * all;
  gates += blockIdx.y * all;
  // The bits of the last gate that stays, found from the highest digit on, and
  // the number of gates with these digits that stay.
  uint32_t found = 0, mask = 0;
  int stay = limit;
  for (int shift = 24; shift >= 0; shift -= 8) {
    for (int i = int(threadIdx.x); i < digits; i += limitThreads)
      counts[i] = 0;
    __syncthreads();
    for (int64_t i = threadIdx.x; i < all; i += limitThreads)
      if (choices[i] == expert) {
        const uint32_t bits = orderedBits(gates[i]);
        if ((bits & mask) == found)
          atomicAdd(&counts[(bits >> shift) % digits], 1);
      }
    __syncthreads();
    if (threadIdx.x == 0) {
      int digit = digits - 1, left = stay;
      while (digit >= 0 && counts[digit] <= left)
        left -= counts[digit--];
      chosenDigit = uint32_t(digit);
      leftOver = left;
    }
    __syncthreads();
    if (int(chosenDigit) < 0)
      return; // all choices stay
    stay = leftOver;
    found |= chosenDigit << shift;
    mask |= uint32_t(digits - 1) << shift;
    __syncthreads();
  }
  int seen = 0; // gates that equal the last one
  for (int64_t first = 0; first < all; first += limitThreads) {
    const int64_t i = first + threadIdx.x;
    const bool isOwn = i < all && choices[i] == expert;
    const uint32_t bits = isOwn ? orderedBits(gates[i]) : 0;
    const bool isEqual = isOwn && bits == found;
    const Before equal = countBefore(isEqual, room);
    if (isOwn && (bits < found || (isEqual && seen + equal.count >= stay))) {
      choices[i] = ~expert;
      gates[i] = 0;
    }
    seen += equal.all;
  }
}

// ---- step 4

/// A token's terms of both losses, without their factors.
struct LossPart {
  double balance, square;
};

template <class T>
__global__ void __launch_bounds__(lanes* mostWarps)
    lossesOfTokens(RoutingSizes routing, const T* logits,
                   const int32_t* segments, const int32_t* counts,
                   LossPart* parts) {
  extern __shared__ float rows[];
  const int64_t token = int64_t(blockIdx.x) * blockDim.y + threadIdx.y;
  if (token >= routing.tokens)
    return;
  if (segments[token] < 0) {
    if (threadIdx.x == 0)
      parts[token] = {0, 0};
    return;
  }
  float* scores = rows + int(threadIdx.y) * 2 * routing.experts;
  logits += token * routing.experts;
  counts += token / routing.sequence * routing.experts;
  float logSum = warpScores(routing, logits, scores);
  if (routing.isSigmoid)
    logSum = warpLogSum(logits, routing.experts);
  double balance = 0;
  for (int e = int(threadIdx.x); e < routing.experts; e += lanes)
    balance += double(counts[e]) * double(scores[e]);
  balance = acrossLanes(balance, lanes, Plus()) /
            double(warpSumOfScores(routing, scores));
  if (threadIdx.x == 0)
    parts[token] = {balance, double(logSum) * double(logSum)};
}

/// One block for all sequences.
__global__ void __launch_bounds__(totalThreads)
    sumLosses(RoutingSizes routing, const LossPart* parts,
              const SequenceTotals* totals, double share, double* loss) {
  __shared__ double room[2][64];
  double whole = 0;
  int turn = 0;
  for (int64_t first = 0, number = 0; first < routing.tokens;
       first += routing.sequence, ++number) {
    double sums[2] = {0, 0};
    for (int64_t t = first + threadIdx.x; t < first + routing.sequence;
         t += totalThreads) {
      sums[0] += parts[t].balance;
      sums[1] += parts[t].square;
    }
    sumAcrossRow(sums, room[turn]);
    turn ^= 1;
    const SequenceTotals sequence = totals[number];
    const double tokens = sequence.tokens;
    if (tokens > 0)
      whole += sequence.weight * (routing.balance * routing.experts * sums[0] /
                                      (routing.choices * tokens * tokens) +
                                  routing.square * sums[1] / tokens);
  }
  if (threadIdx.x == 0)
    *loss += whole * share;
}

/// Adds the sequences' choices to the experts' statistics.
__global__ void __launch_bounds__(totalThreads)
    addStatistics(RoutingSizes routing, const int32_t* counts,
                  const SequenceTotals* totals, double* load, double* dropped) {
  const int64_t batch = routing.tokens / routing.sequence;
  for (int e = int(threadIdx.x); load && e < routing.experts; e += totalThreads)
    for (int64_t b = 0; b < batch; ++b)
      load[e] += counts[b * routing.experts + e];
  if (!dropped || threadIdx.x != 0)
    return;
  for (int64_t b = 0; b < batch; ++b) {
    dropped[0] += double(totals[b].tokens) * routing.choices;
    dropped[1] += totals[b].lost;
  }
}

// ---- launches

template <class T>
Status addTotals(const CudaKernelArgs& args, const Routing& sizes,
                 const Choosing<T>& of) {
  const Tensor &weights = args.inputs[3], &loss = args.outputs[2];
  const cudaStream_t stream = args.context.stream();
  const RoutingSizes& routing = of.routing;
  Scratch scratch(args.context);
  auto* counts = scratch.take<int32_t>(sizes.batch * sizes.experts);
  auto* totals = scratch.take<SequenceTotals>(sizes.batch);
  auto* parts = scratch.take<LossPart>(routing.tokens);
  if (scratch.leftBytes() < 0)
    return Status::error("its tokens and experts are too many for the scratch "
                         "of a GPU; make micro-batches smaller");
  totalSequences<<<unsigned(sizes.batch), totalThreads,
                   size_t(sizes.experts) * sizeof(int32_t), stream>>>(
      routing, of.segments, of.choices, weights.as<float>(),
      args.inputs[4].as<float>(), counts, totals);
  if (args.outputs[3].present() || args.outputs[4].present())
    addStatistics<<<1, totalThreads, 0, stream>>>(routing, counts, totals,
                                                  args.outputs[3].as<double>(),
                                                  args.outputs[4].as<double>());
  if (!loss.present() || !sizes.hasLoss())
    return Status::ok();
  const TokenBlocks blocks(routing.tokens, routing.experts);
  lossesOfTokens<T>
      <<<blocks.blocks, blocks.threads(), blocks.sharedBytes, stream>>>(
          routing, of.logits, of.segments, counts, parts);
  sumLosses<<<1, totalThreads, 0, stream>>>(
      routing, parts, totals, ops::RouteAttributes(args.op.attributes).share,
      loss.as<double>());
  return Status::ok();
}

template <class T> Status run(const CudaKernelArgs& args) {
  const Tensor &logits = args.inputs[0], &choices = args.outputs[0];
  const Routing sizes(args.op, logits, choices);
  RECIPERUN_TRY(checkRoutedExperts(sizes.experts));
  const RoutingSizes routing(sizes);
  const cudaStream_t stream = args.context.stream();
  const ops::RouteAttributes attributes(args.op.attributes);
  const Choosing<T> operands{routing,
                             int(attributes.groups),
                             int(attributes.topGroups),
                             logits.as<T>(),
                             args.inputs[1].as<int32_t>(),
                             args.inputs[2].as<float>(),
                             choices.as<int32_t>(),
                             args.outputs[1].as<float>()};
  const TokenBlocks blocks(routing.tokens, routing.experts);
  choose<T><<<blocks.blocks, blocks.threads(), blocks.sharedBytes, stream>>>(
      operands);
  const int64_t limit = attributes.limit;
  if (limit > 0 && limit < sizes.sequence)
    dropBeyond<<<dim3(unsigned(sizes.experts), unsigned(sizes.batch)),
                 limitThreads, 0, stream>>>(routing, int(limit),
                                            operands.choices, operands.gates);
  const bool hasLoss = args.outputs[2].present() && sizes.hasLoss();
  if (hasLoss || args.outputs[3].present() || args.outputs[4].present())
    RECIPERUN_TRY(addTotals(args, sizes, operands));
  return device::launchStatus();
}

} // namespace

Status routeCudaKernel(const CudaKernelArgs& args) {
  return withDeviceType(args, args.inputs[0].type,
                        [&]<class T>(DeviceType<T>) { return run<T>(args); });
}

} // namespace reciperun::kernels
