// Chooses a token for each row of logits, on a GPU. A block processes a row.
//
// 1. Find the largest logit. At temperature 0 that is the result.
// 2. With filters, compute a bound below which they exclude all tokens, and
//    collect the other tokens in shared memory. For top-k, at least k threads
//    have a logit at or above the bound; for min-p and top-p see TokenDraw.cpp.
//    If there are too many tokens, the following steps read the row instead.
// 3. Find the last token of top-k, then that of top-p, by bisection: first over
//    the logits, then over the indices of equal logits.
// 4. Find the token at which the running sum of the weights passes the random
//    number, in ever smaller segments of the row.
//
// Weights are rounded to multiples of 2^-35. Sums of 2^18 of them are exact in
// double precision, so that they do not depend on the order of the additions.

#include "runtime/kernels/common/BlockSums.cuh"
#include "runtime/kernels/common/CudaKernels.h"
#include "runtime/kernels/common/CudaTypes.cuh"
#include "runtime/sizes/DrawNumbers.h"

namespace reciperun::kernels {
namespace {

constexpr int rowThreads = 512, warps = rowThreads / 32;
constexpr int listLength = 4096;
/// The key of an element that is not finite. It is above all other keys.
constexpr uint64_t notFinite = UINT64_MAX;

/// Maps finite values to unsigned integers of the same order. -0 equals 0.
__device__ uint32_t orderOf(float value) {
  const uint32_t bits = __float_as_uint(value == 0 ? 0.f : value);
  return bits >> 31 ? ~bits : bits | 0x80000000u;
}

__device__ float valueOf(uint32_t order) {
  return __uint_as_float(order >> 31 ? order & 0x7fffffffu : ~order);
}

/// A key that orders elements by value, and equal values by descending index.
__device__ uint64_t keyOf(float value, int64_t index) {
  if (!isfinite(value))
    return notFinite;
  return uint64_t(orderOf(value)) << 32 | ~uint32_t(index);
}

struct LargerKey {
  __device__ uint64_t operator()(uint64_t a, uint64_t b) const {
    return a > b ? a : b;
  }
};

struct Room {
  uint64_t keys[32];
  double sums[2][32];
  uint64_t list[listLength];
  int count;
};

/// The draw from one row. All threads of the block call each function with the
/// same arguments, and get the same results.
template <class T, int n> class RowDraw {
public:
  __device__ RowDraw(const T* logits, int64_t width, uint64_t largestKey,
                     const double* numbers, Room& room)
      : logits(logits), width(width), largest(uint32_t(largestKey >> 32)),
        highest(valueOf(largest)), temperature(numbers[sizes::drawTemperature]),
        scale(fmaxf(float(1 / temperature), 1.17549435e-38f)),
        topK(numbers[sizes::drawTopK]), topP(numbers[sizes::drawTopP]),
        minP(numbers[sizes::drawMinP]), room(room) {}

  __device__ int32_t draw(double uniform) {
    const bool isTopK = topK > 0 && topK < double(width);
    double total = 0; // of all tokens
    if (isTopK)
      collect(boundOfTopK());
    else if (minP > 0)
      collect(boundOf(minP));
    else
      total = sumOf([&](uint64_t key) { return weightOf(key); });
    if (!isTopK && minP == 0 && topP < 1)
      collect(boundOf((1 - topP) * total / double(width)));
    if (isTopK)
      keepFirst(topK, [&](uint64_t key) { return isLikely(key) ? 1. : 0.; });
    const auto kept = [&](uint64_t key) { return keptWeight(key); };
    if (topP < 1)
      keepFirst(topP * (isTopK || minP > 0 ? sumOf(kept) : total), kept);
    const double sum = sumOf(kept);
    // If the multiplication rounds up, the target must still be below the sum.
    return findInOrder(fmin(uniform * sum, sum * (1 - 0x1p-50)));
  }

private:
  __device__ double weightOf(uint64_t key) const {
    const float weight = expf((valueOf(uint32_t(key >> 32)) - highest) * scale);
    constexpr double rounder = 0x1.8p17; // a unit in the last place is 2^-35
    return (double(weight) + rounder) - rounder;
  }
  /// Whether min-p keeps a token.
  __device__ bool isLikely(uint64_t key) const {
    return minP == 0 || uint32_t(key >> 32) == largest || weightOf(key) >= minP;
  }
  __device__ double keptWeight(uint64_t key) const {
    return key >= least && isLikely(key) ? weightOf(key) : 0;
  }

  /// Visits the tokens that may be kept, each in one thread.
  template <class Body> __device__ void forTokens(Body body) const {
    if (isListed) {
      for (int i = int(threadIdx.x); i < room.count; i += rowThreads)
        body(room.list[i]);
      return;
    }
    forVectors<rowThreads, n>(
        logits, width, [&](int64_t at, const Vector<T, n>& part) {
#pragma unroll
          for (int e = 0; e < n; ++e)
            if (const uint64_t key = keyOf(part[e], at + e);
                uint32_t(key >> 32) >= bound)
              body(key);
        });
  }

  template <class F> __device__ double sumOf(F f) {
    double sum[1] = {0};
    forTokens([&](uint64_t key) { sum[0] += f(key); });
    sumAcrossRow(sum, room.sums[turn]);
    turn ^= 1;
    return sum[0];
  }

  /// Returns an order below which every token has a weight less than `weight`.
  /// The margin is larger than the error of weights.
  __device__ uint32_t boundOf(double weight) const {
    constexpr double margin = 1e-4;
    const double least = highest + temperature * (log(weight) - margin);
    return min(largest, orderOf(float(fmax(least, -3.4028234e38))));
  }

  /// Returns a bound that at least k threads' largest logits reach. It is at
  /// most the k-th largest logit.
  __device__ uint32_t boundOfTopK() {
    if (topK > rowThreads)
      return 0;
    uint32_t mine = 0;
    forTokens([&](uint64_t key) { mine = max(mine, uint32_t(key >> 32)); });
    uint32_t low = 0, high = largest;
    while (low < high) {
      const uint32_t middle = low + (high - low) / 2 + 1;
      if (double(__syncthreads_count(mine >= middle)) >= topK)
        low = middle;
      else
        high = middle - 1;
    }
    return low;
  }

  /// Sets the bound, and lists the tokens at or above it if they fit into the
  /// list.
  __device__ void collect(uint32_t from) {
    bound = from;
    if (threadIdx.x == 0)
      room.count = 0;
    __syncthreads();
    forTokens([&](uint64_t key) {
      if (const int at = atomicAdd(&room.count, 1); at < listLength)
        room.list[at] = key;
    });
    __syncthreads();
    isListed = room.count <= listLength;
  }

  /// Keeps the first tokens, in the order of the filters, until the sum of `f`
  /// over them reaches `target`; keeps all if it does not. `f` is equal for
  /// equal logits.
  template <class F> __device__ void keepFirst(double target, F f) {
    const auto from = [&](uint64_t first) {
      return sumOf([&](uint64_t key) { return key >= first ? f(key) : 0.; });
    };
    uint64_t low = max(bound, uint32_t(least >> 32)),
             high = uint64_t(largest) + 1; // of orders
    while (high - low > 1) {
      const uint64_t middle = low + (high - low) / 2;
      (from(middle << 32) >= target ? low : high) = middle;
    }
    // Among the tokens of order `low`, find the `end` below which indices are
    // kept.
    int64_t begin = 0, end = width;
    if (from(low << 32) - f(low << 32) >= target)
      while (end - begin > 1) {
        const int64_t middle = begin + (end - begin) / 2;
        const uint64_t last = low << 32 | ~uint32_t(middle - 1);
        (from(last) >= target ? end : begin) = middle;
      }
    least = max(least, low << 32 | ~uint32_t(end - 1));
  }

  /// The lowest index at which the running sum of kept weights exceeds
  /// `target`.
  __device__ int32_t findInOrder(double target) {
    int64_t begin = 0, end = width;
    while (end - begin > 32)
      narrow(begin, end, target);
    // All warps compute the same result.
    const int lane = int(threadIdx.x) % 32;
    const int64_t at = begin + lane;
    double running = at < end ? keptWeight(keyAt(at)) : 0;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
      const double before = __shfl_up_sync(0xffffffffu, running, step);
      running += lane >= step ? before : 0;
    }
    const unsigned passed = __ballot_sync(0xffffffffu, running > target);
    return int32_t(begin + __ffs(int(passed)) - 1);
  }

