// Quantization of a run of rows:
//
//   1. Cut the rows into blocks that share a scale: rows, 128 elements of a
//      row, or 128 by 128 elements.
//   2. Find the largest magnitude of a block and its scale. With `searchesClip`
//      compare the square errors of several scales.
//   3. Round the block's elements.

#include "runtime/quantize/Quantizers.h"

#include "runtime/device/Float8.h"
#include "runtime/quantize/RowThreads.h"

#include <array>
#include <atomic>
#include <bit>
#include <cassert>
#include <cmath>
#include <limits>
#include <string>

namespace reciperun::quantize {
namespace {

using sizes::weightGroup;

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr auto fp8Values = device::f8e4m3::table();

/// The largest magnitude; NaN counts as infinity. Compares magnitudes as
/// integers, which have the same order as floats, so that the loop vectorises.
float mostOf(const float* values, int64_t count) {
  uint32_t most = 0;
  for (int64_t i = 0; i < count; ++i)
    most = std::max(most, std::bit_cast<uint32_t>(values[i]) & 0x7fffffff);
  return std::min(most, std::bit_cast<uint32_t>(infinity)) == most
             ? std::bit_cast<float>(most)
             : infinity;
}

float scaleFor(WeightFormat format, float most) {
  const float scale = most / sizes::largestStored(format);
  // A scale whose inverse overflows would make infinities of a tiny block.
  return scale < 0x1p-126f ? 1.0f : scale;
}

/// Adding and subtracting 1.5 2^23 rounds to nearest, ties to even.
float rounded(float value, float largest) {
  const float clamped = std::min(std::max(value, -largest), largest);
  return (clamped + 0x1.8p23f) - 0x1.8p23f;
}

/// Stores `count` elements of a row from element `begin` on. Int4 blocks begin
/// at even elements.
void store(WeightFormat format, const float* values, int64_t count, float scale,
           uint8_t* out) {
  const float factor = 1.0f / scale;
  switch (format) {
  case WeightFormat::fp8:
    for (int64_t i = 0; i < count; ++i)
      out[i] = device::f8e4m3(values[i] * factor).bits;
    return;
  case WeightFormat::int8:
    for (int64_t i = 0; i < count; ++i)
      out[i] = uint8_t(int(rounded(values[i] * factor, 127.0f)));
    return;
  case WeightFormat::int4:
    for (int64_t i = 0; i < count / 2; ++i) {
      const int low = int(rounded(values[2 * i] * factor, 7.0f));
      const int high = int(rounded(values[2 * i + 1] * factor, 7.0f));
      out[i] = uint8_t((low + 8) | (high + 8) << 4);
    }
  }
}

void load(WeightFormat format, const uint8_t* stored, int64_t count,
          float scale, float* out) {
  switch (format) {
  case WeightFormat::fp8:
    for (int64_t i = 0; i < count; ++i)
      out[i] = fp8Values[stored[i]] * scale;
    return;
  case WeightFormat::int8:
    for (int64_t i = 0; i < count; ++i)
      out[i] = float(int8_t(stored[i])) * scale;
    return;
  case WeightFormat::int4:
    for (int64_t i = 0; i < count; ++i)
      out[i] = float(int(stored[i / 2] >> i % 2 * 4 & 15) - 8) * scale;
  }
}

/// The square error of an int4 group with the given scale. `importance`, which
/// may be null, weights the errors of the elements.
float squareError(const float* values, const float* importance, int64_t count,
                  float scale) {
  const float factor = 1.0f / scale;
  float sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    const float error = values[i] - rounded(values[i] * factor, 7.0f) * scale;
    sum += error * error * (importance ? importance[i] : 1.0f);
  }
  return sum;
}

float clippedScale(const float* values, const float* importance, int64_t count,
                   float scale) {
  constexpr std::array<float, 5> shares = {0.95f, 0.9f, 0.85f, 0.8f, 0.75f};
  float best = scale, least = squareError(values, importance, count, scale);
  for (float share : shares) {
    const float error = squareError(values, importance, count, scale * share);
    if (error < least) {
      least = error;
      best = scale * share;
    }
  }
  return best;
}

/// The blocks of a run of rows.
struct Blocks {
  int64_t rows, columns;
  int64_t height, width; // of a block
  int64_t across;        // blocks in a row

