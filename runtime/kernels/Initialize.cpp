// Fills a shard of a parameter.
//
// 1. Cut the flat range into runs that lie in one row of the shard: such a run
//    is contiguous in the global shape too.
// 2. Find the run's first element in the global numbering.
// 3. Draw: element g is lane g % 4 of the Philox block g / 4.

#include "runtime/kernels/Initialize.h"

#include "runtime/device/BFloat16.h"
#include "runtime/device/cpu/Parallel.h"
#include "runtime/kernels/Philox.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <numbers>
#include <vector>

namespace reciperun::kernels {
namespace {

/// A shard of a row-major tensor: turns local numbers into global ones.
class ShardNumbering {
public:
  ShardNumbering(const plan::Parameter& parameter, const plan::Mesh& mesh,
                 int rank)
      : global(parameter.globalShape), local(global), begin(global.size(), 0) {
    assert(parameter.shardAxes.size() == global.size() &&
           "each dimension says how it is split");
    for (size_t i = 0; i < global.size(); ++i) {
      const std::string& axis = parameter.shardAxes[i];
      if (axis.empty())
        continue;
      local[i] = global[i] / plan::axisSize(mesh, axis);
      begin[i] = local[i] * plan::coordinate(mesh, rank, axis);
    }
  }

  /// Elements of the last dimension of the shard.
  int64_t rowLength() const { return local.empty() ? 1 : local.back(); }

  /// The global number of element `number` of the shard.
  int64_t globalOf(int64_t number) const {
    int64_t result = 0, stride = 1;
    for (size_t i = global.size(); i-- > 0;) {
      result += (number % local[i] + begin[i]) * stride;
      number /= local[i];
      stride *= global[i];
    }
    return result;
  }

private:
  std::vector<int64_t> global, local, begin;
};

/// Two normal numbers from two words of random bits (Box and Muller 1958). The
/// half keeps the logarithm's argument above 0.
std::array<float, 2> boxMuller(uint32_t first, uint32_t second) {
  const float uniform = (float(first >> 8) + 0.5f) * 0x1p-24f;
  const float angle =
      float(second >> 8) * 0x1p-24f * (2 * std::numbers::pi_v<float>);
  const float radius = std::sqrt(-2 * std::log(uniform));
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

std::array<float, 4> normals(uint64_t block, PhiloxKey key) {
  const PhiloxCounter bits = philox(philoxCounter(block), key);
  const auto [a, b] = boxMuller(bits[0], bits[1]);
  const auto [c, d] = boxMuller(bits[2], bits[3]);
  return {a, b, c, d};
}

template <class T>
void drawRun(T* out, int64_t count, int64_t globalFirst, double scale,
             PhiloxKey key) {
  std::array<float, 4> block{};
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t number = uint64_t(globalFirst + i);
    if (i == 0 || number % 4 == 0)
      block = normals(number / 4, key);
    out[i] = T(float(scale) * block[number % 4]);
  }
}

template <class T>
void drawNormal(const plan::Parameter& parameter, int64_t seed,
                const ShardNumbering& shard, int64_t first, T* out,
                int64_t count, int threads) {
  constexpr int64_t grain = 4096;
  const PhiloxKey key = philoxKey(uint64_t(seed), streamOf(parameter.name));
  device::parallelFor(threads, count, grain, [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t left =
          shard.rowLength() - (first + begin) % shard.rowLength();
      const int64_t run = std::min(left, end - begin);
      drawRun(out + begin, run, shard.globalOf(first + begin),
              parameter.init.scale, key);
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
  if (parameter.init.kind == "normal") {
    drawNormal(parameter, seed, shard, first, out, count, threads);
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
  const ShardNumbering shard(parameter, mesh, rank);
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
    break;
  }
  assert(false && "a parameter is of floating point");
}

} // namespace reciperun::kernels
