// Blocks of row-major tensors as runs.

#include "runtime/checkpoint/ShardLayout.h"

#include "runtime/plan/Mesh.h"

#include <algorithm>
#include <cassert>

namespace reciperun::checkpoint {

ShardLayout::ShardLayout(const plan::Parameter& parameter,
                         const plan::Mesh& mesh, int rank) {
  for (size_t i = 0; i < parameter.globalShape.size(); ++i) {
    const std::string& axis = parameter.shardAxes[i];
    int64_t parts = plan::axisSize(mesh, axis);
    int64_t global = parameter.globalShape[i];
    assert(global % parts == 0 && "a plan splits dimensions evenly");
    int64_t local = global / parts;
    dims.push_back({global, local, local * plan::coordinate(mesh, rank, axis)});
  }
  measure();
}

ShardLayout::ShardLayout(std::vector<Dim> dims) : dims(std::move(dims)) {
  measure();
}

ShardLayout ShardLayout::whole(const std::vector<int64_t>& shape) {
  std::vector<Dim> dims;
  for (int64_t size : shape)
    dims.push_back({size, size, 0});
  return ShardLayout(std::move(dims));
}

ShardLayout ShardLayout::behind(int64_t elements) const {
  ShardLayout moved = *this;
  moved.origin += elements;
  return moved;
}

void ShardLayout::measure() {
  if (dims.empty())
    dims.emplace_back();
  for (size_t i = 0; i < dims.size(); ++i)
    if (dims[i].local != dims[i].global)
      innermost = i;
  for (size_t i = 0; i < dims.size(); ++i) {
    count *= dims[i].local;
    if (i >= innermost)
      run *= dims[i].local;
  }
}

ShardLayout::Piece ShardLayout::pieceAt(int64_t local) const {
  assert(local >= 0 && local < count);
  int64_t within = local % run;
  int64_t number = local / run;
  // The run's index enumerates the dimensions outside the innermost split one;
  // inside, block and tensor have the same layout.
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > innermost;)
    stride *= i > innermost ? dims[i].local : 1;
  int64_t global = within + dims[innermost].first * stride;
  stride *= dims[innermost].global;
  for (size_t i = innermost; i-- > 0;) {
    global += (number % dims[i].local + dims[i].first) * stride;
    number /= dims[i].local;
    stride *= dims[i].global;
  }
  return {local, origin + global, run - within};
}

std::optional<ShardLayout::Piece> ShardLayout::find(int64_t global) const {
  int64_t left = global - origin, local = 0, stride = 1;
  assert(left >= 0 && "an element of the tensor");
  for (size_t i = dims.size(); i-- > 0;) {
    int64_t index = left % dims[i].global - dims[i].first;
    if (index < 0 || index >= dims[i].local)
      return std::nullopt;
    local += index * stride;
    stride *= dims[i].local;
    left /= dims[i].global;
  }
  assert(left == 0 && "an element of the tensor");
  return Piece{local, global, run - local % run};
}

std::vector<int> shardOwners(const plan::Parameter& parameter,
                             const plan::Mesh& mesh,
                             const std::string& shardAxis) {
  std::vector<int> owners;
  for (int rank = 0; rank < mesh.ranks; ++rank) {
    bool distinct = std::all_of(
        mesh.axes.begin(), mesh.axes.end(), [&](const plan::Axis& axis) {
          int first = axis.name == "pp" && !parameter.stages.empty()
                          ? parameter.stages.front()
                          : 0;
          return plan::coordinate(mesh, rank, axis.name) == first ||
                 plan::spans(mesh, shardAxis, axis.name) ||
                 std::any_of(parameter.shardAxes.begin(),
                             parameter.shardAxes.end(),
                             [&](const std::string& name) {
                               return plan::spans(mesh, name, axis.name);
                             });
        });
    if (distinct)
      owners.push_back(rank);
  }
  return owners;
}

} // namespace reciperun::checkpoint
