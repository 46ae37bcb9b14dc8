// The global indices of the elements of a rank's shard of a parameter, for
// hosts and devices.
//
// A dimension that is not sharded is merged into the one before it. The
// remaining dimensions are the first one and those that are sharded.

#ifndef RECIPERUN_KERNELS_COMMON_SHARDNUMBERING_H
#define RECIPERUN_KERNELS_COMMON_SHARDNUMBERING_H

#include "runtime/plan/Mesh.h"
#include "runtime/plan/Plan.h"

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string>

namespace reciperun::kernels {

/// A shard of a row-major tensor. Converts local indices to global ones.
struct ShardNumbering {
  static constexpr int mostDimensions = 8;

  int dimensions = 1;
  int64_t global[mostDimensions] = {1};
  int64_t local[mostDimensions] = {1};
  int64_t begin[mostDimensions] = {0};

  static ShardNumbering of(const plan::Parameter& parameter,
                           const plan::Mesh& mesh, int rank) {
    assert(parameter.shardAxes.size() == parameter.globalShape.size() &&
           "each dimension says how it is split");
    ShardNumbering shard;
    for (size_t i = 0; i < parameter.globalShape.size(); ++i) {
      const int64_t size = parameter.globalShape[i];
      const std::string& axis = parameter.shardAxes[i];
      const int64_t part = size / plan::axisSize(mesh, axis);
      shard.add(size, part, part * plan::coordinate(mesh, rank, axis));
    }
    return shard;
  }

  /// The number of elements that are contiguous in the global tensor too.
  constexpr int64_t rowLength() const { return local[dimensions - 1]; }

  /// The global index of element `number` of the shard.
  constexpr int64_t globalOf(int64_t number) const {
    int64_t result = 0, stride = 1;
    for (int i = dimensions - 1; i >= 0; --i) {
      result += (number % local[i] + begin[i]) * stride;
      number /= local[i];
      stride *= global[i];
    }
    return result;
  }

private:
  void add(int64_t size, int64_t part, int64_t first) {
    if (part != size) {
      assert(dimensions < mostDimensions && "no parameter is split so often");
      ++dimensions;
      global[dimensions - 1] = local[dimensions - 1] = 1;
      begin[dimensions - 1] = 0;
    }
    int64_t* const all[] = {&global[dimensions - 1], &local[dimensions - 1],
                            &begin[dimensions - 1]};
    *all[0] *= size;
    *all[1] *= part;
    *all[2] = *all[2] * size + first;
  }
};

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_COMMON_SHARDNUMBERING_H
