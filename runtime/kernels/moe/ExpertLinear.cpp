// y[e] = x[e] w[e]^T for each expert e, and its gradients: a grouped matmul.
//
// Rows that no token uses are not multiplied; their results are zeros. With
// `stacked`, w[e] is stored [from, to] instead of [to, from].

#include "runtime/kernels/common/Elementwise.h"
#include "runtime/kernels/common/Kernels.h"
#include "runtime/kernels/moe/ExpertPieces.h"
#include "runtime/ops/ExpertOps.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

namespace reciperun::kernels {
namespace {

using device::Gemm;
using device::KernelArgs;
using device::Tensor;

char* at(const Tensor& tensor, int64_t element) {
  return tensor.as<char>() + element * plan::byteSize(tensor.type);
}

Gemm::Shape shapeOf(const KernelArgs& args, const Tensor& input,
                    plan::DType output) {
  Gemm::Shape shape;
  shape.input = input.type;
  shape.output = output;
  const ops::ExpertLinearAttributes attributes(args.op.attributes);
  shape.alpha = float(attributes.alpha);
  shape.accumulate = attributes.accumulate;
  return shape;
}

/// out[e] = in[e] w[e], or in[e] w[e]^T if `isTransposed`: shared by the
/// forward and the gradient of x.
Status multiply(const KernelArgs& args, bool isTransposed) {
  const Tensor &in = args.inputs[0], &w = args.inputs[1];
  const Tensor& out = args.outputs[0];
  const ExpertPieces pieces(in, args.inputs[2]);
  const int64_t from = in.elements() / pieces.rows();
  const int64_t to = out.elements() / pieces.rows();
  Gemm::Shape shape = shapeOf(args, in, out.type);
  shape.n = to;
  shape.k = from;
  shape.transposeB = isTransposed;
  if (!shape.accumulate)
    pieces.unused([&](int64_t row, int64_t rows) {
      std::memset(at(out, row * to), 0,
                  size_t(rows * to * plan::byteSize(out.type)));
    });
  return pieces
      .run([&](int64_t expert, int64_t row, int64_t rows) {
        shape.m = rows;
        return args.context.gemm().run(shape, at(in, row * from),
                                       at(w, expert * from * to),
                                       at(out, row * to));
      })
      .withContext("op `" + args.op.name + "`");
}

/// The accumulator of the pieces' matmuls for dw [experts, matrix]. It is dw
/// itself or, if dw is bf16, an f32 matrix for the current expert, which is
/// then added to dw and rounded once.
class ExpertSums {
public:
  ExpertSums(const KernelArgs& args, const Tensor& dw, int64_t matrix)
      : args(args), dw(dw), matrix(matrix),
        isNarrow(dw.type == plan::DType::bf16) {
    assert((!isNarrow || args.workspace.elements() >= matrix) &&
           "the plan has a workspace for a narrow gradient");
  }

  plan::DType type() const { return isNarrow ? plan::DType::f32 : dw.type; }

  char* of(int64_t expert) {
    if (!isNarrow)
      return at(dw, expert * matrix);
    if (expert != current) {
      finish();
      std::memset(args.workspace.data, 0, size_t(matrix) * sizeof(float));
      current = expert;
    }
    return args.workspace.as<char>();
  }

  void finish() {
    if (current < 0)
      return;
    const float* sum = args.workspace.as<float>();
    bf16* to = dw.as<bf16>() + current * matrix;
    device::parallelFor(args.context.threads(), matrix, elementGrain,
                        [=](int64_t begin, int64_t end) {
#pragma omp simd
                          for (int64_t i = begin; i < end; ++i)
                            to[i] = bf16(float(to[i]) + sum[i]);
                        });
    current = -1;
  }

private:
  const KernelArgs& args;
  const Tensor& dw;
  int64_t matrix;
  bool isNarrow;
  int64_t current = -1;
};

} // namespace

Status expertLinearKernel(const KernelArgs& args) {
  return multiply(args,
                  !ops::ExpertLinearAttributes(args.op.attributes).stacked);
}

Status expertLinearDgradKernel(const KernelArgs& args) {
  return multiply(args,
                  ops::ExpertLinearAttributes(args.op.attributes).stacked);
}

Status expertLinearWgradKernel(const KernelArgs& args) {
  const Tensor &x = args.inputs[0], &dy = args.inputs[1], &dw = args.outputs[0];
  const ExpertPieces pieces(x, args.inputs[2]);
  const int64_t from = x.elements() / pieces.rows();
  const int64_t to = dy.elements() / pieces.rows();
  const ops::ExpertLinearWgradAttributes attributes(args.op.attributes);
  const bool isStacked = attributes.stacked;
  // An expert that no token chose also needs a gradient.
  if (!attributes.accumulate)
    std::memset(dw.data, 0, size_t(dw.bytes()));
  ExpertSums sums(args, dw, from * to);
  Gemm::Shape shape = shapeOf(args, x, sums.type());
  shape.accumulate = true;
  shape.m = isStacked ? from : to;
  shape.n = isStacked ? to : from;
  shape.transposeA = true;
  Status status = pieces.run([&](int64_t expert, int64_t row, int64_t rows) {
    shape.k = rows;
    const void* left = at(dy, row * to);
    const void* right = at(x, row * from);
    if (isStacked)
      std::swap(left, right);
    return args.context.gemm().run(shape, left, right, sums.of(expert));
  });
  sums.finish();
  return status.withContext("op `" + args.op.name + "`");
}

} // namespace reciperun::kernels
