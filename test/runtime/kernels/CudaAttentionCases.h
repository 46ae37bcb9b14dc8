// Cases of attention and what a GPU and the CPU make of them: the CPU computes
// the same inputs in f64.
//
// Tolerances, relative to the largest element:
//   f32   1e-5   sums of some hundred terms, rounded at 6e-8, and exponentials
//                of scores of size 10; gradients are twice as far
//   bf16  2^-7   attention rounds its weights to 2^-9, and its output
//         2^-6   its gradients take from do v a delta that nearly cancels, of
//                an output rounded to 2^-9; and round P and dS

#ifndef RECIPERUN_TEST_KERNELS_CUDAATTENTIONCASES_H
#define RECIPERUN_TEST_KERNELS_CUDAATTENTIONCASES_H

#include "test/runtime/kernels/CudaMatrixCalls.h"

#include <cstdint>
#include <string>
#include <vector>

namespace reciperun::kernels {

/// Segments and positions of the queries or of the keys, [batch, tokens].
struct Side {
  std::vector<int64_t> segments, places;
};

/// The queries and keys of a case. Each has its own number of tokens per row.
struct AttentionCase {
  std::string name;
  int64_t batch, queries, keys, heads, keyHeads, width;
  Attributes attributes;
  Side asking, asked;
};

/// Consecutive documents in each row, then padding.
Side packedSide(int64_t batch, int64_t tokens,
                const std::vector<int64_t>& lengths);

/// Rows of one document each; all queries see all keys.
AttentionCase plainCase(const std::string& name, int64_t batch, int64_t tokens,
                        int64_t heads, int64_t keyHeads, int64_t width,
                        Attributes attributes = {});
/// Two rows with the same documents, 6 heads and 2 key heads.
AttentionCase packedCase(const std::string& name, int64_t tokens,
                         const std::vector<int64_t>& lengths, int64_t width,
                         Attributes attributes = {});

/// The inputs of a case, the same on both devices.
struct AttentionArrays {
  Array q, k, v, dout;
  Array askingSegments, askingPlaces, askedSegments, askedPlaces;

  AttentionArrays(const AttentionCase& c, plan::DType type)
      : q(Array::random(type, {c.batch, c.queries, c.heads, c.width}, 1)),
        k(Array::random(type, {c.batch, c.keys, c.keyHeads, c.width}, 2)),
        v(Array::random(type, {c.batch, c.keys, c.keyHeads, c.width}, 3)),
        dout(Array::random(type, {c.batch, c.queries, c.heads, c.width}, 4)),
        askingSegments(
            Array::integers({c.batch, c.queries}, c.asking.segments)),
        askingPlaces(Array::integers({c.batch, c.queries}, c.asking.places)),
        askedSegments(Array::integers({c.batch, c.keys}, c.asked.segments)),
        askedPlaces(Array::integers({c.batch, c.keys}, c.asked.places)) {}

  std::vector<Array*> tokens() {
    return {&askingSegments, &askingPlaces, &askedSegments, &askedPlaces};
  }
};

/// The outputs of forward and backward.
struct AttentionResults {
  Array out, lse, dq, dk, dv;

  explicit AttentionResults(const AttentionCase& c, plan::DType type)
      : out(type, {c.batch, c.queries, c.heads, c.width}),
        lse(accumulatorOf(type), {c.batch, c.heads, c.queries}),
        dq(type, out.shape()), dk(type, {c.batch, c.keys, c.keyHeads, c.width}),
        dv(type, dk.shape()) {}
};

/// Computes the case on the CPU from the same inputs in f64.
AttentionResults onCpu(const AttentionCase& c, plan::DType type);
/// Computes the case on a GPU. The workspace has the size that our kernels
/// need, unless a size is given.
AttentionResults onGpu(const AttentionCase& c, plan::DType type,
                       int64_t workspaceBytes = 0);

void compareAttention(const std::string& what, const AttentionResults& got,
                      const AttentionResults& wanted, plan::DType type);

} // namespace reciperun::kernels

#endif // RECIPERUN_TEST_KERNELS_CUDAATTENTIONCASES_H
