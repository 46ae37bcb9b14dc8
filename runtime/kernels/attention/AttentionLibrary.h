// The attentions of a plan that cuDNN can compute: every row is one document,
// complete and in order; or has a known maximum number of documents; or, in a
// block of a ring, some queries see all of some keys.
//
// The attributes `documents = false` and `most_documents` declare this. Without
// them the segments and places decide, which are on the device and not known
// here.

#ifndef RECIPERUN_KERNELS_ATTENTION_ATTENTIONLIBRARY_H
#define RECIPERUN_KERNELS_ATTENTION_ATTENTIONLIBRARY_H

#include "runtime/device/Tensor.h"
#include "runtime/device/cuda/AttentionPlans.h"
#include "runtime/ops/AttentionOps.h"
#include "runtime/plan/Mesh.h"
#include "runtime/sizes/AttentionWorkspace.h"

#include <cmath>
#include <optional>

namespace reciperun::kernels {

/// The cuDNN shape of `op`; nullopt when cuDNN cannot compute it.
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

/// The cuDNN shape of the gradient. nullopt for a deterministic gradient of
/// documents, which cuDNN does not offer, and of a window, where our kernel is
/// faster.
inline std::optional<device::AttentionPlans::Shape>
libraryGradient(const plan::Op& op, const device::Tensor& q,
                const device::Tensor& k) {
  const auto known = libraryAttention(op, q, k);
  const bool isOfParts = known && (known->tokens || known->window);
  return isOfParts && known->isDeterministic ? std::nullopt : known;
}

/// A block of a ring for cuDNN: the queries and keys that see each other, which
/// start at these tokens.
struct LibraryBlock {
  device::AttentionPlans::Shape shape;
  int64_t firstQuery = 0, firstKey = 0;
};

/// The block for cuDNN when ranks have an early and a late piece of each row
/// (plan::Inputs). With a rank's own keys, or without a causal mask, it is the
/// whole block. Otherwise all queries see the early piece of an earlier rank,
/// and the late queries see both pieces of a later rank. nullopt with a window,
/// which may end inside a piece.
inline std::optional<LibraryBlock>
libraryBlock(const plan::Op& op, const plan::Mesh& mesh, int rank,
             const device::Tensor& q, const device::Tensor& k) {
  const auto whole = libraryAttention(op, q, k);
  const ops::AttentionBlockAttributes attributes(op.attributes);
  if (!whole || attributes.window || whole->queries % 2 != 0)
    return std::nullopt;
  const plan::BlockOwner owner =
      plan::blockOwner(mesh, rank, attributes.axis, attributes.step);
  LibraryBlock block{*whole};
  if (!whole->isCausal || owner == plan::BlockOwner::self)
    return block;
  block.shape.isCausal = false;
  const int64_t piece = whole->queries / 2;
  if (owner == plan::BlockOwner::earlier) {
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
