// fp8 matrices and their matmuls on GPUs compared with the CPU's.
//
// Scales and bytes are equal bit by bit: a maximum does not depend on order,
// and both devices divide, multiply and round by the rules of IEEE 754.
// Matmuls: the tensor cores of Hopper add fp8 products with some 14 fraction
// bits (DeepSeek-V3, arXiv 2412.19437, 3.3.2). With fast accumulation sums stay
// there over all of k: 2^-8 of the largest element, measured 2^-9.5. Otherwise
// cuBLASLt moves them to f32 every few instructions: 2^-11, measured 2^-11.9.
// Two bf16 results that round to different sides differ by one unit, 2^-7, and
// by half a unit more when cuBLASLt rounds the matmul before it adds. The test
// prints the error of each case.

#include "runtime/ops/OpKind.h"
#include "test/runtime/kernels/CudaOperands.h"
#include "test/runtime/kernels/NarrowOperands.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace reciperun::kernels {
namespace {

using plan::DType;
using plan::OpKind;

/// A cast of a matrix to fp8.
struct Casting {
  DType type, narrow;
  std::string blocks;
  int64_t rows, columns;
  bool isPlain = true, isTurned = true; // the layouts to make
  int64_t shift = 0;                    // of buffers, in elements
  Array* history = nullptr;
};

class CudaQuantize : public CudaParityTest {
protected:
  void check(const Casting& of) {
    Array x = uneven(of.type, of.rows, of.columns);
    NarrowOutputs made(of.narrow, of.blocks, of.rows, of.columns);
    compare({OpKind::Quantize,
             {&x, of.history},
             made.pointers(of.isPlain, of.isTurned, of.history),
             made.attributes(),
             {},
             of.shift},
            {exact});
  }

