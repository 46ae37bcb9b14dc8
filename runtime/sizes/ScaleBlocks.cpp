// See ScaleBlocks.h.

#include "runtime/sizes/ScaleBlocks.h"

#include <cassert>

namespace reciperun::sizes {
namespace {

struct Word {
  std::string_view text;
  ScaleBlocks blocks;
};
constexpr Word words[] = {{"", ScaleBlocks::tensor},
                          {"tensor", ScaleBlocks::tensor},
                          {"whole_rows", ScaleBlocks::wholeRows},
                          {"rows", ScaleBlocks::rows},
                          {"squares", ScaleBlocks::squares},
                          {"mx", ScaleBlocks::mx}};

int64_t ceilDivide(int64_t count, int64_t size) {
  return count / size + (count % size != 0);
}

} // namespace

std::optional<ScaleBlocks> findScaleBlocks(std::string_view word) {
  for (const Word& known : words)
    if (known.text == word)
      return known.blocks;
  return std::nullopt;
}

ScaleBlocks scaleBlocksOf(std::string_view word) {
  const auto found = findScaleBlocks(word);
  assert(found && "validation has seen the word");
  return *found;
}

Scales scalesOf(ScaleBlocks blocks, int64_t rows, int64_t columns) {
  const int64_t down = ceilDivide(rows, scaleBlockWidth),
                across = ceilDivide(columns, scaleBlockWidth);
  switch (blocks) {
  case ScaleBlocks::tensor:
    return {ops::DType::f32, {1}};
  case ScaleBlocks::wholeRows:
    return {ops::DType::f32, {rows}};
  case ScaleBlocks::rows:
    return {ops::DType::f32, {across, rows}};
  case ScaleBlocks::squares:
    return {ops::DType::f32, {down, ceilDivide(across, 4) * 4}};
  case ScaleBlocks::mx: // one tile per 128 x 128 elements
    return {ops::DType::f8e8m0, {down, across, 32, 4, 4}};
  }
  assert(false && "no kind of blocks");
  return {};
}

} // namespace reciperun::sizes
