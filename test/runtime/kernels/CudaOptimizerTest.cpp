// The GPU's optimizer kernels compared with their CPU twins: sums of squares,
// and AdamW with every form of stored state. CudaOperands.h explains the
// tolerances.

#include "runtime/device/MasterHalves.h"
#include "runtime/ops/OpKind.h"
#include "test/runtime/kernels/CudaOperands.h"

#include <bit>
#include <cmath>
#include <limits>

namespace reciperun::kernels {
namespace {

using plan::DType;
using plan::OpKind;

class CudaOptimizer : public CudaParityTest {};

TEST_F(CudaOptimizer, SumSquares) {
  for (DType type : types)
    for (int64_t count : {1, 7, 8, 1001, 2000003})
      for (int64_t shift : {0, 1}) {
        Array x = numbers(type, {count}, 1), sum = one(DType::f64, 3);
        // Sums of doubles in another order.
        compare(
            {OpKind::SumSquares, {&x}, {&sum}, {{"scale", 0.25}}, {}, shift},
            {{1e-12, 0}});
      }
}

/// The forms of AdamW's stored state (compiler: StoredTypes).
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

  /// The master buffer, or the parameter's when the form has no separate one.
  Array* masterBuffer() { return form.param == form.master ? &param : &master; }

  /// The masters as f32.
  Array masters() const {
    if (form.master == form.param)
      return param.cast(DType::f32);
    if (form.master == DType::f32)
      return master;
    Array joined(DType::f32, param.shape());
    for (int64_t i = 0; i < param.size(); ++i) {
      const auto upper = std::bit_cast<uint32_t>(float(param.get(i))) >> 16;
      joined.set(
          i, device::joinMaster({uint16_t(upper), uint16_t(master.get(i))}));
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
        // Moments are sums of two products that may cancel.
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

} // namespace
} // namespace reciperun::kernels
