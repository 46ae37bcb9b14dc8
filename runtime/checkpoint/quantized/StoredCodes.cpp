// 1. Express the shard as rows and columns of the tensor.
// 2. Compare the blocks that share a scale: of the parameter, which begin at
//    its first row and column, and of the tensor.
// 3. Copy runs of rows: read codes, check that their values are finite, cut the
//    columns, pack. The scales follow.

#include "runtime/checkpoint/quantized/StoredCodes.h"

#include "runtime/checkpoint/FiniteCheck.h"

#include <algorithm>
#include <cassert>

namespace reciperun::checkpoint {
namespace {

using sizes::WeightFormat;
using sizes::WeightScales;

/// Rows and columns that share a scale.
struct ScaleBlock {
  int64_t rows = 0, columns = 0;
};

ScaleBlock scaleBlockOf(WeightScales scales, const MatrixBlock& block) {
  switch (scales) {
  case WeightScales::tensor:
    return {block.rows, block.columns};
  case WeightScales::rows:
    return {1, block.columns};
  case WeightScales::groups:
    return {1, sizes::weightGroup};
  case WeightScales::squares:
    return {sizes::weightGroup, sizes::weightGroup};
  }
  assert(false && "no kind of scales");
  return {};
}

/// Whether each piece of `size` elements of a range is inside one piece of
/// `storedSize` elements of the tensor. The range begins at element `first` of
/// the tensor.
bool areInside(int64_t first, int64_t count, int64_t size, int64_t storedSize) {
  for (int64_t begin = 0; begin < count; begin += size) {
    const int64_t last = std::min(begin + size, count) - 1;
    if ((first + begin) / storedSize != (first + last) / storedSize)
      return false;
  }
  return true;
}

class CodeCopy {
public:
  CodeCopy(const quantize::Scheme& scheme, const MatrixBlock& block,
           const StoredWeight& stored, int parameter, ParameterAccess& access)
      : scheme(scheme), block(block), stored(stored), parameter(parameter),
        access(access) {}

  Status run() {
    constexpr int64_t runElements = int64_t(1) << 20;
    Expected<StoredWeightReader> reader = StoredWeightReader::open(
        stored, StoredWeightReader::InputScales::apart);
    RECIPERUN_TRY(reader);
    const int64_t height = std::max<int64_t>(1, runElements / stored.columns);
    for (int64_t row = 0; row < block.rows; row += height)
      RECIPERUN_TRY(copyRows(*reader, row, std::min(height, block.rows - row)));
    RECIPERUN_TRY(
        finite.outcome(stored.data.tensor->name, {stored.rows, stored.columns})
            .withContext("`" + stored.data.file->path().string() + "`"));
    return writeScales(*reader);
  }

private:
  Status copyRows(StoredWeightReader& reader, int64_t row, int64_t count) {
    const int64_t first = block.firstRow + row;
    codes.resize(size_t(count * stored.columns));
    values.resize(codes.size());
    RECIPERUN_TRY(reader.readCodes(first, count, codes));
    reader.valuesOf(first, codes, values);
    finite.look(ElementType::f32, std::as_bytes(std::span(values)),
                first * stored.columns);
    packed.clear();
    for (int64_t i = 0; i < count; ++i)
      pack(std::span(codes).subspan(
          size_t(i * stored.columns + block.firstColumn),
          size_t(block.columns)));
    return access.write(parameter, Content::value,
                        row * quantize::rowBytes(scheme, block.columns),
                        std::as_bytes(std::span(packed)));
  }

  /// Appends a row in the layout of `quantized_linear`.
  void pack(std::span<const uint8_t> row) {
    if (scheme.format != WeightFormat::int4) {
      packed.insert(packed.end(), row.begin(), row.end());
      return;
    }
    for (size_t j = 0; j < row.size(); j += 2)
      packed.push_back(
          uint8_t(row[j] | (j + 1 < row.size() ? row[j + 1] : 8) << 4));
  }

  Status writeScales(const StoredWeightReader& reader) {
    const ScaleBlock size = scaleBlockOf(scheme.scales, block);
    std::vector<float> scales;
    for (int64_t row = 0; row < block.rows; row += size.rows)
      for (int64_t column = 0; column < block.columns; column += size.columns)
        scales.push_back(
            reader.scaleAt(block.firstRow + row, block.firstColumn + column));
    return access.write(parameter, Content::scale, 0,
                        std::as_bytes(std::span(scales)));
  }

  const quantize::Scheme& scheme;
  const MatrixBlock& block;
  const StoredWeight& stored;
  int parameter;
  ParameterAccess& access;
  FiniteCheck finite;
  std::vector<uint8_t> codes, packed; // of a run of rows
  std::vector<float> values;
};

} // namespace

std::optional<MatrixBlock> matrixBlockOf(const ShardLayout& layout,
                                         int64_t rows, int64_t columns,
                                         int64_t tensorColumns) {
  if (layout.elements() != rows * columns || layout.runLength() % columns != 0)
    return std::nullopt;
  const int64_t first = layout.pieceAt(0).global;
  const MatrixBlock block{first / tensorColumns, rows, first % tensorColumns,
                          columns};
  if (block.firstColumn + columns > tensorColumns)
    return std::nullopt;
  for (int64_t row = 1; row < rows; ++row)
    if (layout.pieceAt(row * columns).global != first + row * tensorColumns)
      return std::nullopt;
  return block;
}

bool holdsCodes(const quantize::Scheme& scheme, const MatrixBlock& block,
                const StoredWeight& stored) {
  const ScaleBlock size = scaleBlockOf(scheme.scales, block);
  return scheme.format == stored.format &&
         areInside(block.firstRow, block.rows, size.rows, stored.scaleRows) &&
         areInside(block.firstColumn, block.columns, size.columns,
                   stored.scaleColumns);
}

Status copyCodes(const quantize::Scheme& scheme, const MatrixBlock& block,
                 const StoredWeight& stored, int parameter,
                 ParameterAccess& access) {
  return CodeCopy(scheme, block, stored, parameter, access).run();
}

Status writeInputScales(const ShardLayout& layout, int64_t columns,
                        std::span<const float> all, int parameter,
                        ParameterAccess& access) {
  std::vector<float> own;
  while (int64_t(own.size()) < columns) {
    const ShardLayout::Piece piece = layout.pieceAt(int64_t(own.size()));
    const size_t first = size_t(piece.global) % all.size();
    const size_t count =
        size_t(std::min(piece.count, columns - int64_t(own.size())));
    assert(first + count <= all.size() && "a row of the shard is in a row");
    own.insert(own.end(), all.begin() + long(first),
               all.begin() + long(first + count));
  }
  return access.write(parameter, Content::inputScale, 0,
                      std::as_bytes(std::span(own)));
}

} // namespace reciperun::checkpoint
