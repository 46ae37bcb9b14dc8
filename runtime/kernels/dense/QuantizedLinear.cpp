// y = alpha (x in_scale) w^T with a weight in 8 or 4 bits.
//
// Few rows, and any number in f32: the loops of QuantizedRows.h.
//   1. Put up to `slabRows` rows of x into the order of the loops, times
//      in_scale.
//   2. Cut the outputs into pieces. A thread multiplies its piece of the weight
//      with `rowsAtOnce` rows after the other, so that the piece is read from
//      memory once.
// Many rows in bf16: matmuls of oneDNN, whose tiles of AMX pay for a copy of
// the weight in bf16.
//   1. Dequantize a panel of weight rows to bf16. Scales of whole rows are left
//      out, so that the panel is exact.
//   2. Multiply a slab of x by the panel, into f32.
//   3. Multiply by the scales of rows and round into y.

#include "runtime/device/BFloat16.h"
#include "runtime/device/cpu/CpuContext.h"
#include "runtime/device/cpu/Parallel.h"
#include "runtime/kernels/common/Kernels.h"
#include "runtime/kernels/dense/QuantizedPanel.h"
#include "runtime/kernels/dense/QuantizedRows.h"
#include "runtime/ops/QuantizationOps.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace reciperun::kernels {
namespace {

using device::bf16;
using device::Gemm;
using device::KernelArgs;
using device::Tensor;
using sizes::weightGroup;

/// The largest number of rows in bf16 that the loops take. From there on a copy
/// of the weight in bf16 costs less than loops without AMX.
constexpr int64_t mostDirectRows = 32;
/// The rows that are prepared at once for the loops.
constexpr int64_t slabRows = 64;
/// The elements of a dequantized panel: 2 MiB, which a core's cache holds.
constexpr int64_t panelElements = int64_t(1) << 20;
/// The largest number of outputs in a panel, and of rows in its matmuls.
constexpr int64_t widestPanel = 512, panelRows = 1024;

QuantizedWeight weightOf(const KernelArgs& args) {
  const Tensor& w = args.inputs[1];
  const auto format = sizes::weightFormatOf(w.type);
  const auto scales = sizes::findWeightScales(
      ops::QuantizedLinearAttributes(args.op.attributes).scales);
  assert(format && scales && "the plan's ops have been checked");
  const int64_t perByte = *format == sizes::WeightFormat::int4 ? 2 : 1;
  return {*format,
          w.as<uint8_t>(),
          w.shape[0],
          w.shape[1] * perByte,
          args.inputs[2].as<float>(),
          *scales};
}

template <class T> class QuantizedMatmul {
public:
  explicit QuantizedMatmul(const KernelArgs& args)
      : args(args), context(args.context), weight(weightOf(args)),
        x(args.inputs[0].as<T>()), y(args.outputs[0].as<T>()),
        inScale(args.inputs[3].present() ? args.inputs[3].as<float>()
                                         : nullptr),
        rows(args.inputs[0].elements() / weight.k),
        alpha(float(ops::QuantizedLinearAttributes(args.op.attributes).alpha)) {
  }

  Status run() {
    if (std::is_same_v<T, bf16> && rows > mostDirectRows)
      return runPanels();
    const RowsPath& path = rowsPathFor(args.inputs[0].type);
    for (int64_t first = 0; first < rows; first += slabRows) {
      const int64_t count = std::min(slabRows, rows - first);
      if (path.xType == ops::DType::bf16)
        runSlab<bf16>(path, first, count);
      else
        runSlab<float>(path, first, count);
    }
    return Status::ok();
  }

private:
  // ---- few rows

  template <class Element>
  void runSlab(const RowsPath& path, int64_t first, int64_t count) {
    const int64_t stride = weight.groups() * weightGroup;
    const int64_t padded = (count + rowsAtOnce - 1) / rowsAtOnce * rowsAtOnce;
    auto* prepared = context.scratch<Element>(0, size_t(padded * stride));
    prepare(path, first, count, padded, prepared);
    device::parallelFor(
        context.threads(), weight.n, outputsAtOnce,
        [&](int64_t begin, int64_t end) {
          for (int64_t at = begin; at < end; at += outputsAtOnce)
            multiplyPiece(path, prepared, stride, first, count, at,
                          std::min(outputsAtOnce, end - at));
        });
  }

  template <class Element>
  void prepare(const RowsPath& path, int64_t first, int64_t count,
               int64_t padded, Element* out) const {
    const uint8_t* order = path.order(weight.format);
    const int64_t groups = weight.groups();
    device::parallelFor(
        context.threads(), padded * groups, 64,
        [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i)
            prepareGroup(
                i / groups < count ? x + (first + i / groups) * weight.k
                                   : nullptr,
                i % groups * weightGroup, order, out + i * weightGroup);
        });
  }

