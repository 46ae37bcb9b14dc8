// y = alpha x w^T and its gradients on a GPU. Our own kernels run matmuls in
// which one of the three matrices is much wider than the others, and those of
// few rows; the context's matmuls run the others. The sizes follow from the
// operands' elements, see Linear.cpp.

#include "runtime/device/cuda/CudaContext.h"
#include "runtime/device/cuda/CudaError.h"
#include "runtime/device/cuda/Matmuls.h"
#include "runtime/kernels/common/CudaKernels.h"
#include "runtime/kernels/dense/DirectMatmuls.cuh"
#include "runtime/kernels/dense/JointMatmuls.h"
#include "runtime/kernels/dense/LinearMatmuls.h"
#include "runtime/kernels/dense/LinearSizes.h"
#include "runtime/kernels/dense/NarrowMatmuls.h"
#include "runtime/kernels/dense/SkinnyMatmuls.h"
#include "runtime/ops/DenseOps.h"
#include "runtime/ops/OpKind.h"

#include <optional>
#include <vector>

#include <cuda_bf16.h>

namespace reciperun::kernels {
namespace {

using device::CudaKernelArgs;
using device::Matmuls;
using device::Tensor;
using plan::OpKind;

struct Matmul {
  Matmuls::Shape shape;
  Matmuls::Operands operands;
  // The operands as tensors, for the measurements that choose an algorithm.
  Tensor a, b;
};

Matmul matmulOf(LinearSizes sizes, const Tensor& a, const Tensor& b,
                const Tensor& c, bool isAdded) {
  Matmul product;
  product.shape.m = sizes.tokens;
  product.shape.n = sizes.out;
  product.shape.k = sizes.in;
  product.shape.input = a.type;
  product.shape.output = c.type;
  product.shape.accumulate = isAdded;
  product.operands = {a.data, b.data, c.data};
  product.a = a;
  product.b = b;
  return product;
}

/// y [t,n] = x [t,k] w [n,k]^T.
Matmul forward(const Tensor& x, const Tensor& w, const Tensor& y,
               bool isAdded) {
  Matmul product = matmulOf(LinearSizes::of(x, w, y), x, w, y, isAdded);
  product.shape.transposeB = true;
  return product;
}

/// dx [t,k] = dy [t,n] w [n,k].
Matmul backward(const Tensor& dy, const Tensor& w, const Tensor& dx,
                bool isAdded) {
  const LinearSizes sizes = LinearSizes::of(dx, w, dy);
  return matmulOf({sizes.tokens, sizes.in, sizes.out}, dy, w, dx, isAdded);
}

/// dw [n,k] += dy [t,n]^T x [t,k].
Matmul ofWeight(const Tensor& x, const Tensor& dy, const Tensor& dw,
                bool isAdded) {
  const LinearSizes sizes = LinearSizes::of(x, dw, dy);
  Matmul product =
      matmulOf({sizes.out, sizes.in, sizes.tokens}, dy, x, dw, isAdded);
  product.shape.transposeA = true;
  return product;
}

/// Whether a `linear_wgrad` accumulates.
bool isAddedToWeight(const plan::Op& op) {
  return ops::LinearWgradAttributes(op.attributes).accumulate;
}

constexpr size_t jointMatmuls = 3; // the last of which may be absent

/// The matmuls of an op, in order; empty for other ops.
std::vector<Matmul> matmulsOf(const CudaKernelArgs& args) {
  const auto& in = args.inputs;
  const auto& out = args.outputs;
  const bool isAdded = ops::LinearAttributes(args.op.attributes).accumulate;
  std::vector<Matmul> products;
  switch (args.op.kind) {
  case OpKind::Linear:
    return {forward(in[0], in[1], out[0], isAdded)};
  case OpKind::LinearDgrad:
    return {backward(in[0], in[1], out[0], isAdded)};
  case OpKind::LinearWgrad:
    return {ofWeight(in[0], in[1], out[0], isAddedToWeight(args.op))};
  case OpKind::LinearAdd:
    products = {forward(in[0], in[1], out[0], true)};
    products[0].operands.base = in[2].data;
    return products;
  case OpKind::LinearJoint:
    for (size_t i = 0; i < jointMatmuls; ++i)
      if (out[i].present())
        products.push_back(forward(in[0], in[1 + i], out[i], false));
    return products;
  case OpKind::LinearJointDgrad:
    for (size_t i = 0; i < jointMatmuls; ++i)
      if (in[i].present())
        products.push_back(backward(in[i], in[jointMatmuls + i], out[0],
                                    isAdded || !products.empty()));
    return products;
  case OpKind::LinearJointWgrad:
    for (size_t i = 0; i < jointMatmuls; ++i)
      if (out[i].present())
        products.push_back(ofWeight(in[0], in[1 + i], out[i], true));
    return products;
  default:
    return {};
  }
}

// ---- thin matmuls

/// Matmuls that read or write the wide operand once.
struct ThinOp {
  ThinKind kind;
  SkinnyMatmuls products;
};

/// For a single matmul: whether its weight is thin in its columns, not in its
/// rows.
bool isThinAcross(const Tensor& w) {
  return w.shape.front() > w.shape.back();
}

/// The op as thin matmuls, whether or not the kernels support them.
std::optional<ThinOp> asThin(const CudaKernelArgs& args) {
  const auto& in = args.inputs;
  const auto& out = args.outputs;
  const bool isAdded = ops::LinearAttributes(args.op.attributes).accumulate;
  const void* const base = isAdded ? out[0].data : nullptr;
  switch (args.op.kind) {
  case OpKind::Linear:
    if (isThinAcross(in[1]))
      return ThinOp{ThinKind::makeWide, {out[0], {{in[0], in[1]}}, true, base}};
    if (isAdded)
      return std::nullopt;
    return ThinOp{ThinKind::makeThin, {in[0], {{out[0], in[1]}}}};
  case OpKind::LinearAdd:
    if (!isThinAcross(in[1]))
      return std::nullopt;
    return ThinOp{ThinKind::makeWide,
                  {out[0], {{in[0], in[1]}}, true, in[2].data}};
  case OpKind::LinearDgrad:
    if (!isThinAcross(in[1]))
      return ThinOp{ThinKind::makeWide,
                    {out[0], {{in[0], in[1]}}, false, base}};
    if (isAdded)
      return std::nullopt;
    return ThinOp{ThinKind::makeThin, {in[0], {{out[0], in[1]}}, true}};
  case OpKind::LinearWgrad:
    if (isThinAcross(out[0]))
      return ThinOp{ThinKind::addToMatrices, {in[1], {{in[0], out[0]}}, true}};
    return ThinOp{ThinKind::addToMatrices, {in[0], {{in[1], out[0]}}}};
  case OpKind::LinearJoint:
  case OpKind::LinearJointDgrad:
  case OpKind::LinearJointWgrad:
    break;
  default:
    return std::nullopt;
  }
  const bool isDgrad = args.op.kind == OpKind::LinearJointDgrad;
  const bool isWgrad = args.op.kind == OpKind::LinearJointWgrad;
  ThinOp joint{isDgrad   ? ThinKind::makeWide
               : isWgrad ? ThinKind::addToMatrices
                         : ThinKind::makeThin,
               {isDgrad ? out[0] : in[0], {}, false, base}};
  for (size_t i = 0; i < jointMatmuls; ++i) {
    const Tensor& thin = isDgrad ? in[i] : isWgrad ? in[1 + i] : out[i];
    const Tensor& matrix = isDgrad   ? in[jointMatmuls + i]
                           : isWgrad ? out[i]
                                     : in[1 + i];
    if (thin.present())
      joint.products.parts.push_back({thin, matrix});
  }
  return joint;
}

std::optional<ThinOp> thinOp(const CudaKernelArgs& args) {
  std::optional<ThinOp> thin = asThin(args);
  if (thin && !areThin(thin->products))
    thin.reset();
  return thin;
}

/// Runs one cuBLASLt matmul or our own kernels.
Status run(const CudaKernelArgs& args, const ThinOp& thin) {
  if (areJoint(thin.kind, thin.products))
    return runJoint(args, thin.kind, thin.products);
  switch (thin.kind) {
  case ThinKind::makeThin:
    return makeThin(args, thin.products);
  case ThinKind::makeWide:
    return makeWide(args, thin.products);
  case ThinKind::addToMatrices:
    return addToMatrices(args, thin.products);
  }
  return Status::ok();
}

Status run(const CudaKernelArgs& args) {
  if (const std::optional<ThinOp> thin = thinOp(args)) {
    if (args.op.kind == OpKind::LinearWgrad && !isAddedToWeight(args.op))
      RECIPERUN_CUDA_TRY(cudaMemsetAsync, args.outputs[0].data, 0,
                         size_t(args.outputs[0].bytes()),
                         args.context.stream());
    return run(args, *thin);
  }
  const float alpha = float(ops::LinearAttributes(args.op.attributes).alpha);
  for (const Matmul& product : matmulsOf(args))
    RECIPERUN_TRY(isNarrow(product.shape, product.operands)
                      ? runNarrow(product.shape, alpha, product.b.isConstant,
                                  product.operands, args.context)
                      : args.context.products().run(product.shape, alpha,
                                                    product.operands));
  return Status::ok();
}

/// Pseudo-random numbers between -1 and 1 (the finalizer of MurmurHash3), for
/// measurements.
template <class T> __global__ void makeNoise(T* out, int64_t count) {
  const int64_t step = int64_t(gridDim.x) * blockDim.x;
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += step) {
    uint32_t bits = uint32_t(i) * 0x9e3779b9u;
    bits = (bits ^ bits >> 16) * 0x85ebca6bu;
    bits = (bits ^ bits >> 13) * 0xc2b2ae35u;
    out[i] = T(float(int32_t(bits ^ bits >> 16)) * 0x1p-31f);
  }
}

Status fillWithNoise(const Tensor& tensor, cudaStream_t stream) {
  constexpr unsigned blocks = 1024, threads = 256;
  if (tensor.type == plan::DType::bf16)
    makeNoise<<<blocks, threads, 0, stream>>>(tensor.as<__nv_bfloat16>(),
                                              tensor.elements());
  else
    makeNoise<<<blocks, threads, 0, stream>>>(tensor.as<float>(),
                                              tensor.elements());
  return device::launchStatus();
}

} // namespace

