// Quantizes a matrix and its transpose to fp8, with scales. The input is a
// stored tensor, or the result of a swiglu or of its gradient, which is not
// stored.
//
//   1. Find the scale of each block: of the whole matrix, or of the amax
//      history.
//   2. Multiply each element of the block by the scale's inverse, and round it.
// Row blocks differ between the two layouts, so each layout has its own pass
// over the elements. Squares and the whole matrix share one pass.

#include "runtime/kernels/quantize/Quantize.h"

#include "runtime/device/Float8.h"
#include "runtime/device/cpu/CpuContext.h"
#include "runtime/device/cpu/Parallel.h"
#include "runtime/kernels/activation/Silu.h"
#include "runtime/kernels/common/Kernels.h"
#include "runtime/kernels/common/Types.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace reciperun::kernels {
namespace {

using device::f8e8m0;
using device::KernelArgs;
using device::Tensor;

/// Rows and columns [begin, end).
struct Block {
  int64_t row, rowEnd, column, columnEnd;
};

// The source of the values, by element: a stored tensor, or the result of
// another op, computed from its operands and rounded to T.

template <class T> struct StoredValues {
  const T* x;
  float operator[](int64_t i) const { return float(x[i]); }
};

template <class T> struct Swiglu {
  const T *gate, *up;
  float operator[](int64_t i) const {
    return float(T(silu(float(gate[i])) * float(up[i])));
  }
};

/// The gradient of a swiglu. It executes the same operations in the same order
/// as the op, so that the bits are equal.
template <class T, bool isOfGate> struct SwigluSlope {
  const T *dy, *gate, *up;
  float operator[](int64_t i) const {
    const float slope = float(dy[i]), g = float(gate[i]);
    const float s = 1.0f / (1.0f + exponential(-g));
    return float(isOfGate
                     ? T(slope * float(up[i]) * s * (1.0f + g * (1.0f - s)))
                     : T(slope * g * s));
  }
};

/// Quantizes x [rows, columns] to F.
template <class X, class F> class Quantization {
public:
  Quantization(const KernelArgs& args, const QuantizeOperands& operands, X x)
      : operands(operands), threads(args.context.threads()), x(x),
        rows(operands.rows), columns(operands.columns) {}

  void run() {
    switch (operands.blocks) {
    case Blocks::tensor:
      return wholeTensor();
    case Blocks::wholeRows:
      return wholeRows();
    case Blocks::rows:
      if (operands.q.present())
        runsOfRows();
      if (operands.qt.present())
        runsOfColumns();
      return;
    case Blocks::squares:
      return squares();
    case Blocks::mx:
      mxRows();
      return mxColumns();
    }
  }

private:
  /// The largest magnitude. Ignores NaN, which rounding then keeps.
  float mostOf(const Block& block) const {
    float most = 0;
    for (int64_t i = block.row; i < block.rowEnd; ++i)
      for (int64_t j = block.column; j < block.columnEnd; ++j)
        most = std::fmax(most, std::fabs(x[i * columns + j]));
    return most;
  }

  void round(const Block& block, float factor, F* q, F* qt) const {
    for (int64_t i = block.row; i < block.rowEnd; ++i)
      for (int64_t j = block.column; j < block.columnEnd; ++j) {
        const F made(x[i * columns + j] * factor);
        if (q)
          q[i * columns + j] = made;
        if (qt)
          qt[j * rows + i] = made;
      }
  }

  /// Calls body(block, row of blocks, column of blocks) for blocks of `height`
  /// rows and `width` columns.
  template <class Body>
  void forBlocks(int64_t height, int64_t width, Body body) const {
    const int64_t across = (columns + width - 1) / width;
    const int64_t count = (rows + height - 1) / height * across;
    device::parallelFor(threads, count, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t down = i / across, right = i % across;
        body(Block{down * height, std::min(rows, (down + 1) * height),
                   right * width, std::min(columns, (right + 1) * width)},
             down, right);
      }
    });
  }

  /// The largest magnitude of the matrix. It does not depend on the order of
  /// the elements.
  float mostOfAll() const {
    constexpr int64_t pieces = 64;
    float most[pieces] = {};
    device::parallelFor(threads, pieces, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        most[i] = mostOf(
            {rows * i / pieces, rows * (i + 1) / pieces, int64_t(0), columns});
    });
    return *std::max_element(most, most + pieces);
  }

  void wholeTensor() {
    const float most = mostOfAll();
    const float scale = scaleOf<F>(fromHistory(most));
    *operands.scale.as<float>() = scale;
    forBlocks(blockWidth, blockWidth,
              [&](const Block& block, int64_t, int64_t) {
                round(block, 1 / scale, q(), qt());
              });
  }

  /// Returns the maximum of the amax history, or `most` if that is 0 or there
  /// is no history. Adds `most` to the history.
  float fromHistory(float most) const {
    if (!operands.history.present())
      return most;
    float* history = operands.history.as<float>();
    const int64_t length = operands.history.elements();
    const float past = *std::max_element(history, history + length);
    std::copy_backward(history, history + length - 1, history + length);
    history[0] = most;
    return past > 0 ? past : most;
  }

  void wholeRows() {
    float* scales = operands.scale.as<float>();
    forBlocks(1, columns, [&](const Block& block, int64_t down, int64_t) {
      scales[down] = scaleOf<F>(mostOf(block));
      round(block, 1 / scales[down], q(), nullptr);
    });
  }

  void runsOfRows() {
    float* scales = operands.scale.as<float>();
    forBlocks(1, blockWidth,
              [&](const Block& block, int64_t down, int64_t right) {
                const float scale = scaleOf<F>(mostOf(block));
                scales[right * rows + down] = scale;
                round(block, 1 / scale, q(), nullptr);
              });
  }

  void runsOfColumns() {
    float* scales = operands.qtScale.as<float>();
    forBlocks(blockWidth, 1,
              [&](const Block& block, int64_t down, int64_t right) {
                const float scale = scaleOf<F>(mostOf(block));
                scales[down * columns + right] = scale;
                round(block, 1 / scale, nullptr, qt());
              });
  }

  void mxRows() {
    clear<f8e8m0>(operands.scale);
    if (q())
      forBlocks(1, mxBlockWidth,
                [&](const Block& block, int64_t down, int64_t right) {
                  roundMx(block, operands.scale, down, right, q(), nullptr);
                });
  }

  void mxColumns() {
    clear<f8e8m0>(operands.qtScale);
    if (qt())
      forBlocks(mxBlockWidth, 1,
                [&](const Block& block, int64_t down, int64_t right) {
                  roundMx(block, operands.qtScale, right, down, nullptr, qt());
                });
  }

  /// Quantizes block `number` of row `row` of q or of qt with an `mx` scale.
  void roundMx(const Block& block, const Tensor& scales, int64_t row,
               int64_t number, F* q, F* qt) const {
    const auto scale = f8e8m0::above(mostOf(block), F::largestExponent);
    scales.as<f8e8m0>()[mxPlace(scales, row, number)] = scale;
    round(block, scale.inverse(), q, qt);
  }

  void squares() {
    clear<float>(operands.scale);
    clear<float>(operands.qtScale);
    forBlocks(blockWidth, blockWidth,
              [&](const Block& block, int64_t down, int64_t right) {
                const float scale = scaleOf<F>(mostOf(block));
                place(operands.scale, down, right, scale);
                place(operands.qtScale, right, down, scale);
                round(block, 1 / scale, q(), qt());
              });
  }

  template <class S> static void clear(const Tensor& scales) {
    if (scales.present())
      std::fill_n(scales.as<S>(), scales.elements(), S{});
  }

  static void place(const Tensor& scales, int64_t i, int64_t j, float scale) {
    if (scales.present())
      scales.as<float>()[i * scales.shape[1] + j] = scale;
  }

  F* q() const { return operands.q.as<F>(); }
  F* qt() const { return operands.qt.as<F>(); }

  const QuantizeOperands& operands;
  int threads;
  X x;
  int64_t rows, columns;
};