  /// Puts the group from element `begin` on of a row into order; zeros for a
  /// null row.
  template <class Element>
  void prepareGroup(const T* row, int64_t begin, const uint8_t* order,
                    Element* out) const {
    Element group[weightGroup] = {};
    const int64_t there =
        row ? std::min(weightGroup, weight.k - begin) : int64_t(0);
    for (int64_t i = 0; i < there; ++i)
      group[i] = inScale ? Element(float(row[begin + i]) * inScale[begin + i])
                         : Element(float(row[begin + i]));
    for (int64_t i = 0; i < weightGroup; ++i)
      out[i] = group[order[i]];
  }

  template <class Element>
  void multiplyPiece(const RowsPath& path, const Element* prepared,
                     int64_t stride, int64_t first, int64_t count, int64_t at,
                     int64_t width) const {
    alignas(64) float sums[rowsAtOnce * outputsAtOnce];
    for (int64_t row = 0; row < count; row += rowsAtOnce) {
      const int64_t high = std::min(rowsAtOnce, count - row);
      path.multiply(
          {&weight, prepared + row * stride, stride, high, at, width, sums});
      for (int64_t r = 0; r < high; ++r)
        for (int64_t j = 0; j < width; ++j)
          y[(first + row + r) * weight.n + at + j] =
              T(alpha * sums[r * outputsAtOnce + j]);
    }
  }

  // ---- many rows

  /// The buffers of the matmuls, parts of one scratch buffer.
  struct Panel {
    int64_t outputs; // at most
    bf16* weights;   // [outputs, k]
    bf16* x;         // [panelRows, k] with in_scale, else null
    float* sums;     // [panelRows, outputs]
  };

  Panel makePanel() const {
    Panel panel;
    panel.outputs = std::min(
        {std::clamp(panelElements / weight.k, int64_t(16), widestPanel),
         weight.n});
    const int64_t high = std::min(rows, panelRows);
    const int64_t weights = panel.outputs * weight.k;
    const int64_t scaled = inScale ? high * weight.k : 0;
    panel.sums = context.scratch<float>(
        0, size_t(high * panel.outputs + (weights + scaled + 1) / 2));
    panel.weights = reinterpret_cast<bf16*>(panel.sums + high * panel.outputs);
    panel.x = inScale ? panel.weights + weights : nullptr;
    return panel;
  }

  Status runPanels() {
    const Panel panel = makePanel();
    for (int64_t first = 0; first < rows; first += panelRows) {
      const int64_t count = std::min(panelRows, rows - first);
      if (panel.x)
        scaleRows(first, count, panel.x);
      for (int64_t at = 0; at < weight.n; at += panel.outputs)
        RECIPERUN_TRY(multiplyPanel(panel, first, count, at,
                                    std::min(panel.outputs, weight.n - at)));
    }
    return Status::ok();
  }

  void scaleRows(int64_t first, int64_t count, bf16* out) const {
    device::parallelFor(
        context.threads(), count, 1, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i)
            for (int64_t j = 0; j < weight.k; ++j)
              out[i * weight.k + j] =
                  bf16(float(x[(first + i) * weight.k + j]) * inScale[j]);
        });
  }

  Status multiplyPanel(const Panel& panel, int64_t first, int64_t count,
                       int64_t at, int64_t width) {
    device::parallelFor(
        context.threads(), width, 1, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i)
            dequantizeRow(weight, at + i, panel.weights + i * weight.k);
        });
    Gemm::Shape shape;
    shape.m = count;
    shape.n = width;
    shape.k = weight.k;
    shape.transposeB = true;
    shape.input = plan::DType::bf16;
    const void* left =
        panel.x ? static_cast<const void*>(panel.x) : x + first * weight.k;
    RECIPERUN_TRY(context.gemm()
                      .run(shape, left, panel.weights, panel.sums)
                      .withContext("op `" + args.op.name + "`"));
    device::parallelFor(context.threads(), count, 1,
                        [&](int64_t begin, int64_t end) {
                          for (int64_t i = begin; i < end; ++i)
                            roundRow(panel.sums + i * width, at, width,
                                     y + (first + i) * weight.n + at);
                        });
    return Status::ok();
  }

  void roundRow(const float* sums, int64_t at, int64_t width, T* out) const {
    const bool isScaled = weight.isGrouped();
    for (int64_t j = 0; j < width; ++j)
      out[j] =
          T(sums[j] * (isScaled ? alpha : alpha * *weight.scalesOf(at + j)));
  }

  const KernelArgs& args;
  device::CpuContext& context;
  QuantizedWeight weight;
  const T* x;
  T* y;
  const float* inScale;
  int64_t rows;
  float alpha;
};

} // namespace

Status quantizedLinearKernel(const KernelArgs& args) {
  if (args.inputs[0].type == plan::DType::bf16)
    return QuantizedMatmul<bf16>(args).run();
  return QuantizedMatmul<float>(args).run();
}

} // namespace reciperun::kernels
