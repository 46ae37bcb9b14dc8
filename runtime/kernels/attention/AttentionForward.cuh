// The forward of attention by our own kernels, for the ops that it is a part
// of; Attention.cu has it.

#ifndef RECIPERUN_KERNELS_ATTENTION_ATTENTIONFORWARD_CUH
#define RECIPERUN_KERNELS_ATTENTION_ATTENTIONFORWARD_CUH

#include "runtime/base/Status.h"
#include "runtime/device/cuda/CudaContext.h"
#include "runtime/kernels/attention/AttentionShape.cuh"

namespace reciperun::kernels::cuda {

/// What the keys are: all that there are, or a block of several, for which out
/// and lse are carried on (Ops.def, attention_block).
enum class KeyBlock { whole, first, later };

/// q, k, v as Ops.def lays them, in bf16 or f32; out likewise, in f32 where
/// keys are blocks.
struct ForwardRows {
  const void *q, *k, *v;
  void* out;
  float* lse;
  bool isBf16;
  KeyBlock block;
};

/// Enqueues it. The first `scratchTaken` bytes of the scratch, a multiple of
/// 256, are the caller's. Fails where heads are wider than the kernels take.
Status attentionForward(AttentionShape shape, const ForwardRows& rows,
                        device::CudaContext& context, int64_t scratchTaken = 0);

} // namespace reciperun::kernels::cuda

#endif // RECIPERUN_KERNELS_ATTENTION_ATTENTIONFORWARD_CUH
