// state_scan and its gradient compared with the explicit sum of the recurrence,
// for any chunk size and number of threads, across documents and chunk
// boundaries.

#include "runtime/ops/OpKind.h"
#include "test/runtime/kernels/Harness.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace reciperun::kernels {
namespace {

using plan::DType;
using plan::OpKind;

struct Problem {
  int64_t sequences, tokens, groups, heads, width, state;
  std::vector<int64_t> segments; // of a sequence, the same in all

  int64_t channels() const { return heads * width; }
  int64_t places() const { return sequences * tokens; }
  std::vector<int64_t> shape(int64_t last) const {
    return {sequences, tokens, groups, last};
  }
  std::vector<int64_t> stateShape(int64_t chunk) const {
    return {sequences, groups, (tokens - 1) / chunk + 1, channels(), state};
  }
};

/// No size is a multiple of another: documents of 4, 1 and 5 tokens, then one
/// padding token.
const Problem ragged = {2, 11, 2, 3, 2, 5, {7, 7, 7, 7, 1, 2, 2, 2, 2, 2, -1}};

std::vector<int64_t> documents(int64_t tokens, int64_t length) {
  std::vector<int64_t> result;
  for (int64_t t = 0; t < tokens; ++t)
    result.push_back(t / length);
  return result;
}

/// The inputs in the order of the op; all but the segments are real numbers.
struct Inputs {
  std::vector<Array> arrays;

  explicit Inputs(const Problem& p, double steps = 1) {
    const std::vector<int64_t> parameters = {p.groups, p.heads};
    const std::vector<int64_t> shapes[] = {p.shape(p.channels()),
                                           p.shape(p.heads),
                                           p.shape(p.state),
                                           p.shape(p.state),
                                           parameters,
                                           parameters,
                                           parameters};
    for (unsigned i = 0; i < 7; ++i)
      arrays.push_back(
          Array::random(DType::bf16, shapes[i], i + 1, i == 1 ? steps : 1)
              .cast(DType::f64));
    std::vector<int64_t> segments;
    for (int64_t i = 0; i < p.sequences; ++i)
      segments.insert(segments.end(), p.segments.begin(), p.segments.end());
    arrays.push_back(Array::integers({p.sequences, p.tokens}, segments));
  }

  Inputs cast(DType type) const {
    Inputs result = *this;
    for (size_t i = 0; i < 7; ++i)
      result.arrays[i] = arrays[i].cast(type);
    return result;
  }
};

struct ScanOutputs {
  Array y, states;
};

/// dx, ddt, db, dc, da_log, dd, ddt_bias.
using Gradients = std::vector<Array>;

ScanOutputs scan(const Problem& p, const Inputs& inputs, DType type,
                 int64_t chunk, int threads = 2) {
  Inputs in = inputs.cast(type);
  ScanOutputs out{Array(type, p.shape(p.channels())),
                  Array(accumulatorOf(type), p.stateShape(chunk))};
  std::vector<Array*> pointers;
  for (Array& array : in.arrays)
    pointers.push_back(&array);
  call(OpKind::StateScan, pointers, {&out.y, &out.states}, {{"chunk", chunk}},
       {{}, 0, threads});
  return out;
}

void addGradients(const Inputs& inputs, const Array& dy,
                  const ScanOutputs& kept, int64_t chunk, Gradients& gradients,
                  int threads = 2, bool isFrozen = false) {
  Inputs in = inputs.cast(dy.dtype());
  Array slope = dy, states = kept.states;
  std::vector<Array*> pointers = {&slope}, results;
  for (Array& array : in.arrays)
    pointers.push_back(&array);
  pointers.push_back(&states);
  for (size_t i = 0; i < 7; ++i)
    results.push_back(isFrozen && i >= 4 ? nullptr : &gradients[i]);
  call(OpKind::StateScanBackward, pointers, results, {{"chunk", chunk}},
       {{}, 0, threads});
}

Gradients gradientsOf(const Problem& p, const Inputs& inputs, const Array& dy,
                      DType type, int64_t chunk, int threads = 2) {
  const ScanOutputs kept = scan(p, inputs, type, chunk, threads);
  Gradients result;
  for (size_t i = 0; i < 7; ++i)
    result.emplace_back(i < 4 ? type : accumulatorOf(type),
                        inputs.arrays[i].shape());
  addGradients(inputs, dy.cast(type), kept, chunk, result, threads);
  return result;
}

/// The explicit sums of the recurrence for one head.
struct PlainHead {
  const Problem& p;
  const std::vector<Array>& in;
  int64_t sequence, group, head;

