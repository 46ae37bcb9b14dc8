// attention_paged compared with the explicit sum over each sequence, for random
// cuts of sequences into steps, page sizes and orders of pages; and what does
// not change a result: the other tokens of a step, pages, and threads.

#include "runtime/ops/OpKind.h"
#include "test/runtime/kernels/ServingSteps.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include <gtest/gtest.h>

namespace reciperun::kernels {
namespace {

using plan::DType;
using plan::OpKind;

struct Problem {
  std::vector<int64_t> lengths;
  int64_t heads = 4, keyHeads = 2, width = 16;
  int64_t window = 0, chunk = 0; // 0: none
  double softcap = 0, scale = 0;

  int64_t tokens() const {
    return std::accumulate(lengths.begin(), lengths.end(), int64_t(0));
  }
  std::vector<int64_t> queryShape() const {
    return {1, tokens(), heads, width};
  }
  std::vector<int64_t> keyShape() const {
    return {1, tokens(), keyHeads, width};
  }
  bool sees(int64_t i, int64_t j) const {
    return j <= i && (window == 0 || i - j < window) &&
           (chunk == 0 || i / chunk == j / chunk);
  }
  Attributes attributes() const {
    return {{"window", window},
            {"chunk", chunk},
            {"softcap", softcap},
            {"scale", scale}};
  }
};

/// The whole sequences, one after the other.
struct Operands {
  Array q, k, v;

  Operands(const Problem& p, DType type)
      : q(Array::random(DType::bf16, p.queryShape(), 1).cast(type)),
        k(Array::random(DType::bf16, p.keyShape(), 2).cast(type)),
        v(Array::random(DType::bf16, p.keyShape(), 3).cast(type)) {}
};

Array plainAttention(const Problem& p, const Operands& in) {
  Array out(DType::f64, p.queryShape());
  const double scale = p.scale ? p.scale : 1 / std::sqrt(double(p.width));
  int64_t begin = 0;
  for (int64_t length : p.lengths) {
    for (int64_t i = 0; i < length; ++i)
      for (int64_t h = 0; h < p.heads; ++h) {
        const int64_t query = ((begin + i) * p.heads + h) * p.width;
        auto keyAt = [&](int64_t j) {
          return ((begin + j) * p.keyHeads + h / (p.heads / p.keyHeads)) *
                 p.width;
        };
        std::vector<double> sum(size_t(p.width), 0.0);
        double total = 0;
        for (int64_t j = 0; j < length; ++j) {
          if (!p.sees(i, j))
            continue;
          double score = 0;
          for (int64_t d = 0; d < p.width; ++d)
            score += scale * in.q.get(query + d) * in.k.get(keyAt(j) + d);
          if (p.softcap)
            score = p.softcap * std::tanh(score / p.softcap);
          total += std::exp(score);
          for (int64_t d = 0; d < p.width; ++d)
            sum[size_t(d)] += std::exp(score) * in.v.get(keyAt(j) + d);
        }
        for (int64_t d = 0; d < p.width; ++d)
          out.set(query + d, sum[size_t(d)] / total);
      }
    begin += length;
  }
  return out;
}

/// Pages in random order, with spare slots of sequences and spare pages. Unused
/// pages hold NaN.
struct Cache {
  Array pages, keys, values;
  std::vector<int64_t> slots; // of the sequences

