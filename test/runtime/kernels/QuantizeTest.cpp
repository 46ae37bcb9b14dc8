// fp8 matrices compared with their definition, and matmuls of them compared
// with f64 sums of the decoded values.

#include "runtime/ops/OpKind.h"
#include "test/runtime/kernels/NarrowOperands.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include <gtest/gtest.h>

namespace reciperun::kernels {
namespace {

using plan::DType;
using plan::OpKind;

struct Narrow {
  DType type;
  double largest, unit, least; // half a unit of a number; of the smallest
};
// f8e4m3 has 3 fraction bits, so its error is at most 2^-4 of a value; its
// smallest number is 2^-9. f8e5m2 has 2 fraction bits and 2^-16.
constexpr Narrow e4m3{DType::f8e4m3, 448, 0x1p-4, 0x1p-10};
constexpr Narrow e5m2{DType::f8e5m2, 57344, 0x1p-3, 0x1p-17};

const std::string allBlocks[] = {"", "rows", "squares", "mx"};

/// Rows of very different magnitudes, some of them 0.
Array uneven(DType type, int64_t rows, int64_t columns) {
  Array x = Array::random(type, {rows, columns}, 1);
  for (int64_t i = 0; i < x.size(); ++i)
    x.set(i, x.get(i) * std::ldexp(1.0, int(i / columns % 7) * 3 - 9) *
                 (i / columns % 11 == 3 ? 0 : 1));
  return x;
}

double mostIn(const Array& x, int64_t columns, int64_t row, int64_t rowEnd,
              int64_t column, int64_t columnEnd) {
  double most = 0;
  for (int64_t i = row; i < rowEnd; ++i)
    for (int64_t j = column; j < columnEnd; ++j)
      most = std::max(most, std::abs(x.get(i * columns + j)));
  return most;
}

double scaleFor(const std::string& blocks, double most, const Narrow& narrow) {
  if (blocks == "mx")
    return most > 0 ? std::exp2(std::ceil(std::log2(most / narrow.largest)))
                    : 0x1p-127;
  return most > 0 ? double(float(most) / float(narrow.largest)) : 1;
}

/// Element (i, j) of x and its block, of `height` by `width`.
void expectElement(const Array& x, const NarrowOutputs& made,
                   const Narrow& narrow, int64_t i, int64_t j, double got,
                   double scale, int64_t height, int64_t width) {
  const int64_t row = i / height * height, column = j / width * width;
  const double most =
      mostIn(x, made.columns, row, std::min(row + height, made.rows), column,
             std::min(column + width, made.columns));
  const double wanted = x.get(i * made.columns + j);
  ASSERT_EQ(scale, scaleFor(made.blocks, most, narrow)) << i << ", " << j;
  ASSERT_LE(std::abs(got - wanted),
            1.0001 *
                std::max(std::abs(wanted) * narrow.unit, narrow.least * scale))
      << i << ", " << j;
}

void check(DType type, const Narrow& narrow, const std::string& blocks,
           int64_t rows, int64_t columns) {
  SCOPED_TRACE(blocks + " " + std::to_string(rows) + " x " +
               std::to_string(columns));
  Array x = uneven(type, rows, columns);
  NarrowOutputs made(narrow.type, blocks, rows, columns);
  call(OpKind::Quantize, {&x, nullptr}, made.pointers(true, made.canTurn()),
       made.attributes());
  const int64_t whole = int64_t(1) << 40;
  const int64_t height = blocks.empty()        ? whole
                         : blocks == "squares" ? 128
                                               : 1,
                width = blocks.empty() || blocks == "whole_rows" ? whole
                        : blocks == "mx"                         ? 32
                                                                 : 128;
  for (int64_t i = 0; i < rows; i += 11)
    for (int64_t j = 0; j < columns; j += 17) {
      expectElement(x, made, narrow, i, j, made.get(i, j),
                    made.scaleOf(made.scale, i, j), height, width);
      if (!made.canTurn())
        continue;
      const Array& turned = made.hasOneScale() ? made.scale : made.qtScale;
      expectElement(x, made, narrow, i, j, made.getTurned(i, j),
                    made.scaleOf(turned, j, i), width, height);
    }
}

TEST(Quantize, RoundsByTheScaleOfABlock) {
  for (const std::string& blocks : allBlocks)
    for (DType type : {DType::f32, DType::bf16})
      for (const Narrow& narrow : {e4m3, e5m2}) {
        check(type, narrow, blocks, 16, 48);
        check(type, narrow, blocks, 130, 260);
        check(type, narrow, blocks, 7, 3);
      }
}

TEST(Quantize, GivesEachRowAScale) {
  for (DType type : {DType::f32, DType::bf16})
    for (const Narrow& narrow : {e4m3, e5m2}) {
      check(type, narrow, "whole_rows", 16, 48);
      check(type, narrow, "whole_rows", 130, 260);
      check(type, narrow, "whole_rows", 7, 3);
    }
}

TEST(Quantize, MakesOneLayoutAlone) {
  for (const std::string& blocks : allBlocks) {
    Array x = uneven(DType::bf16, 150, 140);
    NarrowOutputs both(DType::f8e4m3, blocks, 150, 140), one = both;
    call(OpKind::Quantize, {&x, nullptr}, both.pointers(), both.attributes());
    call(OpKind::Quantize, {&x, nullptr}, one.pointers(true, false),
         one.attributes());
    call(OpKind::Quantize, {&x, nullptr}, one.pointers(false, true),
         one.attributes());
    EXPECT_EQ(relativeError(one.q, both.q), 0) << blocks;
    EXPECT_EQ(relativeError(one.qt, both.qt), 0) << blocks;
    EXPECT_EQ(relativeError(one.scale, both.scale), 0) << blocks;
  }
}

TEST(Quantize, PutsZerosBehindSquares) {
  Array x = uneven(DType::bf16, 200, 300);
  NarrowOutputs made(DType::f8e4m3, "squares", 200, 300);
  for (int64_t i = 0; i < made.scale.size(); ++i)
    made.scale.set(i, 9);
  call(OpKind::Quantize, {&x, nullptr}, made.pointers(), made.attributes());
  EXPECT_EQ(made.scale.get(3), 0); // three blocks are padded to four
  EXPECT_EQ(made.scale.get(7), 0);
}

TEST(Quantize, KeepsWhatIsNoNumber) {
  for (const std::string& blocks : allBlocks) {
    Array x = uneven(DType::f32, 16, 16);
    x.set(20, std::numeric_limits<double>::quiet_NaN());
    NarrowOutputs made(DType::f8e4m3, blocks, 16, 16);
    call(OpKind::Quantize, {&x, nullptr}, made.pointers(), made.attributes());
    EXPECT_TRUE(std::isnan(made.get(1, 4))) << blocks;
    EXPECT_FALSE(std::isnan(made.get(1, 5))) << blocks;
    EXPECT_TRUE(std::isfinite(made.scaleOf(made.scale, 1, 4))) << blocks;
  }
}

TEST(Quantize, InfinityIsNoNumberInItsBlock) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const std::string& blocks : allBlocks) {
    Array x(DType::f32, {160, 160});
    x.set(3 * 160 + 5, -infinity);
    x.set(3 * 160 + 6, 1);
    NarrowOutputs made(DType::f8e4m3, blocks, 160, 160);
    call(OpKind::Quantize, {&x, nullptr}, made.pointers(), made.attributes());
    EXPECT_TRUE(std::isnan(made.get(3, 5))) << blocks;
    EXPECT_TRUE(std::isnan(made.get(3, 6))) << blocks;
    if (!made.hasOneScale()) {
      EXPECT_EQ(made.get(3, 140), 0) << blocks;
    }
  }
}

