// Fills a shard of a parameter on a GPU.
//
//   1. A thread has four consecutive elements of the shard.
//   2. If they are one Philox block in the global numbering, the thread draws
//      it once. At the ends of rows it draws a block for each element.
//   3. Compute functions in double and round. This is slow but runs only once.

#include "runtime/kernels/common/CudaTypes.cuh"
#include "runtime/kernels/common/Philox.h"
#include "runtime/kernels/common/ShardNumbering.h"
#include "runtime/kernels/data_movement/CudaInitialize.h"

#include <numbers>
#include <string_view>

namespace reciperun::kernels {
namespace {

/// Four numbers drawn from one Philox block.
struct Drawn {
  float values[4];

  __device__ float operator[](int i) const {
    return i < 2 ? (i == 0 ? values[0] : values[1])
                 : (i == 2 ? values[2] : values[3]);
  }
};

__device__ float fraction(uint32_t word) {
  return float(word >> 8) * 0x1p-24f;
}

// Multiplications and additions are not fused, to match the host.

struct Normal {
  float deviation;

  __device__ Drawn operator()(const PhiloxCounter& bits) const {
    Drawn drawn;
    pair(bits[0], bits[1], drawn.values);
    pair(bits[2], bits[3], drawn.values + 2);
    return drawn;
  }

private:
  __device__ void pair(uint32_t first, uint32_t second, float* values) const {
    const float uniform =
        __fmul_rn(__fadd_rn(float(first >> 8), 0.5f), 0x1p-24f);
    const float angle =
        __fmul_rn(fraction(second), 2 * std::numbers::pi_v<float>);
    const float radius = __fsqrt_rn(__fmul_rn(-2, float(log(double(uniform)))));
    double sine, cosine;
    sincos(double(angle), &sine, &cosine);
    values[0] = __fmul_rn(deviation, __fmul_rn(radius, float(cosine)));
    values[1] = __fmul_rn(deviation, __fmul_rn(radius, float(sine)));
  }
};

/// Applies a function to each of the four fractions.
template <class Value> struct Each {
  Value value;

  __device__ Drawn operator()(const PhiloxCounter& bits) const {
    return {{value(fraction(bits[0])), value(fraction(bits[1])),
             value(fraction(bits[2])), value(fraction(bits[3]))}};
  }
};

struct Uniform {
  float bound;

  __device__ float operator()(float fraction) const {
    return __fmul_rn(bound, __fadd_rn(2 * fraction, -1));
  }
};

struct DecayRate {
  __device__ float operator()(float fraction) const {
    return float(log(double(__fadd_rn(1, __fmul_rn(15, fraction)))));
  }
};

struct TimeStep {
  float least, range; // logarithms of both

  __device__ float operator()(float fraction) const {
    const float step =
        float(exp(double(__fadd_rn(least, __fmul_rn(range, fraction)))));
    const float rest = -float(expm1(double(-step)));
    return __fadd_rn(step, float(log(double(rest))));
  }
};

struct One {
  __device__ float operator()(float) const { return 1; }
};

constexpr int perThread = 4, blockThreads = 256;

template <class T, class Draw>
__global__ void __launch_bounds__(blockThreads)
    drawShard(const __grid_constant__ ShardNumbering shard, int64_t first,
              int64_t count, PhiloxKey key, Draw draw, T* out) {
  const int64_t at =
      (int64_t(blockIdx.x) * blockThreads + threadIdx.x) * perThread;
  if (at >= count)
    return;
  const int64_t rest = shard.rowLength() - (first + at) % shard.rowLength();
  const uint64_t number = uint64_t(shard.globalOf(first + at));
  if (number % 4 == 0 && rest >= perThread && count - at >= perThread) {
    const Drawn drawn = draw(philox(philoxCounter(number / 4), key));
#pragma unroll
    for (int i = 0; i < perThread; ++i)
      out[at + i] = rounded<T>(drawn.values[i]);
    return;
  }
  for (int64_t i = at; i < at + perThread && i < count; ++i) {
    const uint64_t own = uint64_t(shard.globalOf(first + i));
    const Drawn drawn = draw(philox(philoxCounter(own / 4), key));
    out[i] = rounded<T>(drawn[int(own % 4)]);
  }
}

template <class Draw>
Status launch(const device::FirstValues& wanted, const Draw& draw,
              cudaStream_t stream) {
  const int64_t count = wanted.values.elements();
  const ShardNumbering shard =
      ShardNumbering::of(wanted.parameter, wanted.mesh, wanted.rank);
  const PhiloxKey key =
      philoxKey(uint64_t(wanted.seed), streamOf(wanted.parameter.name));
  const unsigned blocks = unsigned(ceilDivide(count, perThread * blockThreads));
  withStoredType(wanted.values.type, [&](auto type) {
    using T = typename decltype(type)::Element;
    drawShard<<<blocks, blockThreads, 0, stream>>>(
        shard, wanted.first, count, key, draw, wanted.values.as<T>());
  });
  return device::launchStatus();
}

Status draw(const device::FirstValues& wanted, cudaStream_t stream) {
  const std::string_view kind = wanted.parameter.init.kind;
  const float scale = float(wanted.parameter.init.scale);
  if (kind == "normal")
    return launch(wanted, Normal{scale}, stream);
  if (kind == "uniform")
    return launch(wanted, Each<Uniform>{{scale}}, stream);
  if (kind == "decay_rates")
    return launch(wanted, Each<DecayRate>(), stream);
  if (kind == "time_steps")
    return launch(wanted, Each<TimeStep>{{std::log(0.001f), std::log(100.0f)}},
                  stream);
  if (kind == "ones")
    return launch(wanted, Each<One>(), stream);
  assert(kind == "zeros" && "an initializer that the plan's reader accepts");
  RECIPERUN_CUDA_TRY(cudaMemsetAsync, wanted.values.data, 0,
                     size_t(wanted.values.bytes()), stream);
  return Status::ok();
}

} // namespace

Expected<bool> drawFirstValues(const device::FirstValues& wanted,
                               device::CudaContext& context) {
  if (!isDeviceType(wanted.values.type))
    return false;
  if (wanted.values.elements() > 0)
    RECIPERUN_TRY(draw(wanted, context.stream()));
  return true;
}

} // namespace reciperun::kernels
