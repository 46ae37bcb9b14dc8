// One sequence as the model sees it, place by place.

#ifndef RECIPERUN_DATA_ROW_H
#define RECIPERUN_DATA_ROW_H

#include "runtime/data/Documents.h"

#include <cstdint>
#include <vector>

namespace reciperun::data {

/// What plan::Inputs says of each place. Places behind `used` are padding:
/// weight 0, segment -1.
struct Row {
  explicit Row(int64_t sequence);

  /// Makes all places padding.
  void clear();
  /// Takes the next place.
  void add(int32_t token, int32_t label, bool counts, int32_t position,
           int32_t segment);
  /// Takes the places of a document, a segment of its own.
  void add(const Document& document, int32_t segment);

  int64_t used = 0;
  std::vector<int32_t> tokens, labels;
  std::vector<float> weights;
  std::vector<int32_t> positions, segments;
};

} // namespace reciperun::data

#endif // RECIPERUN_DATA_ROW_H
