// Our own workspace: dk and dv accumulated in f32 on the CPU; delta on GPUs.
// cuDNN's workspace is a sequence of parts, each a multiple of 256 bytes:
//   1. delta: an f32 per query and head;
//   2. dq in f32, to which blocks of keys add in any order; or, for the
//      deterministic gradient, the gradient of the scores in bf16, its sides
//      padded to whole blocks of 128 (measured: 64 and 128);
//   3. dk and dv of each query head in bf16, when query heads share keys;
//   4. 256 bytes for its own use; with documents 1280 bytes, and 448 bytes for
//      each possible document.

#include "runtime/sizes/AttentionWorkspace.h"

#include <algorithm>

namespace reciperun::sizes {
namespace {

/// The deterministic gradient needs memory quadratic in the sequence length.
/// Above this limit our own kernels run, which are slower and do not need it.
constexpr int64_t mostLibraryBytes = int64_t(5) << 30;

constexpr int64_t roundUp(int64_t value, int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

int64_t ownBytes(const AttentionSizes& s) {
  return isOfDocuments(s) ? 1280 + roundUp(448 * s.batch * s.mostDocuments, 256)
                          : 256;
}

int64_t libraryBytes(const AttentionSizes& s) {
  const int64_t rows = deltaElements(s);
  const int64_t padded = roundUp(s.queries, 128);
  const int64_t sums = s.isDeterministic
                           ? s.batch * s.heads * padded * padded * 2
                           : rows * s.width * 4;
  const int64_t ofHeads = s.heads == s.keyHeads ? 0 : 2 * rows * s.width * 2;
  return roundUp(rows * 4, 256) + roundUp(sums, 256) + roundUp(ofHeads, 256) +
         ownBytes(s);
}

} // namespace

bool isOfDocuments(const AttentionSizes& sizes) {
  return sizes.hasDocuments && sizes.mostDocuments > 0;
}

bool isForLibrary(const AttentionSizes& sizes) {
  const int64_t step = isOfDocuments(sizes) ? 16 : 8;
  constexpr int64_t mostDocuments = 32'768; // that a thread block lists
  return sizes.mostDocuments <= mostDocuments &&
         (!sizes.hasDocuments || isOfDocuments(sizes)) && !sizes.isBounded &&
         sizes.type == DType::bf16 && sizes.queries == sizes.keys &&
         sizes.width % step == 0 && sizes.width <= 128;
}

int64_t deltaElements(const AttentionSizes& sizes) {
  return sizes.batch * sizes.heads * sizes.queries;
}

int64_t attentionWorkspace(const AttentionSizes& sizes) {
  // In f32 the workspace holds only delta, which usually fits into a GPU's
  // scratch.
  if (sizes.type == DType::f32 && deltaElements(sizes) > mostDeltasInScratch)
    return deltaElements(sizes);
  if (sizes.type != DType::bf16)
    return 0;
  const int64_t ours =
      2 * sizes.batch * sizes.keys * sizes.keyHeads * sizes.width;
  return std::max({ours, deltaElements(sizes), libraryWorkspace(sizes) / 4});
}

int64_t blockWorkspace(const AttentionSizes& sizes) {
  const int64_t deltas =
      deltaElements(sizes) * ops::byteSize(ops::accumulationType(sizes.type));
  const int64_t bytes =
      std::max(sizes.window ? 0 : libraryWorkspace(sizes), deltas);
  return bytes / 4;
}

int64_t pagedWorkspace(const PagedAttentionSizes& sizes) {
  if (sizes.type != DType::bf16 || ops::byteSize(sizes.stored) != 1 ||
      sizes.tokens < shortestTiledRun || sizes.width > widestWarpgroupHead)
    return 0;
  // Two elements of bf16, of a key and of a value, are as large as one f32.
  return sizes.tokens * sizes.keyHeads * sizes.width;
}

int64_t libraryWorkspace(const AttentionSizes& sizes) {
  const bool isOfParts =
      isOfDocuments(sizes) || (sizes.window && sizes.window < sizes.keys);
  if (!isForLibrary(sizes) || libraryBytes(sizes) > mostLibraryBytes ||
      (isOfParts && sizes.isDeterministic))
    return 0;
  return libraryBytes(sizes);
}

AttentionSizes attentionSizes(const ops::AttentionAttributes& attributes,
                              DType type, std::span<const int64_t> q,
                              std::span<const int64_t> k) {
  AttentionSizes sizes;
  sizes.type = type;
  sizes.batch = q[0];
  sizes.queries = q[1];
  sizes.heads = q[2];
  sizes.width = q[3];
  sizes.keys = k[1];
  sizes.keyHeads = k[2];
  sizes.hasDocuments = attributes.documents;
  sizes.mostDocuments = attributes.mostDocuments;
  sizes.window = attributes.window;
  sizes.isBounded = attributes.chunk || attributes.softcap != 0 ||
                    (sizes.window && !attributes.causal);
  sizes.isDeterministic = attributes.deterministic;
  return sizes;
}

} // namespace reciperun::sizes
