// See Row.h.

#include "runtime/data/Row.h"

#include <algorithm>
#include <cassert>

namespace reciperun::data {

Row::Row(int64_t sequence)
    : tokens(sequence), labels(sequence), weights(sequence),
      positions(sequence), segments(sequence, -1) {}

void Row::clear() {
  for (auto* list : {&tokens, &labels, &positions})
    std::fill(list->begin(), list->end(), 0);
  std::fill(weights.begin(), weights.end(), 0.0f);
  std::fill(segments.begin(), segments.end(), -1);
  used = 0;
}

void Row::add(int32_t token, int32_t label, bool counts, int32_t position,
              int32_t segment) {
  assert(used < static_cast<int64_t>(tokens.size()) && "the row is full");
  tokens[used] = token;
  labels[used] = label;
  weights[used] = counts ? 1.0f : 0.0f;
  positions[used] = position;
  segments[used] = segment;
  ++used;
}

void Row::add(const Document& document, int32_t segment) {
  for (int64_t i = 0; i < document.places(); ++i)
    add(document.ids[i], document.ids[i + 1], document.counts[i + 1] != 0,
        static_cast<int32_t>(i), segment);
}

} // namespace reciperun::data
