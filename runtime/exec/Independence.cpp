#include "runtime/exec/Independence.h"

#include "runtime/ops/OpKind.h"

#include <algorithm>

namespace reciperun::exec {
namespace {

using device::OpCall;
using device::Tensor;

bool overlap(const Tensor& a, const Tensor& b) {
  const auto *first = a.as<char>(), *second = b.as<char>();
  return a.present() && b.present() && first < second + b.bytes() &&
         second < first + a.bytes();
}

bool overlapAny(const Tensor& a, std::span<const Tensor> others) {
  return std::ranges::any_of(
      others, [&](const Tensor& other) { return overlap(a, other); });
}

/// Whether a call writes memory that another one reads or writes.
bool disturbs(const OpCall& writer, const OpCall& other) {
  const auto isUsed = [&](const Tensor& written) {
    return overlapAny(written, other.inputs) ||
           overlapAny(written, other.outputs) ||
           overlap(written, other.workspace);
  };
  return std::ranges::any_of(writer.outputs, isUsed) ||
         isUsed(writer.workspace);
}

/// Matmuls leave some multiprocessors of a GPU idle in their last wave of
/// thread blocks, and small matmuls in every wave.
bool isMatmul(const OpCall& call) {
  switch (call.op.kind) {
  case plan::OpKind::Linear:
  case plan::OpKind::QuantizedLinear:
  case plan::OpKind::ScaledMatmul:
    return true;
  default:
    return false;
  }
}

} // namespace

bool areIndependent(const OpCall& a, const OpCall& b) {
  return !disturbs(a, b) && !disturbs(b, a);
}

size_t countConcurrent(std::span<const OpCall> calls, size_t most) {
  size_t count = 0;
  while (count < std::min(most, calls.size()) && isMatmul(calls[count]) &&
         std::ranges::all_of(calls.first(count), [&](const OpCall& before) {
           return areIndependent(before, calls[count]);
         }))
    ++count;
  return std::max<size_t>(count, 1);
}

} // namespace reciperun::exec
