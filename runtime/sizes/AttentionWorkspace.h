// What the gradient of attention keeps beside its operands.
//
// The compiler plans the workspace and the validation checks it; kernels choose
// by its size. Bytes are those of cuDNN 9 on Hopper, as measured
// (CudaMatrixParityTest prints them); its graph is in cuda/AttentionGraphs.cpp.

#ifndef RECIPERUN_SIZES_ATTENTIONWORKSPACE_H
#define RECIPERUN_SIZES_ATTENTIONWORKSPACE_H

#include "runtime/ops/AttentionOps.h"
#include "runtime/ops/DType.h"

#include <cstdint>
#include <span>

namespace reciperun::sizes {

using ops::DType;

/// An attention of q [batch,queries,heads,width] over k and v
/// [batch,keys,keyHeads,width].
struct AttentionSizes {
  DType type = DType::f32;
  int64_t batch = 0, queries = 0, keys = 0;
  int64_t heads = 0, keyHeads = 0, width = 0;
  /// Of an op on a GPU: its attributes, by which cuDNN may serve.
  bool hasDocuments = true;
  int64_t mostDocuments = 0; // of a row; 0: any number
  int64_t window = 0;        // 0: all
  /// By a chunk or a cap of scores, or by a window without being causal.
  bool isBounded = false;
  bool isDeterministic = true;
};

/// Whether cuDNN has kernels for it, as far as we use them: bf16, heads of up
/// to 128 in steps of 8, every row one document, whole and in order; or up to a
/// known number of documents, heads in steps of 16.
bool isForLibrary(const AttentionSizes& sizes);

/// Whether it takes each document for a sequence of its own.
bool isOfDocuments(const AttentionSizes& sizes);

/// Sums of do o that our own gradient keeps: one for each query and head.
int64_t deltaElements(const AttentionSizes& sizes);

/// The most of them that a GPU's scratch holds.
inline constexpr int64_t mostDeltasInScratch = int64_t(4) << 20;

/// f32 elements of the workspace of `attention_backward`; 0 where it needs
/// none.
int64_t attentionWorkspace(const AttentionSizes& sizes);

/// Bytes that cuDNN takes for the gradient; 0 where it does not serve, or would
/// take more than we give it: in order of documents it would be a square of the
/// row for each, of a window one of which most is not seen.
int64_t libraryWorkspace(const AttentionSizes& sizes);

/// Of an op of attention with these queries and keys.
AttentionSizes attentionSizes(const ops::AttentionAttributes& attributes,
                              DType type, std::span<const int64_t> q,
                              std::span<const int64_t> k);

} // namespace reciperun::sizes

#endif // RECIPERUN_SIZES_ATTENTIONWORKSPACE_H