  __device__ uint64_t keyAt(int64_t at) const {
    return keyOf(float(logits[at]), at);
  }

  /// Cuts the range into one segment for each warp and replaces it by the
  /// segment in which the running sum exceeds `target`. `target` becomes
  /// relative to the start of that segment.
  __device__ void narrow(int64_t& begin, int64_t& end, double& target) {
    const int64_t length = (end - begin + warps - 1) / warps;
    const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
    const int64_t first = begin + warp * length;
    const int64_t last = min(first + length, end);
    double mine = 0;
    for (int64_t at = first + lane; at < last; at += 32)
      mine += keptWeight(keyAt(at));
    mine = acrossLanes(mine, 32, Plus());
    double* sums = room.sums[turn];
    turn ^= 1;
    if (lane == 0)
      sums[warp] = mine;
    __syncthreads();
    int chosen = 0;
    while (chosen + 1 < warps && sums[chosen] <= target)
      target -= sums[chosen++];
    begin += chosen * length;
    end = min(begin + length, end);
  }

  const T* logits;
  int64_t width;
  uint32_t largest; // order
  float highest;
  double temperature;
  float scale;
  double topK, topP, minP;
  Room& room;
  uint32_t bound = 0; // order of the last token that may be kept
  uint64_t least = 0; // key of the last token that is kept
  bool isListed = false;
  int turn = 0; // alternates between both buffers for sums
};

template <class T, int n>
__global__ void __launch_bounds__(rowThreads)
    sample(const T* logits, const double* draws, int64_t width, int32_t* ids) {
  __shared__ Room room;
  logits += blockIdx.x * width;
  const double* numbers = draws + blockIdx.x * sizes::drawNumbers;
  uint64_t largest[1] = {0};
  forVectors<rowThreads, n>(
      logits, width, [&](int64_t at, const Vector<T, n>& part) {
#pragma unroll
        for (int e = 0; e < n; ++e)
          largest[0] = LargerKey()(largest[0], keyOf(part[e], at + e));
      });
  acrossRow(largest, room.keys, LargerKey(), uint64_t(0));
  int32_t id = largest[0] == notFinite ? -1 : int32_t(~uint32_t(largest[0]));
  if (id >= 0 && numbers[sizes::drawTemperature] > 0)
    id = RowDraw<T, n>(logits, width, largest[0], numbers, room)
             .draw(numbers[sizes::drawUniform]);
  if (threadIdx.x == 0)
    ids[blockIdx.x] = id;
}

} // namespace

Status sampleCudaKernel(const device::CudaKernelArgs& args) {
  const device::Tensor &logits = args.inputs[0], &draws = args.inputs[1];
  const device::Tensor& ids = args.outputs[0];
  const int64_t rows = ids.elements(), width = logits.shape.back();
  return withDeviceType(args, logits.type, [&]<class T>(DeviceType<T>) {
    withVectors<T>(
        width,
        [&](auto n) {
          sample<T, n.value>
              <<<unsigned(rows), rowThreads, 0, args.context.stream()>>>(
                  logits.as<T>(), draws.as<double>(), width, ids.as<int32_t>());
        },
        logits.data);
  });
}

} // namespace reciperun::kernels
