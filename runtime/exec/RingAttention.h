// Ring attention: keys and values are passed around the ranks of a group (Liu
// et al. 2023, "Ring Attention with Blockwise Transformers").
//
// Each rank holds a shard of the sequence. In step i it attends to the block of
// keys that started i ranks before it, while it sends that block to the next
// rank and receives the following block. See ops/attention.ops for the operands
// and plan/RingWorkspace.h for the workspace.

#ifndef RECIPERUN_EXEC_RINGATTENTION_H
#define RECIPERUN_EXEC_RINGATTENTION_H

#include "runtime/comm/Communicator.h"
#include "runtime/device/Device.h"

namespace reciperun::exec {

/// Runs the op `ring_attention` on `device`. All ranks of the op's group call
/// it.
Status ringAttention(const device::OpCall& call,
                     comm::Communicator& communicator, device::Device& device);

/// Runs the op `ring_attention_backward`. The gradients of the keys travel with
/// the keys in f32 or f64, and every rank adds its contribution in ring order,
/// so that the result does not depend on timing.
Status ringAttentionBackward(const device::OpCall& call,
                             comm::Communicator& communicator,
                             device::Device& device);

} // namespace reciperun::exec

#endif // RECIPERUN_EXEC_RINGATTENTION_H
