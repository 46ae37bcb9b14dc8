// The layers of a model that one GPU kernel computes for one token
// (DecodeKernel.cuh): attention over pages and a gated MLP, each with an
// RMSNorm before and a sum with its input after.

#ifndef RECIPERUN_KERNELS_DECODE_DECODELAYERS_H
#define RECIPERUN_KERNELS_DECODE_DECODELAYERS_H

#include "runtime/device/Device.h"

#include <cstddef>
#include <span>
#include <vector>

namespace reciperun::kernels {

/// The longest rows of weights that the kernel reads, in elements.
inline constexpr int64_t mostDecodeColumns = 16384;

/// A matmul whose result is added to another vector.
struct DecodeSum {
  const device::OpCall* product;
  const device::OpCall* add; // null: the product is a `linear_add`

  /// The other vector, and the result.
  device::Tensor base() const;
  device::Tensor result() const;
};

/// The ops of a layer.
struct DecodeLayer {
  const device::OpCall *inputNorm, *query, *key, *value, *attention;
  DecodeSum output;
  const device::OpCall *postNorm, *gate, *up, *gated;
  DecodeSum down;

  device::Tensor input() const { return inputNorm->inputs[0]; }
  device::Tensor result() const { return down.result(); }
};

/// Layers, one after another, and the ops that they consist of.
struct DecodeLayers {
  std::vector<DecodeLayer> layers;
  size_t calls = 0;
};

/// Finds the layers, at most `most`, that ops begin with, for a step of one
/// token in bf16. The pointers are those of `calls`. Empty if an op after the
/// layers reads something that only they write, but for their result and the
/// pages, or if a layer has other ops, shapes or types than the kernel
/// computes.
DecodeLayers findDecodeLayers(std::span<const device::OpCall> calls,
                              size_t most);

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_DECODE_DECODELAYERS_H
