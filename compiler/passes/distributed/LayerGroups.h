// Groups the layers whose sharded parameters are gathered together.

#ifndef RECIPEC_PASSES_DISTRIBUTED_LAYERGROUPS_H
#define RECIPEC_PASSES_DISTRIBUTED_LAYERGROUPS_H

#include "compiler/ir/Ir.h"

#include <optional>
#include <vector>

namespace recipec::passes {

class LayerGroups {
public:
  static constexpr int none = -1;

  /// One layer per group, or consecutive layers of a function as long as their
  /// parameters have at most `most` bytes on a rank.
  LayerGroups(const ir::Module& program, std::optional<int64_t> most);

  /// The first layer of a parameter's group, by the parameter's value; `none`
  /// when several layers read it or no layer does.
  int of(ir::ValueId value) const;

private:
  void findLayers(const ir::Module& program);
  void join(const ir::Module& program, int64_t most);

  std::vector<int> layers; // of the readers of each value
  std::vector<int> chunks; // of each layer
  std::vector<int> firsts; // of each layer: the first layer of its group
};

} // namespace recipec::passes

#endif // RECIPEC_PASSES_DISTRIBUTED_LAYERGROUPS_H
