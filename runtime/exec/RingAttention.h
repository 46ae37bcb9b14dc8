// Attention of queries to keys that go round the ranks of a group (Liu et al.
// 2023, "Ring Attention with Blockwise Transformers").
//
// Each rank holds a part of the sequence. In step i it attends to the block of
// keys that began i ranks before it, while that block goes on to the next rank
// and the one after it comes in. See ops/attention.ops for operands and
// plan/RingWorkspace.h for what is kept.

#ifndef RECIPERUN_EXEC_RINGATTENTION_H
#define RECIPERUN_EXEC_RINGATTENTION_H

#include "runtime/comm/Communicator.h"
#include "runtime/device/Device.h"

namespace reciperun::exec {

/// The op `ring_attention`. All ranks of its group call it, with the device
/// that computes.
Status ringAttention(const device::OpCall& call,
                     comm::Communicator& communicator, device::Device& device);

/// The op `ring_attention_backward`. Gradients of keys travel with the keys, in
/// f32 or f64, and every rank adds its part in the order of the ring, so that
/// the result does not depend on timing.
Status ringAttentionBackward(const device::OpCall& call,
                             comm::Communicator& communicator,
                             device::Device& device);

} // namespace reciperun::exec

#endif // RECIPERUN_EXEC_RINGATTENTION_H
