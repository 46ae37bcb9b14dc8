// Attention on a GPU: cuDNN where the plan says that rows hold no documents and
// cuDNN has a kernel, otherwise our own, which know all that Ops.def allows.

#include "runtime/device/cuda/AttentionPlans.h"
#include "runtime/kernels/AttentionF32.cuh"
#include "runtime/kernels/AttentionForwardBf16.cuh"
#include "runtime/kernels/AttentionLaunch.cuh"
#include "runtime/kernels/AttentionLibrary.h"
#include "runtime/kernels/CudaKernels.h"

namespace reciperun::kernels {
namespace {

using device::CudaKernelArgs;
using plan::DType;
using namespace cuda;

Status forwardBf16(const AttentionShape& shape, const CudaKernelArgs& args) {
  const auto& in = args.inputs;
  ForwardData data{in[0].as<Bf16>(),
                   in[1].as<Bf16>(),
                   in[2].as<Bf16>(),
                   args.outputs[0].as<Bf16>(),
                   args.outputs[1].as<float>(),
                   false};
  data.isAligned = areRowsAligned(shape, data.q, data.k, data.v, data.out);
  return withPaddedWidth(shape.width, [&](auto width) {
    using Block = ForwardBlock<decltype(width)::value>;
    const dim3 grid(
        unsigned(ceilDivide(shape.queries.count, Block::blockQueries)),
        unsigned(shape.heads), unsigned(shape.batch));
    return launch(attentionForwardBf16<decltype(width)::value>, grid,
                  Block::threads, Block::sharedBytes, args.context.stream(),
                  shape, data);
  });
}

Status forwardF32(const AttentionShape& shape, const CudaKernelArgs& args) {
  const auto& in = args.inputs;
  const dim3 grid(unsigned(plain::tilesOf(shape.queries.count)),
                  unsigned(shape.heads), unsigned(shape.batch));
  return withPaddedWidth(shape.width, [&](auto width) {
    return launch(attentionForwardF32<decltype(width)::value / plain::lanes>,
                  grid, plain::threads, plain::forwardBytes(shape.width),
                  args.context.stream(), shape, in[0].as<float>(),
                  in[1].as<float>(), in[2].as<float>(),
                  args.outputs[0].as<float>(), args.outputs[1].as<float>());
  });
}

} // namespace

template <>
Status cudaKernel<plan::OpKind::Attention>(const CudaKernelArgs& args) {
  const auto& in = args.inputs;
  const AttentionTensors tensors{in[0], in[1], in[2], in[3],
                                 in[4], in[5], in[6]};
  AttentionShape shape = attentionShape(args.op, tensors);
  if (shape.queries.count == 0 || shape.batch == 0)
    return Status::ok();
  if (const auto known = libraryAttention(args.op, tensors.q, tensors.k)) {
    const device::AttentionPlans::Forward data{in[0].data, in[1].data,
                                               in[2].data, args.outputs[0].data,
                                               args.outputs[1].data};
    device::AttentionPlans& plans = args.context.attentionPlans();
    const int64_t bytes = plans.forwardBytes(*known);
    if (bytes >= 0 && bytes <= device::cudaScratchBytes)
      return plans.forward(*known, data, args.context.scratch<void>(),
                           args.context.stream());
  }
  RECIPERUN_TRY(checkAttention(shape));
  RECIPERUN_TRY(findBounds(shape, args.context));
  if (in[0].type == DType::bf16)
    return forwardBf16(shape, args);
  return forwardF32(shape, args);
}

} // namespace reciperun::kernels
