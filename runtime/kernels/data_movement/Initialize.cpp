// Fills a shard of a parameter.
//
//   1. Cut the flat range into runs that lie in one row of the shard. A run is
//      contiguous in the global shape too.
//   2. Find the global index of the run's first element.
//   3. Draw: element g uses lane g % 4 of the Philox block g / 4.

#include "runtime/kernels/data_movement/Initialize.h"

#include "runtime/device/BFloat16.h"
#include "runtime/device/cpu/Parallel.h"
#include "runtime/kernels/common/Philox.h"
#include "runtime/kernels/common/ShardNumbering.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <numbers>
#include <string_view>

namespace reciperun::kernels {
namespace {

/// Two normal numbers from two words of random bits (Box and Muller 1958).
/// Adding 0.5 keeps the logarithm's argument above 0.
std::array<float, 2> boxMuller(uint32_t first, uint32_t second) {
  const float uniform = (float(first >> 8) + 0.5f) * 0x1p-24f;
  const float angle =
      float(second >> 8) * 0x1p-24f * (2 * std::numbers::pi_v<float>);
  const float radius = std::sqrt(-2 * std::log(uniform));
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

std::array<float, 4> normals(const PhiloxCounter& bits, float deviation) {
  const auto [a, b] = boxMuller(bits[0], bits[1]);
  const auto [c, d] = boxMuller(bits[2], bits[3]);
  return {deviation * a, deviation * b, deviation * c, deviation * d};
}

/// A uniform number in [0, 1), with all 24 bits that a float has there.
float fraction(uint32_t word) {
  return float(word >> 8) * 0x1p-24f;
}

float decayRate(float fraction) {
  return std::log(1 + 15 * fraction);
}

/// The number whose softplus is a time step between 1/1000 and 1/10.
float timeStep(float fraction) {
  const float step = std::exp(std::log(0.001f) + std::log(100.0f) * fraction);
  return step + std::log(-std::expm1(-step));
}

/// Draws four initial values from four words of random bits.
using Draw = std::array<float, 4> (*)(const PhiloxCounter& bits, float scale);

template <float value(float fraction)>
std::array<float, 4> drawEach(const PhiloxCounter& bits, float) {
  return {value(fraction(bits[0])), value(fraction(bits[1])),
          value(fraction(bits[2])), value(fraction(bits[3]))};
}

std::array<float, 4> uniforms(const PhiloxCounter& bits, float bound) {
  std::array<float, 4> values;
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = bound * (2 * fraction(bits[i]) - 1);
  return values;
}

/// Null if the kind draws no random numbers.
Draw drawOf(std::string_view kind) {
  return kind == "normal"        ? normals
         : kind == "uniform"     ? uniforms
         : kind == "decay_rates" ? drawEach<decayRate>
         : kind == "time_steps"  ? drawEach<timeStep>
                                 : nullptr;
}

template <class T>
void drawRun(T* out, int64_t count, int64_t globalFirst, Draw draw, float scale,
             PhiloxKey key) {
  std::array<float, 4> block{};
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t number = uint64_t(globalFirst + i);
    if (i == 0 || number % 4 == 0)
      block = draw(philox(philoxCounter(number / 4), key), scale);
    out[i] = T(block[number % 4]);
  }
}

template <class T>
void drawAll(const plan::Parameter& parameter, Draw draw, int64_t seed,
             const ShardNumbering& shard, int64_t first, T* out, int64_t count,
             int threads) {
  constexpr int64_t grain = 4096;
  const PhiloxKey key = philoxKey(uint64_t(seed), streamOf(parameter.name));
  device::parallelFor(threads, count, grain, [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t left =
          shard.rowLength() - (first + begin) % shard.rowLength();
      const int64_t run = std::min(left, end - begin);
      drawRun(out + begin, run, shard.globalOf(first + begin), draw,
              float(parameter.init.scale), key);
      begin += run;
    }
  });
}

template <class T>
void fill(const plan::Parameter& parameter, int64_t seed,
          const ShardNumbering& shard, int64_t first, device::Tensor values,
          int threads) {
  T* out = values.as<T>();
  const int64_t count = values.elements();
  if (const Draw draw = drawOf(parameter.init.kind)) {
    drawAll(parameter, draw, seed, shard, first, out, count, threads);
    return;
  }
  assert((parameter.init.kind == "zeros" || parameter.init.kind == "ones") &&
         "an initializer that the plan's reader accepts");
  std::fill_n(out, count, T(parameter.init.kind == "ones" ? 1.0f : 0.0f));
}

} // namespace

void initialize(const plan::Parameter& parameter, int64_t seed,
                const plan::Mesh& mesh, int rank, int64_t first,
                device::Tensor values, int threads) {
  const ShardNumbering shard = ShardNumbering::of(parameter, mesh, rank);
  switch (values.type) {
  case plan::DType::f64:
    return fill<double>(parameter, seed, shard, first, values, threads);
  case plan::DType::f32:
    return fill<float>(parameter, seed, shard, first, values, threads);
  case plan::DType::bf16:
    return fill<device::bf16>(parameter, seed, shard, first, values, threads);
  case plan::DType::i32:
  case plan::DType::i64:
  case plan::DType::u16:
  case plan::DType::f8e4m3:
  case plan::DType::f8e5m2:
  case plan::DType::f8e8m0:
  case plan::DType::i8:
  case plan::DType::u8:
    break;
  }
  assert(false && "a parameter is of floating point");
}

} // namespace reciperun::kernels
