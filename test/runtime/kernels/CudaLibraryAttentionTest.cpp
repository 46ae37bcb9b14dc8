// cuDNN's attention on a GPU compared with the CPU's: rows of one document and
// of several, with workspaces of the size that a plan has. CudaAttentionCases.h
// explains the tolerances.

#include "runtime/kernels/attention/AttentionLibrary.h"
#include "test/runtime/kernels/CudaAttentionCases.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include <gtest/gtest.h>

namespace reciperun::kernels {
namespace {

using plan::DType;
using CudaLibraryAttention = OnGpu;

void checkLibrary(const std::string& name, int64_t tokens, int64_t keyHeads,
                  int64_t width, bool isCausal, bool isDeterministic,
                  int64_t window = 0) {
  const AttentionCase c = plainCase(name + (isDeterministic ? " in order" : ""),
                                    2, tokens, 4, keyHeads, width,
                                    {{"documents", false},
                                     {"causal", isCausal},
                                     {"window", window},
                                     {"deterministic", isDeterministic}});
  device::AttentionPlans& plans = testGpu()->attentionPlans();
  const device::AttentionPlans::Shape shape{2,
                                            tokens,
                                            tokens,
                                            4,
                                            keyHeads,
                                            width,
                                            float(1 / std::sqrt(double(width))),
                                            isCausal,
                                            isDeterministic,
                                            /*queryRows=*/0,
                                            /*keyRows=*/0,
                                            /*tokens=*/0,
                                            window};
  const int64_t forward = plans.forwardBytes(shape);
  const int64_t backward = plans.backwardBytes(shape);
  ASSERT_GE(forward, 0) << plans.notice();
  ASSERT_GE(backward, 0) << plans.notice();
  std::printf("%s: workspace %lld bytes forward, %lld backward\n",
              c.name.c_str(), (long long)(forward), (long long)(backward));
  const AttentionResults wanted = onCpu(c, DType::bf16);
  const AttentionResults got = onGpu(c, DType::bf16, backward + 256);
  compareAttention("cuDNN " + c.name, got, wanted, DType::bf16);
  if (!isDeterministic)
    return;
  const AttentionResults again = onGpu(c, DType::bf16, backward + 256);
  expectClose("cuDNN dq again", again.dq, got.dq, 0);
  expectClose("cuDNN dk again", again.dk, got.dk, 0);
}

TEST_F(CudaLibraryAttention, AgreesWithTheCpu) {
  for (bool isDeterministic : {false, true}) {
    checkLibrary("causal 64", 256, 2, 64, true, isDeterministic);
    checkLibrary("causal 128", 256, 2, 128, true, isDeterministic);
    checkLibrary("not causal", 192, 4, 128, false, isDeterministic);
    checkLibrary("ragged", 333, 1, 64, true, isDeterministic);
    // With a window of 1 the gradients of q and k are 0, so that no relative
    // error is small.
    for (int64_t window : {2, 20, 128, 332})
      checkLibrary("window " + std::to_string(window), 333, 2, 128, true,
                   isDeterministic, window);
  }
}

using Lengths = std::vector<int64_t>;

/// Two rows of documents, with padding after the last document of each.
AttentionCase rowsCase(const std::string& name, int64_t tokens, int64_t width,
                       const Lengths& first, const Lengths& second,
                       Attributes attributes) {
  AttentionCase c =
      packedCase(name, tokens, first, width, std::move(attributes));
  const Side row = packedSide(1, tokens, second);
  std::copy(row.segments.begin(), row.segments.end(),
            c.asking.segments.begin() + tokens);
  c.asked = c.asking;
  return c;
}

/// The same lengths, with the last one extended to fill the row.
Lengths filled(Lengths lengths, int64_t tokens) {
  if (lengths.empty())
    lengths.push_back(0);
  lengths.back() +=
      tokens - std::accumulate(lengths.begin(), lengths.end(), int64_t(0));
  return lengths;
}

/// Rows of up to `most` documents. Padding attends like the end of the document
/// before it; no token of a document sees padding.
void checkDocuments(const std::string& name, int64_t most, int64_t tokens,
                    int64_t width, const Lengths& first, const Lengths& second,
                    int64_t window = 0) {
  const Attributes attributes = {
      {"most_documents", most}, {"window", window}, {"deterministic", false}};
  const AttentionCase c =
      rowsCase(name, tokens, width, first, second, attributes);
  plan::Op op;
  op.attributes = attributes;
  const std::vector<int64_t> queries = {c.batch, tokens, c.heads, width},
                             keys = {c.batch, tokens, c.keyHeads, width};
  const auto shape = libraryAttention(op, {nullptr, DType::bf16, queries},
                                      {nullptr, DType::bf16, keys});
  ASSERT_TRUE(shape);
  device::AttentionPlans& plans = testGpu()->attentionPlans();
  ASSERT_GE(plans.forwardBytes(*shape), 0) << plans.notice();
  ASSERT_GE(plans.backwardBytes(*shape), 0) << plans.notice();
  const int64_t given = sizes::libraryWorkspace(sizes::attentionSizes(
      ops::AttentionAttributes(op.attributes), DType::bf16, queries, keys));
  std::printf("  %s: workspace %lld bytes forward, %lld backward of %lld\n",
              name.c_str(), (long long)(plans.forwardBytes(*shape)),
              (long long)(plans.backwardBytes(*shape)), (long long)(given));
  EXPECT_LE(plans.backwardBytes(*shape), given);
  compareAttention("cuDNN " + name, onGpu(c, DType::bf16, given),
                   onCpu(rowsCase(name, tokens, width, filled(first, tokens),
                                  filled(second, tokens), {{"window", window}}),
                         DType::bf16),
                   DType::bf16);
}

TEST_F(CudaLibraryAttention, OfPackedDocuments) {
  checkDocuments("documents", 4, 140, 64, {30, 1, 70, 20}, {100, 3, 37});
  // The same plan runs with other documents the next time.
  checkDocuments("others", 4, 140, 64, {140}, {1, 1, 1, 137});
  checkDocuments("far apart", 16, 400, 128, {100, 3, 200, 80}, {129, 127, 144});
  checkDocuments("padding", 16, 400, 128, {7}, {});
  checkDocuments("of one token each", 130, 130, 128, Lengths(130, 1), {65, 65});
  checkDocuments("long", 64, 2000, 128, {1000, 999}, Lengths(60, 33));
  checkDocuments("window", 8, 400, 128, {100, 3, 200, 80}, {130, 270}, 100);
}

} // namespace
} // namespace reciperun::kernels