/// The scale and first element of an `mx` block whose first element is the
/// largest.
struct MxCase {
  Narrow narrow;
  double first, scale, rounded;
};

TEST(Quantize, ScalesOfMxArePowersOfTwoThatHoldTheLargest) {
  const MxCase cases[] = {
      {e4m3, 448, 1, 448},
      {e4m3, -448, 1, -448},
      {e4m3, 0x1.c00002p8, 2, 224}, // the next number after 448
      {e4m3, 449, 2, 224},
      {e4m3, 256, 1, 256},
      {e4m3, 1.75, 0x1p-8, 448},
      {e4m3, 0x1p-119, 0x1p-127, 256},
      {e4m3, 0x1p-130, 0x1p-127, 0.125}, // subnormal in f32
      {e4m3, 0, 0x1p-127, 0},
      {e4m3, std::numeric_limits<float>::max(), 0x1p120, 256},
      {e5m2, 57344, 1, 57344},
      {e5m2, 57345, 2, 28672},
      {e5m2, 3, 0x1p-14, 49152},
  };
  for (const MxCase& of : cases) {
    Array x(DType::f32, {32, 32});
    x.set(0, of.first);
    x.set(1, of.first / 4);
    NarrowOutputs made(of.narrow.type, "mx", 32, 32);
    call(OpKind::Quantize, {&x, nullptr}, made.pointers(), made.attributes());
    EXPECT_EQ(made.scale.get(0), of.scale) << of.first;
    EXPECT_EQ(made.qtScale.get(0), of.scale) << of.first;
    EXPECT_EQ(made.q.get(0), of.rounded) << of.first;
    EXPECT_EQ(made.qt.get(0), of.rounded) << of.first;
    EXPECT_EQ(made.q.get(1), of.rounded / 4) << of.first;
  }
}

