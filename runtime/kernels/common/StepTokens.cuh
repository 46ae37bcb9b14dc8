// The tokens of a serving step on a GPU (StepRuns.h has the rules). The host
// does not know the positions, so that a step can be recorded once and launched
// for any mix of sequences.

#ifndef RECIPERUN_KERNELS_COMMON_STEPTOKENS_CUH
#define RECIPERUN_KERNELS_COMMON_STEPTOKENS_CUH

#include <climits>
#include <cstdint>
#include <cstdio>

namespace reciperun::kernels {

/// Positions and sequences, i32 [count]. Sequences are in [0, mostSequences).
struct StepTokens {
  const int32_t *positions, *sequences;
  int count, mostSequences;

  __device__ bool isPadding(int token) const { return positions[token] < 0; }

  /// Whether two tokens belong to the same run.
  __device__ bool areTogether(int a, int b) const {
    return !isPadding(a) && !isPadding(b) && sequences[a] == sequences[b];
  }
  __device__ bool isFirst(int token) const {
    return !isPadding(token) && (token == 0 || !areTogether(token - 1, token));
  }
  __device__ bool isLast(int token) const {
    return !isPadding(token) &&
           (token == count - 1 || !areTogether(token, token + 1));
  }

  /// Ends the work on the GPU if a token's sequence does not exist, which the
  /// CPU rejects.
  __device__ void check(int token) const {
    if (isPadding(token) ||
        unsigned(sequences[token]) < unsigned(mostSequences))
      return;
    printf("token %d of the step belongs to sequence %d, and the plan has %d "
           "sequences\n",
           token, sequences[token], mostSequences);
    __trap();
  }
};

/// A range of tokens.
struct TokenRange {
  int begin, end;
  __device__ int count() const { return end - begin; }
};

/// The run of a sequence; empty if the step has none. All threads of the block
/// call it, and `shared` is memory that they share.
__device__ inline TokenRange runOf(const StepTokens& tokens, int sequence,
                                   TokenRange& shared) {
  if (threadIdx.x == 0)
    shared = {INT_MAX, 0};
  __syncthreads();
  for (int i = int(threadIdx.x); i < tokens.count; i += int(blockDim.x))
    if (!tokens.isPadding(i) && tokens.sequences[i] == sequence) {
      atomicMin(&shared.begin, i);
      atomicMax(&shared.end, i + 1);
    }
  __syncthreads();
  return shared.end ? shared : TokenRange{0, 0};
}

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_COMMON_STEPTOKENS_CUH
