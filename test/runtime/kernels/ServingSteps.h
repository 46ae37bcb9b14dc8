// Random serving steps: sequences that advance by random numbers of tokens, in
// random order, with padding between them.

#ifndef RECIPERUN_TEST_KERNELS_SERVINGSTEPS_H
#define RECIPERUN_TEST_KERNELS_SERVINGSTEPS_H

#include "test/runtime/kernels/Harness.h"

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace reciperun::kernels {

/// A step's positions and sequences, i32 [1,tokens], and for each token its row
/// in the whole sequences, [lengths[0] + lengths[1] + ...]; -1 is padding.
struct ServingStep {
  Array positions, sequences;
  std::vector<int64_t> rows;

  int64_t tokens() const { return int64_t(rows.size()); }
};

/// Cuts sequences of these lengths into steps. A step advances some sequences
/// by up to `most` tokens, and has padding with probability 1 / 2 between two
/// sequences. Sequence i has the slot slots[i] of the step's sequences.
std::vector<ServingStep> randomSteps(const std::vector<int64_t>& lengths,
                                     const std::vector<int64_t>& slots,
                                     int64_t most, unsigned seed);

/// A step of one run of tokens.
ServingStep stepOf(int64_t sequence, int64_t position, int64_t count);

/// Rows of the second dimension of [1,rows,...]; zeros for row -1.
Array rowsOf(const Array& from, const std::vector<int64_t>& rows);

/// Writes a step's rows [1,tokens,...] into the whole. Expects zeros in
/// padding.
void putRows(const Array& from, const std::vector<int64_t>& rows, Array& to);

} // namespace reciperun::kernels

#endif // RECIPERUN_TEST_KERNELS_SERVINGSTEPS_H
