// y[e] = x[e] w[e]^T for each expert e, and its gradients: a grouped product.
//
// Most rows of an expert are places that no token took, and are zeros. The rows
// are cut into tiles; a tile of zeros is not multiplied. A tile's height is
// fixed, so that the products have two shapes (the last tile may be lower).
// With `stacked` w[e] is stored [from, to] instead of [to, from].

#include "runtime/device/cpu/CpuContext.h"
#include "runtime/device/cpu/Parallel.h"
#include "runtime/kernels/Kernels.h"
#include "runtime/kernels/Types.h"

#include <algorithm>
#include <cstring>

namespace reciperun::kernels {
namespace {

using device::Gemm;
using device::KernelArgs;
using device::Tensor;
using plan::OpKind;

// Enough rows for a product to be bound by arithmetic: a weight that is read
// once is used 64 times.
constexpr int64_t tileRows = 64;

/// Whether a tile of rows is zeros (0.0, not -0.0, which is what unused places
/// are filled with).
bool isZero(const char* bytes, int64_t count) {
  return bytes[0] == 0 && std::memcmp(bytes, bytes + 1, size_t(count - 1)) == 0;
}

/// The experts' rows, tile by tile.
class ExpertTiles {
public:
  /// `x` [experts, places, from], `y` [experts, places, to], of any grouping.
  ExpertTiles(const KernelArgs& args, const Tensor& x, const Tensor& y,
              const Tensor& w)
      : args(args), experts(w.shape[0]), places(x.shape[1]),
        from(x.elements() / (experts * places)),
        to(y.elements() / (experts * places)),
        isStacked(args.op.flag("stacked")) {}

  /// Calls body(expert, rows before its tile, rows of it) -> Status for each
  /// tile, where `source` [experts * places, width] is not all zeros, and
  /// otherwise(..) for the others.
  template <class Body, class Otherwise>
  Status run(const Tensor& source, int64_t width, Body body,
             Otherwise otherwise) const {
    const int64_t rowBytes = width * plan::byteSize(source.type);
    for (int64_t e = 0; e < experts; ++e)
      for (int64_t p = 0; p < places; p += tileRows) {
        const int64_t row = e * places + p;
        const int64_t rows = std::min(tileRows, places - p);
        if (isZero(source.as<char>() + row * rowBytes, rows * rowBytes)) {
          otherwise(row, rows);
          continue;
        }
        Status status = body(e, row, rows);
        if (!status)
          return status.withContext("op `" + args.op.name + "`");
      }
    return Status::ok();
  }

  static char* at(const Tensor& tensor, int64_t element) {
    return tensor.as<char>() + element * plan::byteSize(tensor.type);
  }

  Gemm::Shape shape(const Tensor& input, const Tensor& output) const {
    Gemm::Shape shape;
    shape.input = input.type;
    shape.output = output.type;
    shape.alpha = float(args.op.real("alpha", 1));
    shape.accumulate = args.op.flag("accumulate");
    return shape;
  }

  /// Zeroes rows of an output that is not added to.
  void clear(const Tensor& output, int64_t width, int64_t row,
             int64_t rows) const {
    if (!args.op.flag("accumulate"))
      std::memset(at(output, row * width), 0,
                  size_t(rows * width * plan::byteSize(output.type)));
  }

  const KernelArgs& args;
  int64_t experts, places, from, to;
  bool isStacked;
};

} // namespace

template <> Status kernel<OpKind::ExpertLinear>(const KernelArgs& args) {
  const Tensor &x = args.inputs[0], &w = args.inputs[1], &y = args.outputs[0];
  const ExpertTiles tiles(args, x, y, w);
  const int64_t from = tiles.from, to = tiles.to;
  return tiles.run(
      x, from,
      [&](int64_t e, int64_t row, int64_t rows) {
        Gemm::Shape shape = tiles.shape(x, y);
        shape.m = rows;
        shape.n = to;
        shape.k = from;
        shape.transposeB = !tiles.isStacked;
        return args.context.gemm().run(shape, tiles.at(x, row * from),
                                       tiles.at(w, e * from * to),
                                       tiles.at(y, row * to));
      },
      [&](int64_t row, int64_t rows) { tiles.clear(y, to, row, rows); });
}

template <> Status kernel<OpKind::ExpertLinearDgrad>(const KernelArgs& args) {
  const Tensor &dy = args.inputs[0], &w = args.inputs[1], &dx = args.outputs[0];
  const ExpertTiles tiles(args, dx, dy, w);
  const int64_t from = tiles.from, to = tiles.to;
  return tiles.run(
      dy, to,
      [&](int64_t e, int64_t row, int64_t rows) {
        Gemm::Shape shape = tiles.shape(dy, dx);
        shape.m = rows;
        shape.n = from;
        shape.k = to;
        shape.transposeB = tiles.isStacked;
        return args.context.gemm().run(shape, tiles.at(dy, row * to),
                                       tiles.at(w, e * from * to),
                                       tiles.at(dx, row * from));
      },
      [&](int64_t row, int64_t rows) { tiles.clear(dx, from, row, rows); });
}

template <> Status kernel<OpKind::ExpertLinearWgrad>(const KernelArgs& args) {
  const Tensor &x = args.inputs[0], &dy = args.inputs[1], &dw = args.outputs[0];
  const ExpertTiles tiles(args, x, dy, dw);
  const int64_t from = tiles.from, to = tiles.to;
  const bool isStacked = tiles.isStacked;
  return tiles.run(
      dy, to,
      [&](int64_t e, int64_t row, int64_t rows) {
        Gemm::Shape shape = tiles.shape(x, dw);
        shape.accumulate = true;
        shape.m = isStacked ? from : to;
        shape.n = isStacked ? to : from;
        shape.k = rows;
        shape.transposeA = true;
        const void* left = tiles.at(dy, row * to);
        const void* right = tiles.at(x, row * from);
        if (isStacked)
          std::swap(left, right);
        return args.context.gemm().run(shape, left, right,
                                       tiles.at(dw, e * from * to));
      },
      [](int64_t, int64_t) {});
}

} // namespace reciperun::kernels