  /// Rows of very different magnitudes, one of them 0.
  static Array uneven(DType type, int64_t rows, int64_t columns) {
    Array x = numbers(type, {rows, columns}, 1);
    for (int64_t i = 0; i < x.size(); ++i)
      x.set(i, x.get(i) * std::ldexp(1.0, int(i / columns % 7) * 3 - 9) *
                   (i / columns % 11 == 3 ? 0 : 1));
    return x;
  }
};

const std::string allBlocks[] = {"", "rows", "squares", "mx"};

TEST_F(CudaQuantize, Shapes) {
  const std::pair<int64_t, int64_t> shapes[] = {
      {16, 16}, {128, 128}, {256, 384}, {48, 1040},  {1000, 24},
      {7, 3},   {130, 259}, {1, 4096},  {2048, 512}, {1304, 264}};
  for (const std::string& blocks : allBlocks)
    for (DType type : types)
      for (DType narrow : {DType::f8e4m3, DType::f8e5m2})
        for (auto [rows, columns] : shapes)
          check({type, narrow, blocks, rows, columns});
}

/// The plain layout only: matrices with fewer elements than one vector access,
/// with a remainder after the last access, and larger than one wave of thread
/// blocks.
TEST_F(CudaQuantize, OneLayout) {
  for (const std::string& blocks : allBlocks)
    for (auto [rows, columns] : {std::pair(256, 144), std::pair(33, 65)}) {
      check({DType::bf16, DType::f8e4m3, blocks, rows, columns, true, false});
      check({DType::bf16, DType::f8e4m3, blocks, rows, columns, false, true});
    }
  for (DType type : types)
    for (DType narrow : {DType::f8e4m3, DType::f8e5m2})
      for (auto [rows, columns] : {std::pair(1, 3), std::pair(7, 3),
                                   std::pair(1, 4096), std::pair(3001, 1501)})
        check({type, narrow, "", rows, columns, true, false});
}

/// Rows that a thread block keeps, longer ones, and ones without vectors.
TEST_F(CudaQuantize, WholeRows) {
  for (DType type : types)
    for (DType narrow : {DType::f8e4m3, DType::f8e5m2})
      for (auto [rows, columns] :
           {std::pair(7, 16), std::pair(64, 1040), std::pair(33, 4096),
            std::pair(16, 8192), std::pair(16, 14336), std::pair(5, 20000),
            std::pair(130, 259)})
        for (int64_t shift : {0, 1})
          check(
              {type, narrow, "whole_rows", rows, columns, true, false, shift});
}

TEST_F(CudaQuantize, UnalignedBuffers) {
  for (const std::string& blocks : allBlocks)
    for (bool isTurned : {true, false})
      check({DType::bf16, DType::f8e5m2, blocks, 144, 272, true, isTurned, 1});
}

TEST_F(CudaQuantize, AmaxHistory) {
  for (DType type : types)
    for (bool isTurned : {true, false}) {
      Array history(DType::f32, {16});
      for (double size : {1.0, 3.0, 0.25, 8.0}) {
        Array x = numbers(type, {272, 400}, 5, size);
        NarrowOutputs made(DType::f8e4m3, "", 272, 400);
        compare({OpKind::Quantize,
                 {&x, &history},
                 made.pointers(true, isTurned, &history)},
                {exact});
      }
      EXPECT_GT(history.get(3), 0) << "the history has moved";
    }
}

/// Infinity, the largest numbers, and subnormal numbers.
TEST_F(CudaQuantize, ExtremesOfBlocks) {
  for (const char* blocks : {"rows", "squares", "mx"})
    for (DType narrow : {DType::f8e4m3, DType::f8e5m2}) {
      Array x = numbers(DType::f32, {288, 320}, 1);
      for (int64_t i = 0; i < x.size(); ++i)
        x.set(i, std::ldexp(x.get(i), int(i / 320) * 7 / 8 - 140));
      x.set(200 * 320 + 70, std::numeric_limits<double>::infinity());
      NarrowOutputs made(narrow, blocks, 288, 320);
      compare(
          {OpKind::Quantize, {&x, nullptr}, made.pointers(), made.attributes()},
          {exact});
    }
}

TEST_F(CudaQuantize, KeepsWhatIsNoNumber) {
  for (DType type : types)
    for (bool isTurned : {true, false}) {
      Array x = numbers(type, {128, 128}, 1);
      x.set(300, std::numeric_limits<double>::quiet_NaN());
      NarrowOutputs made(DType::f8e4m3, "", 128, 128);
      runOnGpu(
          {OpKind::Quantize, {&x, nullptr}, made.pointers(true, isTurned)});
      EXPECT_TRUE(std::isnan(made.get(300 / 128, 300 % 128)));
      if (isTurned) {
        EXPECT_TRUE(std::isnan(made.getTurned(300 / 128, 300 % 128)));
      }
      EXPECT_TRUE(std::isfinite(made.scale.get(0)));
      EXPECT_GT(made.scale.get(0), 0);
    }
}

// ---- of what other ops would make

/// The exponentials of GPUs and CPUs differ in their last bits. The GPU's fused
/// swiglu and quantize must therefore give the same bits as its two separate
/// ops, which other tests compare with the CPU's.
class CudaSwigluQuantize : public CudaParityTest {
protected:
  void checkForward(const Casting& of) {
    Array gate = wide(of, 1), up = wide(of, 2), y(of.type, gate.shape());
    NarrowOutputs apart(of.narrow, of.blocks, of.rows, of.columns);
    NarrowOutputs together = apart;
    Array past = of.history ? *of.history : Array(DType::f32, {1});
    runOnGpu({OpKind::Swiglu, {&gate, &up}, {&y}});
    cast(of, y, apart, of.history ? &past : nullptr);
    runOnGpu({OpKind::SwigluQuantize,
              {&gate, &up, of.history},
              together.pointers(of.isPlain, of.isTurned, of.history),
              together.attributes(),
              {},
              of.shift});
    expectSame(apart, together);
    if (of.history) {
      EXPECT_EQ(relativeError(*of.history, past), 0);
    }
  }

