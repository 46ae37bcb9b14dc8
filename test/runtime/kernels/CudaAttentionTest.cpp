// Our GPU attention kernels compared with their CPU twins: widths, packed
// documents, windows and chunks, capped scores, and a subset of the queries.
// CudaAttentionCases.h explains the tolerances.

#include "runtime/plan/OpCheck.h"
#include "test/runtime/kernels/CudaAttentionCases.h"

#include <gtest/gtest.h>

namespace reciperun::kernels {
namespace {

using plan::DType;
using CudaAttention = OnGpu;

/// The first and the last chunk of a row attend to the whole row, as on one
/// rank of context parallelism.
AttentionCase partCase(const std::string& name, int64_t tokens, int64_t width) {
  AttentionCase made =
      packedCase(name, tokens, {tokens / 3, tokens / 2}, width);
  const Side all = made.asked;
  made.asking = {};
  const int64_t piece = tokens / 4;
  made.queries = 2 * piece;
  for (int64_t b = 0; b < made.batch; ++b)
    for (int64_t first : {int64_t(0), tokens - piece})
      for (int64_t i = first; i < first + piece; ++i) {
        made.asking.segments.push_back(all.segments[size_t(b * tokens + i)]);
        made.asking.places.push_back(i);
      }
  return made;
}

void checkAttention(const AttentionCase& c) {
  for (DType type : {DType::f32, DType::bf16})
    compareAttention(c.name + " " + ops::dtypeName(type), onGpu(c, type),
                     onCpu(c, type), type);
}

TEST_F(CudaAttention, OfOneDocument) {
  checkAttention(plainCase("few tokens", 1, 9, 4, 4, 64));
  checkAttention(plainCase("causal", 2, 150, 4, 2, 64));
  checkAttention(plainCase("whole tiles", 1, 256, 2, 2, 128));
  checkAttention(
      plainCase("not causal", 1, 130, 2, 1, 128, {{"causal", false}}));
  checkAttention(plainCase("one key head", 1, 200, 8, 1, 64));
}

TEST_F(CudaAttention, OfAnyWidth) {
  for (int64_t width : {1, 8, 19, 40, 80, 96, 130, 160, 192, 200, 256})
    checkAttention(
        plainCase("width " + std::to_string(width), 1, 140, 4, 2, width));
}

TEST_F(CudaAttention, OfPackedDocuments) {
  checkAttention(packedCase("packed", 140, {30, 1, 70, 20}, 64));
  checkAttention(packedCase("packed far", 400, {100, 3, 200, 80}, 128));
  checkAttention(
      packedCase("packed not causal", 140, {64, 60}, 64, {{"causal", false}}));
  checkAttention(packedCase("padding alone", 70, {3}, 64));
}

TEST_F(CudaAttention, WithinBounds) {
  for (int64_t bound : {2, 20, 64, 100, 500}) {
    checkAttention(plainCase("window " + std::to_string(bound), 1, 300, 2, 1,
                             64, {{"window", bound}}));
    checkAttention(plainCase("chunk " + std::to_string(bound), 1, 300, 2, 1, 64,
                             {{"chunk", bound}}));
  }
  checkAttention(packedCase("packed window", 140, {30, 1, 70, 20}, 64,
                            {{"window", int64_t(20)}, {"causal", false}}));
}

TEST_F(CudaAttention, OfCappedScores) {
  checkAttention(plainCase("softcap", 1, 150, 4, 2, 64,
                           {{"softcap", 3.0}, {"scale", 1.0}}));
  checkAttention(
      packedCase("softcap, packed", 140, {30, 1, 70, 20}, 256,
                 {{"softcap", 1.5}, {"scale", 0.5}, {"window", int64_t(20)}}));
}

TEST_F(CudaAttention, OfAPartOfTheQueries) {
  checkAttention(partCase("part", 240, 64));
  checkAttention(partCase("part, wide", 400, 128));
}

TEST_F(CudaAttention, GivesTheSameBitsEachTime) {
  const AttentionCase c =
      packedCase("same", 700, {300, 1, 250}, 128, {{"causal", true}});
  const AttentionResults one = onGpu(c, DType::bf16),
                         two = onGpu(c, DType::bf16);
  expectClose("out again", two.out, one.out, 0);
  expectClose("dq again", two.dq, one.dq, 0);
  expectClose("dk again", two.dk, one.dk, 0);
  expectClose("dv again", two.dv, one.dv, 0);
}

} // namespace
} // namespace reciperun::kernels
