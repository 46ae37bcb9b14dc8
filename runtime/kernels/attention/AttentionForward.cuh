// The forward of attention by our own kernels, shared by several ops.
// Attention.cu implements it.

#ifndef RECIPERUN_KERNELS_ATTENTION_ATTENTIONFORWARD_CUH
#define RECIPERUN_KERNELS_ATTENTION_ATTENTIONFORWARD_CUH

#include "runtime/base/Status.h"
#include "runtime/device/cuda/CudaContext.h"
#include "runtime/kernels/attention/AttentionShape.cuh"

namespace reciperun::kernels::cuda {

/// Whether the keys are all keys, or one of several blocks that accumulate into
/// out and lse (ops/attention.ops, attention_block).
enum class KeyBlock { whole, first, later };

/// q, k, v with the layouts of ops/attention.ops, in bf16 or f32. out has the
/// same layout and type; for blocks of keys it is f32.
struct ForwardRows {
  const void *q, *k, *v;
  void* out;
  float* lse;
  bool isBf16;
  KeyBlock block;
};

/// Enqueues the forward. The caller has taken the first `scratchTaken` bytes of
/// the scratch, a multiple of 256. Fails when heads are wider than the kernels
/// support.
Status attentionForward(AttentionShape shape, const ForwardRows& rows,
                        device::CudaContext& context, int64_t scratchTaken = 0);

} // namespace reciperun::kernels::cuda

#endif // RECIPERUN_KERNELS_ATTENTION_ATTENTIONFORWARD_CUH
