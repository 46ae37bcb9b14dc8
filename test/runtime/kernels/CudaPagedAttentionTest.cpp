// GPU attention over pages compared with the CPU twin: single tokens, long runs
// of a sequence, mixes of both with padding, and pages in random order.
//
// Tolerances are those of CudaAttentionBlocksTest.cpp. In bf16 the tensor cores
// take weights rounded to 2^-9.

#include "runtime/ops/OpKind.h"
#include "test/runtime/kernels/CudaOperands.h"

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

TEST_F(CudaPagedAttention, AgreesWithTheCpu) {
  for (DType type : types)
    for (const PagedShape& s : pagedShapes)
      for (int64_t shift : {0, 1}) {
        const int64_t tokens = s.tokens();
        const std::vector<int64_t> cache = {s.sequences * s.perSequence, s.page,
                                            s.keyHeads, s.width};
        Array q = numbers(type, {1, tokens, s.heads, s.width}, 1), out = q;
        Array k = numbers(type, {1, tokens, s.keyHeads, s.width}, 2);
        Array v = numbers(type, {1, tokens, s.keyHeads, s.width}, 3);
        Array keys = numbers(type, cache, 4), values = numbers(type, cache, 5);
        Array positions(DType::i32, {1, tokens}), sequences = positions;
        int64_t next = 0;
        for (const TokenRun& run : s.runs)
          for (int64_t i = 0; i < run.count; ++i, ++next) {
            sequences.set(next, double(std::max<int64_t>(0, run.sequence)));
            positions.set(next, run.sequence < 0 ? -1 : double(run.begin + i));
          }
        Array table = tableOf(s);
        const Tolerance near{0, type == DType::bf16 ? 0x1p-7 : 1e-5};
        compare({.kind = OpKind::AttentionPaged,
                 .inputs = {&q, &k, &v, &positions, &sequences, &table},
                 .outputs = {&out, &keys, &values},
                 .attributes = s.attributes,
                 .shift = shift},
                {near, exact, exact});
      }
}

} // namespace
} // namespace reciperun::kernels
