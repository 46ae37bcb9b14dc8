// silu(gate) * up and its two gradients for one element, on a GPU.

#ifndef RECIPERUN_KERNELS_ACTIVATION_SWIGLU_CUH
#define RECIPERUN_KERNELS_ACTIVATION_SWIGLU_CUH

#include "runtime/kernels/activation/Sigmoid.cuh"
#include "runtime/kernels/common/Elementwise.cuh"

namespace reciperun::kernels::swiglu {

struct Forward {
  __device__ float operator()(float gate, float up) const {
    return gate * sigmoid(gate) * up;
  }
};

/// Returns dgate and dup.
struct Backward {
  __device__ Results<2> operator()(float dy, float gate, float up) const {
    const float s = sigmoid(gate);
    return {{dy * up * s * (1.0f + gate * (1.0f - s)), dy * gate * s}};
  }
};

} // namespace reciperun::kernels::swiglu

#endif // RECIPERUN_KERNELS_ACTIVATION_SWIGLU_CUH
