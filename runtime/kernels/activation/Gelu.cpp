// y = x Phi(x), where Phi is the normal distribution function (Hendrycks &
// Gimpel 2016), exact or approximated by
//   Phi(x) = (1 + tanh u) / 2 = 1 / (1 + e^-2u), u = sqrt(2/pi) (x + c x^3),
// c = 0.044715. Gradient: dx = dy (Phi(x) + x Phi'(x)). Phi' is the normal
// density, or 2 u' s (1 - s) for the approximation s of Phi.

#include "runtime/kernels/common/Elementwise.h"
#include "runtime/kernels/common/Exponential.h"
#include "runtime/kernels/common/Kernels.h"
#include "runtime/ops/ActivationOps.h"

#include <cmath>
#include <numbers>

namespace reciperun::kernels {
namespace {

using device::KernelArgs;

constexpr double cubic = 0.044715;
// 2 sqrt(2/pi)
constexpr double slope = 2 * std::numbers::sqrt2 * std::numbers::inv_sqrtpi;

template <class M> M approximatePhi(M x) {
  return M(1) / (M(1) + exponential(-M(slope) * (x + M(cubic) * x * x * x)));
}

template <class M> M approximateSlope(M x) {
  const M s = approximatePhi(x);
  const M inner = M(slope) * (M(1) + M(3 * cubic) * x * x);
  return s + x * s * (M(1) - s) * inner;
}

template <class M> M exactPhi(M x) {
  return M(0.5) * std::erfc(-x * M(1 / std::numbers::sqrt2));
}

template <class M> M exactSlope(M x) {
  constexpr double density = std::numbers::inv_sqrtpi / std::numbers::sqrt2;
  return exactPhi(x) + x * M(density) * exponential(M(-0.5) * x * x);
}

} // namespace

Status geluKernel(const KernelArgs& args) {
  return withType(args, args.outputs[0].type, [&]<class T>(Type<T>) {
    using M = Math<T>;
    const device::Tensor &x = args.inputs[0], &y = args.outputs[0];
    if (ops::GeluAttributes(args.op.attributes).exact)
      mapElements<T>(args, x, y,
                     [](M value) { return value * exactPhi(value); });
    else
      mapElements<T>(args, x, y,
                     [](M value) { return value * approximatePhi(value); });
  });
}

Status geluBackwardKernel(const KernelArgs& args) {
  return withType(args, args.outputs[0].type, [&]<class T>(Type<T>) {
    using M = Math<T>;
    const device::Tensor &dy = args.inputs[0], &x = args.inputs[1],
                         &dx = args.outputs[0];
    if (ops::GeluAttributes(args.op.attributes).exact)
      mapElements<T>(args, dy, x, dx,
                     [](M d, M value) { return d * exactSlope(value); });
    else
      mapElements<T>(args, dy, x, dx,
                     [](M d, M value) { return d * approximateSlope(value); });
  });
}

} // namespace reciperun::kernels