template <class X>
void quantize(const KernelArgs& args, const QuantizeOperands& operands, X x) {
  if (operands.type() == plan::DType::f8e4m3)
    Quantization<X, device::f8e4m3>(args, operands, x).run();
  else
    Quantization<X, device::f8e5m2>(args, operands, x).run();
}

/// Calls body.operator()<T>() for the type of the first input.
template <class Body> Status withInputType(const KernelArgs& args, Body body) {
  if (args.inputs[0].type == plan::DType::bf16)
    body.template operator()<device::bf16>();
  else
    body.template operator()<float>();
  return Status::ok();
}

} // namespace

Status quantizeKernel(const KernelArgs& args) {
  const auto operands = QuantizeOperands::of(args);
  assert(operands.rows * operands.columns == operands.x.elements() &&
         "a matrix in 8 bits has the size of what it is made of");
  return withInputType(args, [&]<class T> {
    quantize(args, operands, StoredValues<T>{operands.x.as<T>()});
  });
}

Status swigluQuantizeKernel(const KernelArgs& args) {
  return withInputType(args, [&]<class T> {
    quantize(args, QuantizeOperands::of(args, 0),
             Swiglu<T>{args.inputs[0].as<T>(), args.inputs[1].as<T>()});
  });
}

Status swigluBackwardQuantizeKernel(const KernelArgs& args) {
  return withInputType(args, [&]<class T> {
    const T *dy = args.inputs[0].as<T>(), *gate = args.inputs[1].as<T>(),
            *up = args.inputs[2].as<T>();
    quantize(args, QuantizeOperands::of(args, 0),
             SwigluSlope<T, true>{dy, gate, up});
    quantize(args, QuantizeOperands::of(args, 1),
             SwigluSlope<T, false>{dy, gate, up});
  });
}

} // namespace reciperun::kernels
