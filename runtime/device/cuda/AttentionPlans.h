// Attention by cuDNN: the plans that it has compiled, by shape.
//
// cuDNN supports a subset of ops/attention.ops in bf16, with grouped queries,
// causal or not, with or without a window. A row is one whole document in
// order, or has a bounded number of documents, or is a set of queries that
// attend to all of a set of keys. The library is opened when the first plan is
// needed. When it is missing, or has no plan for a shape, `notice` says why,
// and our own kernels run instead.

#ifndef RECIPERUN_DEVICE_CUDA_ATTENTIONPLANS_H
#define RECIPERUN_DEVICE_CUDA_ATTENTIONPLANS_H

#include "runtime/base/Status.h"

#include <compare>
#include <cstdint>
#include <memory>
#include <string>

#include <cuda_runtime_api.h>

namespace reciperun::device {

class AttentionPlans {
public:
  struct Shape {
    int64_t batch, queries, keys, heads, keyHeads, width;
    float scale;
    bool isCausal;
    /// Backward only: accumulates dq in one order, which takes a matrix of all
    /// queries by all keys in the workspace.
    bool isDeterministic;
    /// When the queries or keys are only a part of those in memory: the number
    /// in memory per sequence. Otherwise 0.
    int64_t queryRows = 0, keyRows = 0;
    /// The tokens of all rows when sequences are documents packed in rows of
    /// `queryRows` tokens; otherwise 0. For documents, `batch` is the maximum
    /// number of documents, and `queries` and `keys` are the tokens of the
    /// longest.
    int64_t tokens = 0;
    /// Causal only: a query sees the last `window` keys; 0: all.
    int64_t window = 0;
    auto operator<=>(const Shape&) const = default;
  };

  /// The documents, on the device: i32 [batch], their tokens; i64 [batch + 1],
  /// the element offsets of each document in q, k and lse.
  struct Documents {
    const void *lengths, *queries, *keys, *states;
  };

  /// q, out bf16 [b,queries,heads,width]; k, v [b,keys,keyHeads,width]; lse f32
  /// [b,heads,queries], which is always contiguous.
  struct Forward {
    const void *q, *k, *v;
    void *out, *lse;
    Documents documents = {};
  };
  struct Backward {
    const void *dout, *out, *q, *k, *v, *lse;
    void *dq, *dk, *dv;
    Documents documents = {};
  };

  AttentionPlans();
  ~AttentionPlans();

  /// The workspace size of a shape in bytes; negative when there is no plan for
  /// it. The first call for a shape compiles it.
  int64_t forwardBytes(const Shape& shape);
  int64_t backwardBytes(const Shape& shape);

  /// Enqueues attention. `workspace` has at least the size returned above and
  /// is aligned to 256 bytes.
  Status forward(const Shape& shape, const Forward& data, void* workspace,
                 cudaStream_t stream);
  Status backward(const Shape& shape, const Backward& data, void* workspace,
                  cudaStream_t stream);

  /// Compiles for a device that is not present, given by cuDNN's serialised
  /// description. The plans only report their workspace size.
  Status openFor(const std::string& device);

  /// Why plans are missing, in the library's words; empty when none is missing.
  const std::string& notice() const;

private:
  struct Library;
  std::unique_ptr<Library> library;
};

} // namespace reciperun::device

#endif // RECIPERUN_DEVICE_CUDA_ATTENTIONPLANS_H