  Blocks(WeightScales scales, int64_t rows, int64_t columns)
      : rows(rows), columns(columns), height(rowsPerScale(scales)),
        width(scales == WeightScales::groups || scales == WeightScales::squares
                  ? weightGroup
                  : columns),
        across((columns + width - 1) / width) {}

  /// The number of elements in a row of the block with index `block`; the last
  /// block of a row may be narrower.
  int64_t widthOf(int64_t block) const {
    return std::min(width, columns - block * width);
  }
};

class RunQuantizer {
public:
  RunQuantizer(const Scheme& scheme, const float* values, int64_t rows,
               int64_t columns, float largest, uint8_t* data, float* scales,
               const float* importance)
      : scheme(scheme), blocks(scheme.scales, rows, columns), values(values),
        largest(largest), data(data), scales(scales), importance(importance),
        bytes(rowBytes(scheme, columns)) {}

  /// Quantizes rows [begin, end); `begin` is a multiple of the blocks' height.
  /// Returns whether all values are finite.
  bool run(int64_t begin, int64_t end) const {
    for (int64_t row = begin; row < end; row += blocks.height)
      for (int64_t block = 0; block < blocks.across; ++block)
        if (!runBlock(row, std::min(row + blocks.height, end), block))
          return false;
    return true;
  }

private:
  bool runBlock(int64_t row, int64_t end, int64_t block) const {
    const int64_t column = block * blocks.width, count = blocks.widthOf(block);
    float most = 0;
    for (int64_t i = row; i < end; ++i)
      most =
          std::max(most, mostOf(values + i * blocks.columns + column, count));
    if (most == infinity)
      return false;
    const bool isWhole = scheme.scales == WeightScales::tensor;
    const float* first = values + row * blocks.columns + column;
    float scale = scaleFor(scheme.format, isWhole ? largest : most);
    if (scheme.searchesClip && scheme.format == WeightFormat::int4 &&
        scheme.scales == WeightScales::groups)
      scale = clippedScale(first, importance ? importance + column : nullptr,
                           count, scale);
    if (!isWhole)
      scales[row / blocks.height * blocks.across + block] = scale;
    for (int64_t i = row; i < end; ++i)
      store(scheme.format, values + i * blocks.columns + column, count, scale,
            data + i * bytes + sizes::storedWidth(scheme.format, column));
    return true;
  }

  const Scheme& scheme;
  Blocks blocks;
  const float* values;
  float largest;
  uint8_t* data;
  float* scales;
  const float* importance; // by column, or null
  int64_t bytes;
};

} // namespace

Scheme usualScheme(WeightFormat format) {
  return {format,
          format == WeightFormat::int4 ? WeightScales::groups
                                       : WeightScales::rows,
          format == WeightFormat::int4};
}

Scheme schemeOf(std::string_view format, std::string_view scales) {
  const auto foundFormat = sizes::findWeightFormat(format);
  const auto foundScales = sizes::findWeightScales(scales);
  assert(foundFormat && foundScales && "validation has seen the names");
  return {*foundFormat, *foundScales, *foundFormat == WeightFormat::int4};
}

int64_t rowsPerScale(WeightScales scales) {
  return scales == WeightScales::squares ? weightGroup : 1;
}

int64_t rowBytes(const Scheme& scheme, int64_t columns) {
  return sizes::storedWidth(scheme.format, columns);
}

int64_t scaleCount(const Scheme& scheme, int64_t rows, int64_t columns) {
  int64_t count = 1;
  for (int64_t size : sizes::scaleShape(scheme.scales, rows, columns))
    count *= size;
  return count;
}

