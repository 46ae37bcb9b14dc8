// The GPU's elementwise kernels compared with their CPU twins: counts that are
// and are not multiples of a vector, aligned or not, in place, and extreme
// arguments. CudaOperands.h explains the tolerances.

#include "runtime/ops/OpKind.h"
#include "test/runtime/kernels/CudaOperands.h"

namespace reciperun::kernels {
namespace {

using plan::DType;
using plan::OpKind;

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
    {OpKind::Sigmoid, 1, 1, exponentials},
    {OpKind::SigmoidBackward, 2, 1, exponentials},
    // tanh, by different formulas on the two devices
    {OpKind::Softcap, 1, 1, exponentials, {{"cap", 2.0}}},
    {OpKind::SoftcapBackward, 2, 1, exponentials, {{"cap", 2.0}}},
    {OpKind::Swiglu, 2, 1, exponentials},
    {OpKind::SwigluBackward, 3, 2, exponentials},
};

class CudaElementwise : public CudaParityTest {
protected:
  /// The outputs are the last inputs when `inPlace`.
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
      // When e^x leaves the range of float, one device gives x e^-88 and the
      // other 0.
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

} // namespace
} // namespace reciperun::kernels
