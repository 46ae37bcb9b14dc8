// The ops of layers in a serving step of one token, on arrays of their own.

#ifndef RECIPERUN_TEST_KERNELS_DECODEOPS_H
#define RECIPERUN_TEST_KERNELS_DECODEOPS_H

#include "runtime/device/Device.h"
#include "test/runtime/kernels/Harness.h"

#include <deque>
#include <functional>
#include <string>
#include <vector>

namespace reciperun::kernels {

/// The sizes of a model, and a step of it.
struct DecodeShape {
  int64_t layers = 2, hidden = 64, heads = 8, keyHeads = 2, width = 64;
  int64_t ffn = 128, tokens = 1, position = 70, page = 16;
  plan::DType stored = plan::DType::bf16; // weights: bf16 or f8e4m3
  plan::DType pages = plan::DType::bf16;
  std::string scales = "rows"; // of weights in 8 bits
  Attributes attention = {{"rope", true}};
};

/// An op on arrays; null for an absent one.
struct ArrayOp {
  plan::Op op;
  std::vector<Array*> inputs, outputs;
  std::vector<device::Tensor> in = {}, out = {}; // views of calls()
};

class DecodeOps {
public:
  explicit DecodeOps(const DecodeShape& shape);

  /// The ops as calls. `tensor` returns the view of an array.
  std::vector<device::OpCall>
  calls(const std::function<device::Tensor(Array&)>& tensor);
  std::vector<device::OpCall> calls();

  /// Adds an op after the others.
  void add(plan::OpKind kind, std::vector<Array*> inputs,
           std::vector<Array*> outputs, Attributes attributes = {});

  /// Of the ops of one layer.
  size_t opsOfLayer() const { return all.size() / size_t(shape.layers); }
  std::deque<ArrayOp>& ops() { return all; }
  /// The last layer's result, and the pages of keys and values of all layers.
  Array& result() { return *all.back().outputs[0]; }
  const std::vector<Array*>& pages() const { return written; }

private:
  Array* keep(Array array) { return &arrays.emplace_back(std::move(array)); }
  Array* vector(int64_t width);
  Array* norm(Array* x);
  Array* product(Array* x, int64_t n);
  Array* sum(Array* x, Array* base);
  Array* attend(Array* q, Array* k, Array* v);
  Array* addLayer(Array* x);
  Array random(plan::DType type, std::vector<int64_t> dims, double scale);

  DecodeShape shape;
  std::deque<Array> arrays;
  std::deque<ArrayOp> all;
  std::vector<Array*> written;
  Array *positions, *sequences, *table;
  plan::Mesh mesh;
  unsigned seed = 0;
};

} // namespace reciperun::kernels

#endif // RECIPERUN_TEST_KERNELS_DECODEOPS_H