float largestMagnitude(std::span<const float> values, int threads) {
  constexpr int64_t piece = 4096;
  const int64_t pieces = (int64_t(values.size()) + piece - 1) / piece;
  std::vector<float> most(size_t(std::max<int64_t>(pieces, 1)));
  forRows(threads, pieces, int64_t(values.size()),
          [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i)
              most[size_t(i)] =
                  mostOf(values.data() + i * piece,
                         std::min(piece, int64_t(values.size()) - i * piece));
          });
  return *std::max_element(most.begin(), most.end());
}

Status quantizeRows(const Scheme& scheme, std::span<const float> values,
                    int64_t columns, float largest, std::span<uint8_t> data,
                    std::span<float> scales, int threads,
                    std::span<const float> importance) {
  const int64_t rows = int64_t(values.size()) / columns;
  assert(int64_t(data.size()) == rows * rowBytes(scheme, columns) &&
         int64_t(scales.size()) == scaleCount(scheme, rows, columns) &&
         "the outputs of a run have its sizes");
  assert((importance.empty() || int64_t(importance.size()) == columns) &&
         "an importance for each column");
  if (scheme.format == WeightFormat::int4 && columns % 2 != 0)
    return Status::error("an int4 weight has " + std::to_string(columns) +
                         " columns, which is odd: two elements share a byte");
  if (scheme.scales == WeightScales::tensor) {
    if (!std::isfinite(largest))
      return Status::error("the weight holds NaN or infinity, which cannot be "
                           "quantized");
    scales[0] = scaleFor(scheme.format, largest);
  }
  const RunQuantizer run(scheme, values.data(), rows, columns, largest,
                         data.data(), scales.data(),
                         importance.empty() ? nullptr : importance.data());
  const int64_t height = rowsPerScale(scheme.scales);
  std::atomic<bool> isFinite = true;
  forRows(threads, (rows + height - 1) / height, int64_t(values.size()),
          [&](int64_t begin, int64_t end) {
            if (!run.run(begin * height, std::min(end * height, rows)))
              isFinite = false;
          });
  return isFinite ? Status::ok()
                  : Status::error("the weight holds NaN or infinity, which "
                                  "cannot be quantized");
}

void dequantizeRows(const Scheme& scheme, std::span<const uint8_t> data,
                    std::span<const float> scales, int64_t columns,
                    std::span<float> values, int threads) {
  const int64_t rows = int64_t(values.size()) / columns;
  const Blocks blocks(scheme.scales, rows, columns);
  const int64_t bytes = rowBytes(scheme, columns);
  const bool isWhole = scheme.scales == WeightScales::tensor;
  forRows(threads, rows, int64_t(values.size()),
          [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i)
              for (int64_t block = 0; block < blocks.across; ++block) {
                const int64_t column = block * blocks.width;
                load(scheme.format,
                     data.data() + i * bytes +
                         sizes::storedWidth(scheme.format, column),
                     blocks.widthOf(block),
                     scales[isWhole ? 0
                                    : size_t(i / blocks.height * blocks.across +
                                             block)],
                     values.data() + i * columns + column);
              }
          });
}

Expected<QuantizedMatrix> quantizeMatrix(const Scheme& scheme,
                                         std::span<const float> values,
                                         int64_t columns, int threads,
                                         std::span<const float> importance) {
  QuantizedMatrix matrix;
  matrix.scheme = scheme;
  matrix.columns = columns;
  matrix.rows = int64_t(values.size()) / columns;
  matrix.data.resize(size_t(matrix.rows * rowBytes(scheme, columns)));
  matrix.scales.resize(size_t(scaleCount(scheme, matrix.rows, columns)));
  const float largest = scheme.scales == WeightScales::tensor
                            ? largestMagnitude(values, threads)
                            : 0;
  RECIPERUN_TRY(quantizeRows(scheme, values, columns, largest, matrix.data,
                             matrix.scales, threads, importance));
  return matrix;
}

std::vector<float> dequantizeMatrix(const QuantizedMatrix& matrix,
                                    int threads) {
  std::vector<float> values(size_t(matrix.rows * matrix.columns));
  dequantizeRows(matrix.scheme, matrix.data, matrix.scales, matrix.columns,
                 values, threads);
  return values;
}

} // namespace reciperun::quantize
