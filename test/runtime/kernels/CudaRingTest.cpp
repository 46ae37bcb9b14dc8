// Blocks of ring attention on a GPU, by our kernels and by cuDNN, compared with
// the CPU's attention to all blocks at once. CudaAttentionCases.h explains the
// tolerances; each block is rounded once more.

#include "runtime/kernels/attention/AttentionLibrary.h"
#include "runtime/ops/OpKind.h"
#include "runtime/plan/OpCheck.h"
#include "test/runtime/kernels/CudaAttentionCases.h"

#include <cstdio>

#include <gtest/gtest.h>

namespace reciperun::kernels {
namespace {

using plan::DType;
using plan::OpKind;
using CudaRing = OnGpu;

/// The tokens of a rank: an early and a late chunk of a row.
std::vector<int64_t> tokensOf(int64_t rank, int64_t ranks, int64_t piece) {
  std::vector<int64_t> tokens;
  for (int64_t number : {rank, 2 * ranks - 1 - rank})
    for (int64_t i = 0; i < piece; ++i)
      tokens.push_back(number * piece + i);
  return tokens;
}

/// The rows of those tokens in data [b, tokens, heads, width].
Array rowsOf(const Array& data, const std::vector<int64_t>& tokens) {
  std::vector<int64_t> shape = data.shape();
  const int64_t all = shape[1], row = shape[2] * shape[3];
  shape[1] = int64_t(tokens.size());
  Array part(data.dtype(), shape);
  for (int64_t i = 0; i < part.size(); ++i) {
    const int64_t token = tokens[size_t(i / row % shape[1])];
    part.set(i, data.get((i / row / shape[1] * all + token) * row + i % row));
  }
  return part;
}

/// Runs a rank's queries over all ranks' keys, block by block, and the
/// gradients of each block; compares them with attention to all keys at once.
void checkRing(const std::string& name, int64_t ranks, int64_t rank,
               int64_t piece, int64_t width, DType type,
               const Attributes& attributes) {
  AttentionCase c = plainCase(name, 2, 2 * ranks * piece, 4, 2, width);
  const std::vector<int64_t> own = tokensOf(rank, ranks, piece);
  c.attributes = attributes;
  c.queries = 2 * piece;
  c.asking = {};
  for (int64_t i = 0; i < c.batch * c.queries; ++i) {
    c.asking.segments.push_back(0);
    c.asking.places.push_back(own[size_t(i % c.queries)]);
  }
  const AttentionResults wanted = onCpu(c, type);
  AttentionArrays in(c, type);
  AttentionResults got(c, type);
  Array sum(DType::f32, in.q.shape()), dq(DType::f32, in.q.shape());
  Array room = in.q, dqRoom = in.q;
  std::vector<Array> k, v, places;
  const Place place{meshOf("cp", int(ranks)), int(rank)};
  auto withStep = [&](size_t step) {
    Attributes all = attributes;
    all.add("step", int64_t(step));
    all.add("axis", std::string("cp"));
    return all;
  };
  Array zeros(DType::i32, {c.batch, c.queries});
  for (int64_t step = 0; step < ranks; ++step) {
    const int64_t from = (rank - step + ranks) % ranks;
    const std::vector<int64_t> tokens = tokensOf(from, ranks, piece);
    k.push_back(rowsOf(in.k, tokens));
    v.push_back(rowsOf(in.v, tokens));
    places.emplace_back(DType::i32, zeros.shape());
    for (int64_t i = 0; i < zeros.size(); ++i)
      places.back().set(i, double(tokens[size_t(i % c.queries)]));
    callOnGpu(OpKind::AttentionBlock,
              {&in.q, &k.back(), &v.back(), &zeros, &places[0], &zeros,
               &places.back()},
              {&sum, &got.lse, &room}, withStep(size_t(step)), 0, place);
  }
  callOnGpu(OpKind::AttentionBlocksEnd, {&sum}, {&got.out, &got.lse});
  const std::string what = name + " " + ops::dtypeName(type) + " rank " +
                           std::to_string(rank) + " of " +
                           std::to_string(ranks);
  // With several blocks, each is rounded to bf16 before the merge.
  const double forward = type == DType::f32 ? 1e-5 : 0x1p-6;
  const double backward = type == DType::f32 ? 2e-5 : 0x1p-5;
  expectClose(what + " out", got.out, wanted.out, forward);
  expectClose(what + " lse", got.lse, wanted.lse, 1e-5);
  for (size_t step = 0; step < k.size(); ++step) {
    const int64_t from = (rank - int64_t(step) + ranks) % ranks;
    Array dk(DType::f32, k[step].shape()), dv = dk;
    Array dkRoom = k[step], dvRoom = k[step];
    callOnGpu(OpKind::AttentionBlockBackward,
              {&in.dout, &got.out, &in.q, &k[step], &v[step], &got.lse, &zeros,
               &places[0], &zeros, &places[step]},
              {&dq, &dk, &dv, &dqRoom, &dkRoom, &dvRoom}, withStep(step),
              8 << 20, place);
    const std::vector<int64_t> tokens = tokensOf(from, ranks, piece);
    expectClose(what + " dk of " + std::to_string(from), dk,
                rowsOf(wanted.dk, tokens), backward);
    expectClose(what + " dv of " + std::to_string(from), dv,
                rowsOf(wanted.dv, tokens), backward);
  }
  expectClose(what + " dq", dq, wanted.dq, backward);
}

TEST_F(CudaRing, AgreesWithAttentionToTheWhole) {
  for (int64_t ranks : {2, 3})
    for (int64_t rank = 0; rank < ranks; ++rank) {
      checkRing("ours", ranks, rank, 37, 64, DType::f32, {});
      checkRing("ours", ranks, rank, 70, 128, DType::bf16, {});
      for (bool isDeterministic : {true, false})
        checkRing(isDeterministic ? "cuDNN in order" : "cuDNN", ranks, rank,
                  128, isDeterministic ? 128 : 64, DType::bf16,
                  {{"documents", false}, {"deterministic", isDeterministic}});
    }
  checkRing("cuDNN, ragged", 2, 1, 83, 64, DType::bf16, {{"documents", false}});
  checkRing("cuDNN, not causal", 2, 0, 64, 64, DType::bf16,
            {{"documents", false}, {"causal", false}});
  std::printf("  %s\n", testGpu()->attentionPlans().notice().c_str());
}

/// The rank's own block determines the size of the plan's workspace; other
/// blocks are parts of it.
TEST_F(CudaRing, BlocksFitTheWorkspaceOfThePlan) {
  const std::vector<int64_t> queries = {1, 4096, 32, 128},
                             keys = {1, 4096, 8, 128};
  const device::Tensor q{nullptr, DType::bf16, queries},
      k{nullptr, DType::bf16, keys};
  // The second rank of three attends to its own block, an earlier and a later
  // one.
  for (bool isDeterministic : {true, false})
    for (int64_t step : {0, 1, 2}) {
      plan::Op op;
      op.attributes = {{"documents", false},
                       {"deterministic", isDeterministic},
                       {"step", step},
                       {"axis", std::string("cp")}};
      const auto block = libraryBlock(op, meshOf("cp", 3), 1, q, k);
      ASSERT_TRUE(block);
      device::AttentionPlans& plans = testGpu()->attentionPlans();
      const int64_t forward = plans.forwardBytes(block->shape),
                    backward = plans.backwardBytes(block->shape);
      const int64_t given = sizes::libraryWorkspace(sizes::attentionSizes(
          ops::AttentionAttributes(op.attributes), DType::bf16, queries, keys));
      std::printf(
          "  step %lld%s: workspace %lld bytes forward, %lld backward of "
          "%lld\n",
          (long long)(step), isDeterministic ? " in order" : "",
          (long long)(forward), (long long)(backward), (long long)(given));
      EXPECT_GE(forward, 0) << plans.notice();
      EXPECT_GE(backward, 0) << plans.notice();
      EXPECT_LE(backward, given);
    }
}

} // namespace
} // namespace reciperun::kernels
