// See DecodeLayers.h.

#include "runtime/kernels/decode/DecodeLayers.h"

#include "runtime/ops/AttentionOps.h"
#include "runtime/ops/DenseOps.h"
#include "runtime/ops/OpKind.h"
#include "runtime/ops/QuantizationOps.h"
#include "runtime/sizes/WeightScales.h"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace reciperun::kernels {
namespace {

using device::OpCall;
using device::Tensor;
using plan::DType;
using plan::OpKind;
using sizes::WeightScales;

/// The alignment of copies by the bulk copy engine.
constexpr int64_t copyAlignment = 16;

bool isAligned(const Tensor& tensor) {
  return reinterpret_cast<uintptr_t>(tensor.data) % copyAlignment == 0;
}

/// Memory, as ranges of addresses.
class Ranges {
public:
  void add(const Tensor& tensor) {
    if (tensor.present())
      all.push_back(rangeOf(tensor));
  }
  void remove(const Tensor& tensor) {
    if (!tensor.present())
      return;
    const Range gone = rangeOf(tensor);
    std::vector<Range> left;
    for (const Range& range : all) {
      const Range before = {range.begin, std::min(range.end, gone.begin)};
      const Range after = {std::max(range.begin, gone.end), range.end};
      for (const Range& part : {before, after})
        if (part.begin < part.end)
          left.push_back(part);
    }
    all = std::move(left);
  }
  bool overlap(const Tensor& tensor) const {
    const Range own = rangeOf(tensor);
    return tensor.present() && std::ranges::any_of(all, [&](const Range& each) {
             return each.begin < own.end && own.begin < each.end;
           });
  }

private:
  struct Range {
    uintptr_t begin, end;
  };
  static Range rangeOf(const Tensor& tensor) {
    const auto begin = reinterpret_cast<uintptr_t>(tensor.data);
    return {begin, begin + uintptr_t(tensor.bytes())};
  }

  std::vector<Range> all;
};

/// Whether a weight's rows, and its scales, are those that the kernel streams.
bool isStreamed(const OpCall& call) {
  const Tensor &x = call.inputs[0], &w = call.inputs[1];
  const int64_t k = w.shape.back();
  if (x.type != DType::bf16 || x.elements() != k || k > mostDecodeColumns ||
      k * plan::byteSize(w.type) % copyAlignment != 0 || !isAligned(w) ||
      !isAligned(x))
    return false;
  if (call.op.kind != OpKind::QuantizedLinear)
    return w.type == DType::bf16;
  const auto scales = sizes::findWeightScales(
      ops::QuantizedLinearAttributes(call.op.attributes).scales);
  return w.type == DType::f8e4m3 && !call.inputs[3].present() &&
         (scales == WeightScales::rows || scales == WeightScales::tensor);
}

/// Whether one phase of the kernel can compute both products.
bool areAlike(const OpCall& a, const OpCall& b) {
  return a.op.kind == b.op.kind && a.inputs[1].type == b.inputs[1].type &&
         (a.op.kind != OpKind::QuantizedLinear ||
          a.op.attributes.string("scales") == b.op.attributes.string("scales"));
}

bool isAttended(const OpCall& call) {
  const Tensor &q = call.inputs[0], &k = call.inputs[1];
  const int64_t group = q.shape[2] / k.shape[2], width = q.shape[3];
  const auto isBf16 = [](const Tensor& tensor) {
    return tensor.type == DType::bf16;
  };
  return call.inputs[3].elements() == 1 &&
         std::ranges::all_of(call.inputs.first(3), isBf16) &&
         std::ranges::all_of(call.outputs.first(3), isBf16) &&
         (width == 64 || width == 128) && (group < 4 || group % 4 == 0);
}

/// Whether layers attend to pages of the same shape by the same rule.
bool attendAlike(const OpCall& a, const OpCall& b) {
  for (int i : {3, 4, 5})
    if (a.inputs[size_t(i)].data != b.inputs[size_t(i)].data)
      return false;
  return a.op.attributes == b.op.attributes &&
         std::ranges::equal(a.inputs[0].shape, b.inputs[0].shape) &&
         std::ranges::equal(a.outputs[1].shape, b.outputs[1].shape);
}

/// Reads layers, op by op.
class LayerReader {
public:
  explicit LayerReader(std::span<const OpCall> calls) : calls(calls) {}

  std::optional<DecodeLayer> next() {
    DecodeLayer layer{};
    if (!readAttention(layer) || !readMlp(layer))
      return std::nullopt;
    done = at;
    return layer;
  }
  /// The ops of the layers that were read.
  size_t count() const { return done; }

private:
  /// The next op, if it is of that kind and reads `x` first; null otherwise.
  const OpCall* take(OpKind kind, const Tensor& x) {
    if (at == calls.size() || calls[at].op.kind != kind ||
        calls[at].inputs[0].data != x.data)
      return nullptr;
    return &calls[at++];
  }

