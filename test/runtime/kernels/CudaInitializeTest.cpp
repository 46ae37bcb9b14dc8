// A GPU draws the same initial values as the host, within the bounds given in
// CudaInitialize.h. Skipped without a GPU.

#include "runtime/kernels/data_movement/CudaInitialize.h"
#include "runtime/device/BFloat16.h"
#include "runtime/device/cuda/CudaDevice.h"
#include "runtime/kernels/data_movement/Initialize.h"

#include <cmath>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

namespace reciperun::kernels {
namespace {

using plan::DType;

device::CudaKernel noKernel(plan::OpKind) {
  return nullptr;
}

/// The distance of two floats in units in the last place.
int64_t apart(float a, float b) {
  auto ordered = [](float value) {
    int32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    return bits < 0 ? int64_t(INT32_MIN) - bits : int64_t(bits);
  };
  return std::abs(ordered(a) - ordered(b));
}

class CudaInitializeTest : public testing::Test {
protected:
  static void SetUpTestSuite() {
    device::setEnvironment(device::CudaDevice::environment());
  }
  void SetUp() override {
    auto opened =
        device::CudaDevice::open(0, &noKernel, nullptr, &drawFirstValues);
    if (!opened)
      GTEST_SKIP() << opened.message();
    gpu = *std::move(opened);
  }

  /// Draws `count` elements of a rank's shard from `first` on, on both devices.
  template <class T>
  void draw(const plan::Parameter& parameter, const plan::Mesh& mesh, int rank,
            int64_t first, int64_t count, DType type) {
    const int64_t shape[] = {count};
    auto arena = gpu->allocate(count * int64_t(sizeof(T)) + 64, 0);
    ASSERT_TRUE(arena) << arena.message();
    std::vector<T> host(size_t(count), T(7.0f)), drawn(size_t(count), T(7.0f));
    initialize(parameter, 11, mesh, rank, first, {host.data(), type, shape}, 2);
    // Offset by one element, so that nothing is aligned by chance.
    T* const target = reinterpret_cast<T*>(arena->base()) + 1;
    const Expected<bool> isDrawn =
        gpu->draw({parameter, 11, mesh, rank, first, {target, type, shape}});
    ASSERT_TRUE(isDrawn) << isDrawn.message();
    ASSERT_TRUE(*isDrawn);
    ASSERT_TRUE(
        gpu->download(std::as_writable_bytes(std::span(drawn)), target).isOk());
    compare<T>(parameter, host, drawn);
  }

private:
  template <class T>
  void compare(const plan::Parameter& parameter, const std::vector<T>& host,
               const std::vector<T>& drawn) {
    const std::string& kind = parameter.init.kind;
    const bool isExact = kind == "zeros" || kind == "ones" || kind == "uniform";
    int64_t worst = 0, others = 0;
    for (size_t i = 0; i < host.size(); ++i) {
      const float a = float(host[i]), b = float(drawn[i]);
      worst = std::max(worst, apart(a, b));
      others += a != b;
      // One bf16 unit in the last place is 2^16 f32 units.
      const int64_t allowed = isExact ? 0 : sizeof(T) == 2 ? 1 << 16 : 8;
      ASSERT_LE(apart(a, b), allowed) << kind << " " << i << " of "
                                      << host.size() << ": " << a << ", " << b;
    }
    // Rounding to bf16 separates two neighbouring f32 numbers once in 2^16.
    if (sizeof(T) == 2) {
      EXPECT_LE(others, 10 + int64_t(host.size()) / 1000) << kind;
    }
    std::printf("%s of %zu bytes: %zu elements, %lld differ, at most by %lld "
                "units of f32\n",
                kind.c_str(), sizeof(T), host.size(), (long long)others,
                (long long)worst);
  }

  std::unique_ptr<device::CudaDevice> gpu;
};

plan::Parameter parameterOf(const char* kind, std::vector<int64_t> shape,
                            std::vector<std::string> axes) {
  plan::Parameter parameter;
  parameter.name = "layers.3.weight";
  parameter.globalShape = std::move(shape);
  parameter.shardAxes = std::move(axes);
  parameter.init = {kind, 0.02};
  return parameter;
}

const plan::Mesh& twoByThree() {
  static const plan::Mesh mesh = [] {
    plan::Mesh made;
    made.axes = {{"dp", 2}, {"tp", 3}};
    made.ranks = 6;
    return made;
  }();
  return mesh;
}

TEST_F(CudaInitializeTest, drawsEachKindAsTheHostDoes) {
  for (const char* kind :
       {"normal", "uniform", "zeros", "ones", "decay_rates", "time_steps"}) {
    const plan::Parameter parameter = parameterOf(kind, {1001, 513}, {"", ""});
    draw<float>(parameter, {}, 0, 0, 1001 * 513, DType::f32);
    draw<device::bf16>(parameter, {}, 0, 0, 1001 * 513, DType::bf16);
  }
}

TEST_F(CudaInitializeTest, drawsEachShardAsTheHostDoes) {
  // Shard rows begin at any offset and have any length, multiples of four or
  // not.
  for (int64_t width : {3, 24, 27, 300})
    for (int rank : {0, 2, 4}) {
      const auto columns = parameterOf("normal", {50, width}, {"", "tp"});
      draw<float>(columns, twoByThree(), rank, 0, 50 * width / 3, DType::f32);
      const auto both =
          parameterOf("normal", {10, 5, width, 7}, {"dp", "", "tp", ""});
      const int64_t all = 5 * 5 * (width / 3) * 7;
      draw<device::bf16>(both, twoByThree(), rank, 0, all, DType::bf16);
      draw<float>(both, twoByThree(), rank, 5, all - 11, DType::f32);
    }
}

} // namespace
} // namespace reciperun::kernels
