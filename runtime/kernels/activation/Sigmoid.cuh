// e^x, the sigmoid and tanh on a GPU, using the special function units.
//
// 2^y has an error of at most 2 units in the last place, and y = x log2(e) is
// rounded. The relative error of e^x is about (2 + |x|) 2^-23: negligible
// compared with bf16 rounding, and small enough for f32.

#ifndef RECIPERUN_KERNELS_ACTIVATION_SIGMOID_CUH
#define RECIPERUN_KERNELS_ACTIVATION_SIGMOID_CUH

namespace reciperun::kernels {

/// e^x; 0 if the result is below the smallest normal number.
__device__ inline float fastExponential(float x) {
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x * 1.442695041f));
  return power;
}

/// 1 / (1 + e^-x); 0 below -87.
__device__ inline float sigmoid(float x) {
  return __fdividef(1.0f, 1.0f + fastExponential(-x));
}

/// The derivative of x sigmoid(x).
__device__ inline float siluSlope(float x) {
  const float s = sigmoid(x);
  return s * (1.0f + x * (1.0f - s));
}

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_ACTIVATION_SIGMOID_CUH