std::optional<narrow::DirectMatmul>
narrow::directLinear(const CudaKernelArgs& args) {
  if (thinOp(args))
    return std::nullopt;
  const Matmul product = matmulsOf(args).at(0);
  const float alpha = float(ops::LinearAttributes(args.op.attributes).alpha);
  if (!isNarrow(product.shape, product.operands))
    return std::nullopt;
  const DirectMatmul made = directMatmul(
      product.shape, alpha, product.b.isConstant, product.operands);
  return isDirect(made) ? std::optional(made) : std::nullopt;
}

Status linearCudaKernel(const CudaKernelArgs& args) {
  return run(args);
}

Status linearDgradCudaKernel(const CudaKernelArgs& args) {
  return run(args);
}

Status linearWgradCudaKernel(const CudaKernelArgs& args) {
  return run(args);
}

Status linearAddCudaKernel(const CudaKernelArgs& args) {
  return run(args);
}

Status linearJointCudaKernel(const CudaKernelArgs& args) {
  return run(args);
}

Status linearJointDgradCudaKernel(const CudaKernelArgs& args) {
  return run(args);
}

Status linearJointWgradCudaKernel(const CudaKernelArgs& args) {
  return run(args);
}

Status prepareMatmul(const CudaKernelArgs& args) {
  if (const std::optional<ThinOp> thin = thinOp(args)) {
    if (!areJoint(thin->kind, thin->products))
      return Status::ok();
    RECIPERUN_TRY(fillWithNoise(thin->products.x, args.context.stream()));
    for (const SkinnyMatmuls::Part& part : thin->products.parts)
      for (const Tensor& operand : {part.thin, part.matrix})
        RECIPERUN_TRY(fillWithNoise(operand, args.context.stream()));
    return prepareJoint(args, thin->kind, thin->products)
        .withContext("op `" + args.op.name + "`");
  }
  for (const Matmul& product : matmulsOf(args)) {
    if (isNarrow(product.shape, product.operands))
      continue;
    for (const Tensor& operand : {product.a, product.b})
      RECIPERUN_TRY(fillWithNoise(operand, args.context.stream()));
    RECIPERUN_TRY(args.context.products()
                      .prepare(product.shape, product.operands)
                      .withContext("op `" + args.op.name + "`"));
  }
  return Status::ok();
}

} // namespace reciperun::kernels
