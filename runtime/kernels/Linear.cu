// y = alpha x w^T and its gradients on a GPU, through the context's matrix
// products. The sizes follow from the operands' elements, see Linear.cpp.

#include "runtime/device/cuda/CudaContext.h"
#include "runtime/device/cuda/CudaError.h"
#include "runtime/device/cuda/MatrixProducts.h"
#include "runtime/kernels/CudaKernels.h"
#include "runtime/kernels/LinearProducts.h"

#include <cassert>
#include <cmath>
#include <optional>

#include <cuda_bf16.h>

namespace reciperun::kernels {
namespace {

using device::CudaKernelArgs;
using device::MatrixProducts;
using device::Tensor;
using plan::OpKind;

struct LinearSizes {
  int64_t tokens = 0;
  int64_t out = 0; // n
  int64_t in = 0;  // k
};

LinearSizes sizesOf(const Tensor& x, const Tensor& w, const Tensor& y) {
  const long double square =
      (long double)(x.elements()) / w.elements() * y.elements();
  LinearSizes sizes;
  sizes.tokens = std::llround(std::sqrt(square));
  sizes.in = x.elements() / sizes.tokens;
  sizes.out = y.elements() / sizes.tokens;
  assert(sizes.in * sizes.out == w.elements() &&
         "a linear's operands agree in size");
  return sizes;
}

struct Product {
  MatrixProducts::Shape shape;
  MatrixProducts::Operands operands;
};

Product productOf(const CudaKernelArgs& args, LinearSizes sizes,
                  const Tensor& a, const Tensor& b) {
  const Tensor& c = args.outputs[0];
  Product product;
  product.shape.m = sizes.tokens;
  product.shape.n = sizes.out;
  product.shape.k = sizes.in;
  product.shape.input = a.type;
  product.shape.output = c.type;
  product.shape.accumulate = args.op.flag("accumulate");
  product.operands = {a.data, b.data, c.data};
  return product;
}

/// y [t,n] = x [t,k] w [n,k]^T.
Product linear(const CudaKernelArgs& args) {
  const Tensor &x = args.inputs[0], &w = args.inputs[1];
  Product product = productOf(args, sizesOf(x, w, args.outputs[0]), x, w);
  product.shape.transposeB = true;
  return product;
}

/// dx [t,k] = dy [t,n] w [n,k].
Product linearDgrad(const CudaKernelArgs& args) {
  const Tensor &dy = args.inputs[0], &w = args.inputs[1];
  const LinearSizes sizes = sizesOf(args.outputs[0], w, dy);
  return productOf(args, {sizes.tokens, sizes.in, sizes.out}, dy, w);
}

/// dw [n,k] += dy [t,n]^T x [t,k].
Product linearWgrad(const CudaKernelArgs& args) {
  const Tensor &x = args.inputs[0], &dy = args.inputs[1];
  const LinearSizes sizes = sizesOf(x, args.outputs[0], dy);
  Product product = productOf(args, {sizes.out, sizes.in, sizes.tokens}, dy, x);
  product.shape.transposeA = true;
  product.shape.accumulate = true;
  return product;
}

Status run(const CudaKernelArgs& args, const Product& product) {
  return args.context.products().run(
      product.shape, float(args.op.real("alpha", 1)), product.operands);
}

std::optional<Product> anyProduct(const CudaKernelArgs& args) {
  switch (args.op.kind) {
  case OpKind::Linear:
    return linear(args);
  case OpKind::LinearDgrad:
    return linearDgrad(args);
  case OpKind::LinearWgrad:
    return linearWgrad(args);
  default:
    return std::nullopt;
  }
}

/// Numbers between -1 and 1 without a pattern (the finalizer of MurmurHash3),
/// to measure on.
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

template <> Status cudaKernel<OpKind::Linear>(const CudaKernelArgs& args) {
  return run(args, linear(args));
}

template <> Status cudaKernel<OpKind::LinearDgrad>(const CudaKernelArgs& args) {
  return run(args, linearDgrad(args));
}

template <> Status cudaKernel<OpKind::LinearWgrad>(const CudaKernelArgs& args) {
  return run(args, linearWgrad(args));
}

Status prepareProduct(const CudaKernelArgs& args) {
  const std::optional<Product> product = anyProduct(args);
  if (!product)
    return Status::ok();
  for (const Tensor& operand : {args.inputs[0], args.inputs[1]})
    RECIPERUN_TRY(fillWithNoise(operand, args.context.stream()));
  return args.context.products()
      .prepare(product->shape, product->operands)
      .withContext("op `" + args.op.name + "`");
}

} // namespace reciperun::kernels
