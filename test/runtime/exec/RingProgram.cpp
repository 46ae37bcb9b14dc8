// Ring attention and its gradient over the ranks that mpirun starts, compared
// with attention over the whole sequence on each rank.
//
// Run by ring_attention.test. Every rank draws the whole problem from a seed
// and keeps an early and a late chunk, as the loader distributes them.

#include "runtime/comm/MpiSession.h"
#include "runtime/device/cpu/CpuDevice.h"
#include "runtime/exec/RingAttention.h"
#include "runtime/ops/OpKind.h"
#include "runtime/plan/RingWorkspace.h"
#include "test/runtime/kernels/Harness.h"

#include <gtest/gtest.h>

namespace reciperun::exec {
namespace {

using kernels::Array;
using plan::DType;
using plan::OpKind;

/// The MPI session of this process; set once by main.
comm::MpiSession*& session() {
  static comm::MpiSession* current = nullptr;
  return current;
}

constexpr int64_t batch = 2, piece = 40, heads = 4, keyHeads = 2, width = 16;

int64_t sequence() {
  return 2 * piece * session()->ranks();
}

/// Two documents and padding in the first row, one document in the second.
Array segments() {
  Array result(DType::i32, {batch, sequence()});
  for (int64_t i = 0; i < sequence(); ++i)
    result.set(i, i < 50 ? 0 : i < sequence() - 7 ? 1 : -1);
  return result;
}

/// This rank's tokens of an array whose dimension `dim` is the sequence.
Array local(const Array& whole, size_t dim) {
  std::vector<int64_t> shape = whole.shape();
  const int64_t tokens = shape[dim];
  shape[dim] = 2 * piece;
  int64_t inner = 1;
  for (size_t i = dim + 1; i < shape.size(); ++i)
    inner *= shape[i];
  Array part(whole.dtype(), shape);
  const int64_t late = 2 * session()->ranks() - 1 - session()->rank();
  for (int64_t i = 0; i < part.size(); ++i) {
    const int64_t token = i / inner % shape[dim];
    const int64_t place = token < piece ? session()->rank() * piece + token
                                        : late * piece + token - piece;
    part.set(i, whole.get((i / inner / shape[dim] * tokens + place) * inner +
                          i % inner));
  }
  return part;
}

struct Problem {
  explicit Problem(DType type)
      : q(Array::random(type, {batch, sequence(), heads, width}, 1)),
        k(Array::random(type, {batch, sequence(), keyHeads, width}, 2)),
        v(Array::random(type, {batch, sequence(), keyHeads, width}, 3)),
        dout(Array::random(type, {batch, sequence(), heads, width}, 4)),
        out(type, q.shape()),
        lse(kernels::accumulatorOf(type), {batch, heads, sequence()}),
        dq(type, q.shape()), dk(type, k.shape()), dv(type, v.shape()),
        segments(exec::segments()),
        places(kernels::placesOf(batch, sequence())) {}

  Array q, k, v, dout, out, lse, dq, dk, dv, segments, places;
};

/// Attention over the whole sequence, in f64 of the same inputs.
Problem solved(const Problem& problem) {
  Problem p = problem;
  for (Array* each :
       {&p.q, &p.k, &p.v, &p.dout, &p.out, &p.lse, &p.dq, &p.dk, &p.dv})
    *each = each->cast(DType::f64);
  kernels::call(
      OpKind::Attention,
      {&p.q, &p.k, &p.v, &p.segments, &p.places, &p.segments, &p.places},
      {&p.out, &p.lse});
  kernels::call(OpKind::AttentionBackward,
                {&p.dout, &p.out, &p.q, &p.k, &p.v, &p.lse, &p.segments,
                 &p.places, &p.segments, &p.places},
                {&p.dq, &p.dk, &p.dv});
  return p;
}

class RingAttention : public testing::Test {
protected:
  void SetUp() override {
    mesh.axes = {{"cp", session()->ranks()}};
    mesh.groups = {{"cp", {"cp"}}};
    mesh.ranks = session()->ranks();
    auto made = session()->connect(mesh);
    ASSERT_TRUE(made) << made.message();
    communicator = std::move(*made);
  }

  using Run = Status (*)(const device::OpCall&, comm::Communicator&,
                         device::Device&);

  void call(Run run, bool isBackward, std::vector<Array*> inputs,
            std::vector<Array*> outputs) {
    const Array &q = *inputs[isBackward ? 2 : 0],
                &k = *inputs[isBackward ? 3 : 1];
    plan::Op op;
    op.group = 0;
    const plan::RingWorkspace layout = plan::ringWorkspace(
        {sizes::attentionSizes(ops::AttentionAttributes(op.attributes),
                               q.dtype(), q.shape(), k.shape()),
         mesh.ranks},
        isBackward);
    Array room(DType::f32, {layout.elements()});
    std::vector<device::Tensor> in, out;
    for (Array* array : inputs)
      in.push_back(array->tensor());
    for (Array* array : outputs)
      out.push_back(array->tensor());
    device::CpuDevice device(1, &kernels::findKernel);
    const Status status =
        run({op, in, out, room.tensor(), mesh, session()->rank()},
            *communicator, device);
    ASSERT_TRUE(status.isOk()) << status.message();
  }

  void check(DType type, double tolerance) {
    const Problem given(type), whole = solved(given);
    Array q = local(given.q, 1), k = local(given.k, 1), v = local(given.v, 1),
          dout = local(given.dout, 1), tokens = local(given.segments, 1),
          places = local(given.places, 1);
    Array out(type, q.shape()), dq = out, dk(type, k.shape()), dv = dk;
    Array lse = local(given.lse, 2);
    call(ringAttention, false, {&q, &k, &v, &tokens, &places}, {&out, &lse});
    EXPECT_LT(relativeError(out, local(whole.out, 1)), tolerance);
    EXPECT_LT(relativeError(lse, local(whole.lse, 2)), tolerance);
    call(ringAttentionBackward, true,
         {&dout, &out, &q, &k, &v, &lse, &tokens, &places}, {&dq, &dk, &dv});
    EXPECT_LT(relativeError(dq, local(whole.dq, 1)), tolerance);
    EXPECT_LT(relativeError(dk, local(whole.dk, 1)), tolerance);
    EXPECT_LT(relativeError(dv, local(whole.dv, 1)), tolerance);
  }

  plan::Mesh mesh;
  std::unique_ptr<comm::Communicator> communicator;
};

// Tolerances are those of full attention in AttentionTest.cpp.
TEST_F(RingAttention, f64) {
  check(DType::f64, 1e-12);
}
TEST_F(RingAttention, f32) {
  check(DType::f32, 1e-5);
}
TEST_F(RingAttention, bf16) {
  check(DType::bf16, 0x1p-5);
}

} // namespace
} // namespace reciperun::exec

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  auto session = reciperun::comm::MpiSession::start();
  if (!session)
    return 1;
  reciperun::exec::session() = &*session;
  return RUN_ALL_TESTS();
}
