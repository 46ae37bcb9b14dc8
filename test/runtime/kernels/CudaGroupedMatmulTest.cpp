// The experts' matmuls on a GPU compared with their CPU twins, which compute
// the same inputs in f64. Counts are 0, fill their block or exceed it, and rows
// without a token hold values that no matmul may read.

#include "runtime/ops/OpKind.h"
#include "runtime/plan/OpCheck.h"
#include "test/runtime/kernels/CudaMatrixCalls.h"

#include <algorithm>
#include <cmath>
#include <random>

#include <gtest/gtest.h>

namespace reciperun::kernels {
namespace {

using plan::DType;
using plan::OpKind;
using CudaExperts = OnGpu;

struct ExpertCase {
  int64_t groups, blocks, members, height, from, to;
  bool isStacked = false, accumulate = false;
  double alpha = 1;
  std::vector<int64_t> counts = {}; // of each block's members; or random
};

/// Counts of which some are 0, some fill their block and some exceed it.
Array countsOf(const ExpertCase& c) {
  if (!c.counts.empty())
    return Array::integers({c.groups, c.blocks, c.members}, c.counts);
  std::mt19937 generator(7);
  std::vector<int64_t> counts;
  for (int64_t block = 0; block < c.groups * c.blocks; ++block) {
    int64_t left = c.height;
    for (int64_t e = 0; e < c.members; ++e) {
      int64_t count = int64_t(generator()) % (2 * c.height / c.members + 2);
      if (generator() % 4 == 0)
        count = 0;
      if (block % 2 == 0)
        count = std::min(count, left);
      left -= count;
      counts.push_back(count);
    }
  }
  return Array::integers({c.groups, c.blocks, c.members}, counts);
}

/// Fills rows without a token with values that a matmul must not read.
void spoilUnused(const ExpertCase& c, const Array& counts, Array& rows) {
  const int64_t width = rows.size() / (c.groups * c.blocks * c.height);
  for (int64_t block = 0; block < c.groups * c.blocks; ++block) {
    int64_t used = 0;
    for (int64_t e = 0; e < c.members; ++e)
      used += int64_t(counts.get(block * c.members + e));
    for (int64_t i = std::min(used, c.height) * width; i < c.height * width;
         ++i)
      rows.set(block * c.height * width + i, std::nan(""));
  }
}

void checkExperts(const ExpertCase& c, DType type) {
  const std::string what =
      std::to_string(c.groups) + " x " + std::to_string(c.blocks) + " x " +
      std::to_string(c.members) + " experts, " + std::to_string(c.from) +
      " to " + std::to_string(c.to) + (c.isStacked ? " stacked " : " ") +
      ops::dtypeName(type);
  const int64_t rows = c.blocks * c.height;
  const Attributes attributes = {{"alpha", c.alpha},
                                 {"accumulate", c.accumulate},
                                 {"stacked", c.isStacked}};
  const std::vector<int64_t> matrix = {c.groups * c.members,
                                       c.isStacked ? c.from : c.to,
                                       c.isStacked ? c.to : c.from};
  Array counts = countsOf(c);
  Array x = Array::random(type, {c.groups, rows, c.from}, 1);
  Array w = Array::random(type, matrix, 2);
  Array dy = Array::random(type, {c.groups, rows, c.to}, 3);
  spoilUnused(c, counts, x);
  spoilUnused(c, counts, dy);
  auto check = [&](const char* name, OpKind kind, Array& a, Array& b,
                   std::vector<Array*> extra, const Array& start) {
    Array a64 = a.cast(DType::f64), b64 = b.cast(DType::f64);
    Array wanted = start.cast(DType::f64), got = start;
    std::vector<Array*> on64 = {&a64, &b64}, onGpu = {&a, &b};
    on64.insert(on64.end(), extra.begin(), extra.end());
    onGpu.insert(onGpu.end(), extra.begin(), extra.end());
    call(kind, on64, {&wanted}, attributes);
    callOnGpu(kind, onGpu, {&got}, attributes, 1 << 20);
    expectClose(name + (" " + what) + " into " + ops::dtypeName(start.dtype()),
                got, wanted, matmulTolerance(start.dtype()));
  };
  check("forward", OpKind::ExpertLinear, x, w, {&counts},
        Array::random(type, {c.groups, rows, c.to}, 4));
  check("dgrad", OpKind::ExpertLinearDgrad, dy, w, {&counts},
        Array::random(type, {c.groups, rows, c.from}, 5));
  check("wgrad", OpKind::ExpertLinearWgrad, x, dy, {&counts},
        Array::random(type, matrix, 6));
  if (type == DType::bf16)
    check("wgrad", OpKind::ExpertLinearWgrad, x, dy, {&counts},
          Array::random(DType::f32, matrix, 6));
}

TEST_F(CudaExperts, AgreeWithTheCpu) {
  for (DType type : {DType::f32, DType::bf16}) {
    checkExperts({1, 1, 4, 300, 72, 136}, type);
    checkExperts({2, 3, 3, 150, 64, 128, true}, type);
    checkExperts({2, 2, 40, 200, 200, 24, false, true, 0.5}, type);
    checkExperts({1, 2, 3, 130, 19, 33}, type);
    checkExperts({1, 2, 3, 130, 33, 19, true, true}, type);
  }
}

/// Tiles have 128 rows, 256 columns and 64 terms of the sum.
TEST_F(CudaExperts, AgreeAtTheEdgesOfTiles) {
  const std::vector<int64_t> one = {0, 1, 127, 129, 60};
  const std::vector<int64_t> several = {129, 0,   1, 127, 128, 45,
                                        300, 300, 5, 63,  64,  65};
  for (DType type : {DType::f32, DType::bf16})
    for (bool isStacked : {false, true}) {
      checkExperts({1, 1, 5, 400, 64, 256, isStacked, false, 1, one}, type);
      checkExperts({2, 2, 3, 300, 200, 328, isStacked, true, 0.5, several},
                   type);
    }
}

} // namespace
} // namespace reciperun::kernels
