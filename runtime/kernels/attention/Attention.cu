// Attention on a GPU. cuDNN serves rows that are one document or have a known
// maximum number of documents, if it has a kernel. Otherwise our own kernels
// serve: they support everything in ops/attention.ops, including blocks of
// keys.

#include "runtime/device/cuda/AttentionPlans.h"
#include "runtime/kernels/attention/AttentionBlockLibrary.h"
#include "runtime/kernels/attention/AttentionDocuments.cuh"
#include "runtime/kernels/attention/AttentionF32.cuh"
#include "runtime/kernels/attention/AttentionForward.cuh"
#include "runtime/kernels/attention/AttentionForwardBf16.cuh"
#include "runtime/kernels/attention/AttentionLaunch.cuh"
#include "runtime/kernels/attention/AttentionLibrary.h"
#include "runtime/kernels/common/CudaKernels.h"
#include "runtime/ops/AttentionOps.h"

namespace reciperun::kernels {
namespace {

using device::CudaKernelArgs;
using plan::DType;
using namespace cuda;

Status forwardBf16(const AttentionShape& shape, ForwardData data,
                   cudaStream_t stream) {
  data.isAligned = areRowsAligned(shape, data.q, data.k, data.v, data.out);
  return withPaddedWidth(shape.width, [&](auto width) {
    using Block = ForwardBlock<decltype(width)::value>;
    const dim3 grid(
        unsigned(ceilDivide(shape.queries.count, Block::blockQueries)),
        unsigned(shape.heads), unsigned(shape.batch));
    return launch(attentionForwardBf16<decltype(width)::value>, grid,
                  Block::threads, Block::sharedBytes, stream, shape, data);
  });
}

Status forwardF32(const AttentionShape& shape, const ForwardRows& rows,
                  cudaStream_t stream) {
  const dim3 grid(unsigned(plain::tilesOf(shape.queries.count)),
                  unsigned(shape.heads), unsigned(shape.batch));
  return withPaddedWidth(shape.width, [&](auto width) {
    return launch(attentionForwardF32<decltype(width)::value / plain::lanes>,
                  grid, plain::threads, plain::forwardBytes(shape.width),
                  stream, shape, static_cast<const float*>(rows.q),
                  static_cast<const float*>(rows.k),
                  static_cast<const float*>(rows.v),
                  static_cast<float*>(rows.out), rows.lse, rows.block);
  });
}

/// Runs cuDNN. nullopt when it has no kernel or lacks workspace.
std::optional<Status> byLibrary(const CudaKernelArgs& args) {
  const auto& in = args.inputs;
  const auto known = libraryAttention(args.op, in[0], in[1]);
  if (!known)
    return std::nullopt;
  device::AttentionPlans& plans = args.context.attentionPlans();
  const int64_t bytes = plans.forwardBytes(*known);
  Scratch room(args.context);
  const DocumentTable table = takeTable(*known, room);
  if (bytes < 0 || bytes > room.leftBytes())
    return std::nullopt;
  const cudaStream_t stream = args.context.stream();
  const auto run = [&]() -> Status {
    RECIPERUN_TRY(fillTable(*known, in[3], table, stream));
    return plans.forward(*known,
                         {in[0].data, in[1].data, in[2].data,
                          args.outputs[0].data, args.outputs[1].data,
                          table.data()},
                         room.take<std::byte>(bytes), stream);
  };
  return run();
}

} // namespace

namespace cuda {

Status attentionForward(AttentionShape shape, const ForwardRows& rows,
                        device::CudaContext& context, int64_t scratchTaken) {
  RECIPERUN_TRY(checkAttention(shape));
  RECIPERUN_TRY(findBounds(shape, context, scratchTaken));
  if (!rows.isBf16)
    return forwardF32(shape, rows, context.stream());
  ForwardData data{static_cast<const Bf16*>(rows.q),
                   static_cast<const Bf16*>(rows.k),
                   static_cast<const Bf16*>(rows.v),
                   nullptr,
                   rows.lse,
                   false};
  if (rows.block == KeyBlock::whole)
    data.out = static_cast<Bf16*>(rows.out);
  else
    data.sum = static_cast<float*>(rows.out);
  data.isFirst = rows.block == KeyBlock::first;
  return forwardBf16(shape, data, context.stream());
}

} // namespace cuda

Status attentionCudaKernel(const CudaKernelArgs& args) {
  const auto& in = args.inputs;
  const AttentionTensors tensors{in[0], in[1], in[2], in[3],
                                 in[4], in[5], in[6]};
  const AttentionShape shape = attentionShape(args.op, tensors);
  if (shape.queries.count == 0 || shape.batch == 0)
    return Status::ok();
  if (auto status = byLibrary(args))
    return *status;
  return attentionForward(shape,
                          {in[0].data, in[1].data, in[2].data,
                           args.outputs[0].data, args.outputs[1].as<float>(),
                           in[0].type == DType::bf16, KeyBlock::whole},
                          args.context);
}

Status attentionBlockCudaKernel(const CudaKernelArgs& args) {
  const auto& in = args.inputs;
  if (!isDeviceType(in[0].type))
    return noDeviceType(args);
  const AttentionShape shape = attentionShape(
      args.op, {in[0], in[1], in[2], in[3], in[4], in[5], in[6]});
  if (shape.queries.count == 0 || shape.batch == 0)
    return Status::ok();
  if (auto status = libraryBlockForward(args))
    return *status;
  return attentionForward(
      shape,
      {in[0].data, in[1].data, in[2].data, args.outputs[0].data,
       args.outputs[1].as<float>(), in[0].type == DType::bf16,
       ops::AttentionBlockAttributes(args.op.attributes).step == 0
           ? KeyBlock::first
           : KeyBlock::later},
      args.context);
}

} // namespace reciperun::kernels
