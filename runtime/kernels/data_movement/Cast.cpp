// y = x in another floating-point type, rounded to nearest.

#include "runtime/kernels/common/Elementwise.h"
#include "runtime/kernels/common/Kernels.h"

#include <cassert>
#include <type_traits>

namespace reciperun::kernels {
namespace {

template <class From, class To>
void castElements(const device::KernelArgs& args) {
  // Convert through float unless both types are double. bf16 has float's range.
  constexpr bool wide =
      std::is_same_v<From, double> && std::is_same_v<To, double>;
  using Between = std::conditional_t<wide, double, float>;
  const From* from = args.inputs[0].as<From>();
  To* to = args.outputs[0].as<To>();
  device::parallelFor(args.context.threads(), args.outputs[0].elements(),
                      elementGrain, [=](int64_t begin, int64_t end) {
#pragma omp simd
                        for (int64_t i = begin; i < end; ++i)
                          to[i] = To(Between(from[i]));
                      });
}

} // namespace

Status castKernel(const device::KernelArgs& args) {
  assert(args.inputs[0].elements() == args.outputs[0].elements() &&
         "a cast keeps the shape");
  Status inner;
  const Status outer =
      withType(args, args.inputs[0].type, [&]<class From>(Type<From>) {
        inner = withType(args, args.outputs[0].type, [&]<class To>(Type<To>) {
          castElements<From, To>(args);
        });
      });
  return outer.isOk() ? inner : outer;
}

} // namespace reciperun::kernels