// The two offsets that NVIDIA's nvmath-python documents for
// `get_block_scale_offset`.
TEST(Quantize, ScalesOfMxLieAsTensorCoresReadThem) {
  Array x(DType::f32, {128, 256});
  x.set(5 * 256 + 2 * 32, 448 * 8);
  x.set(5 * 256 + 5 * 32, 448 * 16);
  NarrowOutputs made(DType::f8e4m3, "mx", 128, 256);
  call(OpKind::Quantize, {&x, nullptr}, made.pointers(true, false),
       made.attributes());
  EXPECT_EQ(made.scale.get(82), 8);
  EXPECT_EQ(made.scale.get(593), 16);
}

TEST(Quantize, PutsZerosBehindBlocksOfMx) {
  Array x = Array::random(DType::bf16, {150, 140}, 1);
  NarrowOutputs made(DType::f8e4m3, "mx", 150, 140);
  for (Array* scales : {&made.scale, &made.qtScale})
    for (int64_t i = 0; i < scales->size(); ++i)
      scales->set(i, 8);
  call(OpKind::Quantize, {&x, nullptr}, made.pointers(), made.attributes());
  for (int64_t i = 0; i < 256; ++i)
    for (int64_t block = 0; block < 8; ++block) {
      const int64_t place = NarrowOutputs::mxPlace(2, i, block);
      EXPECT_EQ(made.scale.get(place) == 0x1p-127, i >= 150 || block >= 5);
      EXPECT_EQ(made.qtScale.get(place) == 0x1p-127, i >= 140 || block >= 5);
    }
}

TEST(Quantize, ScalesByItsPast) {
  Array history(DType::f32, {3});
  auto step = [&](double most) {
    Array x(DType::f32, {16, 16});
    x.set(7, -most);
    NarrowOutputs made(DType::f8e4m3, "", 16, 16);
    call(OpKind::Quantize, {&x, &history}, made.pointers(true, true, &history),
         {});
    return made.scale.get(0) * 448;
  };
  EXPECT_FLOAT_EQ(float(step(2)), 2); // no history: its own
  EXPECT_FLOAT_EQ(float(step(5)), 2);
  EXPECT_FLOAT_EQ(float(step(1)), 5);
  EXPECT_FLOAT_EQ(float(step(1)), 5);
  EXPECT_FLOAT_EQ(float(step(1)), 5);
  EXPECT_FLOAT_EQ(float(step(1)), 1); // the 5 has left the history
  EXPECT_EQ(history.get(0), 1);
}

