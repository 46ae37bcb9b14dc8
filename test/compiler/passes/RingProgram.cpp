// Ring attention and its gradient, lowered to blocks, over the ranks that
// mpirun starts, compared with attention over the whole sequence on each rank.
//
// Run by ring_attention.test. Every rank draws the whole problem from a seed
// and keeps an early and a late chunk, as the loader distributes them.

#include "compiler/emit/Buffers.h"
#include "compiler/ir/Verify.h"
#include "compiler/passes/distributed/LowerRing.h"
#include "compiler/passes/memory/PlanMemory.h"
#include "runtime/comm/MpiSession.h"
#include "runtime/device/cpu/CpuDevice.h"
#include "runtime/exec/Executor.h"
#include "runtime/ops/OpTable.h"
#include "runtime/plan/PlanJson.h"
#include "test/runtime/kernels/Harness.h"
#include "test/runtime/plan/SamplePlan.h"

#include <gtest/gtest.h>

#include <cstring>

namespace recipec::passes {
namespace {

namespace comm = reciperun::comm;
namespace device = reciperun::device;
namespace exec = reciperun::exec;
namespace kernels = reciperun::kernels;
namespace memory = reciperun::memory;
namespace plan = reciperun::plan;
using ir::ValueId;
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
        segments(passes::segments()),
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

/// The two ops over all ranks, and the values that they read and write.
struct Ring {
  explicit Ring(DType type) {
    module.isProgram = true;
    module.compute = type;
    module.axes = {{"cp", session()->ranks()}};
    const DType sums = kernels::accumulatorOf(type);
    q = add("q", type, {"batch", "sequence", "heads", "width"});
    k = add("k", type, {"batch", "sequence", "key_heads", "width"});
    v = add("v", type, {"batch", "sequence", "key_heads", "width"});
    dout = add("dout", type, {"batch", "sequence", "heads", "width"});
    segments = add("segments", DType::i32, {"batch", "sequence"});
    places = add("places", DType::i32, {"batch", "sequence"});
    out = add("out", type, {"batch", "sequence", "heads", "width"});
    lse = add("lse", sums, {"batch", "heads", "sequence"});
    dq = add("dq", type, {"batch", "sequence", "heads", "width"});
    dk = add("dk", type, {"batch", "sequence", "key_heads", "width"});
    dv = add("dv", type, {"batch", "sequence", "key_heads", "width"});
    function("forward", OpKind::RingAttention, {q, k, v, segments, places},
             {out, lse});
    function("backward", OpKind::RingAttentionBackward,
             {dout, out, q, k, v, lse, segments, places}, {dq, dk, dv});
  }

  ir::Module module;
  ValueId q, k, v, dout, segments, places, out, lse, dq, dk, dv;

private:
  /// A value that lives between functions and is split along the sequence.
  ValueId add(const char* name, DType type,
              const std::vector<const char*>& dims) {
    const std::map<std::string, int64_t> sizes = {{"batch", batch},
                                                  {"sequence", sequence()},
                                                  {"heads", heads},
                                                  {"key_heads", keyHeads},
                                                  {"width", width}};
    ir::Value value;
    value.name = name;
    value.kind = ir::ValueKind::state;
    value.type = type;
    for (const std::string dim : dims) {
      value.dims.push_back(ir::addDim(module, dim, sizes.at(dim)));
      value.sharding.dims.push_back(
          dim == "sequence" ? ir::AxisSet(ir::AxisId(0)) : ir::AxisSet());
    }
    return ir::addValue(module, std::move(value));
  }

