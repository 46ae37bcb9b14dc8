// The workspaces of attention: of its backward, and over pages.
//
// The compiler plans the workspace, the validation checks it, and kernels
// choose their algorithm by its size. The sizes of cuDNN 9 on Hopper are
// measured (CudaMatrixParityTest prints them); its graph is in
// cuda/AttentionGraphs.cpp.

#ifndef RECIPERUN_SIZES_ATTENTIONWORKSPACE_H
#define RECIPERUN_SIZES_ATTENTIONWORKSPACE_H

#include "runtime/ops/AttentionOps.h"
#include "runtime/ops/DType.h"

#include <cstdint>
#include <span>

namespace reciperun::sizes {

using ops::DType;

/// The sizes of an attention of q [batch,queries,heads,width] over k and v
/// [batch,keys,keyHeads,width].
struct AttentionSizes {
  DType type = DType::f32;
  int64_t batch = 0, queries = 0, keys = 0;
  int64_t heads = 0, keyHeads = 0, width = 0;
  /// Attributes of an op on a GPU, which decide whether cuDNN can run it.
  bool hasDocuments = true;
  int64_t mostDocuments = 0; // per row; 0: unlimited
  int64_t window = 0;        // 0: no window
  /// Whether the op has a chunk, a cap of scores, or a window without being
  /// causal.
  bool isBounded = false;
  bool isDeterministic = true;
};

/// Whether we use cuDNN's kernels for an attention of these sizes. They need
/// bf16 and heads of up to 128 elements: in steps of 8 when every row is one
/// whole document in order, in steps of 16 when a row has up to a known number
/// of documents.
bool isForLibrary(const AttentionSizes& sizes);

/// Whether attention treats each document as a separate sequence.
bool isOfDocuments(const AttentionSizes& sizes);

/// The number of f32 deltas, the row sums of do * o, that our own backward
/// keeps: one per query and head.
int64_t deltaElements(const AttentionSizes& sizes);

/// The largest number of deltas that fits into a GPU's scratch memory.
inline constexpr int64_t mostDeltasInScratch = int64_t(4) << 20;

/// The workspace of `attention_backward` in f32 elements; 0 when it needs none.
int64_t attentionWorkspace(const AttentionSizes& sizes);

/// The workspace of `attention_block_backward` in f32 elements.
int64_t blockWorkspace(const AttentionSizes& sizes);

/// The fewest tokens of a sequence in a step that attention over pages computes
/// in tiles of queries.
inline constexpr int64_t shortestTiledRun = 16;
/// The widest head that warpgroups of Hopper compute in such tiles.
inline constexpr int64_t widestWarpgroupHead = 128;

/// The sizes of an attention over pages of the keys and values k and v
/// [1,tokens,keyHeads,width], which are stored as `stored`.
struct PagedAttentionSizes {
  DType type = DType::f32, stored = DType::f32;
  int64_t tokens = 0, keyHeads = 0, width = 0;
};

/// The workspace of `attention_paged` in f32 elements: the step's keys and
/// values in bf16, for tiles of queries over pages in 8 bits. 0 if the step has
/// no tiles or their kernel does not read them.
int64_t pagedWorkspace(const PagedAttentionSizes& sizes);

/// The size in bytes of cuDNN's workspace for the gradient; 0 when cuDNN is not
/// used or would need more than our limit. A deterministic gradient of
/// documents or of a window returns 0: cuDNN would need a score matrix of the
/// whole row for each document, or one that is mostly masked for a window.
int64_t libraryWorkspace(const AttentionSizes& sizes);

/// The sizes of an attention op with these shapes of queries and keys.
AttentionSizes attentionSizes(const ops::AttentionAttributes& attributes,
                              DType type, std::span<const int64_t> q,
                              std::span<const int64_t> k);

} // namespace reciperun::sizes

#endif // RECIPERUN_SIZES_ATTENTIONWORKSPACE_H