TEST(Quantize, EndsAtTheLargestNumber) {
  Array history(DType::f32, {1}), x(DType::f32, {16, 16});
  history.set(0, 448); // a scale of 1
  x.set(0, 1000);
  x.set(1, -1000);
  NarrowOutputs made(DType::f8e4m3, "", 16, 16);
  call(OpKind::Quantize, {&x, &history}, made.pointers(true, true, &history),
       {});
  EXPECT_EQ(made.get(0, 0), 448);
  EXPECT_EQ(made.get(0, 1), -448);
}

// ---- rows of bytes

/// The bytes of a row of QuantizeRows: values, scales and zeros.
struct RowCase {
  int64_t width, scales, bytes;
};

/// Rows have the values and scales of a `quantize` by rows, and dequantize to
/// their products.
TEST(QuantizeRows, HoldValuesAndScales) {
  constexpr int64_t rows = 9;
  const RowCase cases[] = {{3, 4, 16}, {128, 128, 144}, {259, 260, 272}};
  for (const auto& [width, scales, size] : cases)
    for (DType type : {DType::f64, DType::f32, DType::bf16}) {
      Array x = uneven(DType::bf16, rows, width), own = x.cast(type);
      NarrowOutputs made(DType::f8e4m3, "rows", rows, width);
      call(OpKind::Quantize, {&x, nullptr}, made.pointers(true, false),
           made.attributes());
      Array bytes(DType::u8, {rows, size}), back(type, {rows, width});
      for (int64_t i = 0; i < bytes.size(); ++i)
        bytes.set(i, 77);
      call(OpKind::QuantizeRows, {&own}, {&bytes});
      call(OpKind::DequantizeRows, {&bytes}, {&back});
      const auto* const all =
          static_cast<const unsigned char*>(bytes.tensor().data);
      for (int64_t i = 0; i < rows; ++i) {
        const unsigned char* const row = all + i * size;
        for (int64_t j = 0; j < width; ++j) {
          Array product(type, {1});
          product.set(0, float(made.get(i, j)));
          ASSERT_EQ(back.get(i * width + j), product.get(0)) << i << ", " << j;
        }
        const int64_t blocks = (width + 127) / 128;
        for (int64_t block = 0; block < blocks; ++block) {
          float scale;
          std::memcpy(&scale, row + scales + 4 * block, sizeof scale);
          ASSERT_EQ(scale, made.scale.get(block * rows + i));
        }
        EXPECT_EQ(std::count(row + width, row + scales, 0), scales - width);
        EXPECT_EQ(std::count(row + scales + 4 * blocks, row + size, 0),
                  size - scales - 4 * blocks);
      }
    }
}

TEST(QuantizeRows, KeepWhatIsNoNumber) {
  Array x = uneven(DType::f32, 2, 256), bytes(DType::u8, {2, 272});
  x.set(20, std::numeric_limits<double>::quiet_NaN());
  call(OpKind::QuantizeRows, {&x}, {&bytes});
  call(OpKind::DequantizeRows, {&bytes}, {&x});
  EXPECT_TRUE(std::isnan(x.get(20)));
  for (int64_t i = 0; i < x.size(); ++i)
    EXPECT_TRUE(i == 20 || std::isfinite(x.get(i))) << i;
}

// ---- transposed, and part by part

TEST(Transpose, PutsRowsInTheirColumns) {
  const std::pair<int64_t, int64_t> shapes[] = {
      {16, 48}, {130, 260}, {7, 3}, {1, 200}};
  for (const Narrow& narrow : {e4m3, e5m2})
    for (auto [rows, columns] : shapes) {
      Array x = uneven(DType::f32, rows, columns);
      NarrowOutputs made(narrow.type, "", rows, columns);
      call(OpKind::Quantize, {&x, nullptr}, made.pointers());
      Array turned(narrow.type, {columns, rows});
      call(OpKind::Transpose, {&made.q}, {&turned});
      EXPECT_EQ(relativeError(turned, made.qt), 0) << rows << " x " << columns;
    }
}

