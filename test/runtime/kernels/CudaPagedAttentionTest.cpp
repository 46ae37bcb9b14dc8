// GPU attention over pages compared with the CPU twin: single tokens, long runs
// of a sequence, mixes of both with padding, and pages in random order.
//
// Tolerances are those of CudaAttentionBlocksTest.cpp. In bf16 the tensor cores
// take weights rounded to 2^-9.

#include "runtime/ops/OpKind.h"
#include "runtime/sizes/AttentionWorkspace.h"
#include "test/runtime/kernels/CudaOperands.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace reciperun::kernels {
namespace {

using plan::DType;
using plan::OpKind;

class CudaPagedAttention : public CudaParityTest {};

/// Tokens of a sequence: [begin, begin + count). Sequence -1 is padding.
struct TokenRun {
  int64_t sequence, begin, count;
};

struct PagedShape {
  std::vector<TokenRun> runs;
  int64_t sequences, perSequence, page;
  int64_t heads, keyHeads, width;
  Attributes attributes = {};

  int64_t tokens() const {
    int64_t count = 0;
    for (const TokenRun& run : runs)
      count += run.count;
    return count;
  }
};

/// One token and several, early and late; runs below, at and above the shortest
/// that is processed in tiles, and of more than one tile; groups of one to more
/// than eight query heads; rows that are and are not whole vectors.
const PagedShape pagedShapes[] = {
    {{{0, 0, 1}}, 1, 2, 32, 4, 2, 16},
    {{{1, 900, 1}}, 3, 32, 32, 8, 2, 128},
    {{{2, 3900, 1}, {0, 17, 1}, {-1, 0, 2}}, 3, 250, 16, 32, 8, 64},
    {{{1, 300, 5}}, 2, 50, 8, 6, 3, 33, {{"window", int64_t(70)}}},
    {{{0, 250, 3}}, 1, 19, 16, 2, 1, 256, {{"softcap", 3.0}, {"scale", 0.2}}},
    {{{0, 0, 16}}, 1, 4, 32, 4, 4, 64},
    {{{1, 130, 68}, {-1, 0, 2}}, 2, 9, 24, 4, 1, 80, {{"chunk", int64_t(64)}}},
    {{{0, 60, 33}}, 1, 5, 20, 3, 3, 8, {{"window", int64_t(9)}}},
    {{{1, 500, 130}, {0, 700, 1}, {2, 0, 300}, {3, 5, 15}},
     5,
     45,
     16,
     2,
     1,
     128},
    {{{0, 600, 1}, {2, 0, 200}, {1, 64, 1}, {3, 90, 16}, {-1, 0, 9}},
     4,
     20,
     32,
     24,
     2,
     192,
     {{"window", int64_t(100)}, {"softcap", 2.0}}},
    {{{0, 100, 1}, {1, 31, 1}}, 2, 4, 32, 40, 1, 72},
    // The last tiles of the first run see only tokens of the run.
    {{{1, 200, 300}, {0, 0, 140}},
     2,
     32,
     16,
     4,
     2,
     128,
     {{"window", int64_t(100)}}},
};

/// The table of pages in random order, with pages only where the step needs
/// them.
Array tableOf(const PagedShape& s) {
  std::vector<int64_t> order(size_t(s.sequences * s.perSequence), 0);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(7));
  Array table(DType::i32, {s.sequences, s.perSequence});
  for (int64_t i = 0; i < table.size(); ++i)
    table.set(i, -1);
  for (const TokenRun& run : s.runs)
    for (int64_t i = 0; run.sequence >= 0 && i * s.page < run.begin + run.count;
         ++i) {
      const int64_t at = run.sequence * s.perSequence + i;
      table.set(at, double(order[size_t(at)]));
    }
  return table;
}

/// A step, and pages of `stored` with what was written before.
struct PagedStepOperands {
  Array q, k, v, positions, sequences, table;
  Array out, keys, values, keyScales, valueScales;

  PagedStepOperands(const PagedShape& s, DType type, DType stored)
      : q(numbers(type, {1, s.tokens(), s.heads, s.width}, 1)),
        k(numbers(type, {1, s.tokens(), s.keyHeads, s.width}, 2)),
        v(numbers(type, {1, s.tokens(), s.keyHeads, s.width}, 3)),
        positions(DType::i32, {1, s.tokens()}), sequences(positions),
        table(tableOf(s)), out(q) {
    const std::vector<int64_t> rows = {s.sequences * s.perSequence, s.page,
                                       s.keyHeads};
    std::vector<int64_t> cache = rows;
    cache.push_back(s.width);
    if (stored == type) {
      keys = numbers(type, cache, 4);
      values = numbers(type, cache, 5);
    } else {
      keys = storedNumbers(stored, cache, 4);
      values = storedNumbers(stored, cache, 5);
      keyScales = positive(rows, 6);
      valueScales = positive(rows, 7);
    }
    int64_t next = 0;
    for (const TokenRun& run : s.runs)
      for (int64_t i = 0; i < run.count; ++i, ++next) {
        sequences.set(next, double(std::max<int64_t>(0, run.sequence)));
        positions.set(next, run.sequence < 0 ? -1 : double(run.begin + i));
      }
  }

