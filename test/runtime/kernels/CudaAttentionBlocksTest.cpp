// GPU attention to a block of keys at a time, as in ring attention, compared
// with the CPU twins.
//
// Tolerances are those of CudaAttentionCases.h: f32 sums of some hundred terms
// and exponentials, 1e-5; in bf16 weights, P and dS are rounded to 2^-9, in
// addition to a delta that nearly cancels.

#include "runtime/ops/OpKind.h"
#include "test/runtime/kernels/CudaOperands.h"

namespace reciperun::kernels {
namespace {

using plan::DType;
using plan::OpKind;

Tolerance ofOutputs(DType type) {
  return {0, type == DType::bf16 ? 0x1p-7 : 1e-5};
}
Tolerance ofGradients(DType type) {
  return {0, type == DType::bf16 ? 0x1p-6 : 1e-5};
}

class CudaAttentionBlocks : public CudaParityTest {};

struct BlockShape {
  int64_t batch, tokens, heads, keyHeads, width;
  Attributes attributes = {};
  int64_t document = 1000; // tokens per document
};

const BlockShape blocks[] = {
    {2, 40, 4, 2, 16},
    {1, 130, 2, 2, 64, {}, 50},
    {1, 70, 4, 1, 80, {{"softcap", 2.0}}},
    {1, 200, 2, 1, 128, {{"window", int64_t(90)}}, 150},
    {1, 65, 1, 1, 192},
    {1, 50, 2, 1, 256, {{"causal", false}, {"scale", 0.05}}},
    {2, 33, 3, 3, 5, {{"chunk", int64_t(20)}}, 45},
};

/// The tokens of one rank in a ring of two: an early and a late chunk, and a
/// few padding tokens at the end of the row.
struct Part {
  Part(const BlockShape& s, int rank)
      : segments(DType::i32, {s.batch, s.tokens}), places(segments) {
    const int64_t piece = s.tokens / 2;
    for (int64_t i = 0; i < segments.size(); ++i) {
      const int64_t token = i % s.tokens;
      const int64_t place = token < piece ? rank * piece + token
                                          : (3 - rank) * piece + token - piece;
      places.set(i, double(place));
      segments.set(i, place >= 4 * piece - 6 ? -1 : double(place / s.document));
    }
  }
  Array segments, places;
};

TEST_F(CudaAttentionBlocks, CarryTheSoftmaxOn) {
  for (DType type : types)
    for (const BlockShape& s : blocks)
      for (int rank : {0, 1}) {
        const std::vector<int64_t> queries = {s.batch, s.tokens, s.heads,
                                              s.width};
        const std::vector<int64_t> keys = {s.batch, s.tokens, s.keyHeads,
                                           s.width};
        Array q = numbers(type, queries, 1), dout = numbers(type, queries, 2);
        Part own(s, rank);
        Array sum(DType::f32, queries);
        Array lse(DType::f32, {s.batch, s.heads, s.tokens});
        std::vector<Array> k, v;
        for (int step : {0, 1}) {
          Part other(s, (rank + step) % 2);
          k.push_back(numbers(type, keys, 3 + unsigned(step)));
          v.push_back(numbers(type, keys, 5 + unsigned(step)));
          Attributes attributes = s.attributes;
          attributes.add("step", int64_t(step));
          compare({OpKind::AttentionBlock,
                   {&q, &k[size_t(step)], &v[size_t(step)], &own.segments,
                    &own.places, &other.segments, &other.places},
                   {&sum, &lse},
                   attributes},
                  {ofOutputs(type), {1e-5, 1e-5}});
        }
        Array out(type, queries);
        compare({OpKind::AttentionBlocksEnd, {&sum}, {&out, &lse}},
                {tolerance(type, exact), exact});
        Array dq = numbers(DType::f32, queries, 7);
        Array dk = numbers(DType::f32, keys, 8);
        Array dv = numbers(DType::f32, keys, 9);
        for (int step : {0, 1}) {
          Part other(s, (rank + step) % 2);
          compare({OpKind::AttentionBlockBackward,
                   {&dout, &out, &q, &k[size_t(step)], &v[size_t(step)], &lse,
                    &own.segments, &own.places, &other.segments, &other.places},
                   {&dq, &dk, &dv},
                   s.attributes},
                  {ofGradients(type)});
        }
      }
}

} // namespace
} // namespace reciperun::kernels
