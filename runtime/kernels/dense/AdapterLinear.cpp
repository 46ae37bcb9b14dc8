// y_t = w[adapters[t]] x_t: one matmul for each run of tokens with one adapter.

#include "runtime/device/cpu/CpuContext.h"
#include "runtime/kernels/common/Kernels.h"

#include <cstring>
#include <span>
#include <string>

namespace reciperun::kernels {
namespace {

using device::Tensor;

std::byte* at(const Tensor& tensor, int64_t element) {
  return tensor.as<std::byte>() + element * plan::byteSize(tensor.type);
}

/// The number of tokens from `first` on that have the same adapter.
int64_t runFrom(std::span<const int32_t> adapters, int64_t first) {
  int64_t end = first + 1;
  while (end < int64_t(adapters.size()) &&
         adapters[size_t(end)] == adapters[size_t(first)])
    ++end;
  return end - first;
}

Status outside(const device::KernelArgs& args, int32_t adapter, int64_t count) {
  return Status::error("op `" + args.op.name + "`: adapter " +
                       std::to_string(adapter) + " lies outside of the " +
                       std::to_string(count) + " of its operand");
}

} // namespace

Status adapterLinearKernel(const device::KernelArgs& args) {
  const Tensor &x = args.inputs[0], &w = args.inputs[1], &y = args.outputs[0];
  const std::span<const int32_t> adapters(args.inputs[2].as<int32_t>(),
                                          size_t(args.inputs[2].elements()));
  const auto tokens = int64_t(adapters.size());
  if (tokens == 0)
    return Status::ok();
  const int64_t in = x.elements() / tokens, out = y.elements() / tokens,
                matrix = in * out, count = w.elements() / matrix;
  device::Gemm::Shape shape;
  shape.n = out;
  shape.k = in;
  shape.transposeB = true;
  shape.input = x.type;
  shape.output = y.type;
  for (int64_t t = 0; t < tokens; t += shape.m) {
    const int32_t adapter = adapters[size_t(t)];
    shape.m = runFrom(adapters, t);
    if (adapter >= count)
      return outside(args, adapter, count);
    if (adapter < 0)
      std::memset(at(y, t * out), 0,
                  size_t(shape.m * out * plan::byteSize(y.type)));
    else
      RECIPERUN_TRY(args.context.gemm()
                        .run(shape, at(x, t * in), at(w, adapter * matrix),
                             at(y, t * out))
                        .withContext("op `" + args.op.name + "`"));
  }
  return Status::ok();
}

} // namespace reciperun::kernels