  int64_t row(int64_t t) const {
    return (sequence * p.tokens + t) * p.groups + group;
  }
  double parameter(size_t which) const {
    return in[which].get(group * p.heads + head);
  }
  double step(int64_t t) const {
    return std::log(
        1 + std::exp(in[1].get(row(t) * p.heads + head) + parameter(6)));
  }
  int64_t xAt(int64_t t, int64_t channel) const {
    return row(t) * p.channels() + head * p.width + channel;
  }
  /// The decay from token s to token t.
  double left(int64_t s, int64_t t) const {
    double time = 0;
    for (int64_t r = s + 1; r <= t; ++r) {
      if (p.segments[size_t(r)] != p.segments[size_t(s)])
        return 0;
      time += step(r);
    }
    return std::exp(-std::exp(parameter(4)) * time) * step(s);
  }
  /// Element i of a channel's state after token t.
  double state(int64_t t, int64_t channel, int64_t i) const {
    double sum = 0;
    for (int64_t s = 0; s <= t; ++s)
      sum += left(s, t) * in[0].get(xAt(s, channel)) *
             in[2].get(row(s) * p.state + i);
    return sum;
  }
};

ScanOutputs plainScan(const Problem& p, const Inputs& inputs, int64_t chunk) {
  ScanOutputs out{Array(DType::f64, p.shape(p.channels())),
                  Array(DType::f64, p.stateShape(chunk))};
  const std::vector<Array>& in = inputs.arrays;
  const int64_t chunks = (p.tokens - 1) / chunk + 1;
  for (int64_t item = 0; item < p.sequences * p.groups * p.heads; ++item) {
    const PlainHead head{p, in, item / p.heads / p.groups,
                         item / p.heads % p.groups, item % p.heads};
    for (int64_t t = 0; t < p.tokens; ++t)
      for (int64_t c = 0; c < p.width; ++c) {
        double sum = head.parameter(5) * in[0].get(head.xAt(t, c));
        for (int64_t i = 0; i < p.state; ++i)
          sum += head.state(t, c, i) * in[3].get(head.row(t) * p.state + i);
        out.y.set(head.xAt(t, c), sum);
      }
    for (int64_t k = 0; k < chunks; ++k)
      for (int64_t c = 0; c < p.width; ++c)
        for (int64_t i = 0; i < p.state; ++i)
          out.states.set(
              (((head.sequence * p.groups + head.group) * chunks + k) *
                   p.channels() +
               head.head * p.width + c) *
                      p.state +
                  i,
              k == 0 ? 0 : head.state(k * chunk - 1, c, i));
  }
  return out;
}

TEST(StateScan, IsTheSumOverADocumentsTokens) {
  const ScanOutputs plain = plainScan(ragged, Inputs(ragged), 3);
  const ScanOutputs exact = scan(ragged, Inputs(ragged), DType::f64, 3);
  EXPECT_LT(relativeError(exact.y, plain.y), 1e-13);
  EXPECT_LT(relativeError(exact.states, plain.states), 1e-13);
  // f32: sums of dozens of terms. bf16: y is rounded once, the states are not.
  const ScanOutputs single = scan(ragged, Inputs(ragged), DType::f32, 3);
  EXPECT_LT(relativeError(single.y, plain.y), 1e-6);
  EXPECT_LT(relativeError(single.states, plain.states), 1e-6);
  const ScanOutputs half = scan(ragged, Inputs(ragged), DType::bf16, 3);
  EXPECT_LT(relativeError(half.y, plain.y), 0x1p-8);
  EXPECT_LT(relativeError(half.states, plain.states), 1e-6);
}

/// Slow heads carry their state over many chunks; wide heads fill vectors.
TEST(StateScan, CarriesStatesFar) {
  const Problem p = {1, 70, 1, 2, 3, 33, documents(70, 62)};
  Inputs inputs(p);
  for (int64_t j = 0; j < 2; ++j)
    inputs.arrays[4].set(j, -3);
  const ScanOutputs plain = plainScan(p, inputs, 16);
  const ScanOutputs exact = scan(p, inputs, DType::f64, 16);
  EXPECT_LT(relativeError(exact.y, plain.y), 1e-13);
  EXPECT_LT(relativeError(exact.states, plain.states), 1e-13);
}

TEST(StateScan, GradientsAreThoseOfDifferences) {
  for (int64_t chunk : {4, 11, 100}) {
    Inputs inputs(ragged);
    const Array dy =
        Array::random(DType::f64, ragged.shape(ragged.channels()), 9);
    const Gradients ours = gradientsOf(ragged, inputs, dy, DType::f64, chunk);
    for (size_t i = 0; i < 7; ++i) {
      const Array expected = centralDifferences(inputs.arrays[i], [&] {
        return dot(scan(ragged, inputs, DType::f64, chunk).y, dy);
      });
      // The tolerance of GradientTest.cpp.
      EXPECT_LT(relativeError(ours[i], expected), 1e-6)
          << "input " << i << ", chunks of " << chunk;
    }
  }
}

TEST(StateScan, ChunksChangeNoResult) {
  const Inputs inputs(ragged);
  const Array dy =
      Array::random(DType::f64, ragged.shape(ragged.channels()), 9);
  const Array whole = scan(ragged, inputs, DType::f64, 11).y;
  const Gradients of = gradientsOf(ragged, inputs, dy, DType::f64, 11);
  for (int64_t chunk : {1, 2, 5, 10, 12}) {
    EXPECT_EQ(relativeError(scan(ragged, inputs, DType::f64, chunk).y, whole),
              0);
    const Gradients other = gradientsOf(ragged, inputs, dy, DType::f64, chunk);
    for (size_t i = 0; i < 7; ++i)
      // Recomputed states may round differently.
      EXPECT_LT(relativeError(other[i], of[i]), 1e-14) << i << " " << chunk;
  }
}

/// The forward pass leaves the states out, and the backward pass computes them
/// again without the output.
TEST(StateScan, EitherResultAloneIsTheSame) {
  for (DType type : {DType::f64, DType::f32, DType::bf16}) {
    const ScanOutputs both = scan(ragged, Inputs(ragged), type, 3);
    Inputs in = Inputs(ragged).cast(type);
    Array y(type, ragged.shape(ragged.channels())),
        states(accumulatorOf(type), ragged.stateShape(3));
    std::vector<Array*> pointers;
    for (Array& array : in.arrays)
      pointers.push_back(&array);
    call(OpKind::StateScan, pointers, {&y, nullptr}, {{"chunk", 3}},
         {{}, 0, 2});
    call(OpKind::StateScan, pointers, {nullptr, &states}, {{"chunk", 3}},
         {{}, 0, 2});
    EXPECT_EQ(relativeError(y, both.y), 0);
    EXPECT_EQ(relativeError(states, both.states), 0);
  }
}

TEST(StateScan, ThreadsChangeNothing) {
  const Inputs inputs(ragged);
  const Array dy =
      Array::random(DType::f64, ragged.shape(ragged.channels()), 9);
  const ScanOutputs one = scan(ragged, inputs, DType::f32, 4, 1);
  const Gradients alone = gradientsOf(ragged, inputs, dy, DType::f32, 4, 1);
  for (int threads : {2, 3, 5}) {
    const ScanOutputs many = scan(ragged, inputs, DType::f32, 4, threads);
    EXPECT_EQ(relativeError(many.y, one.y), 0);
    EXPECT_EQ(relativeError(many.states, one.states), 0);
    const Gradients other =
        gradientsOf(ragged, inputs, dy, DType::f32, 4, threads);
    for (size_t i = 0; i < 7; ++i)
      EXPECT_EQ(relativeError(other[i], alone[i]), 0) << i;
  }
}

/// A few hundred tokens whose states decay over tens of tokens, as in a trained
/// layer. Sums of hundreds of terms lose 1e-6 in f32. Sums over all tokens are
/// in f64, but their terms nearly cancel. bf16 rounds stored values to 2^-9.
TEST(StateScan, GradientsInNarrowTypes) {
  const Problem p = {2, 300, 1, 2, 4, 16, documents(300, 130)};
  const Inputs inputs(p, 0.5);
  const Array dy =
      Array::random(DType::bf16, p.shape(p.channels()), 9).cast(DType::f64);
  const Gradients exact = gradientsOf(p, inputs, dy, DType::f64, 64);
  const Gradients single = gradientsOf(p, inputs, dy, DType::f32, 64);
  const Gradients half = gradientsOf(p, inputs, dy, DType::bf16, 64);
  for (size_t i = 0; i < 7; ++i) {
    EXPECT_LT(relativeError(single[i], exact[i]), 3e-6) << i;
    EXPECT_LT(relativeError(half[i], exact[i]), i < 4 ? 0x1p-8 : 3e-6) << i;
  }
}

TEST(StateScan, GradientsOfParametersAreAddedTo) {
  const Inputs inputs(ragged);
  const Array dy =
      Array::random(DType::f64, ragged.shape(ragged.channels()), 9);
  const ScanOutputs kept = scan(ragged, inputs, DType::f64, 4);
  const Gradients once = gradientsOf(ragged, inputs, dy, DType::f64, 4);
  Gradients twice = once;
  addGradients(inputs, dy, kept, 4, twice);
  for (size_t i = 0; i < 7; ++i)
    for (int64_t j = 0; j < once[i].size(); ++j)
      EXPECT_NEAR(twice[i].get(j), (i < 4 ? 1 : 2) * once[i].get(j), 1e-12);
  // Frozen parameters leave the other gradients unchanged.
  Gradients frozen = once;
  for (size_t i = 0; i < 4; ++i)
    frozen[i] = Array(DType::f64, once[i].shape());
  addGradients(inputs, dy, kept, 4, frozen, 2, /*isFrozen=*/true);
  for (size_t i = 0; i < 7; ++i)
    EXPECT_EQ(relativeError(frozen[i], once[i]), 0) << i;
}

TEST(StateScan, AGradientInBf16IsRoundedOnce) {
  const Inputs inputs(ragged);
  const Array dy =
      Array::random(DType::bf16, ragged.shape(ragged.channels()), 9);
  const ScanOutputs kept = scan(ragged, inputs, DType::bf16, 4);
  Gradients wide = gradientsOf(ragged, inputs, dy, DType::bf16, 4);
  Gradients narrow = wide;
  for (size_t i = 4; i < 7; ++i) {
    narrow[i] = wide[i].cast(DType::bf16);
    wide[i] = narrow[i].cast(DType::f32);
  }
  addGradients(inputs, dy, kept, 4, wide);
  addGradients(inputs, dy, kept, 4, narrow);
  for (size_t i = 4; i < 7; ++i)
    EXPECT_EQ(relativeError(narrow[i], wide[i].cast(DType::bf16)), 0) << i;
}

/// Infinities of one document reach no other, forward or backward.
TEST(StateScan, DocumentsDoNotMeet) {
  const Problem p = {1, 9, 1, 1, 2, 3, documents(9, 4)};
  const Array dy = Array::random(DType::f64, p.shape(p.channels()), 9);
  const Inputs clean(p);
  const ScanOutputs before = scan(p, clean, DType::f64, 3);
  const Gradients gradients = gradientsOf(p, clean, dy, DType::f64, 3);
  Inputs broken = clean;
  Array brokenDy = dy;
  for (int64_t j = 2 * 4; j < 2 * 8; ++j) // tokens 4 to 7
    for (Array* array : {&broken.arrays[0], &brokenDy})
      array->set(j, std::numeric_limits<double>::infinity());
  const ScanOutputs after = scan(p, broken, DType::f64, 3);
  const Gradients others = gradientsOf(p, broken, brokenDy, DType::f64, 3);
  auto expectSame = [](const Array& a, const Array& b) {
    const int64_t width = a.size() / 9;
    for (int64_t t : {0, 3, 8})
      for (int64_t j = t * width; j < (t + 1) * width; ++j)
        EXPECT_EQ(a.get(j), b.get(j)) << t;
  };
  expectSame(after.y, before.y);
  for (size_t i = 0; i < 4; ++i)
    expectSame(others[i], gradients[i]);
  EXPECT_FALSE(std::isfinite(after.y.get(2 * 5)));
}

/// Steps so large that softplus is the identity, and so small that it gives 0.
TEST(StateScan, StepsOfExtremes) {
  const Problem p = {1, 2, 1, 1, 1, 1, {0, 0}};
  Inputs in(p);
  for (Array& array : in.arrays)
    for (int64_t i = 0; i < array.size(); ++i)
      array.set(i, 0);
  in.arrays[1].set(0, 1000);
  in.arrays[1].set(1, -1000);
  for (size_t operand : {0, 2, 3})
    for (int64_t t = 0; t < 2; ++t)
      in.arrays[operand].set(t, 1);
  const Array dy = Array::random(DType::f64, p.shape(1), 9);
  for (DType type : {DType::f32, DType::f64}) {
    const ScanOutputs out = scan(p, in, type, 2);
    EXPECT_EQ(out.y.get(0), 1000);
    EXPECT_EQ(out.y.get(1), 1000);
    for (const Array& gradient : gradientsOf(p, in, dy, type, 2))
      for (int64_t i = 0; i < gradient.size(); ++i)
        EXPECT_TRUE(std::isfinite(gradient.get(i)));
  }
}

} // namespace
} // namespace reciperun::kernels
