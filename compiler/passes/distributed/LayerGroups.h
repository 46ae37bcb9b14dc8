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

  /// Each layer is a group of its own. With `most`, consecutive layers of a
  /// function form a group as long as their parameters have at most `most`
  /// bytes on a rank.
  LayerGroups(const ir::Module& program, std::optional<int64_t> most);

  /// The first layer of a parameter's group, by the parameter's value; `none`
  /// when several layers read it or no layer does.
  int of(ir::ValueId value) const;

private:
  void findLayers(const ir::Module& program);
  void join(const ir::Module& program, int64_t most);

  std::vector<int> layers; // by value: the only layer that reads it
  std::vector<int> chunks; // by layer
  std::vector<int> firsts; // by layer: the first layer of its group
};

} // namespace recipec::passes

#endif // RECIPEC_PASSES_DISTRIBUTED_LAYERGROUPS_H
