// AdamW with decoupled decay (Loshchilov & Hutter 2019, algorithm 2).
//
//   g = gradient * min(1, clip / (norm + 1e-6))
//   m = beta1 m + (1 - beta1) g,  v = beta2 v + (1 - beta2) g^2
//   master -= lr (m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + eps)
//                 + weight_decay master)
//   param = master, rounded to the compute type: to nearest, ties away from
//           zero (device/MasterHalves.h)
//
// All steps are computed in Math of the compute type. Gradient and moments may
// be stored in bf16. Moments are rounded to nearest, ties to even, like in
// NVIDIA's precision-aware optimizer. A change of less than 2^-9 of a moment is
// lost, so a beta2 above 1 - 2^-9 keeps a second moment from decreasing.

#include "runtime/device/MasterHalves.h"
#include "runtime/kernels/common/Elementwise.h"
#include "runtime/kernels/common/Kernels.h"
#include "runtime/ops/OptimizerOps.h"

#include <algorithm>
#include <cmath>

namespace reciperun::kernels {
namespace {

using device::KernelArgs;
using device::Tensor;

/// The factors of the step, each computed once in f64 and rounded to M.
template <class M> struct Factors {
  M gradient; // clipping
  M beta1, rest1, beta2, rest2;
  M step;       // lr / (1 - beta1^t)
  M correction; // 1 / sqrt(1 - beta2^t)
  M eps;
  M keep; // 1 - lr weight_decay
};

double clippingFactor(double clip, double normSquared) {
  if (clip <= 0)
    return 1;
  return std::min(1.0, clip / (std::sqrt(normSquared) + 1e-6));
}

template <class M> Factors<M> factorsOf(const KernelArgs& args) {
  const ops::AdamWAttributes attributes(args.op.attributes);
  const double lr = *args.inputs[2].as<float>();
  const double t = *args.inputs[3].as<int32_t>();
  const double beta1 = attributes.beta1, beta2 = attributes.beta2;
  Factors<M> factors;
  factors.gradient =
      M(clippingFactor(attributes.clip, *args.inputs[1].as<double>()));
  factors.beta1 = M(beta1);
  factors.rest1 = M(1 - beta1);
  factors.beta2 = M(beta2);
  factors.rest2 = M(1 - beta2);
  factors.step = M(lr / (1 - std::pow(beta1, t)));
  factors.correction = M(1 / std::sqrt(1 - std::pow(beta2, t)));
  factors.eps = M(attributes.eps);
  factors.keep = M(1 - lr * attributes.weightDecay);
  return factors;
}

// ---- storage of the master

/// The parameter value for a master.
template <class T, class M> T narrowed(M master) {
  if constexpr (std::is_same_v<T, bf16>) {
    bf16 value;
    value.bits = device::splitMaster(master).parameter;
    return value;
  } else {
    return T(master);
  }
}

/// The master in its own buffer, or in the buffer of a parameter of the same
/// type.
template <class T> struct WideMaster {
  Math<T>* master;
  T* param;

  Math<T> load(int64_t i) const { return master[i]; }
  void store(int64_t i, Math<T> value) const {
    master[i] = value;
    param[i] = narrowed<T>(value);
  }
};

/// The master split into the parameter and its remainder.
struct SplitMaster {
  uint16_t* remainder;
  bf16* param;

  float load(int64_t i) const {
    return device::joinMaster({param[i].bits, remainder[i]});
  }
  void store(int64_t i, float value) const {
    const device::MasterHalves halves = device::splitMaster(value);
    param[i].bits = halves.parameter;
    remainder[i] = halves.remainder;
  }
};

/// Only the parameter; the rounding error is lost.
struct NarrowMaster {
  bf16* param;

  float load(int64_t i) const { return float(param[i]); }
  void store(int64_t i, float value) const { param[i] = narrowed<bf16>(value); }
};

// ---- the step

/// Updates in M, with gradients of type G and moments of type S.
template <class M, class G, class S, class Master>
void update(const KernelArgs& args, const Master master) {
  const Factors<M> f = factorsOf<M>(args);
  const G* grad = args.inputs[0].as<G>();
  S* m = args.outputs[2].as<S>();
  S* v = args.outputs[3].as<S>();
  device::parallelFor(
      args.context.threads(), args.outputs[0].elements(), elementGrain,
      [=](int64_t begin, int64_t end) {
#pragma omp simd
        for (int64_t i = begin; i < end; ++i) {
          const M g = M(grad[i]) * f.gradient;
          const M first = f.beta1 * M(m[i]) + f.rest1 * g;
          const M second = f.beta2 * M(v[i]) + f.rest2 * g * g;
          m[i] = S(first);
          v[i] = S(second);
          const M width = std::sqrt(second) * f.correction + f.eps;
          master.store(i, master.load(i) * f.keep - f.step * first / width);
        }
      });
}

template <class M, class Master>
void update(const KernelArgs& args, const Master master) {
  withStored<M>(args.inputs[0].type, [&]<class G>(Type<G>) {
    withStored<M>(args.outputs[2].type,
                  [&]<class S>(Type<S>) { update<M, G, S>(args, master); });
  });
}

template <class T> void update(const KernelArgs& args) {
  T* param = args.outputs[0].as<T>();
  const Tensor& master = args.outputs[1];
  if constexpr (std::is_same_v<T, bf16>) {
    if (master.type == plan::DType::u16)
      return update<float>(args, SplitMaster{master.as<uint16_t>(), param});
    if (master.type == plan::DType::bf16)
      return update<float>(args, NarrowMaster{param});
  }
  update<Math<T>>(args, WideMaster<T>{master.as<Math<T>>(), param});
}

} // namespace

Status adamwKernel(const device::KernelArgs& args) {
  // Leave the state unchanged if the gradient is not finite: the training loop
  // then ends the run and looks for the cause in the state before the update.
  if (!std::isfinite(*args.inputs[1].as<double>()))
    return Status::ok();
  return withType(args, args.outputs[0].type,
                  [&]<class T>(Type<T>) { update<T>(args); });
}

} // namespace reciperun::kernels
