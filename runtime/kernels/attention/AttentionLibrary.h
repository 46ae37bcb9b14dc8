// Which of a plan's attentions mean what cuDNN computes: every row is one
// document, whole and in order; or has a known number of such documents at
// most; or, of a block of a ring, some queries see all of some keys.
//
// The plan says so by the attributes `documents = false` and `most_documents`;
// without them segments and places decide, which are on the device and known to
// no one here.

#ifndef RECIPERUN_KERNELS_ATTENTION_ATTENTIONLIBRARY_H
#define RECIPERUN_KERNELS_ATTENTION_ATTENTIONLIBRARY_H

#include "runtime/device/Tensor.h"
#include "runtime/device/cuda/AttentionPlans.h"
#include "runtime/ops/AttentionOps.h"
#include "runtime/sizes/AttentionWorkspace.h"

#include <cmath>
#include <optional>
#include <string>

namespace reciperun::kernels {

/// The attention of `op` for cuDNN; none where it means something else.
inline std::optional<device::AttentionPlans::Shape>
libraryAttention(const plan::Op& op, const device::Tensor& q,
                 const device::Tensor& k) {
  const ops::AttentionAttributes attributes(op.attributes);
  const sizes::AttentionSizes sizes =
      sizes::attentionSizes(attributes, q.type, q.shape, k.shape);
  if (!sizes::isForLibrary(sizes))
    return std::nullopt;
  const double scale = attributes.scale;
  device::AttentionPlans::Shape shape{
      sizes.batch,
      sizes.queries,
      sizes.keys,
      sizes.heads,
      sizes.keyHeads,
      sizes.width,
      float(scale != 0 ? scale : 1 / std::sqrt(double(sizes.width))),
      attributes.causal,
      sizes.isDeterministic};
  shape.window = sizes.window < sizes.keys ? sizes.window : 0;
  if (!sizes::isOfDocuments(sizes))
    return shape;
  shape.tokens = sizes.batch * sizes.queries;
  shape.queryRows = shape.keyRows = sizes.queries;
  shape.batch *= sizes.mostDocuments;
  return shape;
}

/// Its gradient for cuDNN: that of documents is never in order, and that of a
/// window slower than ours where it is.
inline std::optional<device::AttentionPlans::Shape>
libraryGradient(const plan::Op& op, const device::Tensor& q,
                const device::Tensor& k) {
  const auto known = libraryAttention(op, q, k);
  const bool isOfParts = known && (known->tokens || known->window);
  return isOfParts && known->isDeterministic ? std::nullopt : known;
}

/// A block of a ring for cuDNN: the part of its queries and keys that see one
/// another, from these tokens on.
struct LibraryBlock {
  device::AttentionPlans::Shape shape;
  int64_t firstQuery = 0, firstKey = 0;
};

/// Of ranks that have an early and a late piece of each row (plan::Inputs), by
/// whose the keys are: all of this rank's own are in order; queries see the
/// early piece of a rank before it, and their late piece sees all of one
/// behind; unless a window ends in a piece.
inline std::optional<LibraryBlock> libraryBlock(const plan::Op& op,
                                                const device::Tensor& q,
                                                const device::Tensor& k) {
  const auto whole = libraryAttention(op, q, k);
  const ops::AttentionBlockAttributes attributes(op.attributes);
  const std::string& owner = attributes.keys;
  if (!whole || attributes.window || owner.empty() || whole->queries % 2 != 0)
    return std::nullopt;
  LibraryBlock block{*whole};
  if (!whole->isCausal || owner == "own")
    return block;
  block.shape.isCausal = false;
  const int64_t piece = whole->queries / 2;
  if (owner == "earlier") {
    block.shape.keys = piece;
    block.shape.keyRows = 2 * piece;
  } else {
    block.shape.queries = block.firstQuery = piece;
    block.shape.queryRows = 2 * piece;
  }
  return block;
}

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_ATTENTION_ATTENTIONLIBRARY_H
