// y = alpha a b^T for two fp8 matrices on a GPU, through the context's matmuls.

#include "runtime/device/cuda/CudaContext.h"
#include "runtime/device/cuda/CudaError.h"
#include "runtime/device/cuda/Matmuls.h"
#include "runtime/kernels/common/CudaKernels.h"
#include "runtime/kernels/dense/LinearMatmuls.h"
#include "runtime/kernels/quantize/Quantize.h"
#include "runtime/ops/OpKind.h"
#include "runtime/ops/QuantizationOps.h"

namespace reciperun::kernels {
namespace {

using device::CudaKernelArgs;
using device::Matmuls;
using device::Tensor;
using Scales = Matmuls::Scales;

Scales scalesOf(const std::string& blocks) {
  switch (sizes::scaleBlocksOf(blocks)) {
  case Blocks::tensor:
    return Scales::tensor;
  case Blocks::wholeRows:
    return Scales::wholeRows;
  case Blocks::rows:
    return Scales::rows;
  case Blocks::squares:
    return Scales::squares;
  case Blocks::mx:
    return Scales::mx;
  }
  return Scales::none;
}

bool isConstantAlongSum(Scales scales) {
  return scales == Scales::tensor || scales == Scales::wholeRows;
}

Matmuls::Shape shapeOf(const CudaKernelArgs& args) {
  const Tensor &a = args.inputs[0], &b = args.inputs[1];
  Matmuls::Shape shape;
  shape.m = a.shape[0];
  shape.n = b.shape[0];
  shape.k = a.shape[1];
  shape.transposeB = true;
  shape.input = a.type;
  if (b.type != a.type)
    shape.inputB = b.type;
  shape.output = args.outputs[0].type;
  const ops::ScaledMatmulAttributes attributes(args.op.attributes);
  shape.accumulate =
      attributes.accumulate || args.op.kind == plan::OpKind::ScaledMatmulAdd;
  shape.scalesA = scalesOf(attributes.aBlocks);
  shape.scalesB = scalesOf(attributes.bBlocks);
  // Scales that change along the sum require f32 accumulation.
  shape.isFast = attributes.fast && isConstantAlongSum(shape.scalesA) &&
                 isConstantAlongSum(shape.scalesB);
  return shape;
}

Matmuls::Operands operandsOf(const CudaKernelArgs& args) {
  Matmuls::Operands operands{args.inputs[0].data, args.inputs[1].data,
                             args.outputs[0].data};
  operands.scaleA = args.inputs[2].data;
  operands.scaleB = args.inputs[3].data;
  if (args.op.kind == plan::OpKind::ScaledMatmulAdd)
    operands.base = args.inputs[4].data;
  return operands;
}

/// Pseudo-random fp8 bytes, which are numbers between -2 and 2 in both types,
/// and scales of 1.
__global__ void makeNoise(uint8_t* out, int64_t count) {
  const int64_t step = int64_t(gridDim.x) * blockDim.x;
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += step) {
    uint32_t bits = uint32_t(i) * 0x9e3779b9u;
    bits = (bits ^ bits >> 16) * 0x85ebca6bu;
    out[i] = uint8_t((bits >> 24 & 0x80) | (bits >> 16 & 0x3f));
  }
}

constexpr uint8_t f8e8m0One = 127;

template <class T> __global__ void fill(T* out, int64_t count, T value) {
  const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count)
    out[i] = value;
}

Status multiply(const CudaKernelArgs& args) {
  return args.context.products().run(
      shapeOf(args),
      float(ops::ScaledMatmulAttributes(args.op.attributes).alpha),
      operandsOf(args));
}

} // namespace

Status scaledMatmulCudaKernel(const CudaKernelArgs& args) {
  return multiply(args);
}

Status scaledMatmulAddCudaKernel(const CudaKernelArgs& args) {
  return multiply(args);
}

Status prepareScaledMatmul(const CudaKernelArgs& args) {
  const cudaStream_t stream = args.context.stream();
  for (const Tensor& matrix : {args.inputs[0], args.inputs[1]})
    makeNoise<<<1024, 256, 0, stream>>>(matrix.as<uint8_t>(),
                                        matrix.elements());
  for (const Tensor& scale : {args.inputs[2], args.inputs[3]}) {
    const int64_t count = scale.elements();
    const unsigned blocks = unsigned((count + 255) / 256);
    if (scale.type == plan::DType::f8e8m0)
      fill<<<blocks, 256, 0, stream>>>(scale.as<uint8_t>(), count, f8e8m0One);
    else
      fill<<<blocks, 256, 0, stream>>>(scale.as<float>(), count, 1.0f);
  }
  RECIPERUN_TRY(device::launchStatus());
  return args.context.products()
      .prepare(shapeOf(args), operandsOf(args))
      .withContext("op `" + args.op.name + "`");
}

} // namespace reciperun::kernels