  Cache(const Problem& p, DType type, int64_t page, unsigned seed) {
    std::mt19937 random(seed);
    const auto sequences = int64_t(p.lengths.size()) + 2;
    const int64_t longest =
        *std::max_element(p.lengths.begin(), p.lengths.end());
    const int64_t perSequence = (longest + page - 1) / page + 1;
    std::vector<int64_t> all(size_t(sequences), 0);
    std::iota(all.begin(), all.end(), 0);
    std::shuffle(all.begin(), all.end(), random);
    slots.assign(all.begin(), all.end() - 2);
    const int64_t count = sequences * perSequence;
    std::vector<int64_t> order(size_t(count), 0);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    std::vector<int64_t> table(size_t(count), -1);
    size_t next = 0;
    for (size_t i = 0; i < slots.size(); ++i)
      for (int64_t j = 0; j * page < p.lengths[i]; ++j)
        table[size_t(slots[i] * perSequence + j)] = order[next++];
    pages = Array::integers({sequences, perSequence}, table);
    keys = values = Array(type, {count, page, p.keyHeads, p.width});
    for (int64_t i = 0; i < keys.size(); ++i)
      for (Array* array : {&keys, &values})
        array->set(i, std::numeric_limits<double>::quiet_NaN());
  }
};

void runStep(const Problem& p, const Operands& in, ServingStep& step,
             Cache& cache, Array& out, int threads = 2) {
  Array q = rowsOf(in.q, step.rows), k = rowsOf(in.k, step.rows),
        v = rowsOf(in.v, step.rows), o = q;
  call(OpKind::AttentionPaged,
       {&q, &k, &v, &step.positions, &step.sequences, &cache.pages},
       {&o, &cache.keys, &cache.values}, p.attributes(), {{}, 0, threads});
  putRows(o, step.rows, out);
}

Array paged(const Problem& p, DType type, int64_t page, int64_t most,
            unsigned seed, int threads = 2) {
  const Operands in(p, type);
  Cache cache(p, type, page, seed);
  Array out(type, p.queryShape());
  for (ServingStep& step : randomSteps(p.lengths, cache.slots, most, seed))
    runStep(p, in, step, cache, out, threads);
  return out;
}

/// f64 rounds at 1e-16 and f32 at 6e-8, with sums of a few hundred terms. bf16
/// results round to 2^-9 of the largest.
void check(const Problem& p) {
  const Array plain = plainAttention(p, Operands(p, DType::f64));
  const std::pair<int64_t, int64_t> cuts[] = {
      {1, 40}, {16, 200}, {40, 9}, {8, 1}}; // pages and steps
  for (const auto& [page, most] : cuts) {
    const auto seed = unsigned(page * 1000 + most);
    EXPECT_LT(relativeError(paged(p, DType::f64, page, most, seed), plain),
              1e-12);
    EXPECT_LT(relativeError(paged(p, DType::f32, page, most, seed), plain),
              1e-5);
    EXPECT_LT(relativeError(paged(p, DType::bf16, page, most, seed), plain),
              0x1p-8);
  }
}

TEST(AttentionPaged, AgreesWithTheSumOverEachSequence) {
  check({{70, 1, 33, 90}});
}

TEST(AttentionPaged, OneHeadForEachKey) {
  check({{64, 20}, 3, 3, 19});
}

TEST(AttentionPaged, ManyHeadsForOneKey) {
  check({{40, 66}, 70, 1, 8});
}

TEST(AttentionPaged, OfAWindow) {
  for (int64_t window : {1, 13, 80})
    check({{100, 30}, 4, 2, 16, window});
}

TEST(AttentionPaged, OfAChunk) {
  for (int64_t chunk : {1, 13, 80})
    check({{100, 30}, 4, 2, 16, 0, chunk});
}

TEST(AttentionPaged, OfCappedScores) {
  check({{100, 30}, 4, 2, 16, 0, 0, 0.5, 0.9});
}

/// The result of a token depends on nothing but its sequence.
TEST(AttentionPaged, CutsPagesAndThreadsChangeNothing) {
  const Problem p{{1500, 3, 600}, 2, 1, 16, 700};
  for (DType type : {DType::f32, DType::bf16}) {
    const Array whole = paged(p, type, 64, 5000, 1, 1);
    EXPECT_EQ(relativeError(paged(p, type, 16, 7, 2, 3), whole), 0);
    EXPECT_EQ(relativeError(paged(p, type, 33, 90, 3, 16), whole), 0);
  }
}

/// Pages that all tokens of a step have left behind need not exist.
TEST(AttentionPaged, ReadsNoPageBeforeTheWindow) {
  const Problem p{{200}, 4, 2, 16, 20};
  const Operands in(p, DType::f32);
  const Array plain = plainAttention(p, Operands(p, DType::f64));
  Cache cache(p, DType::f32, 8, 1);
  Array out(DType::f32, p.queryShape());
  for (ServingStep& step : randomSteps(p.lengths, cache.slots, 1, 1)) {
    const auto position = int64_t(step.positions.get(step.tokens() - 1));
    for (int64_t i = 0; (i + 1) * 8 <= position - 19; ++i)
      cache.pages.set(cache.slots[0] * cache.pages.shape()[1] + i, -1);
    runStep(p, in, step, cache, out);
  }
  EXPECT_LT(relativeError(out, plain), 1e-5);
}

std::string errorOf(const Problem& p, ServingStep step, Cache cache) {
  const Operands in(p, DType::f32);
  Array q = rowsOf(in.q, step.rows), k = rowsOf(in.k, step.rows),
        v = rowsOf(in.v, step.rows), o = q;
  plan::Op op;
  op.kind = OpKind::AttentionPaged;
  op.name = "layers.0.attention";
  const device::Tensor inputs[] = {q.tensor(),
                                   k.tensor(),
                                   v.tensor(),
                                   step.positions.tensor(),
                                   step.sequences.tensor(),
                                   cache.pages.tensor()};
  const device::Tensor outputs[] = {o.tensor(), cache.keys.tensor(),
                                    cache.values.tensor()};
  device::CpuContext context(1);
  const plan::Mesh mesh;
  return findKernel(OpKind::AttentionPaged)(
             {op, inputs, outputs, {}, mesh, 0, context})
      .message();
}

TEST(AttentionPaged, ReportsBadSteps) {
  const Problem p{{20}};
  Cache cache(p, DType::f32, 8, 1); // 3 sequences of 4 pages, 12 pages in all
  const int64_t slot = cache.slots[0], other = (slot + 1) % 3;
  const std::string name = "op `layers.0.attention`: ";
  const std::string own = " of sequence " + std::to_string(slot);
  EXPECT_EQ(errorOf(p, stepOf(slot, 30, 3), cache),
            name + "position 32" + own +
                " lies outside of its 4 pages of 8 tokens");
  EXPECT_EQ(errorOf(p, stepOf(slot, 23, 3), cache),
            name + "position 24" + own + " has no page");
  EXPECT_EQ(errorOf(p, stepOf(other, 0, 1), cache),
            name + "position 0 of sequence " + std::to_string(other) +
                " has no page");
  EXPECT_EQ(errorOf(p, stepOf(3, 0, 1), cache),
            name +
                "token 0 of the step belongs to sequence 3, and the plan has "
                "3 sequences");
  ServingStep torn = stepOf(slot, 0, 3);
  torn.positions.set(2, 5);
  EXPECT_EQ(errorOf(p, torn, cache),
            name + "token 2 of the step has position 5" + own +
                ", whose next position is 2; the tokens of a sequence are "
                "consecutive and in order");
  cache.pages.set(slot * 4 + 1, 12);
  EXPECT_EQ(errorOf(p, stepOf(slot, 7, 3), cache),
            name + "position 8" + own +
                " is in page 12, and the cache has 12 pages");
}

} // namespace
} // namespace reciperun::kernels
