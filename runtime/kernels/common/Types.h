// The element types of kernels, and the choice of an instance for a type in the
// plan.
//
// A kernel is a template over the compute type T (float, bf16, double). It
// computes in Math<T>: float for bf16, else T itself.

#ifndef RECIPERUN_KERNELS_COMMON_TYPES_H
#define RECIPERUN_KERNELS_COMMON_TYPES_H

#include "runtime/device/BFloat16.h"
#include "runtime/device/KernelTable.h"
#include "runtime/ops/OpTable.h"

#include <cassert>
#include <string>
#include <type_traits>

namespace reciperun::kernels {

using device::bf16;

template <class T>
using Math = std::conditional_t<std::is_same_v<T, bf16>, float, T>;

template <class T> struct Type { using Element = T; };

/// The plan's enumerator for a C++ type.
template <class T> constexpr plan::DType dtypeOf() {
  if constexpr (std::is_same_v<T, double>)
    return plan::DType::f64;
  else if constexpr (std::is_same_v<T, bf16>)
    return plan::DType::bf16;
  else {
    static_assert(std::is_same_v<T, float>, "a type that computes");
    return plan::DType::f32;
  }
}

/// Calls body(Type<T>()) for the C++ type of `type`. Fails for other types.
template <class Body>
Status withType(const device::KernelArgs& args, plan::DType type, Body&& body) {
  switch (type) {
  case plan::DType::f64:
    body(Type<double>());
    return Status::ok();
  case plan::DType::f32:
    body(Type<float>());
    return Status::ok();
  case plan::DType::bf16:
    body(Type<bf16>());
    return Status::ok();
  case plan::DType::i32:
  case plan::DType::i64:
  case plan::DType::u16:
  case plan::DType::f8e4m3:
  case plan::DType::f8e5m2:
  case plan::DType::f8e8m0:
  case plan::DType::i8:
  case plan::DType::u8:
    break;
  }
  return Status::error("op `" + args.op.name + "`: `" +
                       ops::opName(args.op.kind) +
                       "` computes in f32, f64 or bf16 and its operand is of "
                       "another type");
}

/// Calls body(Type<S>()) for the storage type S of values that kernels compute
/// in M: M itself, or bf16 for float.
template <class M, class Body> void withStored(plan::DType type, Body&& body) {
  if constexpr (std::is_same_v<M, float>)
    if (type == plan::DType::bf16)
      return body(Type<bf16>());
  assert(type == dtypeOf<M>() && "the plan's types have been checked");
  body(Type<M>());
}

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_COMMON_TYPES_H
