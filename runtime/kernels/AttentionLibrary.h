// Which of a plan's attentions mean what cuDNN computes: every row is one
// document, whole and in order.
//
// The plan says so by the attribute `documents = false`; without it segments
// and places decide, which are on the device and known to no one here.

#ifndef RECIPERUN_KERNELS_ATTENTIONLIBRARY_H
#define RECIPERUN_KERNELS_ATTENTIONLIBRARY_H

#include "runtime/device/Tensor.h"
#include "runtime/device/cuda/AttentionPlans.h"
#include "runtime/plan/AttentionWorkspace.h"

#include <cmath>
#include <optional>

namespace reciperun::kernels {

/// The attention of `op` for cuDNN; none where it means something else.
inline std::optional<device::AttentionPlans::Shape>
libraryAttention(const plan::Op& op, const device::Tensor& q,
                 const device::Tensor& k) {
  plan::AttentionSizes sizes;
  sizes.type = q.type;
  sizes.queries = q.shape[1];
  sizes.keys = k.shape[1];
  sizes.width = q.shape[3];
  sizes.hasDocuments = op.flag("documents", true);
  sizes.isBounded =
      op.integer("window") || op.integer("chunk") || op.real("softcap") != 0;
  if (!plan::isForLibrary(sizes))
    return std::nullopt;
  const double scale = op.real("scale");
  return device::AttentionPlans::Shape{
      q.shape[0],
      sizes.queries,
      q.shape[2],
      k.shape[2],
      sizes.width,
      float(scale != 0 ? scale : 1 / std::sqrt(double(sizes.width))),
      op.flag("causal", true),
      op.flag("deterministic", true)};
}

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_ATTENTIONLIBRARY_H