  void checkBackward(const Casting& of) {
    Array dy = wide(of, 3), gate = wide(of, 1), up = wide(of, 2);
    Array slopes[] = {Array(of.type, gate.shape()),
                      Array(of.type, gate.shape())};
    runOnGpu(
        {OpKind::SwigluBackward, {&dy, &gate, &up}, {&slopes[0], &slopes[1]}});
    const NarrowOutputs none(of.narrow, of.blocks, of.rows, of.columns);
    NarrowOutputs together[] = {none, none};
    std::vector<Array*> outputs;
    for (NarrowOutputs& each : together)
      for (Array* output : each.pointers(of.isPlain, of.isTurned))
        outputs.push_back(output);
    runOnGpu({OpKind::SwigluBackwardQuantize,
              {&dy, &gate, &up, nullptr, nullptr},
              outputs,
              none.attributes(),
              {},
              of.shift});
    for (int i = 0; i < 2; ++i) {
      NarrowOutputs apart = none;
      cast(of, slopes[i], apart, nullptr);
      expectSame(apart, together[i]);
    }
  }

private:
  /// Large enough that some sigmoids saturate.
  static Array wide(const Casting& of, unsigned seed) {
    return numbers(of.type, {of.rows, of.columns}, seed, 4);
  }

  void cast(const Casting& of, Array& x, NarrowOutputs& made, Array* history) {
    runOnGpu({OpKind::Quantize,
              {&x, history},
              made.pointers(of.isPlain, of.isTurned, history),
              made.attributes()});
  }

