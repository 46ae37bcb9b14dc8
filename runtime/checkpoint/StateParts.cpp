// 1. A region is one flat run; the ranks along its shard axis hold equal parts
//    of its master weights and moments. What a rank has of a member is where
//    its part and the member's run overlap.
// 2. A frozen parameter is whole, or split as its block is.
// 3. Ranks hold the same bytes when they differ along axes alone that split
//    neither the block nor the region; the lowest of them has coordinate 0 on
//    each of those. Of the stages that hold a parameter the first counts.

#include "runtime/checkpoint/StateParts.h"

#include "runtime/plan/Mesh.h"

#include <algorithm>
#include <string_view>

namespace reciperun::checkpoint {
namespace {

/// The axis of the pipeline's stages: which hold a parameter is listed.
constexpr std::string_view stageAxis = "pp";

/// Lists the parts of one rank.
class Lister {
public:
  Lister(const plan::Plan& plan, int rank, bool onlyWritten)
      : plan(plan), stage(stageOf(plan, rank)), rank(rank),
        onlyWritten(onlyWritten), values(plan.parameters.size(), -1) {
    for (const plan::Holding& holding : stage.holdings)
      values[size_t(holding.parameter)] = holding.value;
  }

  std::vector<StatePart> run() {
    for (const plan::Region& region : stage.regions)
      addRegion(region);
    for (size_t i = 0; i < plan.parameters.size(); ++i)
      if (values[i] >= 0 && !plan.parameters[i].trainable && isWanted(int(i)))
        parts.push_back({int(i), StateKind::weight, 0,
                         plan::elementCount(valueOf(int(i)).shape), values[i],
                         0});
    return std::move(parts);
  }

private:
  const plan::Buffer& valueOf(int parameter) const {
    return stage.buffers[size_t(values[size_t(parameter)])];
  }

  /// Whether the rank differs from those that hold the same bytes by being the
  /// lowest. `shardAxis` splits the parameter's region.
  bool isWanted(int number, const std::string& shardAxis = {}) const {
    const plan::Parameter& parameter = plan.parameters[size_t(number)];
    auto splits = [&](const plan::Axis& axis, const std::string& name) {
      return plan::spans(plan.mesh, name, axis.name);
    };
    auto isFirst = [&](const plan::Axis& axis) {
      int own = plan::coordinate(plan.mesh, rank, axis.name);
      bool isStages = axis.name == stageAxis && !parameter.stages.empty();
      return own == (isStages ? parameter.stages.front() : 0);
    };
    return !onlyWritten ||
           std::all_of(plan.mesh.axes.begin(), plan.mesh.axes.end(),
                       [&](const plan::Axis& axis) {
                         return isFirst(axis) || splits(axis, shardAxis) ||
                                std::any_of(parameter.shardAxes.begin(),
                                            parameter.shardAxes.end(),
                                            [&](const std::string& name) {
                                              return splits(axis, name);
                                            });
                       });
  }

  void addRegion(const plan::Region& region) {
    int64_t part =
        region.elements / plan::axisSize(plan.mesh, region.shardAxis);
    int64_t begin = part * plan::coordinate(plan.mesh, rank, region.shardAxis);
    int64_t start = stage.buffers[size_t(region.param)].offset;
    for (int number : region.parameters) {
      const plan::Buffer& value = valueOf(number);
      int64_t member = (value.offset - start) / plan::byteSize(value.dtype);
      int64_t from = std::max(member, begin);
      int64_t to =
          std::min(member + plan::elementCount(value.shape), begin + part);
      if (from >= to || !isWanted(number, region.shardAxis))
        continue;
      auto add = [&](StateKind kind, int buffer) {
        if (buffer >= 0)
          parts.push_back(
              {number, kind, from - member, to - from, buffer, from - begin});
      };
      add(StateKind::weight, region.master);
      add(StateKind::momentM, region.momentM);
      add(StateKind::momentV, region.momentV);
    }
  }

  const plan::Plan& plan;
  const plan::Stage& stage;
  int rank;
  bool onlyWritten;
  std::vector<int> values; // by parameter, -1 where the stage has it not
  std::vector<StatePart> parts;
};

} // namespace

const plan::Stage& stageOf(const plan::Plan& plan, int rank) {
  if (plan.stages.empty())
    return plan;
  return plan.stages[size_t(plan::coordinate(plan.mesh, rank, stageAxis))];
}

std::vector<StatePart> stateParts(const plan::Plan& plan, int rank) {
  return Lister(plan, rank, /*onlyWritten=*/false).run();
}

std::vector<StatePart> writtenParts(const plan::Plan& plan, int rank) {
  return Lister(plan, rank, /*onlyWritten=*/true).run();
}

} // namespace reciperun::checkpoint
