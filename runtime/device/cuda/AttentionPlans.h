// Attention by cuDNN: the plans that it has compiled, by shape.
//
// Of all that ops/attention.ops allows it takes rows that are one document,
// whole and in order, or a known number of them at most, or of which some
// queries see all of some keys: causal, within a window or not, grouped
// queries, bf16. The library is opened when a plan is first wanted; where it is
// not there, or has no plan for a shape, `notice` says why, and our own kernels
// serve.

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
    /// Of the backward: dq is summed in one order, at the price of a matrix of
    /// all queries by all keys in the workspace.
    bool isDeterministic;
    /// Where these are a part of the queries or keys in memory, how many there
    /// are of a sequence; else 0.
    int64_t queryRows = 0, keyRows = 0;
    /// Where sequences are documents that lie behind one another in rows of
    /// `queryRows` tokens, the tokens of all rows: then `batch` is how many
    /// documents there can be, `queries` and `keys` what the longest has; else
    /// 0.
    int64_t tokens = 0;
    /// Of causal attention: a query sees the last so many keys; 0: all.
    int64_t window = 0;
    auto operator<=>(const Shape&) const = default;
  };

  /// Where documents are, on the device: i32 [batch], their tokens; i64 [batch
  /// + 1], the elements of q, of k and of lse at which they begin.
  struct Documents {
    const void *lengths, *queries, *keys, *states;
  };

  /// q, out bf16 [b,queries,heads,width]; k, v [b,keys,keyHeads,width]; lse f32
  /// [b,heads,queries], which is never a part.
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

  /// The bytes of workspace that a shape takes; negative where there is no plan
  /// for it. The first call for a shape compiles it.
  int64_t forwardBytes(const Shape& shape);
  int64_t backwardBytes(const Shape& shape);

  /// Enqueues it; the workspace has at least as many bytes as it takes, aligned
  /// to 256.
  Status forward(const Shape& shape, const Forward& data, void* workspace,
                 cudaStream_t stream);
  Status backward(const Shape& shape, const Backward& data, void* workspace,
                  cudaStream_t stream);

  /// Makes plans for a device that is not here, described as cuDNN writes it;
  /// they can be asked for their bytes.
  Status openFor(const std::string& device);

  /// Why plans are missing, as the library says it; empty where none is.
  const std::string& notice() const;

private:
  struct Library;
  std::unique_ptr<Library> library;
};

} // namespace reciperun::device

#endif // RECIPERUN_DEVICE_CUDA_ATTENTIONPLANS_H
