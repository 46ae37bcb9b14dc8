// Forward, for step i of R on the rank at index r of its group:
//   1. start to send the current block to r + 1 and to receive the next one
//      from r - 1, except in the last step;
//   2. attend to the current block and update the running softmax;
//   3. finish the messages.
// Backward: the same with the gradients of the queries. The gradients of the
// keys follow their block one step later: rank r computes its contribution in
// step i while the sum of the ranks before it arrives, adds it, and sends the
// sum on in step i + 1. After the last step each sum is one rank away from its
// owner.

#include "runtime/exec/RingAttention.h"

#include "runtime/ops/OpKind.h"
#include "runtime/plan/Mesh.h"
#include "runtime/plan/RingWorkspace.h"

#include <algorithm>
#include <cassert>
#include <initializer_list>
#include <utility>
#include <vector>

namespace reciperun::exec {
namespace {

using device::OpCall;
using device::Tensor;
using plan::OpKind;

/// A block of keys and values, with the segments and positions of its tokens.
struct Keys {
  Tensor k, v, segments, places;
};
/// The gradients of a block, f32 or f64.
struct Gradients {
  Tensor dk, dv;
};

int placeOf(const OpCall& call) {
  const std::vector<int> members = plan::groupMembers(
      call.mesh, call.mesh.groups[size_t(call.op.group)], call.rank);
  return int(std::find(members.begin(), members.end(), call.rank) -
             members.begin());
}

/// Sends tensors to the next rank of the group while later ops run.
class Ring {
public:
  Ring(const OpCall& call, comm::Communicator& communicator)
      : communicator(communicator), group(call.op.group),
        count(plan::groupSize(call.mesh, call.mesh.groups[size_t(group)])),
        place(placeOf(call)) {}

  int64_t ranks() const { return count; }

  /// The attribute `keys` of `attention_block` for a step: whether the block is
  /// the rank's own, or lies earlier or later in the sequence.
  const char* ownerAt(int64_t step) const {
    return step == 0 ? "own" : step <= place ? "earlier" : "later";
  }

  Status begin(const Keys& out, const Keys& in) {
    return begin({{out.k, in.k},
                  {out.v, in.v},
                  {out.segments, in.segments},
                  {out.places, in.places}});
  }
  Status begin(const Gradients& out, const Gradients& in) {
    return begin({{out.dk, in.dk}, {out.dv, in.dv}});
  }

  /// Waits for all messages in flight and returns the first failure.
  Status finish() {
    Status first;
    for (int message : std::exchange(messages, {})) {
      Status status = communicator.finish(message);
      if (first.isOk() && !status.isOk())
        first = status;
    }
    return first;
  }

private:
  Status begin(std::initializer_list<comm::Shift> shifts) {
    Expected<int> message = communicator.beginShift(group, shifts);
    RECIPERUN_TRY(message);
    messages.push_back(*message);
    return Status::ok();
  }

  comm::Communicator& communicator;
  const int group;
  const int64_t count, place;
  std::vector<int> messages;
};

/// The tensors in the workspace of a call. Its inputs from `first` on are q, k
/// and v; those from `tokens` on are segments and places.
class Workspace {
public:
  Workspace(const OpCall& call, size_t first, size_t tokens, int64_t ranks,
            bool isBackward)
      : call(call), q(call.inputs[first]), k(call.inputs[first + 1]),
        v(call.inputs[first + 2]), segments(call.inputs[tokens]),
        places(call.inputs[tokens + 1]),
        layout(plan::ringWorkspace(
            {sizes::attentionSizes(ops::AttentionAttributes(call.op.attributes),
                                   q.type, q.shape, k.shape),
             ranks},
            isBackward)),
        kernelShape{layout.kernelBytes / 4} {
    assert(call.workspace.bytes() >= layout.bytes &&
           "the plan has been validated");
  }

  Keys ownKeys() const { return {k, v, segments, places}; }

  /// The buffers that receive the block of step `step` + 1.
  Keys incoming(int64_t step) const {
    const plan::RingWorkspace::Block& block = layout.blocks[step % 2];
    return {at(block.k, k.type, k.shape), at(block.v, v.type, v.shape),
            at(block.segments, segments.type, segments.shape),
            at(block.places, places.type, places.shape)};
  }

  /// The accumulator of `output`: `output` itself when it has the accumulation
  /// type, else a buffer of its shape in the workspace.
  Tensor sumsOf(const Tensor& output) const {
    return output.type == math() ? output
                                 : at(layout.sums, math(), output.shape);
  }

  /// The gradients of step `step`'s block, summed over the ranks so far; `own`
  /// holds this rank's contribution.
  Gradients passing(int64_t step) const {
    return gradients(layout.passing[step % 2]);
  }
  Gradients own() const { return gradients(layout.own); }

  /// The scratch memory of the kernels for one block.
  Tensor ofKernels() const {
    return at(layout.kernels, plan::DType::f32, kernelShape);
  }

private:
  plan::DType math() const {
    return q.type == plan::DType::f64 ? plan::DType::f64 : plan::DType::f32;
  }
  Gradients gradients(const plan::RingWorkspace::Gradients& where) const {
    return {at(where.dk, math(), k.shape), at(where.dv, math(), v.shape)};
  }
  Tensor at(int64_t offset, plan::DType type,
            std::span<const int64_t> shape) const {
    return {call.workspace.as<std::byte>() + offset, type, shape};
  }

