// The GPU's kernels against their CPU twins: shapes with ragged edges, f32 and
// bf16, aligned to vectors or not, and each of them twice for the same bits.
// CudaOperands.h says why tolerances are what they are.

#include "runtime/plan/MasterHalves.h"
#include "test/runtime/kernels/CudaOperands.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include <cuda_runtime_api.h>

namespace reciperun::kernels {
namespace {

using plan::DType;
using plan::OpKind;

plan::Mesh meshOf(const char* axis, int size) {
  plan::Mesh mesh;
  mesh.axes = {{axis, size}};
  mesh.ranks = size;
  return mesh;
}

// ---- elementwise

constexpr int64_t counts[] = {1, 7, 8, 9, 1000, 4096, 100003};

struct Map {
  OpKind kind;
  int inputs, outputs;
  Tolerance tolerance;
  Attributes attributes = {};
};

const Map maps[] = {
    {OpKind::Add, 2, 1, exact},
    {OpKind::Mul, 2, 1, exact},
    {OpKind::Scale, 1, 1, exact, {{"alpha", 0.3}}},
    {OpKind::Silu, 1, 1, exponentials},
    {OpKind::SiluBackward, 2, 1, exponentials},
    {OpKind::Gelu, 1, 1, exponentials},
    {OpKind::GeluBackward, 2, 1, exponentials},
    {OpKind::Gelu, 1, 1, exponentials, {{"exact", true}}},
    {OpKind::GeluBackward, 2, 1, exponentials, {{"exact", true}}},
    {OpKind::Relu2, 1, 1, exact},
    {OpKind::Relu2Backward, 2, 1, exact},
    // tanh, by other formulas on both
    {OpKind::Softcap, 1, 1, exponentials, {{"cap", 2.0}}},
    {OpKind::SoftcapBackward, 2, 1, exponentials, {{"cap", 2.0}}},
    {OpKind::Swiglu, 2, 1, exponentials},
    {OpKind::SwigluBackward, 3, 2, exponentials},
};

class CudaElementwise : public CudaParityTest {
protected:
  /// Outputs are the last inputs where `inPlace`.
  void run(const Map& map, DType type, int64_t count, bool inPlace) {
    std::vector<Array> in, out;
    for (int i = 0; i < map.inputs; ++i)
      in.push_back(numbers(type, {count}, unsigned(i) + 1, 3));
    out.resize(size_t(map.outputs), Array(type, {count}));
    ParityCase of{map.kind, {}, {}, map.attributes};
    for (Array& array : in)
      of.inputs.push_back(&array);
    for (int i = 0; i < map.outputs; ++i)
      of.outputs.push_back(inPlace ? &in[size_t(map.inputs - map.outputs + i)]
                                   : &out[size_t(i)]);
    of.shift = count == 1000 && !inPlace ? 1 : 0;
    compare(of, {tolerance(type, map.tolerance)});
  }
};

TEST_F(CudaElementwise, Maps) {
  for (const Map& map : maps)
    for (DType type : types)
      for (int64_t count : counts)
        run(map, type, count, false);
}

TEST_F(CudaElementwise, MapsInPlace) {
  for (const Map& map : maps)
    for (DType type : types)
      run(map, type, 4103, true);
}

TEST_F(CudaElementwise, FarArgumentsStayFinite) {
  for (const Map& map : maps)
    for (DType type : types) {
      if (map.inputs != 1)
        continue;
      Array x(type, {8}), y = x;
      const double far[] = {-1e4, -200, -90, -30, 30, 90, 200, 1e4};
      for (int64_t i = 0; i < 8; ++i)
        x.set(i, far[i]);
      // Where e^x leaves the range of float, one of them gives x e^-88 for 0.
      compare({map.kind, {&x}, {&y}, map.attributes}, {{0x1p-6, 1e-38}});
    }
}

TEST_F(CudaElementwise, Casts) {
  for (DType from : types)
    for (DType to : types)
      for (int64_t count : counts) {
        Array x = numbers(from, {count}, 1), y(to, {count});
        compare({OpKind::Cast, {&x}, {&y}, {}, {}, count == 9 ? 4 : 0},
                {exact});
      }
}

TEST_F(CudaElementwise, Zeroes) {
  for (DType type : {DType::f32, DType::bf16, DType::i32, DType::f64}) {
    Array y = below(100, {1003}, 1, type);
    compare({OpKind::Zero, {}, {&y}}, {exact});
  }
}

TEST_F(CudaElementwise, RefusesDoubles) {
  Array x = numbers(DType::f64, {10}, 1), y = x;
  const Status status = tryOnGpu({OpKind::Silu, {&x}, {&y}});
  EXPECT_EQ(status.message(), "`silu` computes in f32 and bf16 on GPUs, and an "
                              "operand is of another type");
}

// ---- rows

class CudaRows : public CudaParityTest {};

const std::vector<int64_t> matrices[] = {
    {5, 1},     {3, 7},    {1000, 8},  {33, 64},   {257, 128},
    {9, 520},   {4, 1000}, {2, 1001},  {70, 2048}, {31, 4096},
    {700, 512}, {7, 8192}, {5, 12288}, {3, 16384}, {2, 5, 96}};

Tolerance gradientTolerance(DType gradient) {
  return tolerance(gradient, sums);
}

TEST_F(CudaRows, RmsNorm) {
  for (DType type : types)
    for (const auto& shape : matrices)
      for (int variant = 0; variant < 3; ++variant) {
        const int64_t width = shape.back();
        Array x = numbers(type, shape, 1), w = numbers(type, {width}, 2);
        Array y = x, rstd(DType::f32, {x.size() / width});
        compare({OpKind::RmsNorm,
                 {&x, variant == 2 ? nullptr : &w},
                 {&y, &rstd},
                 {{"eps", 1e-5}, {"centered", variant == 1}}},
                {tolerance(type, {0x1p-19, 0}), {0x1p-20, 0}});
      }
}

TEST_F(CudaRows, RmsNormBackward) {
  for (DType type : types)
    for (const auto& shape : matrices)
      for (int variant = 0; variant < 4; ++variant) {
        const int64_t width = shape.back();
        Array x = numbers(type, shape, 1), dy = numbers(type, shape, 2);
        Array w = numbers(type, {width}, 3), dx(type, shape);
        Array rstd = numbers(DType::f32, {x.size() / width}, 4, 0.1);
        const DType gradient = variant == 1 ? type : DType::f32;
        Array dw = numbers(gradient, {width}, 5);
        const bool hasWeight = variant != 2, inPlace = variant == 3;
        compare({OpKind::RmsNormBackward,
                 {&dy, &x, hasWeight ? &w : nullptr, &rstd},
                 {inPlace ? &dy : &dx, hasWeight ? &dw : nullptr},
                 {{"centered", variant == 1}}},
                {tolerance(type, sums), gradientTolerance(gradient)});
      }
}

TEST_F(CudaRows, LayerNorm) {
  for (DType type : types)
    for (const auto& shape : matrices)
      for (bool centered : {false, true}) {
        const int64_t width = shape.back();
        Array x = numbers(type, shape, 1), w = numbers(type, {width}, 2);
        Array y = x, mean(DType::f32, {x.size() / width}), rstd = mean;
        for (int64_t i = 0; i < x.size(); ++i)
          x.set(i, x.get(i) + 1); // a mean to take away
        // A mean's error is one of the numbers it is taken of, and a row of one
        // element leaves nothing but it.
        compare({OpKind::LayerNorm,
                 {&x, &w},
                 {&y, &mean, &rstd},
                 {{"eps", 1e-5}, {"centered", centered}}},
                {tolerance(type, {0x1p-18, 0x1p-18}),
                 {0x1p-20, 0x1p-20},
                 {0x1p-19, 0}});
      }
}

TEST_F(CudaRows, LayerNormBackward) {
  for (DType type : types)
    for (const auto& shape : matrices)
      for (int variant = 0; variant < 3; ++variant) {
        const int64_t width = shape.back();
        Array x = numbers(type, shape, 1), dy = numbers(type, shape, 2);
        Array w = numbers(type, {width}, 3), dx(type, shape);
        Array mean = numbers(DType::f32, {x.size() / width}, 4, 0.1);
        Array rstd = numbers(DType::f32, {x.size() / width}, 6, 0.5);
        const DType gradient = variant == 1 ? type : DType::f32;
        Array dw = numbers(gradient, {width}, 5);
        compare({OpKind::LayerNormBackward,
                 {&dy, &x, &w, &mean, &rstd},
                 {variant == 2 ? &dy : &dx, variant == 2 ? nullptr : &dw},
                 {{"centered", variant == 1}}},
                {tolerance(type, sums), gradientTolerance(gradient)});
      }
}

TEST_F(CudaRows, NormsTakeBuffersThatAreNotAligned) {
  for (DType type : types) {
    Array x = numbers(type, {6, 256}, 1), w = numbers(type, {256}, 2), y = x;
    Array rstd(DType::f32, {6}), dw(DType::f32, {256}), dx = x;
    compare({OpKind::RmsNorm, {&x, &w}, {&y, &rstd}, {{"eps", 1e-5}}, {}, 1},
            {tolerance(type, {0x1p-19, 0}), {0x1p-20, 0}});
    compare(
        {OpKind::RmsNormBackward, {&y, &x, &w, &rstd}, {&dx, &dw}, {}, {}, 1},
        {tolerance(type, sums), sums});
  }
}

TEST_F(CudaRows, WeightsOfSeveralRows) {
  // Of rows that share a block, of such that are not of whole vectors, of those
  // that have one and go through a ring, and, once, of so many of these that
  // its slots are filled again.
  const std::vector<int64_t> shapes[] = {
      {300, 8, 64}, {3, 5, 2, 17}, {9, 2, 1001}, {70, 4, 1024}, {3000, 3, 260}};
  for (DType type : types)
    for (const auto& shape : shapes)
      for (bool centered : {false, true}) {
        if (shape[0] == 3000 && (type == DType::bf16 || centered))
          continue;
        const std::vector<int64_t> ofToken(shape.end() - 2, shape.end());
        const std::vector<int64_t> ofRow(shape.begin(), shape.end() - 1);
        Array x = numbers(type, shape, 1), dy = numbers(type, shape, 2), y = x;
        Array w = numbers(type, ofToken, 3), dw = numbers(type, ofToken, 4);
        Array mean(DType::f32, ofRow), rstd(DType::f32, ofRow);
        const Attributes how = {{"eps", 1e-5}, {"centered", centered}};
        const Tolerance normed = tolerance(type, sums);
        const Tolerance gradient = gradientTolerance(type);
        compare({OpKind::RmsNorm, {&x, &w}, {&y, &rstd}, how}, {normed, sums});
        compare({OpKind::RmsNormBackward, {&dy, &x, &w, &rstd}, {&y, &dw}, how},
                {normed, gradient});
        compare({OpKind::LayerNorm, {&x, &w}, {&y, &mean, &rstd}, how},
                {normed, sums, sums});
        compare({OpKind::LayerNormBackward,
                 {&dy, &x, &w, &mean, &rstd},
                 {&y, &dw},
                 how},
                {normed, gradient});
      }
}

TEST_F(CudaRows, NormsOfSoManyRowsThatSlotsAreFilledAgain) {
  const std::pair<DType, std::vector<int64_t>> cases[] = {
      {DType::bf16, {8600, 520}}, {DType::f32, {420, 8192}}};
  for (const auto& [type, shape] : cases) {
    const int64_t rows = shape[0], width = shape[1];
    Array x = numbers(type, shape, 1), dy = numbers(type, shape, 2), y = x;
    Array w = numbers(type, {width}, 3), dw(DType::f32, {width});
    Array mean(DType::f32, {rows}), rstd(DType::f32, {rows});
    const Attributes eps = {{"eps", 1e-5}};
    const Tolerance normed = tolerance(type, sums);
    compare({OpKind::RmsNorm, {&x, &w}, {&y, &rstd}, eps}, {normed, sums});
    compare({OpKind::RmsNormBackward, {&dy, &x, &w, &rstd}, {&y, &dw}},
            {normed, sums});
    compare({OpKind::LayerNorm, {&x, &w}, {&y, &mean, &rstd}, eps},
            {normed, sums, sums});
    compare({OpKind::LayerNormBackward, {&dy, &x, &w, &mean, &rstd}, {&y, &dw}},
            {normed, sums});
  }
}

TEST_F(CudaRows, NormsRefuseRowsThatNoBlockHolds) {
  Array x(DType::f32, {1, 16385}), w(DType::f32, {16385}), y = x;
  Array rstd(DType::f32, {1});
  const Status status = tryOnGpu({OpKind::RmsNorm, {&x, &w}, {&y, &rstd}});
  EXPECT_EQ(status.message(), "its rows have 16385 elements, and on GPUs they "
                              "have at most 16384");
}

TEST_F(CudaRows, AddBias) {
  for (DType type : types)
    for (const auto& shape : matrices) {
      Array x = numbers(type, shape, 1), b = numbers(type, {shape.back()}, 2);
      Array y = x;
      compare({OpKind::AddBias, {&x, &b}, {&y}}, {exact});
      compare({OpKind::AddBias, {&x, &b}, {&x}}, {exact});
    }
}

TEST_F(CudaRows, BiasBackward) {
  for (DType type : types)
    for (const auto& shape : matrices)
      for (DType gradient : {DType::f32, type}) {
        Array dy = numbers(type, shape, 1);
        Array db = numbers(gradient, {shape.back()}, 2);
        compare({OpKind::BiasBackward, {&dy}, {&db}},
                {gradientTolerance(gradient)});
      }
}

TEST_F(CudaRows, BroadcastAndItsGradient) {
  for (DType type : types)
    for (int64_t over : {1, 3, 8})
      for (int64_t width : {1, 5, 64, 1000}) {
        Array x = numbers(type, {2, 3, width}, 1);
        Array y(type, {2, 3, over, width});
        compare({OpKind::Broadcast, {&x}, {&y}}, {exact});
        Array dy = numbers(type, {2, 3, over, width}, 2), dx = x;
        compare({OpKind::BroadcastBackward, {&dy}, {&dx}},
                {tolerance(type, {0x1p-22, 0x1p-22})});
      }
}

TEST_F(CudaRows, PartsOfRows) {
  const struct {
    int64_t rows, whole, part, begin;
  } cases[] = {{1, 1, 1, 0},       {5, 9, 3, 2},         {7, 64, 32, 32},
               {100, 192, 128, 0}, {100, 192, 64, 128},  {3, 4096, 1024, 8},
               {9, 4096, 1024, 1}, {2, 300, 299, 1},     {600, 24, 8, 16},
               {1, 100000, 9, 17}, {1, 100000, 65536, 4}};
  for (DType type : types)
    for (const auto& c : cases) {
      Array wide = numbers(type, {c.rows, c.whole}, 1);
      Array part(type, {c.rows, c.part});
      compare({OpKind::Narrow, {&wide}, {&part}, {{"begin", c.begin}}},
              {exact});
      compare({OpKind::Pad, {&part}, {&wide}, {{"begin", c.begin}}}, {exact});
      Array both(type, {c.rows, c.whole + c.part});
      compare({OpKind::Concat, {&wide, &part}, {&both}}, {exact});
    }
}

TEST_F(CudaRows, Slice) {
  for (DType type : {DType::f32, DType::bf16, DType::i32})
    for (int64_t dim : {0, 1, 2})
      for (int rank : {0, 1, 2}) {
        std::vector<int64_t> shape = {4, 5, 7};
        Array part(type, shape);
        shape[size_t(dim)] *= 3;
        Array whole = below(200, shape, 1, type);
        compare({OpKind::Slice,
                 {&whole},
                 {&part},
                 {{"dim", dim}, {"axis", std::string("tp")}},
                 {meshOf("tp", 3), rank}},
                {exact});
      }
}

// ---- positions

class CudaPositions : public CudaParityTest {};

struct RopeShape {
  std::vector<int64_t> x;
  int64_t rotated;
};

const RopeShape ropeShapes[] = {{{1, 1, 1, 2}, 0},    {{2, 5, 3, 64}, 0},
                                {{1, 9, 8, 128}, 0},  {{1, 70, 32, 128}, 0},
                                {{3, 4, 2, 40}, 24},  {{2, 7, 5, 80}, 32},
                                {{1, 67, 1, 64}, 0},  {{1, 3, 4, 6}, 0},
                                {{1, 2, 6, 1024}, 0}, {{1, 5, 40, 192}, 64}};

TEST_F(CudaPositions, Rope) {
  for (DType type : types)
    for (const RopeShape& shape : ropeShapes)
      for (bool interleaved : {false, true})
        for (bool inPlace : {false, true}) {
          Array x = numbers(type, shape.x, 1), y = x;
          // Far positions: angles beyond where fast sines are right.
          Array positions = below(200000, {shape.x[0], shape.x[1]}, 2);
          compare({OpKind::Rope,
                   {&x, &positions},
                   {inPlace ? &x : &y},
                   {{"theta", 1e4},
                    {"rotated", shape.rotated},
                    {"interleaved", interleaved},
                    {"inverse", inPlace}}},
                  {tolerance(type, {0x1p-21, 0x1p-21})});
        }
}

TEST_F(CudaPositions, RopeScalings) {
  for (const char* scaling : {"none", "linear", "llama3", "yarn"}) {
    Array x = numbers(DType::f32, {1, 40, 2, 64}, 1), y = x;
    Array positions = below(30000, {1, 40}, 2);
    compare({OpKind::Rope,
             {&x, &positions},
             {&y},
             {{"theta", 5e5},
              {"scaling", std::string(scaling)},
              {"factor", 8.0},
              {"low_freq_factor", 1.0},
              {"high_freq_factor", 4.0},
              {"original_max_position", 8192.0}}},
            {{0x1p-21, 0x1p-21}});
  }
}

TEST_F(CudaPositions, PositionScale) {
  for (DType type : types)
    for (int64_t width : {1, 9, 64, 5000}) {
      Array x = numbers(type, {2, 33, width}, 1), y = x;
      Array positions = below(1000000, {2, 33}, 2);
      const Attributes rule = {{"floor", 8192.0}, {"scale", 0.1}};
      compare({OpKind::PositionScale, {&x, &positions}, {&y}, rule},
              {tolerance(type, fewUnits)});
      compare({OpKind::PositionScale, {&x, &positions}, {&x}, rule},
              {tolerance(type, fewUnits)});
    }
}

// ---- embedding and dropout

class CudaTables : public CudaParityTest {};

TEST_F(CudaTables, Embedding) {
  for (DType type : types)
    for (int64_t width : {1, 7, 64, 4096})
      for (int rank : {0, 1}) {
        Array tokens = below(60, {3, 50}, 1);
        Array table = numbers(type, {30, width}, 2), y(type, {3, 50, width});
        compare({OpKind::Embedding,
                 {&tokens, &table},
                 {&y},
                 {{"axis", std::string("tp")}},
                 {meshOf("tp", 2), rank}},
                {exact});
      }
}

TEST_F(CudaTables, EmbeddingBackward) {
  for (DType type : types)
    for (DType gradient : {DType::f32, type})
      for (int64_t width : {1, 7, 64, 1000, 4096})
        for (int64_t vocabulary : {2, 4, 60, 3000}) {
          if (width == 4096 && vocabulary == 3000)
            continue;
          Array tokens = below(vocabulary, {1, 333}, 1);
          Array dy = numbers(type, {1, 333, width}, 2);
          Array dtable = numbers(gradient, {vocabulary / 2, width}, 3);
          // The CPU adds one token after another to what is there.
          compare({OpKind::EmbeddingBackward,
                   {&tokens, &dy},
                   {&dtable},
                   {{"axis", std::string("tp")}},
                   {meshOf("tp", 2), 1}},
                  {tolerance(gradient, sums)});
        }
}

TEST_F(CudaTables, Dropout) {
  const std::vector<int64_t> shapes[] = {
      {2, 3},        {2, 5, 1},    {3, 7, 64},     {2, 9, 30},
      {2, 3, 4, 16}, {2, 3, 5, 7}, {1, 2, 3, 4, 8}};
  for (DType type : types)
    for (const auto& shape : shapes)
      for (int sharded : {-1, 2, 3}) {
        if (sharded >= int(shape.size()))
          continue;
        std::vector<std::string> axes(shape.size());
        if (sharded >= 0)
          axes[size_t(sharded)] = "tp";
        Array x = numbers(type, shape, 1), y = x;
        Array samples = below(1 << 30, {shape[0]}, 2, DType::i64);
        Array places = below(5000, {shape[0], shape[1]}, 3);
        compare({OpKind::Dropout,
                 {&x, &samples, &places},
                 {&y},
                 {{"p", 0.3},
                  {"seed", int64_t(17)},
                  {"stream", int64_t(-5)},
                  {"axes", axes}},
                 {meshOf("tp", 2), 1}},
                {exact});
      }
}

// ---- the loss

class CudaLoss : public CudaParityTest {};

TEST_F(CudaLoss, CrossEntropy) {
  const std::vector<int64_t> shapes[] = {{3, 1},      {5, 7},     {2, 3, 1000},
                                         {9, 4096},   {3, 32001}, {2, 128256},
                                         {4, 5, 8192}};
  for (DType type : types)
    for (const auto& shape : shapes)
      for (bool inPlace : {false, true}) {
        const int64_t width = shape.back();
        Array logits = numbers(type, shape, 1, 4), dlogits = logits;
        const int64_t rows = logits.size() / width;
        Array m(DType::f32, {rows}), stats(DType::f32, {rows, 2});
        // Half of the labels are on the other rank.
        Array labels = below(2 * width, {rows}, 2);
        Array weights = below(3, {rows}, 3, DType::f32);
        Array scale = one(DType::f32, 0.37), loss = one(DType::f64, 5);
        const Attributes axis = {{"axis", std::string("tp")}};
        const Place place{meshOf("tp", 2), 1};
        compare({OpKind::SoftmaxMax, {&logits}, {&m}, {}, place}, {exact});
        // A CPU's lanes add some 10^4 terms each, and round as often.
        compare(
            {OpKind::SoftmaxSum, {&logits, &m, &labels}, {&stats}, axis, place},
            {{0x1p-14, 0}});
        // Logarithms in f64, of the same numbers.
        compare({OpKind::Nll, {&m, &stats, &weights, &scale}, {&loss}},
                {{1e-12, 0}});
        compare({OpKind::CrossEntropyBackward,
                 {&logits, &m, &stats, &labels, &weights, &scale},
                 {inPlace ? &logits : &dlogits},
                 axis,
                 place},
                {tolerance(type, exponentials)});
      }
}

TEST_F(CudaLoss, NllOfManyRows) {
  const int64_t rows = 20011;
  Array m = numbers(DType::f32, {rows}, 1), stats(DType::f32, {rows, 2});
  for (int64_t i = 0; i < stats.size(); ++i)
    stats.set(i, 1 + double(i % 97));
  Array weights = below(3, {rows}, 3, DType::f32);
  Array scale = one(DType::f32, 1e-3), loss = one(DType::f64, 0);
  compare({OpKind::Nll, {&m, &stats, &weights, &scale}, {&loss}}, {{1e-12, 0}});
}

// ---- optimizer

class CudaOptimizer : public CudaParityTest {};

TEST_F(CudaOptimizer, SumSquares) {
  for (DType type : types)
    for (int64_t count : {1, 7, 8, 1001, 2000003})
      for (int64_t shift : {0, 1}) {
        Array x = numbers(type, {count}, 1), sum = one(DType::f64, 3);
        // Of doubles in another order.
        compare(
            {OpKind::SumSquares, {&x}, {&sum}, {{"scale", 0.25}}, {}, shift},
            {{1e-12, 0}});
      }
}

/// The forms in which AdamW's state is kept (compiler: StoredTypes).
struct Stored {
  DType param, master, moments, gradient;
};

const Stored forms[] = {
    {DType::f32, DType::f32, DType::f32, DType::f32},
    {DType::f32, DType::f32, DType::bf16, DType::f32},
    {DType::bf16, DType::f32, DType::f32, DType::f32},
    {DType::bf16, DType::f32, DType::f32, DType::bf16},
    {DType::bf16, DType::f32, DType::bf16, DType::bf16},
    {DType::bf16, DType::u16, DType::f32, DType::f32},
    {DType::bf16, DType::u16, DType::bf16, DType::bf16},
    {DType::bf16, DType::u16, DType::bf16, DType::f32},
    {DType::bf16, DType::bf16, DType::bf16, DType::bf16},
    {DType::bf16, DType::bf16, DType::f32, DType::f32},
};

struct OptimizerState {
  OptimizerState(const Stored& form, int64_t count)
      : form(form), param(numbers(form.param, {count}, 1)),
        master(form.master == DType::u16 ? below(65536, {count}, 2, DType::u16)
                                         : param.cast(DType::f32)),
        m(numbers(form.moments, {count}, 3, 0.1)),
        v(numbers(form.moments, {count}, 4, 0.1)) {
    for (int64_t i = 0; i < count; ++i)
      v.set(i, std::abs(v.get(i)));
  }

