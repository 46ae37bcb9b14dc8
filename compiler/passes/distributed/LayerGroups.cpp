// 1. Find the only layer whose ops read each value, and the chunk that computes
//    each layer.
// 2. Add up the bytes of the layers' parameters in order. A new group starts at
//    a layer that would exceed the limit or that belongs to another chunk.

#include "compiler/passes/distributed/LayerGroups.h"

#include <algorithm>
#include <numeric>

namespace recipec::passes {
namespace {

constexpr int unread = -2;

} // namespace

LayerGroups::LayerGroups(const ir::Module& program, std::optional<int64_t> most)
    : layers(program.values.size(), unread) {
  findLayers(program);
  firsts.resize(chunks.size());
  std::iota(firsts.begin(), firsts.end(), 0);
  if (most)
    join(program, *most);
}

void LayerGroups::findLayers(const ir::Module& program) {
  for (const ir::Function& function : program.functions)
    for (const ir::Op& op : function.ops) {
      if (op.layer >= int(chunks.size()))
        chunks.resize(size_t(op.layer) + 1, -1);
      if (op.layer >= 0)
        chunks[size_t(op.layer)] = function.chunk;
      for (ir::ValueId operand : op.operands) {
        if (operand == ir::ValueId::none)
          continue;
        int& layer = layers[size_t(operand)];
        layer = layer == unread || layer == op.layer ? op.layer : none;
      }
    }
  std::replace(layers.begin(), layers.end(), unread, none);
}

void LayerGroups::join(const ir::Module& program, int64_t most) {
  std::vector<int64_t> bytes(chunks.size());
  for (const ir::Param& param : program.params)
    if (int layer = layers[size_t(param.value)]; layer != none)
      bytes[size_t(layer)] += ir::localBytes(program, param.value);
  int64_t joined = 0;
  for (size_t layer = 0; layer < bytes.size(); ++layer) {
    joined += bytes[layer];
    bool follows = layer > 0 && chunks[layer] == chunks[layer - 1];
    if (follows && joined <= most)
      firsts[layer] = firsts[layer - 1];
    else
      joined = bytes[layer];
  }
}

int LayerGroups::of(ir::ValueId value) const {
  int layer = layers[size_t(value)];
  return layer == none ? none : firsts[size_t(layer)];
}

} // namespace recipec::passes
