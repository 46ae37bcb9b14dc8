// AdamW with decoupled decay (Loshchilov & Hutter 2019, algorithm 2).
//
//   g = gradient * min(1, clip / (norm + 1e-6))
//   m = beta1 m + (1 - beta1) g,  v = beta2 v + (1 - beta2) g^2
//   master -= lr (m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + eps)
//                 + weight_decay master)
//   param = master, rounded to the compute type

#include "runtime/kernels/Elementwise.h"
#include "runtime/kernels/Kernels.h"

#include <algorithm>
#include <cmath>

namespace reciperun::kernels {
namespace {

using device::KernelArgs;
using device::Tensor;

/// The step's numbers, each computed once in f64 and rounded to M.
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
  const plan::Op& op = args.op;
  const double lr = *args.inputs[2].as<float>();
  const double t = *args.inputs[3].as<int32_t>();
  const double beta1 = op.real("beta1"), beta2 = op.real("beta2");
  Factors<M> factors;
  factors.gradient =
      M(clippingFactor(op.real("clip"), *args.inputs[1].as<double>()));
  factors.beta1 = M(beta1);
  factors.rest1 = M(1 - beta1);
  factors.beta2 = M(beta2);
  factors.rest2 = M(1 - beta2);
  factors.step = M(lr / (1 - std::pow(beta1, t)));
  factors.correction = M(1 / std::sqrt(1 - std::pow(beta2, t)));
  factors.eps = M(op.real("eps"));
  factors.keep = M(1 - lr * op.real("weight_decay"));
  return factors;
}

template <class T> void update(const KernelArgs& args) {
  using M = Math<T>;
  const Factors<M> f = factorsOf<M>(args);
  const M* grad = args.inputs[0].as<M>();
  T* param = args.outputs[0].as<T>();
  M* master = args.outputs[1].as<M>();
  M* m = args.outputs[2].as<M>();
  M* v = args.outputs[3].as<M>();
  device::parallelFor(args.context.threads(), args.outputs[1].elements(),
                      elementGrain, [=](int64_t begin, int64_t end) {
#pragma omp simd
                        for (int64_t i = begin; i < end; ++i) {
                          const M g = grad[i] * f.gradient;
                          const M first = f.beta1 * m[i] + f.rest1 * g;
                          const M second = f.beta2 * v[i] + f.rest2 * g * g;
                          m[i] = first;
                          v[i] = second;
                          const M width =
                              std::sqrt(second) * f.correction + f.eps;
                          const M value =
                              master[i] * f.keep - f.step * first / width;
                          master[i] = value;
                          // The same element again where param is the buffer of
                          // master.
                          param[i] = T(value);
                        }
                      });
}

} // namespace

template <> Status kernel<plan::OpKind::AdamW>(const device::KernelArgs& args) {
  return withType(args, args.outputs[0].type,
                  [&]<class T>(Type<T>) { update<T>(args); });
}

} // namespace reciperun::kernels
