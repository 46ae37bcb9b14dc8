// The layers of a model as one GPU kernel, compared with their ops on the CPU,
// which round at the same places. The result's error is that of a few roundings
// of the residual stream to bf16.

#include "runtime/kernels/decode/DecodeToken.h"
#include "runtime/ops/OpKind.h"
#include "test/runtime/kernels/CudaOperands.h"
#include "test/runtime/kernels/DecodeOps.h"

#include <map>
#include <memory>

namespace reciperun::kernels {
namespace {

using plan::DType;

class CudaDecode : public CudaParityTest {
protected:
  /// Runs all layers as one kernel, twice, and compares with the CPU.
  void compareLayers(const DecodeShape& shape) {
    DecodeOps ops(shape);
    std::map<Array*, std::unique_ptr<DeviceArray>> copies;
    const auto calls = ops.calls([&](Array& array) {
      auto& copy = copies[&array];
      if (!copy)
        copy = std::make_unique<DeviceArray>(array, 0);
      return copy->tensor();
    });
    ASSERT_EQ(countFusedCudaKernels(calls, *context), calls.size());
    for (int i = 0; i < 2; ++i) {
      const Status status = runFusedCudaKernels(calls, *context);
      ASSERT_TRUE(status.isOk()) << status.message();
    }
    ASSERT_TRUE(context->wait().isOk());
    for (ArrayOp& op : ops.ops())
      call(op.op.kind, op.inputs, op.outputs, op.op.attributes);
    const std::string what = "position " + std::to_string(shape.position);
    const auto check = [&](const char* name, Array* cpu, Tolerance tolerance) {
      Array gpu = *cpu;
      copies.at(cpu)->copyTo(gpu);
      expectNear(what + ", " + name, gpu, *cpu, tolerance);
    };
    check("result", &ops.result(), {0, 0x1p-6});
    for (Array* pages : ops.pages())
      check("pages", pages, {0, 0x1p-6});
  }
};

/// Padding; the first position; one part and several, of one load and of more.
TEST_F(CudaDecode, AgreesWithTheCpu) {
  for (DType stored : {DType::bf16, DType::f8e4m3})
    for (int64_t position : {-1, 0, 1, 37, 127, 128, 500, 2900})
      for (int64_t width : {64, 128})
        compareLayers({.hidden = 256,
                       .width = width,
                       .ffn = 512,
                       .position = position,
                       .stored = stored});
}

/// Rows of one to eight lines, rows in parts of lines, few rows, and groups of
/// one to eight heads.
TEST_F(CudaDecode, TakesAllShapes) {
  for (DType stored : {DType::bf16, DType::f8e4m3}) {
    for (int64_t wide : {2064, 4096, 5120, 8208, 14336, 16384}) {
      compareLayers({.layers = 1, .hidden = wide, .ffn = 48, .stored = stored});
      compareLayers({.layers = 1, .ffn = wide, .stored = stored});
    }
    compareLayers({.hidden = 256, .heads = 3, .keyHeads = 3, .stored = stored});
    compareLayers(
        {.hidden = 256, .heads = 16, .keyHeads = 2, .stored = stored});
  }
  compareLayers({.stored = DType::f8e4m3, .scales = "tensor"});
}

TEST_F(CudaDecode, TakesAllRulesOfAttention) {
  for (const Attributes& attention :
       {Attributes{}, Attributes{{"window", int64_t(50)}, {"rope", true}},
        Attributes{{"softcap", 2.0}, {"scale", 0.2}},
        Attributes{
            {"rope", true}, {"interleaved", true}, {"rotated", int64_t(32)}}})
    compareLayers({.position = 300, .attention = attention});
}

} // namespace
} // namespace reciperun::kernels
