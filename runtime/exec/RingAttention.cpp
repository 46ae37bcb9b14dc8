// Forward, for step i of R on the rank at place r:
//   1. begin to send the block at hand to r + 1 and to receive the next one
//      from r - 1, unless this is the last step;
//   2. attend to the block at hand, carrying on the softmax;
//   3. finish the messages.
// Backward: the same with the gradients of queries. Those of the keys follow
// their block one step behind it: what r adds in step i is computed while the
// sum of the ranks before arrives, is added, and sent on in step i + 1. After
// the last step each sum is one rank from home.

#include "runtime/exec/RingAttention.h"

#include "runtime/device/cpu/CpuContext.h"
#include "runtime/device/cpu/Parallel.h"
#include "runtime/kernels/AttentionBlock.h"
#include "runtime/kernels/Types.h"
#include "runtime/plan/Mesh.h"
#include "runtime/plan/RingWorkspace.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <vector>

namespace reciperun::exec {
namespace {

using device::KernelArgs;
using device::Tensor;
using kernels::AttentionKeys;

/// Channels of the messages. Those of pipelines run between other ranks: the
/// members of a ring are of one stage.
enum Channel {
  keyChannel,
  valueChannel,
  segmentChannel,
  placeChannel,
  keyGradientChannel,
  valueGradientChannel
};

/// Moves tensors to the next rank of the group, all at once.
class Ring {
public:
  Ring(const KernelArgs& call, comm::Communicator& communicator)
      : communicator(communicator) {
    const plan::Group& group = call.mesh.groups[size_t(call.op.group)];
    const std::vector<int> members =
        plan::groupMembers(call.mesh, group, call.rank);
    count = int64_t(members.size());
    const auto place =
        std::find(members.begin(), members.end(), call.rank) - members.begin();
    next = members[size_t((place + 1) % count)];
    before = members[size_t((place + count - 1) % count)];
  }

  int64_t ranks() const { return count; }

  /// Begins to send `out` on and to receive into `in`, of equal size.
  Status begin(Channel channel, const Tensor& out, const Tensor& in) {
    auto bytes = [](const Tensor& tensor) {
      return std::span(tensor.as<std::byte>(), size_t(tensor.bytes()));
    };
    Expected<int> coming =
        communicator.beginReceive(before, channel, bytes(in));
    RECIPERUN_TRY(coming);
    messages.push_back(*coming);
    Expected<int> going = communicator.beginSend(next, channel, bytes(out));
    RECIPERUN_TRY(going);
    messages.push_back(*going);
    return Status::ok();
  }

  Status begin(const AttentionKeys& out, const AttentionKeys& in) {
    RECIPERUN_TRY(begin(keyChannel, out.k, in.k));
    RECIPERUN_TRY(begin(valueChannel, out.v, in.v));
    RECIPERUN_TRY(begin(segmentChannel, out.segments, in.segments));
    return begin(placeChannel, out.places, in.places);
  }

  /// Ends all that has begun.
  Status finish() {
    Status first;
    for (int message : messages) {
      Status status = communicator.finish(message);
      if (first && !status)
        first = status;
    }
    messages.clear();
    return first;
  }

private:
  comm::Communicator& communicator;
  int64_t count = 1;
  int next = 0, before = 0;
  std::vector<int> messages;
};

/// Tensors in the workspace of a call whose queries begin at input `first`: q,
/// k, v, segments, places.
class Workspace {
public:
  Workspace(const KernelArgs& call, size_t first, size_t tokens, int64_t ranks,
            bool isBackward)
      : call(call), q(call.inputs[first]), k(call.inputs[first + 1]),
        v(call.inputs[first + 2]), segments(call.inputs[tokens]),
        places(call.inputs[tokens + 1]),
        layout(plan::ringWorkspace(
            {q.type, q.elements(), k.elements(), segments.elements(), ranks},
            isBackward)) {
    assert(call.workspace.bytes() >= layout.bytes &&
           "the plan has been validated");
  }

  kernels::AttentionQueries queries() const { return {q, segments, places}; }
  AttentionKeys ownKeys() const { return {k, v, segments, places}; }

  /// Where the block of step `step` + 1 arrives.
  AttentionKeys incoming(int64_t step) const {
    const plan::RingWorkspace::Block& block = layout.blocks[step % 2];
    return {at(block.k, k.type, k.shape), at(block.v, v.type, v.shape),
            at(block.segments, segments.type, segments.shape),
            at(block.places, places.type, places.shape)};
  }

  /// `output` where it has the type of sums, room for sums like it otherwise.
  Tensor sumsOf(const Tensor& output) const {
    return output.type == math() ? output
                                 : at(layout.sums, math(), output.shape);
  }

  kernels::AttentionGradients
  gradients(const Tensor& dq,
            const plan::RingWorkspace::Gradients& where) const {
    return {dq, at(where.dk, math(), k.shape), at(where.dv, math(), v.shape)};
  }
  const plan::RingWorkspace::Gradients& passing(int64_t step) const {
    return layout.passing[step % 2];
  }
  const plan::RingWorkspace::Gradients& own() const { return layout.own; }

private:
  plan::DType math() const {
    return q.type == plan::DType::f64 ? plan::DType::f64 : plan::DType::f32;
  }
  Tensor at(int64_t offset, plan::DType type,
            std::span<const int64_t> shape) const {
    return {call.workspace.as<std::byte>() + offset, type, shape};
  }