  static void expectSame(const NarrowOutputs& apart,
                         const NarrowOutputs& together) {
    EXPECT_EQ(relativeError(together.q, apart.q), 0);
    EXPECT_EQ(relativeError(together.qt, apart.qt), 0);
    EXPECT_EQ(relativeError(together.scale, apart.scale), 0);
    EXPECT_EQ(relativeError(together.qtScale, apart.qtScale), 0);
  }
};

TEST_F(CudaSwigluQuantize, Shapes) {
  const std::pair<int64_t, int64_t> shapes[] = {
      {128, 128}, {256, 384}, {48, 1040}, {7, 3}, {130, 259}, {1304, 264}};
  for (const std::string& blocks : allBlocks)
    for (DType type : types)
      for (DType narrow : {DType::f8e4m3, DType::f8e5m2})
        for (auto [rows, columns] : shapes) {
          checkForward({type, narrow, blocks, rows, columns});
          checkBackward({type, narrow, blocks, rows, columns});
        }
}

TEST_F(CudaSwigluQuantize, WholeRows) {
  for (DType type : types)
    for (auto [rows, columns] : {std::pair(7, 3), std::pair(64, 1040),
                                 std::pair(48, 14336), std::pair(5, 20000)})
      for (int64_t shift : {0, 1})
        checkForward({type, DType::f8e4m3, "whole_rows", rows, columns, true,
                      false, shift});
}

TEST_F(CudaSwigluQuantize, OneLayoutAndUnalignedBuffers) {
  for (const std::string& blocks : allBlocks)
    for (int64_t shift : {0, 1})
      for (bool isPlain : {true, false}) {
        const Casting of{DType::bf16, DType::f8e4m3, blocks,   272,
                         144,         isPlain,       !isPlain, shift};
        checkForward(of);
        checkBackward(of);
      }
  for (DType type : types)
    for (auto [rows, columns] : {std::pair(1, 3), std::pair(7, 3),
                                 std::pair(1, 4096), std::pair(3001, 1501)}) {
      const Casting of{type, DType::f8e4m3, "", rows, columns, true, false};
      checkForward(of);
      checkBackward(of);
    }
}

TEST_F(CudaSwigluQuantize, AmaxHistory) {
  for (bool isTurned : {true, false}) {
    Array history(DType::f32, {16});
    for (int i = 0; i < 3; ++i)
      checkForward({DType::bf16, DType::f8e4m3, "", 272, 400, true, isTurned, 0,
                    &history});
    EXPECT_GT(history.get(2), 0) << "the history has moved";
  }
}

using CudaRmsNormQuantize = CudaParityTest;

/// The squares of these elements add up exactly in any order, so that the bits
/// are those of the separate ops.
TEST_F(CudaRmsNormQuantize, WholeRows) {
  for (DType type : types)
    for (auto [rows, columns] :
         {std::pair(7, 3), std::pair(64, 1040), std::pair(48, 4096),
          std::pair(3, 8192), std::pair(5, 16384)})
      for (bool hasWeight : {true, false})
        for (int64_t shift : {0, 1}) {
          Array x = numbers(type, {rows, columns}, 1), y = x,
                weight = numbers(type, {columns}, 2);
          for (int64_t i = 0; i < x.size(); ++i)
            x.set(i, std::clamp(std::round(4 * x.get(i)), -8.0, 8.0) / 4);
          Array rstd(DType::f32, {rows});
          NarrowOutputs apart(DType::f8e4m3, "whole_rows", rows, columns),
              together = apart;
          Array* const by = hasWeight ? &weight : nullptr;
          const Attributes attributes = {{"eps", 0.25}};
          runOnGpu({OpKind::RmsNorm, {&x, by}, {&y, &rstd}, attributes});
          runOnGpu({OpKind::Quantize,
                    {&y, nullptr},
                    apart.pointers(true, false),
                    apart.attributes()});
          runOnGpu({OpKind::RmsNormQuantize,
                    {&x, by},
                    {&together.q, &together.scale},
                    attributes,
                    {},
                    shift});
          EXPECT_EQ(relativeError(together.q, apart.q), 0);
          EXPECT_EQ(relativeError(together.scale, apart.scale), 0);
        }
}

// ---- rows of bytes

class CudaQuantizeRows : public CudaParityTest {
protected:
  void check(DType type, int64_t rows, int64_t width, int64_t bytesOfRow,
             int64_t shift) {
    Array x = numbers(type, {rows, width}, 1, 3.0), back = x;
    for (int64_t i = 0; i < width; ++i) // a row of zeros
      x.set(i, 0);
    Array bytes(DType::u8, {rows, bytesOfRow});
    call(OpKind::QuantizeRows, {&x}, {&bytes});
    compare({OpKind::DequantizeRows, {&bytes}, {&back}}, {exact});
    compare({OpKind::QuantizeRows, {&x}, {&bytes}, {}, {}, shift}, {exact});
  }
};

/// Widths that are no multiple of a vector or of a block, and buffers that are
/// not aligned to a vector of x.
TEST_F(CudaQuantizeRows, Shapes) {
  for (DType type : types) {
    check(type, 7, 3, 16, 0);
    check(type, 130, 259, 272, 0);
    check(type, 33, 128, 144, 0);
    check(type, 300, 7168, 7392, 0);
    check(type, 64, 200, 208, 16);
  }
}

// ---- transposed, and part by part

using CudaTranspose = CudaParityTest;

TEST_F(CudaTranspose, Shapes) {
  const std::pair<int64_t, int64_t> shapes[] = {
      {16, 16}, {128, 128}, {256, 384}, {48, 1040},  {1000, 24},
      {7, 3},   {130, 259}, {1, 4096},  {2048, 512}, {1304, 264}};
  for (DType type : {DType::f8e4m3, DType::f8e5m2})
    for (auto [rows, columns] : shapes)
      for (int64_t shift : {0, 1}) {
        Array q = numbers(type, {rows, columns}, 1), qt(type, {columns, rows});
        compare({OpKind::Transpose, {&q}, {&qt}, {}, {}, shift}, {exact});
      }
}

class CudaQuantizeShard : public CudaParityTest {
protected:
  /// A tensor sharded over `ranks` ranks, `own` elements each.
  struct Case {
    int ranks;
    int64_t own, start, count, shift = 0;
  };