/// A matrix within a larger tensor sharded over four ranks.
struct InParts {
  static constexpr int64_t ranks = 4, own = 512; // elements per rank
  int64_t rows, columns, start;

  Attributes attributes() const {
    return {{"axis", std::string("dp")},
            {"start", start},
            {"count", rows * columns},
            {"place", int64_t(1)}};
  }
  Place placeOf(int rank) const {
    Place place;
    place.mesh.axes = {{"dp", ranks}};
    place.mesh.ranks = ranks;
    place.rank = rank;
    return place;
  }
  bool has(int64_t place) const {
    return place >= start && place < start + rows * columns;
  }
  /// The rank's shard. Elements outside the matrix are larger and must not
  /// count.
  Array part(const Array& x, int rank) const {
    Array part(x.dtype(), {own});
    for (int64_t i = 0; i < own; ++i)
      part.set(i, has(rank * own + i) ? x.get(rank * own + i - start) : 1e6);
    return part;
  }
};

void checkParts(DType type, const Narrow& narrow, const InParts& in) {
  Array x = uneven(type, in.rows, in.columns);
  NarrowOutputs whole(narrow.type, "", in.rows, in.columns);
  call(OpKind::Quantize, {&x, nullptr}, whole.pointers(true, false));
  Array maxima(DType::f32, {3});
  maxima.set(2, 7);
  // All ranks share one array in place of the all-reduce.
  for (int rank = 0; rank < in.ranks; ++rank) {
    Array part = in.part(x, rank);
    call(OpKind::ShardAmax, {&part}, {&maxima}, in.attributes(),
         in.placeOf(rank));
  }
  EXPECT_EQ(maxima.get(0), 0);
  EXPECT_EQ(maxima.get(1), mostIn(x, in.columns, 0, in.rows, 0, in.columns));
  EXPECT_EQ(maxima.get(2), 7);
  for (int rank = 0; rank < in.ranks; ++rank) {
    Array part = in.part(x, rank), q(narrow.type, {in.own}),
          scale(DType::f32, {1});
    for (int64_t i = 0; i < in.own; ++i)
      q.set(i, 3);
    call(OpKind::QuantizeShard, {&part, &maxima}, {&q, &scale}, in.attributes(),
         in.placeOf(rank));
    EXPECT_EQ(scale.get(0), whole.scale.get(0)) << "rank " << rank;
    for (int64_t i = 0; i < in.own; ++i) {
      const int64_t place = rank * in.own + i;
      ASSERT_EQ(q.get(i), in.has(place) ? whole.q.get(place - in.start) : 3)
          << "rank " << rank << ", " << i;
    }
  }
}

TEST(QuantizeShard, IsAPartOfTheWhole) {
  for (DType type : {DType::f32, DType::bf16})
    for (const Narrow& narrow : {e4m3, e5m2})
      for (const InParts& in :
           {InParts{40, 30, 192}, InParts{7, 3, 1024}, InParts{64, 32, 0}})
        checkParts(type, narrow, in);
}

TEST(QuantizeShard, KeepsWhatIsNoNumber) {
  const InParts in{8, 8, 0};
  Array x = uneven(DType::bf16, 8, 8);
  x.set(5, std::numeric_limits<double>::quiet_NaN());
  Array part = in.part(x, 0), maxima(DType::f32, {2}),
        q(DType::f8e4m3, {in.own}), scale(DType::f32, {1});
  call(OpKind::ShardAmax, {&part}, {&maxima}, in.attributes(), in.placeOf(0));
  call(OpKind::QuantizeShard, {&part, &maxima}, {&q, &scale}, in.attributes(),
       in.placeOf(0));
  EXPECT_TRUE(std::isnan(q.get(5)));
  EXPECT_TRUE(std::isfinite(scale.get(0)));
}

// ---- products

struct MatmulCase {
  int64_t m, n, k;
  std::string a, b; // blocks
  DType bType = DType::f8e4m3;
  bool accumulate = false;
};

