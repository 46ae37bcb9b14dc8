// attention_paged compared with the explicit sum over each sequence, for random
// cuts of sequences into steps, page sizes and orders of pages, with keys and
// values in 8 bits, too; and what does not change a result: the other tokens of
// a step, pages, and threads.

#include "runtime/device/Float8.h"
#include "runtime/ops/OpKind.h"
#include "test/runtime/kernels/ServingSteps.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include <gtest/gtest.h>

namespace reciperun::kernels {
namespace {

using plan::DType;
using plan::OpKind;

struct PagedProblem {
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

  Operands(const PagedProblem& p, DType type)
      : q(Array::random(DType::bf16, p.queryShape(), 1).cast(type)),
        k(Array::random(DType::bf16, p.keyShape(), 2).cast(type)),
        v(Array::random(DType::bf16, p.keyShape(), 3).cast(type)) {}
};

Array plainAttention(const PagedProblem& p, const Operands& in) {
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

bool isScaled(DType pages) {
  return pages == DType::f8e4m3 || pages == DType::i8;
}

/// Pages in random order, with spare slots of sequences and spare pages. Unused
/// pages hold NaN, or have scales of NaN.
struct Cache {
  Array pages, keys, values;
  Array keyScales, valueScales; // of pages in 8 bits
  std::vector<int64_t> slots;   // of the sequences

  Cache(const PagedProblem& p, DType type, int64_t page, unsigned seed) {
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
    if (isScaled(type))
      keyScales = valueScales = Array(DType::f32, {count, page, p.keyHeads});
    for (Array* array : isScaled(type) ? std::array{&keyScales, &valueScales}
                                       : std::array{&keys, &values})
      for (int64_t i = 0; i < array->size(); ++i)
        array->set(i, std::numeric_limits<double>::quiet_NaN());
  }

  std::vector<Array*> outputs(Array& out) {
    if (!isScaled(keys.dtype()))
      return {&out, &keys, &values, nullptr, nullptr};
    return {&out, &keys, &values, &keyScales, &valueScales};
  }
};

void runStep(const PagedProblem& p, const Operands& in, ServingStep& step,
             Cache& cache, Array& out, int threads = 2) {
  Array q = rowsOf(in.q, step.rows), k = rowsOf(in.k, step.rows),
        v = rowsOf(in.v, step.rows), o = q;
  call(OpKind::AttentionPaged,
       {&q, &k, &v, &step.positions, &step.sequences, &cache.pages},
       cache.outputs(o), p.attributes(), {{}, 0, threads});
  putRows(o, step.rows, out);
}

/// How a problem is computed: sequences in random steps of up to `most` tokens.
struct Cut {
  int64_t page, most;
  unsigned seed = 1;
  int threads = 2;
};

/// Attention in `type` over pages of `stored`.
Array paged(const PagedProblem& p, DType type, const Cut& cut, DType stored) {
  const auto& [page, most, seed, threads] = cut;
  const Operands in(p, type);
  Cache cache(p, stored, page, seed);
  Array out(type, p.queryShape());
  for (ServingStep& step : randomSteps(p.lengths, cache.slots, most, seed))
    runStep(p, in, step, cache, out, threads);
  return out;
}

Array paged(const PagedProblem& p, DType type, const Cut& cut) {
  return paged(p, type, cut, type);
}

/// f64 rounds at 1e-16 and f32 at 6e-8, with sums of a few hundred terms. bf16
/// results round to 2^-9 of the largest.
void check(const PagedProblem& p) {
  const Array plain = plainAttention(p, Operands(p, DType::f64));
  const std::pair<int64_t, int64_t> cuts[] = {
      {1, 40}, {16, 200}, {40, 9}, {8, 1}}; // pages and steps
  for (const auto& [page, most] : cuts) {
    const Cut cut{page, most, unsigned(page * 1000 + most)};
    EXPECT_LT(relativeError(paged(p, DType::f64, cut), plain), 1e-12);
    EXPECT_LT(relativeError(paged(p, DType::f32, cut), plain), 1e-5);
    EXPECT_LT(relativeError(paged(p, DType::bf16, cut), plain), 0x1p-8);
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
  const PagedProblem p{{1500, 3, 600}, 2, 1, 16, 700};
  for (DType type : {DType::f32, DType::bf16})
    for (DType stored : {type, DType::f8e4m3, DType::i8}) {
      const Array whole = paged(p, type, {64, 5000, 1, 1}, stored);
      EXPECT_EQ(relativeError(paged(p, type, {16, 7, 2, 3}, stored), whole), 0);
      EXPECT_EQ(relativeError(paged(p, type, {33, 90, 3, 16}, stored), whole),
                0);
    }
}

/// With `rope`, the bits are those of separate rotations.
TEST(AttentionPaged, RotatesQueriesAndKeys) {
  for (const Attributes& rope :
       {Attributes{{"theta", 100.0}},
        Attributes{{"rotated", int64_t(6)}, {"interleaved", true}}})
    for (DType type : {DType::f32, DType::bf16}) {
      const ServingStep step = stepOf(0, 3, 21);
      Array q = Array::random(type, {1, 21, 4, 16}, 1), turnedQ = q,
            k = Array::random(type, {1, 21, 2, 16}, 2), turnedK = k,
            v = Array::random(type, {1, 21, 2, 16}, 3);
      Array positions = step.positions, sequences = step.sequences;
      Array table = Array::integers({1, 3}, {1, 0, 2});
      struct Results {
        Array out, keys, values;
        std::vector<Array*> pointers() {
          return {&out, &keys, &values, nullptr, nullptr};
        }
      };
      const Array pages = Array::random(type, {3, 8, 2, 16}, 4);
      Results apart{q, pages, pages}, together = apart;
      call(OpKind::Rope, {&q, &positions}, {&turnedQ}, rope);
      call(OpKind::Rope, {&k, &positions}, {&turnedK}, rope);
      call(OpKind::AttentionPaged,
           {&turnedQ, &turnedK, &v, &positions, &sequences, &table},
           apart.pointers());
      Attributes attributes = rope;
      attributes["rope"] = true;
      call(OpKind::AttentionPaged, {&q, &k, &v, &positions, &sequences, &table},
           together.pointers(), attributes);
      EXPECT_EQ(relativeError(together.out, apart.out), 0);
      EXPECT_EQ(relativeError(together.keys, apart.keys), 0);
      EXPECT_EQ(relativeError(together.values, apart.values), 0);
    }
}

/// Replaces a row by the values that it is stored as.
void roundRow(Array& rows, int64_t begin, int64_t width, DType stored) {
  float most = 0;
  for (int64_t i = begin; i < begin + width; ++i)
    most = std::max(most, std::abs(float(rows.get(i))));
  const float scale = most / (stored == DType::i8 ? 127.0f : 448.0f);
  const float inverse = 1 / scale;
  for (int64_t i = begin; i < begin + width; ++i) {
    const float number = float(rows.get(i)) * inverse;
    const float rounded = stored == DType::i8 ? std::nearbyint(number)
                                              : float(device::f8e4m3(number));
    rows.set(i, double(scale) * double(rounded));
  }
}

TEST(AttentionPaged, PagesInEightBitsHoldRoundedRows) {
  const PagedProblem p{{70, 1, 33}, 4, 2, 19};
  for (DType stored : {DType::f8e4m3, DType::i8}) {
    Operands in(p, DType::f64);
    for (Array* rows : {&in.k, &in.v})
      for (int64_t i = 0; i < rows->size(); i += p.width)
        roundRow(*rows, i, p.width, stored);
    const Array plain = plainAttention(p, in);
    EXPECT_LT(relativeError(paged(p, DType::f64, {8, 9}, stored), plain),
              1e-12);
    EXPECT_LT(relativeError(paged(p, DType::f32, {8, 9}, stored), plain), 1e-5);
    EXPECT_LT(relativeError(paged(p, DType::bf16, {8, 9}, stored), plain),
              0x1p-8);
  }
}

/// A row of zeros stays zeros, and one of NaN is seen in what reads it.
TEST(AttentionPaged, PagesInEightBitsKeepZerosAndNaN) {
  const PagedProblem p{{6}, 1, 1, 8};
  for (DType stored : {DType::f8e4m3, DType::i8}) {
    Operands in(p, DType::f32);
    for (int64_t i = 0; i < 3 * p.width; ++i)
      in.v.set(i, 0);
    in.v.set(4 * p.width, std::numeric_limits<double>::infinity());
    Cache cache(p, stored, 4, 1);
    Array out(DType::f32, p.queryShape());
    for (ServingStep& step : randomSteps(p.lengths, cache.slots, 2, 1))
      runStep(p, in, step, cache, out);
    for (int64_t i = 0; i < out.size(); ++i) {
      if (i < 3 * p.width)
        EXPECT_EQ(out.get(i), 0);
      EXPECT_EQ(std::isnan(out.get(i)), i >= 4 * p.width);
    }
  }
}

/// Pages that all tokens of a step have left behind need not exist.
TEST(AttentionPaged, ReadsNoPageBeforeTheWindow) {
  const PagedProblem p{{200}, 4, 2, 16, 20};
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

std::string errorOf(const PagedProblem& p, ServingStep step, Cache cache) {
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
  const device::Tensor outputs[] = {
      o.tensor(), cache.keys.tensor(), cache.values.tensor(), {}, {}};
  device::CpuContext context(1);
  const plan::Mesh mesh;
  return findKernel(OpKind::AttentionPaged)(
             {op, inputs, outputs, {}, mesh, 0, context})
      .message();
}

TEST(AttentionPaged, ReportsBadSteps) {
  const PagedProblem p{{20}};
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