  const OpCall* takeProduct(const Tensor& x) {
    const OpCall* call = take(OpKind::Linear, x);
    if (call && ops::LinearAttributes(call->op.attributes).accumulate)
      return nullptr;
    if (!call)
      call = take(OpKind::QuantizedLinear, x);
    return call && isStreamed(*call) ? call : nullptr;
  }

  /// A product of `x` that is added to `base`.
  bool takeSum(const Tensor& x, const Tensor& base, DecodeSum& to) {
    to.product = take(OpKind::LinearAdd, x);
    if (to.product)
      return isStreamed(*to.product) && to.base().data == base.data;
    to.product = takeProduct(x);
    if (!to.product || at == calls.size() || calls[at].op.kind != OpKind::Add)
      return false;
    to.add = &calls[at++];
    return std::ranges::any_of(to.add->inputs,
                               [&](const Tensor& in) {
                                 return in.data == to.product->outputs[0].data;
                               }) &&
           to.base().data == base.data;
  }

  bool readAttention(DecodeLayer& layer) {
    if (at == calls.size())
      return false;
    const Tensor input = calls[at].inputs[0];
    layer.inputNorm = take(OpKind::RmsNorm, input);
    if (!layer.inputNorm || !isAligned(input))
      return false;
    const Tensor x = layer.inputNorm->outputs[0];
    layer.query = takeProduct(x);
    layer.key = layer.query ? takeProduct(x) : nullptr;
    layer.value = layer.key ? takeProduct(x) : nullptr;
    if (!layer.value || !areAlike(*layer.query, *layer.key) ||
        !areAlike(*layer.query, *layer.value))
      return false;
    layer.attention = take(OpKind::AttentionPaged, layer.query->outputs[0]);
    if (!layer.attention || !isAttended(*layer.attention) ||
        layer.attention->inputs[1].data != layer.key->outputs[0].data ||
        layer.attention->inputs[2].data != layer.value->outputs[0].data)
      return false;
    return takeSum(layer.attention->outputs[0], input, layer.output);
  }

  bool readMlp(DecodeLayer& layer) {
    const Tensor input = layer.output.result();
    layer.postNorm = take(OpKind::RmsNorm, input);
    if (!layer.postNorm)
      return false;
    const Tensor x = layer.postNorm->outputs[0];
    layer.gate = takeProduct(x);
    layer.up = layer.gate ? takeProduct(x) : nullptr;
    if (!layer.up || !areAlike(*layer.gate, *layer.up))
      return false;
    layer.gated = take(OpKind::Swiglu, layer.gate->outputs[0]);
    return layer.gated &&
           layer.gated->inputs[1].data == layer.up->outputs[0].data &&
           takeSum(layer.gated->outputs[0], input, layer.down);
  }

  std::span<const OpCall> calls;
  size_t at = 0, done = 0;
};

/// Whether an op reads what only the ops before it, `layers`, write, and what
/// the kernel does not store: all of their outputs but the last one and pages.
bool readsOmitted(std::span<const OpCall> rest,
                  std::span<const OpCall> layers) {
  Ranges omitted;
  for (const OpCall& call : layers) {
    const bool hasPages = call.op.kind == OpKind::AttentionPaged;
    for (const Tensor& out :
         call.outputs.first(hasPages ? 1 : call.outputs.size()))
      omitted.add(out);
  }
  omitted.remove(layers.back().outputs[0]);
  for (const OpCall& call : rest) {
    if (std::ranges::any_of(
            call.inputs, [&](const Tensor& in) { return omitted.overlap(in); }))
      return true;
    // The plan gives the memory of dead buffers to others.
    for (const Tensor& out : call.outputs)
      omitted.remove(out);
  }
  return false;
}

} // namespace

Tensor DecodeSum::base() const {
  if (!add)
    return product->inputs[2];
  const bool isFirst = add->inputs[0].data == product->outputs[0].data;
  return add->inputs[isFirst ? 1 : 0];
}

Tensor DecodeSum::result() const {
  return (add ? add : product)->outputs[0];
}

DecodeLayers findDecodeLayers(std::span<const OpCall> calls, size_t most) {
  DecodeLayers found;
  LayerReader reader(calls);
  while (found.layers.size() < most) {
    const std::optional<DecodeLayer> layer = reader.next();
    if (!layer ||
        (!found.layers.empty() &&
         (layer->input().data != found.layers.back().result().data ||
          !attendAlike(*layer->attention, *found.layers.front().attention))))
      break;
    found.layers.push_back(*layer);
    found.calls = reader.count();
  }
  if (!found.layers.empty() &&
      readsOmitted(calls.subspan(found.calls), calls.first(found.calls)))
    return {};
  return found;
}

} // namespace reciperun::kernels