/// Rows of `of`, one behind the other.
std::vector<double> valuesOf(const NarrowOutputs& of) {
  std::vector<double> values;
  for (int64_t i = 0; i < of.rows; ++i)
    for (int64_t j = 0; j < of.columns; ++j)
      values.push_back(of.get(i, j));
  return values;
}

void checkMatmul(const MatmulCase& of, DType output) {
  SCOPED_TRACE(of.a + " by " + of.b + " " + std::to_string(of.m) + " x " +
               std::to_string(of.n) + " x " + std::to_string(of.k));
  Array x = uneven(DType::f32, of.m, of.k),
        w = Array::random(DType::f32, {of.n, of.k}, 2);
  NarrowOutputs a(DType::f8e4m3, of.a, of.m, of.k),
      b(of.bType, of.b, of.n, of.k);
  call(OpKind::Quantize, {&x, nullptr}, a.pointers(true, false),
       a.attributes());
  call(OpKind::Quantize, {&w, nullptr}, b.pointers(true, false),
       b.attributes());
  const std::vector<double> left = valuesOf(a), right = valuesOf(b);
  Array y = Array::random(output, {of.m, of.n}, 3), wanted = y.cast(DType::f64);
  for (int64_t i = 0; i < of.m; ++i)
    for (int64_t j = 0; j < of.n; ++j) {
      const double* row = &left[size_t(i * of.k)];
      const double sum =
          std::inner_product(row, row + of.k, &right[size_t(j * of.k)], 0.0);
      const int64_t at = i * of.n + j;
      wanted.set(at, 0.5 * sum + (of.accumulate ? wanted.get(at) : 0));
    }
  Attributes attributes = {{"alpha", 0.5}, {"accumulate", of.accumulate}};
  if (!of.a.empty())
    attributes.add("a_blocks", of.a);
  if (!of.b.empty())
    attributes.add("b_blocks", of.b);
  Array base = y;
  call(OpKind::ScaledMatmul, {&a.q, &b.q, &a.scale, &b.scale}, {&y},
       attributes);
  // Sums of some hundred terms in f32; bf16 is rounded once.
  EXPECT_LT(relativeError(y, wanted), output == DType::f32 ? 1e-5 : 0x1p-8);
  if (!of.accumulate)
    return;
  Array apart(output, {of.m, of.n});
  call(OpKind::ScaledMatmulAdd, {&a.q, &b.q, &a.scale, &b.scale, &base},
       {&apart}, attributes);
  EXPECT_EQ(relativeError(apart, y), 0);
}

/// A bf16 value computed in other registers may round to the other side: an
/// element is off by one bf16 unit, and then by one fp8 unit.
void expectCastsOf(const Array& x, const NarrowOutputs& got) {
  const double most = mostIn(x, got.columns, 0, got.rows, 0, got.columns);
  for (int64_t i = 0; i < got.rows; ++i)
    for (int64_t j = 0; j < got.columns; ++j) {
      const double wanted = x.get(i * got.columns + j);
      const double bound =
          std::abs(wanted) * (0x1p-3 + 0x1p-7) + most * 0x1p-17;
      ASSERT_NEAR(got.get(i, j), wanted, bound) << i << ", " << j;
      if (got.canTurn()) {
        ASSERT_NEAR(got.getTurned(i, j), wanted, bound) << i << ", " << j;
      }
    }
}

TEST(SwigluQuantize, CastsWhatASwigluMakes) {
  for (const std::string& blocks : allBlocks)
    for (DType type : {DType::f32, DType::bf16}) {
      SCOPED_TRACE(blocks);
      Array gate = Array::random(type, {130, 70}, 1, 3),
            up = Array::random(type, {130, 70}, 2), y(type, {130, 70});
      NarrowOutputs made(DType::f8e4m3, blocks, 130, 70);
      call(OpKind::Swiglu, {&gate, &up}, {&y});
      call(OpKind::SwigluQuantize, {&gate, &up, nullptr}, made.pointers(),
           made.attributes());
      expectCastsOf(y, made);
    }
}