  const OpCall& call;
  const Tensor &q, &k, &v, &segments, &places;
  plan::RingWorkspace layout;
  const int64_t kernelShape[1];
};

/// Returns `output` as scratch memory until the final result is written to it;
/// an absent tensor when it is the accumulator itself.
Tensor roomIn(const Tensor& output, const Tensor& sum) {
  return output.type == sum.type ? Tensor() : output;
}

/// Runs ops on the device on behalf of the ring op.
class Blocks {
public:
  Blocks(const OpCall& call, device::Device& device)
      : call(call), device(device), op(call.op) {}

  Status run(OpKind kind, std::initializer_list<Tensor> in,
             std::initializer_list<Tensor> out, Tensor workspace = {}) {
    op.kind = kind;
    return device.run({op,
                       {in.begin(), in.size()},
                       {out.begin(), out.size()},
                       workspace,
                       call.mesh,
                       call.rank});
  }

  /// Sets the attributes of the next op to those for the block of a step.
  void setStep(const Ring& ring, int64_t step) {
    op.attributes = call.op.attributes;
    op.attributes.add("is_first", step == 0);
    op.attributes.add("keys", std::string(ring.ownerAt(step)));
  }

  Status clear(const Tensor& tensor) { return run(OpKind::Zero, {}, {tensor}); }
  Status add(const Tensor& from, const Tensor& to) {
    return run(OpKind::Add, {to, from}, {to});
  }
  /// Casts a sum to a tensor of the compute type; does nothing when both are
  /// the same buffer.
  Status round(const Tensor& from, const Tensor& to) {
    return from.data == to.data ? Status::ok()
                                : run(OpKind::Cast, {from}, {to});
  }

private:
  const OpCall& call;
  device::Device& device;
  plan::Op op;
};

class Backward {
public:
  Backward(const OpCall& call, comm::Communicator& communicator,
           device::Device& device)
      : call(call), ring(call, communicator),
        workspace(call, 2, 6, ring.ranks(), true), blocks(call, device),
        dq(workspace.sumsOf(call.outputs[0])) {}

  Status run() {
    RECIPERUN_TRY(blocks.clear(dq));
    Keys keys = workspace.ownKeys();
    for (int64_t step = 0; step < ring.ranks(); ++step) {
      const Keys next = workspace.incoming(step);
      if (step + 1 < ring.ranks())
        RECIPERUN_TRY(ring.begin(keys, next));
      RECIPERUN_TRY(takeStep(step, keys));
      keys = next;
    }
    const Gradients home = workspace.passing(ring.ranks());
    RECIPERUN_TRY(ring.begin(workspace.passing(ring.ranks() - 1), home));
    RECIPERUN_TRY(blocks.round(dq, call.outputs[0]));
    RECIPERUN_TRY(ring.finish());
    RECIPERUN_TRY(blocks.round(home.dk, call.outputs[1]));
    return blocks.round(home.dv, call.outputs[2]);
  }

private:
  Status takeStep(int64_t step, const Keys& keys) {
    const Gradients sum = workspace.passing(step);
    const Gradients added = step == 0 ? sum : workspace.own();
    if (step > 0)
      RECIPERUN_TRY(ring.begin(workspace.passing(step - 1), sum));
    RECIPERUN_TRY(blocks.clear(added.dk));
    RECIPERUN_TRY(blocks.clear(added.dv));
    const auto &in = call.inputs, &out = call.outputs;
    blocks.setStep(ring, step);
    RECIPERUN_TRY(blocks.run(OpKind::AttentionBlockBackward,
                             {in[0], in[1], in[2], keys.k, keys.v, in[5], in[6],
                              in[7], keys.segments, keys.places},
                             {dq, added.dk, added.dv, roomIn(out[0], dq),
                              roomIn(out[1], dq), roomIn(out[2], dq)},
                             workspace.ofKernels()));
    RECIPERUN_TRY(ring.finish());
    if (step == 0)
      return Status::ok();
    RECIPERUN_TRY(blocks.add(added.dk, sum.dk));
    return blocks.add(added.dv, sum.dv);
  }

  const OpCall& call;
  Ring ring;
  Workspace workspace;
  Blocks blocks;
  Tensor dq;
};

} // namespace

Status ringAttention(const OpCall& call, comm::Communicator& communicator,
                     device::Device& device) {
  Ring ring(call, communicator);
  const Workspace workspace(call, 0, 3, ring.ranks(), false);
  Blocks blocks(call, device);
  const auto& in = call.inputs;
  const Tensor &out = call.outputs[0], &lse = call.outputs[1];
  const Tensor sum = workspace.sumsOf(out);
  Keys keys = workspace.ownKeys();
  for (int64_t step = 0; step < ring.ranks(); ++step) {
    const Keys next = workspace.incoming(step);
    if (step + 1 < ring.ranks())
      RECIPERUN_TRY(ring.begin(keys, next));
    blocks.setStep(ring, step);
    RECIPERUN_TRY(blocks.run(
        OpKind::AttentionBlock,
        {in[0], keys.k, keys.v, in[3], in[4], keys.segments, keys.places},
        {sum, lse, roomIn(out, sum)}));
    RECIPERUN_TRY(ring.finish());
    keys = next;
  }
  return blocks.run(OpKind::AttentionBlocksEnd, {sum}, {out, lse});
}

Status ringAttentionBackward(const OpCall& call,
                             comm::Communicator& communicator,
                             device::Device& device) {
  return Backward(call, communicator, device).run();
}

} // namespace reciperun::exec