  void function(const char* name, OpKind kind, std::vector<ValueId> operands,
                std::vector<ValueId> results) {
    ir::Op op{};
    op.kind = kind;
    op.name = "ring";
    op.operands = std::move(operands);
    op.results = std::move(results);
    op.group = ir::AxisSet(ir::AxisId(0));
    ir::obtainFunction(module, name).ops = {op};
  }
};

/// The plan's op of a Program's op, whose group is the only one.
plan::Op opOf(const ir::Module& module, const ir::Op& op,
              const emit::Buffers& buffers) {
  plan::Op made{};
  made.kind = op.kind;
  made.name = op.name;
  for (ValueId operand : op.operands)
    made.inputs.push_back(buffers.number(operand));
  for (ValueId result : op.results)
    made.outputs.push_back(buffers.number(result));
  if (ops::traitsOf(op.kind).isCollective)
    made.group = 0;
  else if (!op.group.empty())
    made.attributes.add("axis", module.axes[0].name);
  for (const auto& [name, value] : op.attributes)
    if (ops::findAttribute(op.kind, name)->isInPlans)
      made.attributes.add(name, value);
  if (op.attributes.contains("workspace"))
    made.workspace = buffers.number(module.bindings.at("workspace"));
  return made;
}

plan::Plan planOf(const ir::Module& module, const emit::Buffers& buffers) {
  plan::Plan made = plan::planOfOneStage();
  made.task = "generate"; // no training around it
  made.device = "cpu";
  made.compute = module.compute;
  made.mesh.axes = {{"cp", session()->ranks()}};
  made.mesh.groups = {{"cp", {"cp"}}};
  made.mesh.ranks = session()->ranks();
  plan::Stage& stage = made.stages[0];
  stage.memory.arena = stage.memory.total = module.arenaBytes;
  stage.buffers = buffers.buffers;
  plan::Schedule& schedule = stage.schedules.emplace_back();
  schedule.name = "train";
  for (const ir::Function& function : module.functions) {
    schedule.steps.push_back(
        {plan::ScheduleStep::Kind::run, int(stage.functions.size()), -1, 0});
    plan::Function& written = stage.functions.emplace_back();
    written.name = function.name;
    for (const ir::Op& op : function.ops)
      written.ops.push_back(opOf(module, op, buffers));
  }
  return made;
}

void check(DType type, double tolerance) {
  const Problem given(type), whole = solved(given);
  Ring ring(type);
  lowerRing(ring.module);
  ASSERT_TRUE(ir::verify(ring.module).empty())
      << ir::verify(ring.module).front();
  planMemory(ring.module);
  const emit::Buffers buffers = emit::makeBuffers(ring.module);
  const plan::Plan compiled = planOf(ring.module, buffers);
  ASSERT_EQ(plan::validate(compiled).message(), "");
  auto communicator = session()->connect(compiled.mesh);
  ASSERT_TRUE(communicator) << communicator.message();
  auto arena = memory::Arena::allocate(ring.module.arenaBytes);
  ASSERT_TRUE(arena);
  device::CpuDevice device(1, &kernels::findKernel);
  auto executor =
      exec::Executor::make(compiled, *arena, **communicator, device);
  ASSERT_TRUE(executor) << executor.message();

  auto bytesOf = [&](ValueId value) {
    return executor->tensor(buffers.number(value)).as<std::byte>();
  };
  auto write = [&](ValueId value, Array array) {
    const device::Tensor from = array.tensor();
    std::memcpy(bytesOf(value), from.data, size_t(from.bytes()));
  };
  auto read = [&](ValueId value, Array array) {
    const device::Tensor to = array.tensor();
    std::memcpy(to.data, bytesOf(value), size_t(to.bytes()));
    return array;
  };
  write(ring.q, local(given.q, 1));
  write(ring.k, local(given.k, 1));
  write(ring.v, local(given.v, 1));
  write(ring.dout, local(given.dout, 1));
  write(ring.segments, local(given.segments, 1));
  write(ring.places, local(given.places, 1));
  for (int function : {0, 1}) {
    const reciperun::Status status = executor->run(function);
    ASSERT_TRUE(status.isOk()) << status.message();
  }
  auto expectClose = [&](ValueId value, const Array& sample,
                         const Array& wanted, size_t dim) {
    EXPECT_LT(
        relativeError(read(value, local(sample, dim)), local(wanted, dim)),
        tolerance)
        << ring.module[value].name;
  };
  expectClose(ring.out, given.out, whole.out, 1);
  expectClose(ring.lse, given.lse, whole.lse, 2);
  expectClose(ring.dq, given.dq, whole.dq, 1);
  expectClose(ring.dk, given.dk, whole.dk, 1);
  expectClose(ring.dv, given.dv, whole.dv, 1);
}

// Tolerances are those of full attention in AttentionTest.cpp.
TEST(RingAttention, f64) {
  check(DType::f64, 1e-12);
}
TEST(RingAttention, f32) {
  check(DType::f32, 1e-5);
}
TEST(RingAttention, bf16) {
  check(DType::bf16, 0x1p-5);
}

} // namespace
} // namespace recipec::passes

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  auto session = reciperun::comm::MpiSession::start();
  if (!session)
    return 1;
  recipec::passes::session() = &*session;
  return RUN_ALL_TESTS();
}