TEST(SwigluQuantize, GivesEachRowAScale) {
  for (DType type : {DType::f32, DType::bf16}) {
    Array gate = Array::random(type, {130, 70}, 1, 3),
          up = Array::random(type, {130, 70}, 2), y(type, {130, 70});
    NarrowOutputs made(DType::f8e4m3, "whole_rows", 130, 70);
    call(OpKind::Swiglu, {&gate, &up}, {&y});
    call(OpKind::SwigluQuantize, {&gate, &up, nullptr},
         made.pointers(true, false), made.attributes());
    expectCastsOf(y, made);
    for (int64_t i = 0; i < made.rows; ++i)
      ASSERT_NEAR(made.scale.get(i), mostIn(y, 70, i, i + 1, 0, 70) / 448,
                  0x1p-7 * made.scale.get(i))
          << i;
  }
}

TEST(RmsNormQuantize, CastsWhatAnRmsNormMakes) {
  for (DType type : {DType::f32, DType::bf16})
    for (bool isCentered : {false, true})
      for (bool hasWeight : {false, true}) {
        Array x = Array::random(type, {2, 65, 70}, 1, 3), y = x,
              weight = Array::random(type, {70}, 2), rstd(DType::f32, {2, 65});
        NarrowOutputs apart(DType::f8e4m3, "whole_rows", 130, 70),
            together = apart;
        Array* const by = hasWeight ? &weight : nullptr;
        const Attributes attributes = {{"eps", 0.1}, {"centered", isCentered}};
        call(OpKind::RmsNorm, {&x, by}, {&y, &rstd}, attributes);
        call(OpKind::Quantize, {&y, nullptr}, apart.pointers(true, false),
             apart.attributes());
        call(OpKind::RmsNormQuantize, {&x, by}, {&together.q, &together.scale},
             attributes);
        EXPECT_EQ(relativeError(together.q, apart.q), 0);
        EXPECT_EQ(relativeError(together.scale, apart.scale), 0);
      }
}

TEST(SwigluQuantize, CastsBothGradients) {
  for (const std::string& blocks : allBlocks)
    for (DType type : {DType::f32, DType::bf16}) {
      SCOPED_TRACE(blocks);
      Array dy = Array::random(type, {130, 70}, 3),
            gate = Array::random(type, {130, 70}, 1, 3),
            up = Array::random(type, {130, 70}, 2);
      Array dgate(type, {130, 70}), dup(type, {130, 70});
      NarrowOutputs ofGate(DType::f8e5m2, blocks, 130, 70), ofUp = ofGate;
      call(OpKind::SwigluBackward, {&dy, &gate, &up}, {&dgate, &dup});
      std::vector<Array*> outputs = ofGate.pointers();
      for (Array* output : ofUp.pointers())
        outputs.push_back(output);
      call(OpKind::SwigluBackwardQuantize, {&dy, &gate, &up, nullptr, nullptr},
           outputs, ofGate.attributes());
      expectCastsOf(dgate, ofGate);
      expectCastsOf(dup, ofUp);
    }
}

TEST(ScaledMatmul, MultipliesRowsByRows) {
  const MatmulCase all[] = {
      {16, 32, 48, "", ""},
      {130, 140, 300, "", "", DType::f8e5m2},
      {1, 3, 7, "", ""},
      {150, 200, 300, "whole_rows", "whole_rows"},
      {150, 70, 260, "whole_rows", "whole_rows", DType::f8e5m2, true},
      {150, 200, 300, "rows", "squares"},
      {150, 200, 300, "squares", "rows"},
      {150, 70, 260, "rows", "rows", DType::f8e4m3, true},
      {64, 64, 64, "", "", DType::f8e4m3, true},
      {32, 64, 96, "mx", "mx"},
      {150, 200, 300, "mx", "mx", DType::f8e5m2},
      {150, 70, 260, "mx", "mx", DType::f8e4m3, true},
  };
  for (const MatmulCase& of : all)
    for (DType output : {DType::f32, DType::bf16})
      checkMatmul(of, output);
}

} // namespace
} // namespace reciperun::kernels
