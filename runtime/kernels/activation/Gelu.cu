// y = x Phi(x) and its gradient on a GPU, exact or with the approximation of
// Gelu.cpp.

#include "runtime/kernels/activation/Sigmoid.cuh"
#include "runtime/kernels/common/CudaKernels.h"
#include "runtime/kernels/common/Elementwise.cuh"
#include "runtime/ops/ActivationOps.h"

#include <numbers>

namespace reciperun::kernels {
namespace {

constexpr float cubic = 0.044715f;
// 2 sqrt(2/pi)
constexpr float slope =
    float(2 * std::numbers::sqrt2 * std::numbers::inv_sqrtpi);

__device__ float approximatePhi(float x) {
  return sigmoid(slope * (x + cubic * x * x * x));
}

__device__ float exactPhi(float x) {
  return 0.5f * erfcf(-x * float(1 / std::numbers::sqrt2));
}

struct Approximate {
  __device__ float operator()(float x) const { return x * approximatePhi(x); }
};

struct ApproximateBackward {
  __device__ float operator()(float dy, float x) const {
    const float s = approximatePhi(x);
    const float inner = slope * (1.0f + 3 * cubic * x * x);
    return dy * (s + x * s * (1.0f - s) * inner);
  }
};

struct Exact {
  __device__ float operator()(float x) const { return x * exactPhi(x); }
};

struct ExactBackward {
  __device__ float operator()(float dy, float x) const {
    constexpr float density =
        float(std::numbers::inv_sqrtpi / std::numbers::sqrt2);
    return dy * (exactPhi(x) + x * density * fastExponential(-0.5f * x * x));
  }
};

} // namespace

Status geluCudaKernel(const device::CudaKernelArgs& args) {
  return ops::GeluAttributes(args.op.attributes).exact
             ? mapOp<1>(args, Exact())
             : mapOp<1>(args, Approximate());
}

Status geluBackwardCudaKernel(const device::CudaKernelArgs& args) {
  return ops::GeluAttributes(args.op.attributes).exact
             ? mapOp<2>(args, ExactBackward())
             : mapOp<2>(args, ApproximateBackward());
}

} // namespace reciperun::kernels
