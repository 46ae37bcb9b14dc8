// y = x in another floating-point type on a GPU, rounded to nearest.

#include "runtime/kernels/common/CudaKernels.h"
#include "runtime/kernels/common/Elementwise.cuh"

namespace reciperun::kernels {
namespace {

struct Same {
  __device__ float operator()(float x) const { return x; }
};

} // namespace

Status castCudaKernel(const device::CudaKernelArgs& args) {
  const device::Tensor &x = args.inputs[0], &y = args.outputs[0];
  assert(x.elements() == y.elements() && "a cast keeps the shape");
  if (!isDeviceType(y.type))
    return noDeviceType(args);
  return withDeviceType(args, x.type, [&]<class From>(DeviceType<From>) {
    withStoredType(y.type, [&]<class To>(DeviceType<To>) {
      const MapOperands<From, 1, To, 1> operands{{x.as<From>()}, {y.as<To>()}};
      mapElements(args, y.elements(), operands, Same());
    });
  });
}

} // namespace reciperun::kernels
