// How fast matmuls of few rows read their weights, beside the speed at which
// memory can be read. Not a test; build and run it by hand:
//   ninja narrowMatmulBenchmark && test/programs/narrowMatmulBenchmark
//   [THREADS]
// Sizes are those of a Llama of 1B parameters. Weights come from memory: each
// call reads other ones, 400 MB in all.

#include "runtime/device/BFloat16.h"
#include "runtime/device/cpu/Gemm.h"
#include "runtime/device/cpu/Parallel.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace reciperun::device {
namespace {

using plan::DType;

constexpr int64_t weightBytes = int64_t(400) << 20;

double secondsNow() {
  using namespace std::chrono;
  return duration<double>(steady_clock::now().time_since_epoch()).count();
}

/// The seconds of the fastest of some calls of body(call).
template <class Body> double fastest(int calls, Body&& body) {
  double least = 1e9;
  for (int call = 0; call < calls; ++call) {
    const double begin = secondsNow();
    body(call);
    least = std::min(least, secondsNow() - begin);
  }
  return least;
}

/// Reads pieces of the size of a weight matrix.
void readMemory(int threads) {
  constexpr int64_t pieceBytes = int64_t(16) << 20;
  const std::vector<uint64_t> words(size_t(weightBytes) / 8, 1);
  std::vector<uint64_t> sums(size_t(threads) * 8);
  const double seconds = fastest(100, [&](int call) {
    const int64_t count = pieceBytes / 8;
    const uint64_t* piece =
        words.data() + call % (weightBytes / pieceBytes) * count;
    parallelFor(threads, count, count / threads,
                [&](int64_t begin, int64_t end) {
                  uint64_t sum = 0;
                  for (int64_t i = begin; i < end; ++i)
                    sum += piece[i];
                  sums[size_t(begin * threads / count * 8)] = sum;
                });
  });
  std::printf("reading memory: %.1f GB/s (%llu)\n",
              double(pieceBytes) / seconds / 1e9,
              static_cast<unsigned long long>(sums[0]));
}

template <class T> void multiply(int threads, int64_t n, int64_t k) {
  const int64_t bytes = n * k * int64_t(sizeof(T));
  const int64_t copies = std::max<int64_t>(1, weightBytes / bytes);
  const std::vector<T> weights(size_t(copies * n * k), T(0.5f));
  const std::vector<T> a(size_t(64 * k), T(0.25f));
  std::vector<float> c(size_t(64 * n));
  Gemm gemm(threads);
  for (int64_t m : {1, 2, 4, 8, 16, 32, 64}) {
    Gemm::Shape shape{m, n, k, false, true};
    shape.input = sizeof(T) == 2 ? DType::bf16 : DType::f32;
    const double seconds = fastest(24, [&](int call) {
      const Status status = gemm.run(
          shape, a.data(), weights.data() + call % copies * n * k, c.data());
      if (!status.isOk())
        std::printf("%s\n", status.message().c_str());
    });
    std::printf("%s n %5ld k %5ld rows %2ld: %7.3f ms %6.1f GB/s %7.1f GF/s\n",
                sizeof(T) == 2 ? "bf16" : "f32 ", long(n), long(k), long(m),
                seconds * 1e3, double(bytes) / seconds / 1e9,
                2.0 * double(m * n * k) / seconds / 1e9);
  }
}

void run(int threads) {
  readMemory(threads);
  const int64_t sizes[][2] = {{2048, 2048}, {8192, 2048}, {2048, 8192}};
  for (const auto& [n, k] : sizes) {
    multiply<bf16>(threads, n, k);
    multiply<float>(threads, n, k);
  }
}

} // namespace
} // namespace reciperun::device

int main(int count, char** arguments) {
  reciperun::device::run(count > 1 ? std::atoi(arguments[1]) : 2);
}