  /// The parameter's buffer itself where the form has no other.
  Array* masterBuffer() { return form.param == form.master ? &param : &master; }

  /// What is kept of the masters, in f32.
  Array masters() const {
    if (form.master == form.param)
      return param.cast(DType::f32);
    if (form.master == DType::f32)
      return master;
    Array joined(DType::f32, param.shape());
    for (int64_t i = 0; i < param.size(); ++i) {
      const auto upper = std::bit_cast<uint32_t>(float(param.get(i))) >> 16;
      joined.set(i,
                 plan::joinMaster({uint16_t(upper), uint16_t(master.get(i))}));
    }
    return joined;
  }

  Stored form;
  Array param, master, m, v;
};

TEST_F(CudaOptimizer, AdamW) {
  for (const Stored& form : forms)
    for (int64_t count : {1, 7, 1000, 100003})
      for (int64_t shift : {0, 1}) {
        OptimizerState gpu(form, count), cpu(form, count);
        Array grad = numbers(form.gradient, {count}, 5);
        Array norm = one(DType::f64, 30), lr = one(DType::f32, 0.01);
        Array step = one(DType::i32, 3);
        auto caseOf = [&](OptimizerState& state) {
          return ParityCase{
              OpKind::AdamW,
              {&grad, &norm, &lr, &step},
              {&state.param, state.masterBuffer(), &state.m, &state.v},
              {{"beta1", 0.9},
               {"beta2", 0.98},
               {"eps", 1e-8},
               {"weight_decay", 0.1},
               {"clip", 1.0}},
              {},
              shift};
        };
        const ParityCase onGpu = caseOf(gpu), onCpu = caseOf(cpu);
        ASSERT_NO_FATAL_FAILURE(runOnGpu(onGpu));
        call(onCpu.kind, onCpu.inputs, onCpu.outputs, onCpu.attributes);
        const std::string what = describe(onGpu);
        // Moments are sums of two products, which may cancel.
        const Tolerance moments = tolerance(form.moments, {0x1p-22, 0x1p-23});
        expectNear(what + ", m", gpu.m, cpu.m, moments);
        expectNear(what + ", v", gpu.v, cpu.v, moments);
        expectNear(what + ", masters", gpu.masters(), cpu.masters(),
                   tolerance(form.master, {0x1p-21, 0x1p-22}));
        expectNear(what + ", parameters", gpu.param, cpu.param,
                   tolerance(form.param, {0x1p-21, 0x1p-22}));
      }
}

TEST_F(CudaOptimizer, AdamWLeavesTheStateWhereTheNormIsNotFinite) {
  OptimizerState state(forms[6], 1000), before = state;
  Array grad = numbers(DType::bf16, {1000}, 5), lr = one(DType::f32, 0.01);
  Array norm = one(DType::f64, std::numeric_limits<double>::quiet_NaN());
  Array step = one(DType::i32, 3);
  runOnGpu({OpKind::AdamW,
            {&grad, &norm, &lr, &step},
            {&state.param, &state.master, &state.m, &state.v},
            {{"beta1", 0.9}, {"beta2", 0.98}, {"eps", 1e-8}}});
  expectNear("parameters", state.param, before.param, exact);
  expectNear("remainders", state.master, before.master, exact);
  expectNear("m", state.m, before.m, exact);
}

// ---- copies to and from the host

class CudaCopiesTest : public CudaParityTest {
protected:
  Status run(OpKind kind, const device::Tensor& x, const device::Tensor& y) {
    plan::Op op;
    op.kind = kind;
    const device::Tensor in[] = {x}, out[] = {y};
    return findCudaKernel(kind)({op, in, out, {}, {}, 0, *context});
  }
};

TEST_F(CudaCopiesTest, RunBesideKernelsAndInOrder) {
  Array x = numbers(DType::f32, {1 << 20}, 1), zeros(DType::f32, {1 << 20});
  DeviceArray onDevice(x, 0), back(zeros, 0);
  void* pinned = nullptr;
  ASSERT_EQ(cudaMallocHost(&pinned, size_t(x.tensor().bytes())), cudaSuccess);
  device::Tensor host = x.tensor();
  host.data = pinned;
  // Out, and back to another place when that is done; then the first changes.
  EXPECT_TRUE(run(OpKind::CopyBegin, onDevice.tensor(), host).isOk());
  EXPECT_TRUE(run(OpKind::CopyEnd, onDevice.tensor(), host).isOk());
  EXPECT_TRUE(run(OpKind::Zero, onDevice.tensor(), onDevice.tensor()).isOk());
  EXPECT_TRUE(run(OpKind::CopyBegin, host, back.tensor()).isOk());
  EXPECT_TRUE(run(OpKind::CopyEnd, host, back.tensor()).isOk());
  ASSERT_TRUE(context->wait().isOk());
  Array result = zeros;
  back.copyTo(result);
  expectNear("what came back", result, x, exact);
  onDevice.copyTo(result);
  expectNear("what was zeroed", result, zeros, exact);
  cudaFreeHost(pinned);
}

TEST_F(CudaCopiesTest, AnEndNeedsABegin) {
  Array x(DType::f32, {8});
  DeviceArray onDevice(x, 0);
  const Status status =
      run(OpKind::CopyEnd, onDevice.tensor(), onDevice.tensor());
  EXPECT_EQ(status.message(), "no copy to its buffer has begun");
}

} // namespace
} // namespace reciperun::kernels
