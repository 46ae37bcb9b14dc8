// A token for each row of logits.

#include "runtime/device/cpu/CpuContext.h"
#include "runtime/device/cpu/Parallel.h"
#include "runtime/kernels/common/Kernels.h"
#include "runtime/kernels/common/Types.h"
#include "runtime/kernels/sampling/TokenDraw.h"
#include "runtime/sizes/DrawNumbers.h"

#include <algorithm>
#include <limits>
#include <span>
#include <vector>

namespace reciperun::kernels {
namespace {

/// The index of the largest logit; -1 when one of them is not finite.
template <class T> int32_t likeliest(const T* row, int64_t width) {
  using M = Math<T>;
  M largest = -std::numeric_limits<M>::infinity();
  M differences = 0; // x - x is NaN where x is not finite
#pragma omp simd reduction(max : largest) reduction(+ : differences)
  for (int64_t j = 0; j < width; ++j) {
    const M x = M(row[j]);
    largest = x > largest ? x : largest;
    differences += x - x;
  }
  if (differences != 0)
    return -1;
  return int32_t(
      std::find_if(row, row + width, [&](T x) { return M(x) == largest; }) -
      row);
}

/// Chooses the tokens of rows one after another.
class RowSampler {
public:
  template <class T>
  int32_t choose(const T* row, int64_t width, const double* numbers) {
    const int32_t best = likeliest(row, width);
    if (best < 0 || numbers[sizes::drawTemperature] == 0)
      return best;
    logits.resize(size_t(width));
    std::ranges::transform(std::span(row, logits.size()), logits.begin(),
                           [](T x) { return float(x); });
    if (!blocks.scan(logits).isOk())
      return -1;
    const DrawOptions options = {.temperature = numbers[sizes::drawTemperature],
                                 .topK = int64_t(numbers[sizes::drawTopK]),
                                 .topP = numbers[sizes::drawTopP],
                                 .minP = numbers[sizes::drawMinP]};
    return draw.draw(options, logits, blocks, numbers[sizes::drawUniform]);
  }

private:
  std::vector<float> logits;
  LogitBlocks blocks;
  TokenDraw draw;
};

} // namespace

Status sampleKernel(const device::KernelArgs& args) {
  const device::Tensor &logits = args.inputs[0], &draws = args.inputs[1];
  const device::Tensor& ids = args.outputs[0];
  const int64_t rows = ids.elements(), width = logits.shape.back();
  return withType(args, logits.type, [&]<class T>(Type<T>) {
    device::parallelFor(
        args.context.threads(), rows, 1, [&](int64_t begin, int64_t end) {
          RowSampler sampler;
          for (int64_t i = begin; i < end; ++i)
            ids.as<int32_t>()[i] =
                sampler.choose(logits.as<T>() + i * width, width,
                               draws.as<double>() + i * sizes::drawNumbers);
        });
  });
}

} // namespace reciperun::kernels
