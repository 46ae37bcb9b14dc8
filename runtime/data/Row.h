// One sequence of the model's inputs, token by token.

#ifndef RECIPERUN_DATA_ROW_H
#define RECIPERUN_DATA_ROW_H

#include "runtime/data/Documents.h"

#include <cstdint>
#include <vector>

namespace reciperun::data {

/// The plan::Inputs of each token. Tokens from index `used` on are padding:
/// weight 0, segment -1.
struct Row {
  explicit Row(int64_t sequence);

  /// Makes all tokens padding.
  void clear();
  /// Appends a token.
  void add(int32_t token, int32_t label, bool counts, int32_t position,
           int32_t segment);
  /// Appends a document as its own segment.
  void add(const Document& document, int32_t segment);

  int64_t used = 0;
  std::vector<int32_t> tokens, labels;
  std::vector<float> weights;
  std::vector<int32_t> positions, segments;
};

} // namespace reciperun::data

#endif // RECIPERUN_DATA_ROW_H
