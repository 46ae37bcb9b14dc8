// Draws random serving steps.

#include "test/runtime/kernels/ServingSteps.h"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

namespace reciperun::kernels {
namespace {

using plan::DType;

/// A step under construction.
struct Draft {
  std::vector<int64_t> positions, sequences, rows;

  void add(int64_t position, int64_t sequence, int64_t row) {
    positions.push_back(position);
    sequences.push_back(sequence);
    rows.push_back(row);
  }
  ServingStep finish() const {
    const std::vector<int64_t> shape = {1, int64_t(rows.size())};
    return {Array::integers(shape, positions),
            Array::integers(shape, sequences), rows};
  }
};

} // namespace

std::vector<ServingStep> randomSteps(const std::vector<int64_t>& lengths,
                                     const std::vector<int64_t>& slots,
                                     int64_t most, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<int64_t> done(lengths.size(), 0), begins(lengths.size(), 0);
  std::partial_sum(lengths.begin(), lengths.end() - 1, begins.begin() + 1);
  std::vector<size_t> order(lengths.size());
  std::iota(order.begin(), order.end(), 0);
  std::vector<ServingStep> steps;
  while (done != lengths) {
    Draft draft;
    std::shuffle(order.begin(), order.end(), random);
    for (size_t i : order) {
      if (random() % 2)
        draft.add(-1, 0, -1);
      const int64_t count = std::min(int64_t(random() % uint64_t(most + 1)),
                                     lengths[i] - done[i]);
      for (int64_t j = 0; j < count; ++j, ++done[i])
        draft.add(done[i], slots[i], begins[i] + done[i]);
    }
    if (!draft.rows.empty())
      steps.push_back(draft.finish());
  }
  return steps;
}

ServingStep stepOf(int64_t sequence, int64_t position, int64_t count) {
  Draft draft;
  for (int64_t i = 0; i < count; ++i)
    draft.add(position + i, sequence, i);
  return draft.finish();
}

Array rowsOf(const Array& from, const std::vector<int64_t>& rows) {
  std::vector<int64_t> shape = from.shape();
  const int64_t row = from.size() / shape[1];
  shape[1] = int64_t(rows.size());
  Array result(from.dtype(), shape);
  for (int64_t i = 0; i < result.size(); ++i)
    if (const int64_t at = rows[size_t(i / row)]; at >= 0)
      result.set(i, from.get(at * row + i % row));
  return result;
}

void putRows(const Array& from, const std::vector<int64_t>& rows, Array& to) {
  const int64_t row = to.size() / to.shape()[1];
  for (int64_t i = 0; i < from.size(); ++i) {
    const int64_t at = rows[size_t(i / row)];
    if (at >= 0)
      to.set(at * row + i % row, from.get(i));
    else
      EXPECT_EQ(from.get(i), 0) << "padding";
  }
}

} // namespace reciperun::kernels
