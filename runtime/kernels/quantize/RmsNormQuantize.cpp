// Quantizes the result of an RMSNorm, with a scale for each row. The bits equal
// those of the two ops in sequence.

#include "runtime/device/Float8.h"
#include "runtime/device/cpu/Parallel.h"
#include "runtime/kernels/common/Kernels.h"
#include "runtime/kernels/norm/RmsNormRow.h"
#include "runtime/kernels/quantize/Quantize.h"

#include <cmath>
#include <vector>

namespace reciperun::kernels {
namespace {

using device::f8e4m3;
using device::KernelArgs;

/// Quantizes a row and returns its scale. The maximum ignores NaN; rounding
/// keeps it.
template <class T> float quantizeRow(const std::vector<T>& row, f8e4m3* q) {
  float most = 0;
  for (T value : row)
    most = std::fmax(most, std::fabs(float(value)));
  const float scale = scaleOf<f8e4m3>(most), factor = 1 / scale;
  for (size_t j = 0; j < row.size(); ++j)
    q[j] = f8e4m3(float(row[j]) * factor);
  return scale;
}

} // namespace

Status rmsnormQuantizeKernel(const KernelArgs& args) {
  const device::Tensor &x = args.inputs[0], &q = args.outputs[0];
  const int64_t rows = q.shape[0], width = q.shape[1];
  const double eps = ops::RmsNormQuantizeAttributes(args.op.attributes).eps;
  return withType(args, x.type, [&]<class T>(Type<T>) {
    rmsnorm::withWeight<T>(args, args.inputs[1], [&](auto weight) {
      device::parallelFor(
          args.context.threads(), rows, 1, [&](int64_t begin, int64_t end) {
            std::vector<T> normed(static_cast<size_t>(width));
            for (int64_t row = begin; row < end; ++row) {
              rmsnorm::forwardRow(width, eps, x.as<T>() + row * width, weight,
                                  normed.data());
              args.outputs[1].as<float>()[row] =
                  quantizeRow(normed, q.as<f8e4m3>() + row * width);
            }
          });
    });
  });
}

} // namespace reciperun::kernels
