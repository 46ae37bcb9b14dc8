// See CudaPreparation.h.

#include "runtime/kernels/CudaPreparation.h"

#include "runtime/device/cuda/AttentionPlans.h"
#include "runtime/device/cuda/CudaContext.h"
#include "runtime/kernels/attention/AttentionLibrary.h"
#include "runtime/kernels/dense/LinearMatmuls.h"
#include "runtime/ops/OpKind.h"

#include <string>

namespace reciperun::kernels {
namespace {

using device::CudaKernelArgs;

void prepareAttention(const CudaKernelArgs& args) {
  if (const auto known =
          libraryAttention(args.op, args.inputs[0], args.inputs[1]))
    args.context.attentionPlans().forwardBytes(*known);
}

/// Warn about a plan whose workspace is too small for cuDNN's kernels, which
/// are faster than ours. Such a plan was made for another version of cuDNN.
std::string prepareAttentionBackward(const CudaKernelArgs& args) {
  const auto known = libraryGradient(args.op, args.inputs[2], args.inputs[3]);
  if (!known)
    return {};
  const int64_t bytes = args.context.attentionPlans().backwardBytes(*known);
  const int64_t given =
      args.workspace.present() ? args.workspace.bytes() : int64_t(0);
  if (bytes <= given)
    return {};
  return "this cuDNN takes " + std::to_string(bytes) +
         " bytes for the gradient of attention, and the plan has " +
         std::to_string(given) +
         " for it; slower kernels of our own take its place";
}

} // namespace

Expected<std::string> prepareCudaKernel(const CudaKernelArgs& args) {
  switch (args.op.kind) {
  case plan::OpKind::Linear:
  case plan::OpKind::LinearDgrad:
  case plan::OpKind::LinearWgrad:
  case plan::OpKind::LinearAdd:
  case plan::OpKind::LinearJoint:
  case plan::OpKind::LinearJointDgrad:
  case plan::OpKind::LinearJointWgrad:
    RECIPERUN_TRY(prepareMatmul(args));
    return std::string();
  case plan::OpKind::ScaledMatmul:
  case plan::OpKind::ScaledMatmulAdd:
    RECIPERUN_TRY(prepareScaledMatmul(args));
    return std::string();
  case plan::OpKind::Attention:
    prepareAttention(args);
    return std::string();
  case plan::OpKind::AttentionBackward:
    return prepareAttentionBackward(args);
  default:
    return std::string();
  }
}

} // namespace reciperun::kernels