  /// The elements of the op's workspace in a plan.
  int64_t workspace() const {
    return sizes::pagedWorkspace(
        {k.dtype(), keys.dtype(), k.shape()[1], k.shape()[2], k.shape()[3]});
  }
  std::vector<Array*> inputs() {
    return {&q, &k, &v, &positions, &sequences, &table};
  }
  std::vector<Array*> outputs() {
    if (keys.dtype() == out.dtype())
      return {&out, &keys, &values, nullptr, nullptr};
    return {&out, &keys, &values, &keyScales, &valueScales};
  }

private:
  /// Numbers of the whole range of 8 bits.
  static Array storedNumbers(DType type, const std::vector<int64_t>& shape,
                             unsigned seed) {
    const double largest = type == DType::i8 ? 127 : 448;
    Array made = numbers(DType::f32, shape, seed, largest / 3);
    for (int64_t i = 0; i < made.size(); ++i)
      made.set(i, std::clamp(made.get(i), -largest, largest));
    return made.cast(type);
  }
  /// Scales that make such numbers about as large as the step's.
  static Array positive(const std::vector<int64_t>& shape, unsigned seed) {
    Array scales = numbers(DType::f32, shape, seed);
    for (int64_t i = 0; i < scales.size(); ++i)
      scales.set(i, 0.005 * (0.5 + std::abs(scales.get(i))));
    return scales;
  }
};

TEST_F(CudaPagedAttention, AgreesWithTheCpu) {
  for (DType type : types)
    for (const PagedShape& s : pagedShapes)
      for (int64_t shift : {0, 1}) {
        PagedStepOperands step(s, type, type);
        compare({.kind = OpKind::AttentionPaged,
                 .inputs = step.inputs(),
                 .outputs = step.outputs(),
                 .attributes = s.attributes,
                 .shift = shift},
                {{0, type == DType::bf16 ? 0x1p-7 : 1e-5},
                 exact,
                 exact,
                 exact,
                 exact});
      }
}

/// Keys and values in 8 bits: what a step writes is the same to the bit.
TEST_F(CudaPagedAttention, InEightBitsAgreesWithTheCpu) {
  for (DType stored : {DType::f8e4m3, DType::i8})
    for (const PagedShape& s : pagedShapes)
      for (int64_t shift : {0, 1}) {
        PagedStepOperands step(s, DType::bf16, stored);
        compare({.kind = OpKind::AttentionPaged,
                 .inputs = step.inputs(),
                 .outputs = step.outputs(),
                 .attributes = s.attributes,
                 .shift = shift,
                 .workspace = step.workspace()},
                {{0, 0x1p-7}, exact, exact, exact, exact});
      }
}

/// Sines differ between GPUs and CPUs in their last bits. The op must therefore
/// give the same bits as separate rotations on the GPU.
TEST_F(CudaPagedAttention, RotatesQueriesAndKeys) {
  const Attributes wholes = {{"theta", 500.0}},
                   parts = {{"theta", 500.0},
                            {"rotated", int64_t(8)},
                            {"interleaved", true}};
  for (const Attributes& rope : {wholes, parts})
    for (DType type : types)
      for (DType stored : {type, DType::f8e4m3})
        for (const PagedShape& s : pagedShapes) {
          if (s.width % 2 || (stored != type && type != DType::bf16))
            continue;
          PagedStepOperands apart(s, type, stored), together = apart;
          Array q = apart.q, k = apart.k;
          runOnGpu({OpKind::Rope, {&q, &apart.positions}, {&apart.q}, rope});
          runOnGpu({OpKind::Rope, {&k, &apart.positions}, {&apart.k}, rope});
          runOnGpu({.kind = OpKind::AttentionPaged,
                    .inputs = apart.inputs(),
                    .outputs = apart.outputs(),
                    .attributes = s.attributes,
                    .workspace = apart.workspace()});
          Attributes attributes = s.attributes;
          for (const auto& [name, value] : rope)
            attributes[name] = value;
          attributes["rope"] = true;
          runOnGpu({.kind = OpKind::AttentionPaged,
                    .inputs = together.inputs(),
                    .outputs = together.outputs(),
                    .attributes = attributes,
                    .workspace = together.workspace()});
          EXPECT_EQ(relativeError(together.out, apart.out), 0);
          EXPECT_EQ(relativeError(together.keys, apart.keys), 0);
          EXPECT_EQ(relativeError(together.values, apart.values), 0);
        }
}

} // namespace
} // namespace reciperun::kernels
