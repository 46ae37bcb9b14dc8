// Launches attention's kernels for a plan's op: the shape, the ranges of tiles,
// and the choice of the compiled width.

#ifndef RECIPERUN_KERNELS_ATTENTION_ATTENTIONLAUNCH_CUH
#define RECIPERUN_KERNELS_ATTENTION_ATTENTIONLAUNCH_CUH

#include "runtime/device/cuda/CudaContext.h"
#include "runtime/device/cuda/CudaError.h"
#include "runtime/kernels/attention/AttentionShape.cuh"
#include "runtime/kernels/common/CudaTypes.cuh"
#include "runtime/ops/AttentionOps.h"

#include <cassert>
#include <cmath>
#include <cstddef>
#include <string>
#include <type_traits>

namespace reciperun::kernels::cuda {

/// The operands of every attention, in the order of ops/attention.ops.
struct AttentionTensors {
  const device::Tensor &q, &k, &v;
  const device::Tensor &querySegments, &queryPlaces, &keySegments, &keyPlaces;
};

/// The shape of an op. findBounds sets its bounds.
inline AttentionShape attentionShape(const plan::Op& op,
                                     const AttentionTensors& in) {
  AttentionShape shape;
  shape.batch = int(in.q.shape[0]);
  shape.heads = int(in.q.shape[2]);
  shape.keyHeads = int(in.k.shape[2]);
  shape.width = int(in.q.shape[3]);
  const ops::AttentionAttributes attributes(op.attributes);
  const double scale = attributes.scale;
  shape.scale = float(scale != 0 ? scale : 1 / std::sqrt(double(shape.width)));
  shape.softcap = float(attributes.softcap);
  shape.rule = {attributes.causal, attributes.window, attributes.chunk};
  auto side = [](const device::Tensor& segments, const device::Tensor& places,
                 const device::Tensor& rows) {
    return TokenSide{segments.as<int32_t>(), places.as<int32_t>(), nullptr,
                     int(rows.shape[1])};
  };
  shape.queries = side(in.querySegments, in.queryPlaces, in.q);
  shape.keys = side(in.keySegments, in.keyPlaces, in.k);
  return shape;
}

/// Fails for heads that the kernels do not support.
inline Status checkAttention(const AttentionShape& shape) {
  if (shape.width > widestHead)
    return Status::error("attention on GPUs takes heads of up to " +
                         std::to_string(widestHead) + " elements, not of " +
                         std::to_string(shape.width));
  return Status::ok();
}

/// One warp per tile.
static __global__ void boundTiles(const __grid_constant__ TokenSide side,
                                  TokenBounds* bounds) {
  const int lane = int(threadIdx.x), tile = int(blockIdx.x);
  const TokenSide own = side.of(int(blockIdx.y));
  const int first = tile * tileTokens + lane, second = first + 32;
  // A tile has at least one token. Lanes beyond the last token repeat an
  // earlier token.
  const int a = first < own.count ? first : tile * tileTokens;
  const int b = second < own.count ? second : a;
  const unsigned all = ~0u;
  const TokenBounds found{
      __reduce_min_sync(all, min(own.segments[a], own.segments[b])),
      __reduce_max_sync(all, max(own.segments[a], own.segments[b])),
      __reduce_min_sync(all, min(own.places[a], own.places[b])),
      __reduce_max_sync(all, max(own.places[a], own.places[b]))};
  if (lane == 0)
    bounds[int64_t(blockIdx.y) * side.tiles() + tile] = found;
}

/// Computes the ranges of both sides' tiles, in the context's scratch after its
/// first `taken` bytes.
inline Status findBounds(AttentionShape& shape, device::CudaContext& context,
                         int64_t taken = 0) {
  auto* at =
      reinterpret_cast<TokenBounds*>(context.scratch<std::byte>() + taken);
  int64_t room =
      (device::cudaScratchBytes - taken) / int64_t(sizeof(TokenBounds));
  for (TokenSide* side : {&shape.queries, &shape.keys}) {
    const int64_t count = int64_t(shape.batch) * side->tiles();
    if (count > room)
      return Status::error("attention on GPUs takes up to " +
                           std::to_string(context.scratchCapacity<int>() * 8) +
                           " tokens a micro-batch, queries and keys together");
    boundTiles<<<dim3(unsigned(side->tiles()), unsigned(shape.batch)), 32, 0,
                 context.stream()>>>(*side, at);
    side->bounds = at;
    at += count;
    room -= count;
  }
  return device::launchStatus();
}

/// Whether all rows of heads begin at multiples of 16 bytes.
template <class... Pointer>
bool areRowsAligned(const AttentionShape& shape, const Pointer*... rows) {
  return shape.width % 8 == 0 && areAligned(16, rows...);
}

/// Calls body(std::integral_constant<int, padded>()) with the width padded to a
/// multiple of 64.
template <class Body> Status withPaddedWidth(int width, Body body) {
  if (width <= 64)
    return body(std::integral_constant<int, 64>());
  if (width <= 128)
    return body(std::integral_constant<int, 128>());
  if (width <= 192)
    return body(std::integral_constant<int, 192>());
  return body(std::integral_constant<int, 256>());
}

/// Launches a kernel with `sharedBytes` bytes of dynamic shared memory.
template <class... Parameter, class... Argument>
Status launch(void (*kernel)(Parameter...), dim3 grid, int threads,
              int sharedBytes, cudaStream_t stream,
              const Argument&... argument) {
  RECIPERUN_CUDA_TRY(cudaFuncSetAttribute,
                     reinterpret_cast<const void*>(kernel),
                     cudaFuncAttributeMaxDynamicSharedMemorySize, sharedBytes);
  kernel<<<grid, unsigned(threads), size_t(sharedBytes), stream>>>(argument...);
  return device::launchStatus();
}

} // namespace reciperun::kernels::cuda

#endif // RECIPERUN_KERNELS_ATTENTION_ATTENTIONLAUNCH_CUH