  void check(DType type, DType narrow, const Case& of) {
    for (int rank = 0; rank < of.ranks; ++rank) {
      Place place;
      place.mesh.axes = {{"dp", of.ranks}};
      place.mesh.ranks = of.ranks;
      place.rank = rank;
      const Attributes attributes = {{"axis", std::string("dp")},
                                     {"start", of.start},
                                     {"count", of.count},
                                     {"place", int64_t(2)}};
      Array part = numbers(type, {of.own}, 1 + rank, 3.0);
      Array maxima = numbers(DType::f32, {5}, 9, 0.5);
      maxima.set(2, 0);
      compare(
          {OpKind::ShardAmax, {&part}, {&maxima}, attributes, place, of.shift},
          {exact});
      Array q = numbers(narrow, {of.own}, 7), scale(DType::f32, {1});
      compare({OpKind::QuantizeShard,
               {&part, &maxima},
               {&q, &scale},
               attributes,
               place,
               of.shift},
              {exact});
    }
  }
};

/// Whole shards and parts of them, ranks with no elements, and runs that are no
/// multiple of a vector or begin inside one.
TEST_F(CudaQuantizeShard, Runs) {
  const Case cases[] = {{2, 4096, 0, 8192},        {4, 512, 192, 1200},
                        {3, 640, 64, 1},           {2, 1 << 20, 4096, 1500007},
                        {2, 1 << 20, 4099, 70001}, {2, 4096, 64, 5000, 1}};
  for (DType type : types)
    for (DType narrow : {DType::f8e4m3, DType::f8e5m2})
      for (const Case& of : cases)
        check(type, narrow, of);
}

TEST_F(CudaQuantizeShard, KeepsWhatIsNoNumber) {
  Array part = numbers(DType::bf16, {256}, 1), maxima(DType::f32, {1});
  part.set(100, std::numeric_limits<double>::quiet_NaN());
  Array q(DType::f8e4m3, {256}), scale(DType::f32, {1});
  const Attributes attributes = {{"count", int64_t(256)}};
  runOnGpu({OpKind::ShardAmax, {&part}, {&maxima}, attributes});
  runOnGpu({OpKind::QuantizeShard, {&part, &maxima}, {&q, &scale}, attributes});
  EXPECT_TRUE(std::isnan(q.get(100)));
  EXPECT_TRUE(std::isfinite(scale.get(0)));
  EXPECT_GT(maxima.get(0), 0);
}

// ---- products

class CudaScaledMatmul : public CudaParityTest {
protected:
  struct Case {
    int64_t m, n, k;
    std::string a, b; // blocks
    DType aType = DType::f8e4m3, bType = DType::f8e4m3;
    bool accumulate = false, fast = false;
    bool hasBase = false; // the accumulator is another buffer
  };

