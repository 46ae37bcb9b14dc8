// Dropout (Srivastava et al. 2014) with the same mask on every layout.
//
// Element e of sample s is kept if word e % 4 of Philox block (e / 4, s) is at
// least p 2^32. e is the index in the unsharded tensor without its batch
// dimension. The backward is the same op on dy.

#include "runtime/device/cpu/CpuContext.h"
#include "runtime/device/cpu/Parallel.h"
#include "runtime/kernels/common/Kernels.h"
#include "runtime/kernels/common/Philox.h"
#include "runtime/kernels/common/Types.h"
#include "runtime/ops/ActivationOps.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <vector>

namespace reciperun::kernels {
namespace {

using device::KernelArgs;
using device::Tensor;

/// Rows of x: runs of its last dimension, which are contiguous in the unsharded
/// tensor too. `places` gives a token's index in its row.
class RowNumbering {
public:
  explicit RowNumbering(const KernelArgs& args)
      : places(args.inputs[2].as<int32_t>()) {
    const auto shape = args.inputs[0].shape;
    const ops::DropoutAttributes attributes(args.op.attributes);
    const std::vector<std::string>& axes = attributes.axes;
    assert(shape.size() >= 2 && "samples and tokens");
    assert((axes.empty() || axes.size() == shape.size()) &&
           "each dimension says how it is split");
    tokensOfSample = shape[1];
    for (size_t i = 2; i < shape.size(); ++i) {
      const std::string axis = axes.empty() ? "" : axes[i];
      local.push_back(shape[i]);
      global.push_back(shape[i] * plan::axisSize(args.mesh, axis));
      begin.push_back(shape[i] * args.coordinate(axis));
    }
    for (size_t i = 0; i + 1 < local.size(); ++i)
      rowsOfToken *= local[i];
  }

  int64_t rowLength() const { return local.empty() ? 1 : local.back(); }
  int64_t sampleOf(int64_t row) const {
    return row / rowsOfToken / tokensOfSample;
  }

  /// The index in the unsharded sample of the first element of a row of x.
  int64_t firstOf(int64_t row) const {
    int64_t result = 0, stride = 1;
    if (!local.empty()) {
      result = begin.back();
      stride = global.back();
    }
    const int64_t place = places[row / rowsOfToken];
    for (size_t i = local.empty() ? 0 : local.size() - 1; i-- > 0;) {
      result += (row % local[i] + begin[i]) * stride;
      row /= local[i];
      stride *= global[i];
    }
    return result + place * stride;
  }

private:
  const int32_t* places;
  std::vector<int64_t> local, global, begin; // dimensions after the tokens
  int64_t rowsOfToken = 1;
  int64_t tokensOfSample = 1;
};

/// The parameters that decide whether an element is kept.
struct Draw {
  PhiloxKey key;
  uint32_t threshold; // words below it drop the element
  double scale;       // of kept elements
};

Draw drawOf(const plan::Op& op) {
  const ops::DropoutAttributes attributes(op.attributes);
  const double p = attributes.p;
  assert(p >= 0 && p < 1 && "a dropout keeps something");
  Draw draw;
  draw.key = philoxKey(uint64_t(attributes.seed), uint64_t(attributes.stream));
  draw.threshold = uint32_t(std::floor(p * 0x1p32));
  draw.scale = 1 / (1 - p);
  return draw;
}

template <class T>
void dropRow(const Draw& draw, uint64_t sample, uint64_t first, int64_t count,
             const T* x, T* y) {
  using M = Math<T>;
  const M scale = M(draw.scale);
  const uint32_t threshold = draw.threshold;
  for (int64_t done = 0; done < count;) {
    const uint64_t number = first + uint64_t(done);
    const PhiloxWords drawn(number / 4, sample, draw.key);
    const uint32_t* words = drawn.words + number % 4;
    const int64_t run =
        std::min(count - done, int64_t(4 * PhiloxWords::blocks - number % 4));
#pragma omp simd
    for (int64_t i = 0; i < run; ++i)
      y[done + i] = T(words[i] >= threshold ? M(x[done + i]) * scale : M(0));
    done += run;
  }
}

template <class T> void dropout(const KernelArgs& args) {
  const Tensor &x = args.inputs[0], &y = args.outputs[0];
  const int64_t* samples = args.inputs[1].as<int64_t>();
  const RowNumbering rows(args);
  const Draw draw = drawOf(args.op);
  const int64_t width = rows.rowLength();
  device::parallelFor(args.context.threads(), x.elements() / width, 4,
                      [&](int64_t begin, int64_t end) {
                        for (int64_t i = begin; i < end; ++i)
                          dropRow(draw, uint64_t(samples[rows.sampleOf(i)]),
                                  uint64_t(rows.firstOf(i)), width,
                                  x.as<T>() + i * width, y.as<T>() + i * width);
                      });
}

} // namespace

Status dropoutKernel(const device::KernelArgs& args) {
  return withType(args, args.inputs[0].type,
                  [&]<class T>(Type<T>) { dropout<T>(args); });
}

} // namespace reciperun::kernels
