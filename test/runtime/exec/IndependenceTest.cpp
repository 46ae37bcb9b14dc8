// Which calls run at the same time.

#include "runtime/exec/Independence.h"

#include "runtime/ops/OpKind.h"

#include <array>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

namespace reciperun::exec {
namespace {

using device::OpCall;
using device::Tensor;
using plan::DType;
using plan::OpKind;

class IndependenceTest : public testing::Test {
protected:
  /// Elements [begin, begin + 4) of the memory.
  Tensor at(size_t begin) { return {memory.data() + begin, DType::f32, four}; }

  /// A call that reads one tensor and writes another.
  OpCall call(Tensor in, Tensor out, Tensor workspace = {},
              OpKind kind = OpKind::Linear) {
    ops.push_back(std::make_unique<plan::Op>());
    ops.back()->kind = kind;
    tensors.push_back(
        std::make_unique<std::array<Tensor, 2>>(std::array{in, out}));
    const auto& both = *tensors.back();
    return {*ops.back(), std::span(both).first(1), std::span(both).last(1),
            workspace, mesh};
  }

  std::array<float, 64> memory = {};
  std::array<int64_t, 1> four = {4};
  plan::Mesh mesh;
  std::vector<std::unique_ptr<plan::Op>> ops;
  std::vector<std::unique_ptr<std::array<Tensor, 2>>> tensors;
};

TEST_F(IndependenceTest, callsMayReadTheSameMemory) {
  EXPECT_TRUE(areIndependent(call(at(0), at(8)), call(at(0), at(16))));
  EXPECT_TRUE(areIndependent(call(at(0), at(8)), call(at(0), at(12))));
}

TEST_F(IndependenceTest, neitherWritesWhatTheOtherUses) {
  const OpCall first = call(at(0), at(8));
  EXPECT_FALSE(areIndependent(first, call(at(8), at(16))));
  EXPECT_FALSE(areIndependent(call(at(8), at(16)), first));
  EXPECT_FALSE(areIndependent(first, call(at(11), at(16))));
  EXPECT_FALSE(areIndependent(first, call(at(16), at(0))));
  EXPECT_FALSE(areIndependent(first, call(at(16), at(8))));
  EXPECT_FALSE(areIndependent(first, call(at(16), at(24), at(8))));
  EXPECT_FALSE(areIndependent(call(at(16), at(24), at(0)), first));
}

TEST_F(IndependenceTest, absentTensorsOverlapNothing) {
  EXPECT_TRUE(areIndependent(call({}, at(8)), call({}, at(16))));
}

TEST_F(IndependenceTest, neighbouringMatmulsRunBesideOneAnother) {
  std::vector<OpCall> calls = {call(at(0), at(8)), call(at(0), at(16)),
                               call(at(0), at(24)), call(at(24), at(32))};
  EXPECT_EQ(countConcurrent(calls, 4), 3u);
  EXPECT_EQ(countConcurrent(calls, 2), 2u);
  EXPECT_EQ(countConcurrent(calls, 1), 1u);
  EXPECT_EQ(countConcurrent(std::span(calls).subspan(2), 4), 1u);
}

TEST_F(IndependenceTest, otherOpsRunAlone) {
  std::vector<OpCall> calls = {call(at(0), at(8)),
                               call(at(0), at(16), {}, OpKind::Scale)};
  EXPECT_EQ(countConcurrent(calls, 4), 1u);
  EXPECT_EQ(countConcurrent(std::span(calls).subspan(1), 4), 1u);
}

} // namespace
} // namespace reciperun::exec
