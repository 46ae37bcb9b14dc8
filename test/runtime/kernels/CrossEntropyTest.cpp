// Cross-entropy: two shards of a vocabulary compared with the whole, and the
// whole compared with its definition.

#include "runtime/ops/OpKind.h"
#include "test/runtime/kernels/Harness.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

namespace reciperun::kernels {
namespace {

using plan::DType;
using plan::OpKind;

struct Rows {
  Array labels, weights, scale;
};

Rows someRows() {
  Rows rows{Array::integers({1, 6}, {0, 9, 10, 19, 3, 15}),
            Array::random(DType::f32, {1, 6}, 2), Array(DType::f32, {1})};
  for (int64_t i = 0; i < 6; ++i)
    rows.weights.set(i, i == 4 ? 0 : 1);
  rows.scale.set(0, 0.2);
  return rows;
}

struct LossResults {
  double loss;
  Array dlogits;
};

/// The four steps over `ranks` shards of the logits; the test does the
/// collectives between them.
LossResults crossEntropy(const Array& logits, int ranks, Rows rows) {
  const DType type = logits.dtype(), sums = accumulatorOf(type);
  const int64_t tokens = logits.shape()[1], vocabulary = logits.shape()[2];
  const int64_t width = vocabulary / ranks;
  const plan::Mesh mesh{{{"tp", ranks}}, {}, ranks};
  const Attributes axis = {{"axis", std::string("tp")}};
  std::vector<Array> parts, maxima, stats;
  for (int rank = 0; rank < ranks; ++rank) {
    Array part(type, {1, tokens, width});
    for (int64_t i = 0; i < part.size(); ++i)
      part.set(i,
               logits.get(i / width * vocabulary + rank * width + i % width));
    parts.push_back(part);
    maxima.emplace_back(sums, std::vector<int64_t>{1, tokens});
    stats.emplace_back(sums, std::vector<int64_t>{1, tokens, 2});
    call(OpKind::SoftmaxMax, {&parts.back()}, {&maxima.back()}, {},
         {mesh, rank, 1});
  }
  Array maximum = maxima[0], whole(sums, {1, tokens, 2});
  for (const Array& one : maxima)
    for (int64_t i = 0; i < tokens; ++i)
      maximum.set(i, std::max(maximum.get(i), one.get(i)));
  for (int rank = 0; rank < ranks; ++rank) {
    call(OpKind::SoftmaxSum, {&parts[size_t(rank)], &maximum, &rows.labels},
         {&stats[size_t(rank)]}, axis, {mesh, rank, 1});
    for (int64_t i = 0; i < whole.size(); ++i)
      whole.set(i, whole.get(i) + stats[size_t(rank)].get(i));
  }
  Array loss(DType::f64, {1});
  call(OpKind::Nll, {&maximum, &whole, &rows.weights, &rows.scale}, {&loss});
  LossResults results{loss.get(0), Array(type, logits.shape())};
  for (int rank = 0; rank < ranks; ++rank) {
    Array& part = parts[size_t(rank)]; // in place
    call(OpKind::CrossEntropyBackward,
         {&part, &maximum, &whole, &rows.labels, &rows.weights, &rows.scale},
         {&part}, axis, {mesh, rank, 1});
    for (int64_t i = 0; i < part.size(); ++i)
      results.dlogits.set(i / width * vocabulary + rank * width + i % width,
                          part.get(i));
  }
  return results;
}

/// -log softmax by its definition, in double.
LossResults definition(const Array& logits, const Rows& rows) {
  const int64_t tokens = logits.shape()[1], vocabulary = logits.shape()[2];
  LossResults results{0, Array(DType::f64, logits.shape())};
  for (int64_t i = 0; i < tokens; ++i) {
    double sum = 0;
    for (int64_t j = 0; j < vocabulary; ++j)
      sum += std::exp(logits.get(i * vocabulary + j));
    const int64_t label = int64_t(rows.labels.get(i));
    const double weight = rows.weights.get(i) * rows.scale.get(0);
    results.loss +=
        weight * (std::log(sum) - logits.get(i * vocabulary + label));
    for (int64_t j = 0; j < vocabulary; ++j)
      results.dlogits.set(
          i * vocabulary + j,
          weight *
              (std::exp(logits.get(i * vocabulary + j)) / sum - (j == label)));
  }
  return results;
}

void check(DType type, double tolerance) {
  const Array logits = Array::random(type, {1, 6, 20}, 1, 3);
  const LossResults expected = definition(logits, someRows());
  for (int ranks : {1, 2}) {
    const LossResults ours = crossEntropy(logits, ranks, someRows());
    EXPECT_NEAR(ours.loss, expected.loss,
                std::min(tolerance, 1e-6) * expected.loss);
    EXPECT_LT(relativeError(ours.dlogits, expected.dlogits), tolerance);
  }
}

// The loss is at least f32, whatever the type of the logits: 1e-6. Gradients
// are rounded to that type once.
TEST(CrossEntropy, ShardsAndWholeInF64) {
  check(DType::f64, 1e-12);
}
TEST(CrossEntropy, ShardsAndWholeInF32) {
  check(DType::f32, 1e-6);
}
TEST(CrossEntropy, ShardsAndWholeInBf16) {
  check(DType::bf16, 0x1p-8);
}

TEST(CrossEntropy, LargeLogitsDoNotOverflow) {
  Array logits = Array::random(DType::f32, {1, 6, 20}, 1, 1000);
  const LossResults ours = crossEntropy(logits, 2, someRows());
  EXPECT_TRUE(std::isfinite(ours.loss));
  for (int64_t i = 0; i < logits.size(); ++i)
    EXPECT_TRUE(std::isfinite(ours.dlogits.get(i)));
}

} // namespace
} // namespace reciperun::kernels
