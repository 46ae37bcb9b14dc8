#include "test/runtime/kernels/DecodeOps.h"

#include "runtime/ops/OpKind.h"
#include "runtime/sizes/WeightScales.h"

#include <cmath>
#include <numeric>
#include <utility>

namespace reciperun::kernels {

using plan::DType;
using plan::OpKind;

DecodeOps::DecodeOps(const DecodeShape& shape) : shape(shape) {
  const int64_t pages = shape.position / shape.page + 2;
  positions = keep(Array(DType::i32, {1, shape.tokens}));
  sequences = keep(Array(DType::i32, {1, shape.tokens}));
  for (int64_t i = 0; i < shape.tokens; ++i)
    positions->set(i, double(shape.position + i));
  std::vector<int64_t> order(size_t(pages), 0);
  std::iota(order.rbegin(), order.rend(), 0);
  table = keep(Array::integers({1, pages}, order));
  Array* x = keep(random(DType::bf16, {1, shape.tokens, shape.hidden}, 1));
  for (int64_t i = 0; i < shape.layers; ++i)
    x = addLayer(x);
}

std::vector<device::OpCall>
DecodeOps::calls(const std::function<device::Tensor(Array&)>& tensor) {
  std::vector<device::OpCall> made;
  for (ArrayOp& op : all) {
    const auto view = [&](const std::vector<Array*>& of,
                          std::vector<device::Tensor>& to) {
      to.clear();
      for (Array* array : of)
        to.push_back(array ? tensor(*array) : device::Tensor());
    };
    view(op.inputs, op.in);
    view(op.outputs, op.out);
    made.push_back({op.op, op.in, op.out, {}, mesh});
  }
  return made;
}

std::vector<device::OpCall> DecodeOps::calls() {
  return calls([](Array& array) { return array.tensor(); });
}

void DecodeOps::add(OpKind kind, std::vector<Array*> inputs,
                    std::vector<Array*> outputs, Attributes attributes) {
  ArrayOp made{{}, std::move(inputs), std::move(outputs)};
  made.op.kind = kind;
  made.op.name = "op " + std::to_string(all.size());
  made.op.attributes = std::move(attributes);
  all.push_back(std::move(made));
}

Array DecodeOps::random(DType type, std::vector<int64_t> dims, double scale) {
  return Array::random(type, std::move(dims), ++seed, scale);
}

Array* DecodeOps::vector(int64_t width) {
  return keep(Array(DType::bf16, {1, shape.tokens, width}));
}

Array* DecodeOps::norm(Array* x) {
  const int64_t width = x->shape().back();
  Array* const y = vector(width);
  add(OpKind::RmsNorm, {x, keep(random(DType::bf16, {width}, 1))},
      {y, keep(Array(DType::f32, {1, shape.tokens}))}, {{"eps", 1e-5}});
  return y;
}

Array* DecodeOps::product(Array* x, int64_t n) {
  const int64_t k = x->shape().back();
  Array* const y = vector(n);
  const double scale = 1 / std::sqrt(double(k));
  if (shape.stored == DType::bf16) {
    add(OpKind::Linear, {x, keep(random(DType::bf16, {n, k}, scale))}, {y});
    return y;
  }
  Array* const w = keep(random(DType::f32, {n, k}, 30).cast(DType::f8e4m3));
  Array scales(DType::f32,
               sizes::scaleShape(*sizes::findWeightScales(shape.scales), n, k));
  for (int64_t i = 0; i < scales.size(); ++i)
    scales.set(i, scale / 30 * (1 + 0.1 * double(i % 5)));
  add(OpKind::QuantizedLinear, {x, w, keep(std::move(scales)), nullptr}, {y},
      {{"scales", shape.scales}});
  return y;
}

/// The product of `x` that is added to `base`: one op in bf16, else two.
Array* DecodeOps::sum(Array* x, Array* base) {
  Array* const made = product(x, shape.hidden);
  if (shape.stored == DType::bf16) {
    ArrayOp& op = all.back();
    op.op.kind = OpKind::LinearAdd;
    op.inputs.push_back(base);
    return made;
  }
  Array* const y = vector(shape.hidden);
  add(OpKind::Add, {base, made}, {y});
  return y;
}

Array* DecodeOps::attend(Array* q, Array* k, Array* v) {
  const std::vector<int64_t> dims = {table->size(), shape.page, shape.keyHeads,
                                     shape.width};
  const bool isScaled = shape.pages != DType::bf16;
  std::vector<Array*> outputs = {keep(Array(DType::bf16, q->shape()))};
  for (int i = 0; i < 2; ++i)
    outputs.push_back(keep(random(DType::f32, dims, 1).cast(shape.pages)));
  for (int i = 0; i < 2; ++i)
    outputs.push_back(
        isScaled ? keep(random(DType::f32, {dims[0], dims[1], dims[2]}, 1))
                 : nullptr);
  written.insert(written.end(), {outputs[1], outputs[2]});
  add(OpKind::AttentionPaged, {q, k, v, positions, sequences, table}, outputs,
      shape.attention);
  return outputs[0];
}

Array* DecodeOps::addLayer(Array* x) {
  Array* const first = norm(x);
  // Heads are dimensions of the attention's operands alone.
  const auto heads = [&](Array* of, int64_t count) {
    *of = Array(DType::bf16, {1, shape.tokens, count, shape.width});
    return of;
  };
  Array* const q = product(first, shape.heads * shape.width);
  Array* const k = product(first, shape.keyHeads * shape.width);
  Array* const v = product(first, shape.keyHeads * shape.width);
  Array* const attended =
      attend(heads(q, shape.heads), heads(k, shape.keyHeads),
             heads(v, shape.keyHeads));
  *attended = Array(DType::bf16, {1, shape.tokens, shape.heads * shape.width});
  Array* const middle = sum(attended, x);
  Array* const second = norm(middle);
  Array* const gate = product(second, shape.ffn);
  Array* const up = product(second, shape.ffn);
  Array* const gated = vector(shape.ffn);
  add(OpKind::Swiglu, {gate, up}, {gated});
  return sum(gated, middle);
}

} // namespace reciperun::kernels
