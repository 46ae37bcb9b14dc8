// The gradient of attention on a GPU. cuDNN serves as in Attention.cu if the
// plan's workspace is large enough. Otherwise our own kernels serve:
//   1. delta = sum(do o), one warp per row;
//   2. dk and dv, one thread block per tile of keys;
//   3. dq, one thread block per tile of queries.
// For a block of keys the gradients are added to those of other blocks.

#include "runtime/device/cuda/AttentionPlans.h"
#include "runtime/kernels/attention/AttentionBackwardBf16.cuh"
#include "runtime/kernels/attention/AttentionBlockLibrary.h"
#include "runtime/kernels/attention/AttentionDocuments.cuh"
#include "runtime/kernels/attention/AttentionF32.cuh"
#include "runtime/kernels/attention/AttentionLaunch.cuh"
#include "runtime/kernels/attention/AttentionLibrary.h"
#include "runtime/kernels/common/CudaKernels.h"
#include "runtime/sizes/AttentionWorkspace.h"

namespace reciperun::kernels {
namespace {

using device::CudaKernelArgs;
using device::Tensor;
using plan::DType;
using namespace cuda;

constexpr int deltaWarps = 8;

/// delta [b, heads, queries] of do and out [b, queries, heads, width].
template <class T>
__global__ void sumDeltas(const __grid_constant__ AttentionShape shape,
                          const T* dout, const T* out, float* delta) {
  const int lane = int(threadIdx.x) % 32;
  const int64_t row = int64_t(blockIdx.x) * deltaWarps + int(threadIdx.x) / 32;
  const int64_t rows = int64_t(shape.batch) * shape.queries.count * shape.heads;
  if (row >= rows)
    return;
  float sum = 0;
  for (int d = lane; d < shape.width; d += 32)
    sum +=
        float(dout[row * shape.width + d]) * float(out[row * shape.width + d]);
  for (int mask = 16; mask; mask /= 2)
    sum += __shfl_xor_sync(~0u, sum, mask);
  if (lane != 0)
    return;
  const int head = int(row % shape.heads);
  const int64_t token = row / shape.heads;
  delta[shape.rowAt(int(token / shape.queries.count), head,
                    int(token % shape.queries.count))] = sum;
}

template <class T>
Status findDeltas(const AttentionShape& shape, const CudaKernelArgs& args,
                  float* delta) {
  const int64_t rows = int64_t(shape.batch) * shape.queries.count * shape.heads;
  sumDeltas<T><<<unsigned(ceilDivide(rows, deltaWarps)), deltaWarps * 32, 0,
                 args.context.stream()>>>(shape, args.inputs[0].as<T>(),
                                          args.inputs[1].as<T>(), delta);
  return device::launchStatus();
}

/// The buffer for delta: the plan's workspace, which bf16 and blocks of a ring
/// have, or the scratch after the bounds.
Expected<float*> roomForDeltas(const AttentionShape& shape,
                               const CudaKernelArgs& args) {
  static_assert(sizes::mostDeltasInScratch * int64_t(sizeof(float)) <
                device::cudaScratchBytes);
  const int64_t bytes = int64_t(shape.batch) * shape.heads *
                        shape.queries.count * int64_t(sizeof(float));
  if (args.workspace.present() && args.workspace.bytes() >= bytes)
    return args.workspace.as<float>();
  const int64_t used = int64_t(shape.batch) *
                       (shape.queries.tiles() + shape.keys.tiles()) *
                       int64_t(sizeof(TokenBounds));
  if (used + bytes > device::cudaScratchBytes)
    return Status::error(
        "attention_backward on GPUs needs " + std::to_string(bytes) +
        " bytes for a number of each query, more than the workspace and the "
        "scratch have");
  return reinterpret_cast<float*>(args.context.scratch<char>() + used);
}

dim3 gridOf(int64_t tiles, int heads, int batch) {
  return dim3(unsigned(tiles), unsigned(heads), unsigned(batch));
}

template <int width>
Status gradientsBf16(const AttentionShape& shape, const BackwardData& data,
                     cudaStream_t stream) {
  using OfKeys = GradientBlock<width, true>;
  using OfQueries = GradientBlock<width, false>;
  RECIPERUN_TRY(launch(
      attentionGradientBf16<width, true>,
      gridOf(shape.keys.tiles(), shape.keyHeads * OfKeys::pieces, shape.batch),
      OfKeys::threads, OfKeys::sharedBytes, stream, shape, data));
  return launch(attentionGradientBf16<width, false>,
                gridOf(shape.queries.tiles(), shape.heads, shape.batch),
                OfQueries::threads, OfQueries::sharedBytes, stream, shape,
                data);
}

/// The operands of `attention_backward` and `attention_block_backward`, which
/// have the same order.
Status backwardBf16(const AttentionShape& shape, const CudaKernelArgs& args,
                    float* delta, bool addsToSums) {
  const auto& in = args.inputs;
  RECIPERUN_TRY(findDeltas<Bf16>(shape, args, delta));
  BackwardData data{in[2].as<Bf16>(),
                    in[3].as<Bf16>(),
                    in[4].as<Bf16>(),
                    in[0].as<Bf16>(),
                    in[5].as<float>(),
                    delta,
                    args.outputs[0].data,
                    args.outputs[1].data,
                    args.outputs[2].data,
                    false,
                    addsToSums};
  data.isAligned = areRowsAligned(
      shape, data.q, data.k, data.v, data.dout, args.outputs[0].as<Bf16>(),
      args.outputs[1].as<Bf16>(), args.outputs[2].as<Bf16>());
  return withPaddedWidth(shape.width, [&](auto width) {
    return gradientsBf16<decltype(width)::value>(shape, data,
                                                 args.context.stream());
  });
}

Status backwardF32(const AttentionShape& shape, const CudaKernelArgs& args,
                   float* delta, bool addsToSums) {
  const auto& in = args.inputs;
  RECIPERUN_TRY(findDeltas<float>(shape, args, delta));
  const PlainBackwardData data{
      in[2].as<float>(),           in[3].as<float>(),
      in[4].as<float>(),           in[0].as<float>(),
      in[5].as<float>(),           delta,
      args.outputs[0].as<float>(), args.outputs[1].as<float>(),
      args.outputs[2].as<float>(), addsToSums};
  const int bytes = plain::gradientBytes(shape.width);
  const cudaStream_t stream = args.context.stream();
  return withPaddedWidth(shape.width, [&](auto width) {
    constexpr int pieces = decltype(width)::value / plain::lanes;
    RECIPERUN_TRY(launch(
        attentionGradientF32<pieces, true>,
        gridOf(plain::tilesOf(shape.keys.count), shape.keyHeads, shape.batch),
        plain::threads, bytes, stream, shape, data));
    return launch(
        attentionGradientF32<pieces, false>,
        gridOf(plain::tilesOf(shape.queries.count), shape.heads, shape.batch),
        plain::threads, bytes, stream, shape, data);
  });
}

/// Runs our own kernels.
Status backward(AttentionShape shape, const CudaKernelArgs& args,
                bool addsToSums) {
  RECIPERUN_TRY(checkAttention(shape));
  RECIPERUN_TRY(findBounds(shape, args.context));
  const Expected<float*> delta = roomForDeltas(shape, args);
  RECIPERUN_TRY(delta);
  if (args.inputs[2].type == DType::bf16)
    return backwardBf16(shape, args, *delta, addsToSums);
  return backwardF32(shape, args, *delta, addsToSums);
}

/// Runs cuDNN. nullopt when it has no kernel or lacks workspace.
std::optional<Status> byLibrary(const CudaKernelArgs& args) {
  const auto& in = args.inputs;
  const auto known = libraryGradient(args.op, in[2], in[3]);
  if (!known || !args.workspace.present())
    return std::nullopt;
  device::AttentionPlans& plans = args.context.attentionPlans();
  const int64_t bytes = plans.backwardBytes(*known);
  Scratch room(args.context);
  const DocumentTable table = takeTable(*known, room);
  if (bytes < 0 || bytes > args.workspace.bytes() || room.leftBytes() < 0)
    return std::nullopt;
  const cudaStream_t stream = args.context.stream();
  const auto run = [&]() -> Status {
    RECIPERUN_TRY(fillTable(*known, in[6], table, stream));
    return plans.backward(*known,
                          {in[0].data, in[1].data, in[2].data, in[3].data,
                           in[4].data, in[5].data, args.outputs[0].data,
                           args.outputs[1].data, args.outputs[2].data,
                           table.data()},
                          args.workspace.data, stream);
  };
  return run();
}

} // namespace

Status attentionBackwardCudaKernel(const CudaKernelArgs& args) {
  const auto& in = args.inputs;
  const AttentionShape shape = attentionShape(
      args.op, {in[2], in[3], in[4], in[6], in[7], in[8], in[9]});
  if (shape.queries.count == 0 || shape.batch == 0)
    return Status::ok();
  if (auto status = byLibrary(args))
    return *status;
  return backward(shape, args, /*addsToSums=*/false);
}

Status attentionBlockBackwardCudaKernel(const CudaKernelArgs& args) {
  const auto& in = args.inputs;
  if (!isDeviceType(in[2].type))
    return noDeviceType(args);
  const AttentionShape shape = attentionShape(
      args.op, {in[2], in[3], in[4], in[6], in[7], in[8], in[9]});
  if (shape.queries.count == 0 || shape.batch == 0)
    return Status::ok();
  if (auto status = libraryBlockBackward(args))
    return *status;
  return backward(shape, args, /*addsToSums=*/true);
}

} // namespace reciperun::kernels