  const KernelArgs& call;
  const Tensor &q, &k, &v, &segments, &places;
  plan::RingWorkspace layout;
};

void clear(const Tensor& tensor) {
  std::memset(tensor.data, 0, size_t(tensor.bytes()));
}

/// to[i] = convert(from[i], to[i]) for all elements of two tensors.
template <class From, class To, class Convert>
void forEach(const KernelArgs& call, const Tensor& from, const Tensor& to,
             Convert convert) {
  const From* source = from.as<From>();
  To* target = to.as<To>();
  device::parallelFor(call.context.threads(), to.elements(), 1 << 12,
                      [&](int64_t begin, int64_t end) {
#pragma omp simd
                        for (int64_t i = begin; i < end; ++i)
                          target[i] = convert(source[i], target[i]);
                      });
}

Status add(const KernelArgs& call, const Tensor& from, const Tensor& to) {
  return kernels::withType(call, to.type, [&]<class T>(kernels::Type<T>) {
    using M = kernels::Math<T>;
    forEach<T, T>(call, from, to, [](T x, T y) { return T(M(y) + M(x)); });
  });
}

/// Of a sum to a tensor of the compute type, which may be the sum itself.
Status round(const KernelArgs& call, const Tensor& from, const Tensor& to) {
  if (from.data == to.data)
    return Status::ok();
  return kernels::withType(call, to.type, [&]<class T>(kernels::Type<T>) {
    using M = kernels::Math<T>;
    forEach<M, T>(call, from, to, [](M x, T) { return T(x); });
  });
}

class Backward {
public:
  Backward(const KernelArgs& call, comm::Communicator& communicator)
      : call(call), ring(call, communicator),
        workspace(call, 2, 6, ring.ranks(), true), outputs{call.inputs[0],
                                                           call.inputs[1],
                                                           call.inputs[5]},
        dq(workspace.sumsOf(call.outputs[0])) {}

  Status run() {
    clear(dq);
    AttentionKeys keys = workspace.ownKeys();
    for (int64_t step = 0; step < ring.ranks(); ++step) {
      const AttentionKeys next = workspace.incoming(step);
      if (step + 1 < ring.ranks())
        RECIPERUN_TRY(ring.begin(keys, next));
      RECIPERUN_TRY(takeStep(step, keys));
      keys = next;
    }
    const kernels::AttentionGradients home = sums(ring.ranks());
    RECIPERUN_TRY(pass(sums(ring.ranks() - 1), home));
    RECIPERUN_TRY(ring.finish());
    RECIPERUN_TRY(round(call, dq, call.outputs[0]));
    RECIPERUN_TRY(round(call, home.dk, call.outputs[1]));
    return round(call, home.dv, call.outputs[2]);
  }

private:
  Status takeStep(int64_t step, const AttentionKeys& keys) {
    const kernels::AttentionGradients sum = sums(step);
    const kernels::AttentionGradients added =
        step == 0 ? sum : workspace.gradients(dq, workspace.own());
    if (step > 0)
      RECIPERUN_TRY(pass(sums(step - 1), sum));
    clear(added.dk);
    clear(added.dv);
    RECIPERUN_TRY(kernels::attendBlockBackward(
        call, outputs, workspace.queries(), keys, added));
    RECIPERUN_TRY(ring.finish());
    if (step == 0)
      return Status::ok();
    RECIPERUN_TRY(add(call, added.dk, sum.dk));
    return add(call, added.dv, sum.dv);
  }

  /// The gradients of the block of step `step` so far.
  kernels::AttentionGradients sums(int64_t step) const {
    return workspace.gradients(dq, workspace.passing(step));
  }

  Status pass(const kernels::AttentionGradients& from,
              const kernels::AttentionGradients& to) {
    RECIPERUN_TRY(ring.begin(keyGradientChannel, from.dk, to.dk));
    return ring.begin(valueGradientChannel, from.dv, to.dv);
  }

  const KernelArgs& call;
  Ring ring;
  Workspace workspace;
  kernels::AttentionOutputs outputs;
  Tensor dq;
};

} // namespace

Status ringAttention(const KernelArgs& call, comm::Communicator& communicator) {
  Ring ring(call, communicator);
  const Workspace workspace(call, 0, 3, ring.ranks(), false);
  const Tensor &out = call.outputs[0], &lse = call.outputs[1];
  const Tensor sum = workspace.sumsOf(out);
  AttentionKeys keys = workspace.ownKeys();
  for (int64_t step = 0; step < ring.ranks(); ++step) {
    const AttentionKeys next = workspace.incoming(step);
    if (step + 1 < ring.ranks())
      RECIPERUN_TRY(ring.begin(keys, next));
    RECIPERUN_TRY(kernels::attendBlock(call, workspace.queries(), keys, sum,
                                       lse, step == 0));
    RECIPERUN_TRY(ring.finish());
    keys = next;
  }
  return kernels::finishBlocks(call, sum, out, lse);
}

Status ringAttentionBackward(const KernelArgs& call,
                             comm::Communicator& communicator) {
  return Backward(call, communicator).run();
}

} // namespace reciperun::exec