  void check(const Case& of, DType output) {
    NarrowOutputs a = narrow(of.aType, of.a, of.m, of.k, 1),
                  b = narrow(of.bType, of.b, of.n, of.k, 2);
    Array y = numbers(output, {of.m, of.n}, 3);
    Attributes attributes = {{"accumulate", of.accumulate}, {"fast", of.fast}};
    if (!of.a.empty())
      attributes.add("a_blocks", of.a);
    if (!of.b.empty())
      attributes.add("b_blocks", of.b);
    ParityCase parity{OpKind::ScaledMatmul,
                      {&a.q, &b.q, &a.scale, &b.scale},
                      {&y},
                      attributes};
    Array base = numbers(output, {of.m, of.n}, 4);
    if (of.hasBase) {
      parity.kind = OpKind::ScaledMatmulAdd;
      parity.inputs.push_back(&base);
    }
    Array first = y, second = y;
    ParityCase gpu = parity;
    gpu.outputs = {&first};
    const Status status = tryOnGpu(gpu);
    if (!status.isOk()) {
      ADD_FAILURE() << describe(parity) << ": " << status.message();
      return;
    }
    gpu.outputs = {&second};
    ASSERT_NO_FATAL_FAILURE(runOnGpu(gpu));
    EXPECT_EQ(relativeError(second, first), 0) << "two runs differ";
    call(parity.kind, parity.inputs, parity.outputs, parity.attributes);
    const double error = relativeError(first, y);
    std::printf("%s: off by 2^%.1f of the largest\n", describe(parity).c_str(),
                error > 0 ? std::log2(error) : -99.0);
    double bound = of.fast ? 0x1p-8 : 0x1p-11;
    if (output == DType::bf16)
      bound += of.accumulate || of.hasBase ? 0x1.8p-7 : 0x1p-7;
    EXPECT_LE(error, bound) << describe(parity);
  }

private:
  static NarrowOutputs narrow(DType type, const std::string& blocks,
                              int64_t rows, int64_t columns, unsigned seed) {
    Array x = numbers(DType::f32, {rows, columns}, seed);
    NarrowOutputs made(type, blocks, rows, columns);
    call(OpKind::Quantize, {&x, nullptr}, made.pointers(true, false),
         made.attributes());
    return made;
  }
};

TEST_F(CudaScaledMatmul, OfTensors) {
  for (DType output : {DType::bf16, DType::f32}) {
    check({256, 512, 1024, "", ""}, output);
    check({256, 512, 1024, "", "", DType::f8e4m3, DType::f8e4m3, false, true},
          output);
    check({144, 272, 400, "", "", DType::f8e5m2}, output);
    check({16, 48, 4096, "", "", DType::f8e5m2, DType::f8e4m3, true}, output);
    check({512, 256, 2048, "", "", DType::f8e4m3, DType::f8e4m3, true}, output);
  }
}

TEST_F(CudaScaledMatmul, AddedToWhatLiesElsewhere) {
  for (DType output : {DType::bf16, DType::f32}) {
    Case of{256, 512, 1024, "", ""};
    of.hasBase = true;
    check(of, output);
    of.fast = true;
    check(of, output);
    of.a = "rows";
    of.b = "squares";
    check(of, output);
  }
}

TEST_F(CudaScaledMatmul, OfBlocks) {
  for (DType output : {DType::bf16, DType::f32}) {
    check({256, 512, 1024, "rows", "squares"}, output);
    check({256, 512, 1024, "rows", "squares", DType::f8e4m3, DType::f8e4m3,
           false, true},
          output);
    check({384, 640, 896, "rows", "squares"}, output);
    // A last block of 64.
    check({256, 576, 896, "rows", "squares"}, output);
    check({256, 640, 576, "rows", "squares"}, output);
    check({576, 640, 256, "rows", "rows"}, output);
    check({640, 576, 256, "rows", "rows", DType::f8e4m3, DType::f8e4m3, true},
          output);
    check({256, 512, 1024, "whole_rows", "whole_rows"}, output);
    check({144, 272, 400, "whole_rows", "whole_rows", DType::f8e4m3,
           DType::f8e4m3, false, true},
          output);
    Case base{384, 640, 896, "whole_rows", "whole_rows"};
    base.fast = base.hasBase = true;
    check(base, output);
    check({256, 512, 1024, "rows", "rows"}, output);
    check({256, 512, 1024, "rows", "rows", DType::f8e4m3, DType::f8e4m3, true},
          output);
  }
}

TEST_F(CudaScaledMatmul, OfMx) {
  if (context->properties().major >= 10) {
    for (DType output : {DType::bf16, DType::f32}) {
      check({256, 512, 1024, "mx", "mx"}, output);
      check({160, 288, 416, "mx", "mx", DType::f8e5m2}, output);
      check({256, 512, 1024, "mx", "mx", DType::f8e4m3, DType::f8e4m3, true},
            output);
    }
    return;
  }
  NarrowOutputs a(DType::f8e4m3, "mx", 64, 96), b = a;
  Array y(DType::bf16, {64, 64});
  const Status status = tryOnGpu(
      {OpKind::ScaledMatmul,
       {&a.q, &b.q, &a.scale, &b.scale},
       {&y},
       {{"a_blocks", std::string("mx")}, {"b_blocks", std::string("mx")}}});
  EXPECT_NE(status.message().find("compute capability 10.0"), std::string::npos)
      << status.message();
}

} // namespace
} // namespace reciperun::kernels
