// causal_conv_step and state_scan_step compared with the kernels of whole
// sequences, which they equal bit for bit however sequences are cut into steps.

#include "runtime/ops/OpKind.h"
#include "test/runtime/kernels/ServingSteps.h"

#include <limits>
#include <numeric>

#include <gtest/gtest.h>

namespace reciperun::kernels {
namespace {

using plan::DType;
using plan::OpKind;

const DType allTypes[] = {DType::f32, DType::bf16, DType::f64};

/// The document of each token of the sequences, one after the other.
Array segmentsOf(const std::vector<int64_t>& lengths) {
  std::vector<int64_t> segments;
  for (size_t i = 0; i < lengths.size(); ++i)
    segments.insert(segments.end(), size_t(lengths[i]), int64_t(i));
  return Array::integers({1, int64_t(segments.size())}, segments);
}

/// Slots 1, 2, ... in reverse, of one more than there are sequences.
std::vector<int64_t> slotsOf(const std::vector<int64_t>& lengths) {
  std::vector<int64_t> slots(lengths.size());
  std::iota(slots.rbegin(), slots.rend(), 1);
  return slots;
}

/// The state that an earlier owner of the slots left.
Array stale(DType type, std::vector<int64_t> shape) {
  Array result(type, std::move(shape));
  for (int64_t i = 0; i < result.size(); ++i)
    result.set(i, std::numeric_limits<double>::quiet_NaN());
  return result;
}

void expectSameBits(const Array& a, const Array& b) {
  ASSERT_EQ(a.size(), b.size());
  for (int64_t i = 0; i < a.size(); ++i)
    ASSERT_EQ(a.get(i), b.get(i)) << "element " << i;
}

// ---- convolutions

void checkConv(const std::vector<int64_t>& lengths, int64_t groups,
               int64_t channels, int64_t taps) {
  const int64_t tokens =
      std::accumulate(lengths.begin(), lengths.end(), int64_t(0));
  const auto slots = int64_t(lengths.size()) + 1;
  for (DType type : allTypes) {
    Array x = Array::random(type, {1, tokens, groups, channels}, 1);
    Array w = Array::random(type, {groups, channels, taps}, 2);
    Array segments = segmentsOf(lengths), whole = x;
    call(OpKind::CausalConv, {&x, &w, &segments}, {&whole});
    for (int64_t most : {1, 3, 100}) {
      Array inputs = stale(type, {slots, groups, channels, taps - 1}), y = x;
      for (ServingStep& step : randomSteps(lengths, slotsOf(lengths), most,
                                           unsigned(tokens + most))) {
        Array own = rowsOf(x, step.rows), out = stale(type, own.shape());
        call(OpKind::CausalConvStep,
             {&own, &w, &step.positions, &step.sequences}, {&out, &inputs});
        putRows(out, step.rows, y);
      }
      expectSameBits(y, whole);
    }
  }
}

TEST(CausalConvStep, EqualsTheWholeConvolution) {
  checkConv({30, 1, 17, 8}, 2, 35, 4);
  checkConv({5, 2}, 1, 130, 9);
  checkConv({6, 3}, 3, 2, 1);
}

TEST(CausalConvStep, KeepsTheLastInputs) {
  Array x = Array::random(DType::f32, {1, 5, 1, 2}, 1), y = x;
  Array w = Array::random(DType::f32, {1, 2, 4}, 2);
  Array inputs = stale(DType::f32, {3, 1, 2, 3});
  ServingStep first = stepOf(1, 0, 2), second = stepOf(1, 2, 3);
  Array start = rowsOf(x, {0, 1}), rest = rowsOf(x, {2, 3, 4});
  Array ys = start, yr = rest;
  auto kept = [&](int64_t channel, int64_t i) {
    return inputs.get((2 + channel) * 3 + i);
  };
  call(OpKind::CausalConvStep, {&start, &w, &first.positions, &first.sequences},
       {&ys, &inputs});
  for (int64_t channel : {0, 1}) {
    EXPECT_EQ(kept(channel, 0), 0);
    EXPECT_EQ(kept(channel, 1), x.get(channel));
    EXPECT_EQ(kept(channel, 2), x.get(2 + channel));
  }
  call(OpKind::CausalConvStep,
       {&rest, &w, &second.positions, &second.sequences}, {&yr, &inputs});
  for (int64_t channel : {0, 1})
    for (int64_t i : {0, 1, 2})
      EXPECT_EQ(kept(channel, i), x.get((2 + i) * 2 + channel));
}

// ---- the scan

struct ScanSizes {
  int64_t groups, heads, width, state;
  int64_t channels() const { return heads * width; }
};

void checkScan(const std::vector<int64_t>& lengths, const ScanSizes& s) {
  const int64_t tokens =
      std::accumulate(lengths.begin(), lengths.end(), int64_t(0));
  const auto slots = int64_t(lengths.size()) + 1;
  for (DType type : allTypes) {
    auto random = [&](int64_t last, unsigned seed) {
      return Array::random(type, {1, tokens, s.groups, last}, seed);
    };
    Array x = random(s.channels(), 1), dt = random(s.heads, 2),
          b = random(s.state, 3), c = random(s.state, 4);
    Array rate = Array::random(type, {s.groups, s.heads}, 5), skip = rate,
          bias = rate;
    Array segments = segmentsOf(lengths), whole = x;
    const int64_t chunk = 8;
    Array before(accumulatorOf(type), {1, s.groups, (tokens - 1) / chunk + 1,
                                       s.channels(), s.state});
    call(OpKind::StateScan, {&x, &dt, &b, &c, &rate, &skip, &bias, &segments},
         {&whole, &before}, {{"chunk", chunk}});
    for (int64_t most : {1, 3, 100}) {
      Array states = stale(accumulatorOf(type),
                           {slots, s.groups, s.channels(), s.state}),
            y = x;
      for (ServingStep& step : randomSteps(lengths, slotsOf(lengths), most,
                                           unsigned(tokens + most))) {
        Array own[] = {rowsOf(x, step.rows), rowsOf(dt, step.rows),
                       rowsOf(b, step.rows), rowsOf(c, step.rows)};
        Array out = stale(type, own[0].shape());
        call(OpKind::StateScanStep,
             {&own[0], &own[1], &own[2], &own[3], &rate, &skip, &bias,
              &step.positions, &step.sequences},
             {&out, &states});
        putRows(out, step.rows, y);
      }
      expectSameBits(y, whole);
    }
  }
}

TEST(StateScanStep, EqualsTheWholeScan) {
  checkScan({30, 1, 17, 8}, {2, 3, 4, 16});
  checkScan({9, 4}, {1, 1, 7, 5});
}

} // namespace
} // namespace reciperun::kernels
