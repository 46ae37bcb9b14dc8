// Attention compared with a plain implementation over the s x s matrix, and
// parts of the queries and key blocks compared with the whole.

#include "runtime/ops/OpKind.h"
#include "test/runtime/kernels/Harness.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

namespace reciperun::kernels {
namespace {

using plan::DType;
using plan::OpKind;

struct Problem {
  int64_t batch, sequence, heads, keyHeads, width;
  bool causal = true;
  double scale = 0; // 0: the default
  std::vector<int64_t> segments;
  int64_t window = 0, chunk = 0; // 0: none
  double softcap = 0;

  bool sees(int64_t i, int64_t j) const {
    return !(causal && j > i) && (window == 0 || i - j < window) &&
           (chunk == 0 || i / chunk == j / chunk);
  }
  std::vector<int64_t> queryShape() const {
    return {batch, sequence, heads, width};
  }
  std::vector<int64_t> keyShape() const {
    return {batch, sequence, keyHeads, width};
  }
  Attributes attributes() const {
    return {{"causal", causal},
            {"scale", scale},
            {"window", window},
            {"chunk", chunk},
            {"softcap", softcap}};
  }
};

struct Results {
  Array out, lse, dq, dk, dv;
};

/// softmax(scale Q K^T) V and its gradients by the textbook formulas, one
/// sequence and head at a time.
Results plainAttention(const Problem& p, const Array& q, const Array& k,
                       const Array& v, const Array& dout) {
  Results r{Array(DType::f64, p.queryShape()),
            Array(DType::f64, {p.batch, p.heads, p.sequence}),
            Array(DType::f64, p.queryShape()), Array(DType::f64, p.keyShape()),
            Array(DType::f64, p.keyShape())};
  const double scale = p.scale ? p.scale : 1 / std::sqrt(double(p.width));
  const int64_t group = p.heads / p.keyHeads;
  auto queryAt = [&](int64_t b, int64_t i, int64_t h, int64_t d) {
    return ((b * p.sequence + i) * p.heads + h) * p.width + d;
  };
  auto keyAt = [&](int64_t b, int64_t i, int64_t h, int64_t d) {
    return ((b * p.sequence + i) * p.keyHeads + h / group) * p.width + d;
  };
  auto add = [](Array& to, int64_t at, double x) {
    to.set(at, to.get(at) + x);
  };
  for (int64_t b = 0; b < p.batch; ++b)
    for (int64_t h = 0; h < p.heads; ++h)
      for (int64_t i = 0; i < p.sequence; ++i) {
        const int64_t own = p.segments[size_t(b * p.sequence + i)];
        if (own < 0)
          continue;
        std::vector<double> weight(size_t(p.sequence), 0.0),
            bend(size_t(p.sequence), 1.0);
        double sum = 0;
        for (int64_t j = 0; j < p.sequence; ++j) {
          if (p.segments[size_t(b * p.sequence + j)] != own || !p.sees(i, j))
            continue;
          double score = 0;
          for (int64_t d = 0; d < p.width; ++d)
            score += q.get(queryAt(b, i, h, d)) * k.get(keyAt(b, j, h, d));
          score *= scale;
          if (p.softcap) {
            const double t = std::tanh(score / p.softcap);
            score = p.softcap * t;
            bend[size_t(j)] = 1 - t * t;
          }
          weight[size_t(j)] = std::exp(score);
          sum += weight[size_t(j)];
        }
        r.lse.set((b * p.heads + h) * p.sequence + i, std::log(sum));
        double inner = 0; // sum over keys of weight * its gradient
        std::vector<double> slope(size_t(p.sequence), 0.0);
        for (int64_t j = 0; j < p.sequence; ++j) {
          weight[size_t(j)] /= sum;
          for (int64_t d = 0; d < p.width; ++d) {
            const double g = dout.get(queryAt(b, i, h, d));
            slope[size_t(j)] += g * v.get(keyAt(b, j, h, d));
            add(r.out, queryAt(b, i, h, d),
                weight[size_t(j)] * v.get(keyAt(b, j, h, d)));
            add(r.dv, keyAt(b, j, h, d), weight[size_t(j)] * g);
          }
          inner += weight[size_t(j)] * slope[size_t(j)];
        }
        for (int64_t j = 0; j < p.sequence; ++j) {
          const double s = scale * bend[size_t(j)] * weight[size_t(j)] *
                           (slope[size_t(j)] - inner);
          for (int64_t d = 0; d < p.width; ++d) {
            add(r.dq, queryAt(b, i, h, d), s * k.get(keyAt(b, j, h, d)));
            add(r.dk, keyAt(b, j, h, d), s * q.get(queryAt(b, i, h, d)));
          }
        }
      }
  return r;
}

Results ourAttention(const Problem& p, const Array& q, const Array& k,
                     const Array& v, const Array& dout, DType type,
                     int threads) {
  const DType sums = accumulatorOf(type);
  Array tq = q.cast(type), tk = k.cast(type), tv = v.cast(type),
        tdout = dout.cast(type);
  Results r{Array(type, p.queryShape()),
            Array(sums, {p.batch, p.heads, p.sequence}),
            Array(type, p.queryShape()), Array(type, p.keyShape()),
            Array(type, p.keyShape())};
  Array segments = Array::integers({p.batch, p.sequence}, p.segments);
  Array places = placesOf(p.batch, p.sequence);
  Array workspace(DType::f32, {2 * k.size()});
  const Place place{{}, 0, threads};
  call(OpKind::Attention,
       {&tq, &tk, &tv, &segments, &places, &segments, &places},
       {&r.out, &r.lse}, p.attributes(), place);
  call(OpKind::AttentionBackward,
       {&tdout, &r.out, &tq, &tk, &tv, &r.lse, &segments, &places, &segments,
        &places},
       {&r.dq, &r.dk, &r.dv}, p.attributes(), place,
       type == DType::bf16 ? &workspace : nullptr);
  return r;
}

void check(const Problem& p, DType type, double tolerance) {
  const Array q = Array::random(type, p.queryShape(), 1).cast(DType::f64);
  const Array k = Array::random(type, p.keyShape(), 2).cast(DType::f64);
  const Array v = Array::random(type, p.keyShape(), 3).cast(DType::f64);
  const Array dout = Array::random(type, p.queryShape(), 4).cast(DType::f64);
  const Results plain = plainAttention(p, q, k, v, dout);
  const Results ours = ourAttention(p, q, k, v, dout, type, 2);
  EXPECT_LT(relativeError(ours.out, plain.out), tolerance);
  EXPECT_LT(relativeError(ours.lse, plain.lse), tolerance);
  EXPECT_LT(relativeError(ours.dq, plain.dq), tolerance);
  EXPECT_LT(relativeError(ours.dk, plain.dk), tolerance);
  EXPECT_LT(relativeError(ours.dv, plain.dv), tolerance);
}

/// f64 rounds at 1e-16 and sums a few hundred terms. f32 rounds at 6e-8; scores
/// of size 10 give relative errors of 1e-6 in the weights. bf16 rounds `out` to
/// 2^-9, and the backward pass computes a delta from it that nearly cancels:
/// 2^-5.
void checkAll(const Problem& p, double inSingle = 1e-5) {
  check(p, DType::f64, 1e-12);
  check(p, DType::f32, inSingle);
  check(p, DType::bf16, 0x1p-5);
}

std::vector<int64_t> oneSegment(int64_t tokens) {
  return std::vector<int64_t>(size_t(tokens), 0);
}

/// Consecutive documents of the given lengths, then padding.
std::vector<int64_t> documents(int64_t tokens,
                               const std::vector<int64_t>& lengths) {
  std::vector<int64_t> result;
  for (size_t i = 0; i < lengths.size(); ++i)
    result.insert(result.end(), size_t(lengths[i]), int64_t(i));
  result.resize(size_t(tokens), -1);
  return result;
}

TEST(Attention, OneToken) {
  checkAll({1, 1, 1, 1, 4, true, 0, {0}});
}

TEST(Attention, CausalOverSeveralTiles) {
  checkAll({2, 150, 2, 2, 16, true, 0, oneSegment(300)});
}

TEST(Attention, WidthThatIsNoWholeVector) {
  checkAll({1, 67, 2, 1, 19, true, 0, oneSegment(67)});
}

TEST(Attention, WideHeads) {
  checkAll({1, 65, 1, 1, 128, true, 0.05, oneSegment(65)});
}

TEST(Attention, NotCausal) {
  checkAll({1, 130, 2, 1, 8, false, 0.3, oneSegment(130)});
}

TEST(Attention, GroupedPackedAndPadded) {
  std::vector<int64_t> segments = documents(140, {30, 1, 70, 20});
  const std::vector<int64_t> second = documents(140, {140});
  segments.insert(segments.end(), second.begin(), second.end());
  checkAll({2, 140, 6, 2, 16, true, 0, segments});
}

TEST(Attention, PackedNotCausal) {
  checkAll({1, 140, 2, 2, 16, false, 0, documents(140, {64, 60})});
}

TEST(Attention, OfAWindow) {
  for (int64_t window : {2, 5, 64, 100, 500})
    checkAll({1, 150, 2, 1, 16, true, 0, oneSegment(150), window});
  checkAll({1, 140, 2, 1, 16, true, 0, documents(140, {30, 1, 70, 20}), 20});
  checkAll({1, 140, 2, 1, 16, false, 0, documents(140, {64, 60}), 9});
}

TEST(Attention, OfAChunk) {
  for (int64_t chunk : {2, 7, 64, 100, 500})
    checkAll({1, 150, 2, 1, 16, true, 0, oneSegment(150), 0, chunk});
  checkAll({1, 150, 2, 1, 16, false, 0, oneSegment(150), 0, 40});
}

TEST(Attention, OfCappedScores) {
  checkAll({1, 150, 4, 2, 16, true, 1, oneSegment(150), 0, 0, 3});
  checkAll(
      {1, 140, 2, 1, 16, true, 1, documents(140, {30, 1, 70, 20}), 20, 0, 1.5});
}

TEST(Attention, PaddingAloneGivesZeros) {
  checkAll({1, 70, 1, 1, 8, true, 0, documents(70, {3})});
}

TEST(Attention, LargeScoresDoNotOverflow) {
  // Scores of several hundred give errors of 1e-4 in the weights in f32.
  checkAll({1, 80, 1, 1, 8, true, 20, oneSegment(80)}, 1e-4);
}

TEST(Attention, ThreadsDoNotChangeResults) {
  const Problem p{2, 150, 6, 3, 16, true, 0, oneSegment(300)};
  const Array q = Array::random(DType::f32, p.queryShape(), 1);
  const Array k = Array::random(DType::f32, p.keyShape(), 2);
  const Results one = ourAttention(p, q, k, k, q, DType::f32, 1);
  const Results three = ourAttention(p, q, k, k, q, DType::f32, 3);
  EXPECT_EQ(relativeError(three.out, one.out), 0);
  EXPECT_EQ(relativeError(three.dq, one.dq), 0);
  EXPECT_EQ(relativeError(three.dk, one.dk), 0);
  EXPECT_EQ(relativeError(three.dv, one.dv), 0);
}

// ---- parts of a row

/// Local orders of the ranks of a ring: rank 0 has the first and the last of
/// equal chunks of the row, and so on. Some chunks are shorter than tiles, some
/// longer.
std::vector<std::vector<int64_t>> balancedParts(int64_t tokens, int ranks) {
  std::vector<std::vector<int64_t>> parts;
  const int64_t piece = tokens / (2 * ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    std::vector<int64_t> part;
    for (int64_t i = 0; i < piece; ++i)
      part.push_back(rank * piece + i);
    for (int64_t i = 0; i < piece; ++i)
      part.push_back((2 * ranks - 1 - rank) * piece + i);
    parts.push_back(part);
  }
  return parts;
}

/// Selects the tokens `part` of an array whose dimension `dim` is the sequence.
Array pick(const Array& from, const std::vector<int64_t>& part, size_t dim) {
  std::vector<int64_t> shape = from.shape();
  const int64_t tokens = shape[dim];
  int64_t inner = 1;
  for (size_t i = dim + 1; i < shape.size(); ++i)
    inner *= shape[i];
  shape[dim] = int64_t(part.size());
  Array result(from.dtype(), shape);
  for (int64_t i = 0; i < result.size(); ++i) {
    const int64_t local = i / inner % shape[dim],
                  outer = i / inner / shape[dim];
    result.set(i, from.get((outer * tokens + part[size_t(local)]) * inner +
                           i % inner));
  }
  return result;
}

Array plus(const Array& a, const Array& b) {
  Array sum = a;
  for (int64_t i = 0; i < sum.size(); ++i)
    sum.set(i, a.get(i) + b.get(i));
  return sum;
}

/// One rank's part of a problem, rounded to a type.
struct Part {
  Part(const Problem& p, const std::vector<int64_t>& part, DType type)
      : q(pick(Array::random(type, p.queryShape(), 1), part, 1)),
        k(pick(Array::random(type, p.keyShape(), 2), part, 1)),
        v(pick(Array::random(type, p.keyShape(), 3), part, 1)),
        dout(pick(Array::random(type, p.queryShape(), 4), part, 1)),
        segments(
            pick(Array::integers({p.batch, p.sequence}, p.segments), part, 1)),
        places(pick(placesOf(p.batch, p.sequence), part, 1)) {}
  Array q, k, v, dout, segments, places;
};

Results wholeAttention(const Problem& p, DType type) {
  return plainAttention(
      p, Array::random(type, p.queryShape(), 1).cast(DType::f64),
      Array::random(type, p.keyShape(), 2).cast(DType::f64),
      Array::random(type, p.keyShape(), 3).cast(DType::f64),
      Array::random(type, p.queryShape(), 4).cast(DType::f64));
}

std::vector<int64_t> allTokens(int64_t tokens) {
  std::vector<int64_t> all(size_t(tokens), 0);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

/// Attention with gathered keys: each rank's queries see all keys, and dk and
/// dv are summed over the ranks.
void checkGathered(const Problem& p, int ranks, DType type, double tolerance) {
  const Results whole = wholeAttention(p, type);
  const DType sums = accumulatorOf(type);
  Part all(p, allTokens(p.sequence), type);
  Array dk(DType::f64, p.keyShape()), dv(DType::f64, p.keyShape());
  for (const std::vector<int64_t>& part : balancedParts(p.sequence, ranks)) {
    Part own(p, part, type);
    const auto queries = int64_t(part.size());
    Array out = own.q, lse(sums, {p.batch, p.heads, queries}), dq = own.q;
    Array partDk = all.k, partDv = all.v, room(sums, {2 * all.k.size()});
    call(OpKind::Attention,
         {&own.q, &all.k, &all.v, &own.segments, &own.places, &all.segments,
          &all.places},
         {&out, &lse}, p.attributes());
    call(OpKind::AttentionBackward,
         {&own.dout, &out, &own.q, &all.k, &all.v, &lse, &own.segments,
          &own.places, &all.segments, &all.places},
         {&dq, &partDk, &partDv}, p.attributes(), {}, &room);
    EXPECT_LT(relativeError(out, pick(whole.out, part, 1)), tolerance);
    EXPECT_LT(relativeError(lse, pick(whole.lse, part, 2)), tolerance);
    EXPECT_LT(relativeError(dq, pick(whole.dq, part, 1)), tolerance);
    dk = plus(dk, partDk.cast(DType::f64));
    dv = plus(dv, partDv.cast(DType::f64));
  }
  EXPECT_LT(relativeError(dk, whole.dk), tolerance);
  EXPECT_LT(relativeError(dv, whole.dv), tolerance);
}

/// Ring attention: the key blocks of all ranks in sequence.
void checkBlocks(const Problem& p, int ranks, DType type, double tolerance) {
  const Results whole = wholeAttention(p, type);
  const DType sums = accumulatorOf(type);
  const auto parts = balancedParts(p.sequence, ranks);
  std::vector<Part> all;
  std::vector<Array> dk, dv;
  for (const std::vector<int64_t>& part : parts) {
    all.emplace_back(p, part, type);
    dk.emplace_back(sums, all.back().k.shape());
    dv.emplace_back(sums, all.back().k.shape());
  }
  for (size_t rank = 0; rank < parts.size(); ++rank) {
    Part& own = all[rank];
    const auto queries = int64_t(parts[rank].size());
    Array sum(sums, own.q.shape()), lse(sums, {p.batch, p.heads, queries});
    Array out = own.q, dq(sums, own.q.shape());
    for (size_t step = 0; step < parts.size(); ++step) {
      Part& other = all[(rank + parts.size() - step) % parts.size()];
      Attributes attributes = p.attributes();
      attributes.add("step", int64_t(step));
      call(OpKind::AttentionBlock,
           {&own.q, &other.k, &other.v, &own.segments, &own.places,
            &other.segments, &other.places},
           {&sum, &lse}, attributes);
    }
    call(OpKind::AttentionBlocksEnd, {&sum}, {&out, &lse});
    EXPECT_LT(relativeError(out, pick(whole.out, parts[rank], 1)), tolerance);
    EXPECT_LT(relativeError(lse, pick(whole.lse, parts[rank], 2)), tolerance);
    for (size_t step = 0; step < parts.size(); ++step) {
      const size_t from = (rank + parts.size() - step) % parts.size();
      Part& other = all[from];
      call(OpKind::AttentionBlockBackward,
           {&own.dout, &out, &own.q, &other.k, &other.v, &lse, &own.segments,
            &own.places, &other.segments, &other.places},
           {&dq, &dk[from], &dv[from]}, p.attributes());
    }
    EXPECT_LT(relativeError(dq, pick(whole.dq, parts[rank], 1)), tolerance);
  }
  for (size_t rank = 0; rank < parts.size(); ++rank) {
    EXPECT_LT(relativeError(dk[rank], pick(whole.dk, parts[rank], 1)),
              tolerance);
    EXPECT_LT(relativeError(dv[rank], pick(whole.dv, parts[rank], 1)),
              tolerance);
  }
}

/// Tolerances as above.
void checkParts(const Problem& p, int ranks) {
  for (auto check : {checkGathered, checkBlocks}) {
    check(p, ranks, DType::f64, 1e-12);
    check(p, ranks, DType::f32, 1e-5);
    check(p, ranks, DType::bf16, 0x1p-5);
  }
}

TEST(AttentionOfParts, Causal) {
  checkParts({2, 144, 4, 2, 16, true, 0, oneSegment(288)}, 2);
}

TEST(AttentionOfParts, PiecesLongerThanTiles) {
  checkParts({1, 400, 1, 1, 8, true, 0, oneSegment(400)}, 2);
}

TEST(AttentionOfParts, PackedAndPaddedOverManyRanks) {
  std::vector<int64_t> segments = documents(96, {50, 3, 20});
  const std::vector<int64_t> second = documents(96, {96});
  segments.insert(segments.end(), second.begin(), second.end());
  checkParts({2, 96, 2, 1, 8, true, 0, segments}, 4);
}

TEST(AttentionOfParts, NotCausal) {
  checkParts({1, 96, 2, 1, 8, false, 0.3, documents(96, {40, 40})}, 3);
}

} // namespace
} // namespace reciperun::kernels
