// Which ops of a step are layers that one GPU kernel computes.

#include "runtime/kernels/decode/DecodeLayers.h"

#include "runtime/ops/OpKind.h"
#include "test/runtime/kernels/DecodeOps.h"

#include <gtest/gtest.h>

namespace reciperun::kernels {
namespace {

using plan::DType;
using plan::OpKind;

size_t layersOf(const DecodeShape& shape) {
  DecodeOps ops(shape);
  return findDecodeLayers(ops.calls(), 100).layers.size();
}

TEST(DecodeLayers, FindsLayersOfOneToken) {
  for (DType stored : {DType::bf16, DType::f8e4m3}) {
    DecodeOps ops({.layers = 3, .stored = stored});
    const auto calls = ops.calls();
    const DecodeLayers found = findDecodeLayers(calls, 100);
    ASSERT_EQ(found.layers.size(), 3u);
    EXPECT_EQ(found.calls, calls.size());
    EXPECT_EQ(found.layers[0].query, &calls[1]);
    EXPECT_EQ(found.layers[2].result().data, ops.result().tensor().data);
    EXPECT_EQ(found.layers[1].input().data, found.layers[0].result().data);
    EXPECT_EQ(findDecodeLayers(calls, 2).calls, 2 * ops.opsOfLayer());
  }
}

TEST(DecodeLayers, ComputesOnlyItsShapes) {
  EXPECT_EQ(layersOf({.width = 128}), 2u);
  EXPECT_EQ(layersOf({.stored = DType::f8e4m3, .scales = "tensor"}), 2u);
  EXPECT_EQ(layersOf({.tokens = 2}), 0u);
  EXPECT_EQ(layersOf({.width = 32}), 0u);
  EXPECT_EQ(layersOf({.heads = 12}), 0u) << "six heads share a key head";
  EXPECT_EQ(layersOf({.hidden = 20}), 0u) << "rows of 40 bytes";
  EXPECT_EQ(layersOf({.hidden = 16, .ffn = 16392}), 0u);
  EXPECT_EQ(layersOf({.pages = DType::f8e4m3}), 0u);
  EXPECT_EQ(layersOf({.stored = DType::f8e4m3, .scales = "groups"}), 0u);
}

/// The kernel has one rule of attention.
TEST(DecodeLayers, EndsWhereLayersAttendOtherwise) {
  DecodeOps ops({.layers = 3});
  for (ArrayOp& op : ops.ops())
    if (op.op.kind == OpKind::AttentionPaged && &op != &ops.ops()[4] &&
        &op != &ops.ops()[4 + ops.opsOfLayer()])
      op.op.attributes["window"] = int64_t(8);
  EXPECT_EQ(ops.ops()[4].op.kind, OpKind::AttentionPaged);
  EXPECT_EQ(findDecodeLayers(ops.calls(), 100).layers.size(), 2u);
}

TEST(DecodeLayers, LaterOpsReadNothingThatIsNotWritten) {
  const auto countWith = [](auto change) {
    DecodeOps ops({});
    Array sink(DType::bf16, ops.result().shape());
    change(ops, sink);
    return findDecodeLayers(ops.calls(), 100).layers.size();
  };
  EXPECT_EQ(countWith([](DecodeOps& ops, Array& sink) {
              ops.add(OpKind::Add, {&ops.result(), &ops.result()}, {&sink});
            }),
            2u);
  EXPECT_EQ(countWith([](DecodeOps& ops, Array& sink) {
              Array* const normed = ops.ops()[0].outputs[0];
              ops.add(OpKind::Add, {normed, normed}, {&sink});
            }),
            0u);
  // Memory that is written before may be read.
  EXPECT_EQ(countWith([](DecodeOps& ops, Array& sink) {
              Array* const normed = ops.ops()[0].outputs[0];
              Array* const result = &ops.result();
              ops.add(OpKind::Add, {result, result}, {normed});
              ops.add(OpKind::Add, {normed, normed}, {&sink});
            }),
            2u);
}

} // namespace
} // namespace reciperun::kernels
