// 1. A region is one flat run; the ranks along its shard axis have equal parts
//    of its master weights and moments. A rank's shard of a member is the
//    overlap of its part and the member's run.
// 2. A frozen parameter outside of regions is whole.
// 3. Ranks have the same bytes when they only differ along axes that split
//    neither the block nor the region; the lowest of them has coordinate 0 on
//    each of those axes. The first stage that has a parameter counts.

#include "runtime/checkpoint/StateShards.h"

#include "runtime/plan/AmaxHistories.h"
#include "runtime/plan/Mesh.h"
#include "runtime/plan/RegionShards.h"

#include <algorithm>
#include <string_view>

namespace reciperun::checkpoint {
namespace {

/// The axis of the pipeline stages; a parameter lists the stages that have it.
constexpr std::string_view stageAxis = "pp";

/// Lists the shards of one rank.
class Lister {
public:
  Lister(const plan::Plan& plan, int rank, bool onlyWritten)
      : plan(plan), stage(plan::stageOf(plan, rank)), rank(rank),
        onlyWritten(onlyWritten), values(plan.parameters.size(), -1) {
    for (const plan::Holding& holding : stage.holdings)
      values[size_t(holding.parameter)] = holding.value;
  }

  std::vector<StateShard> run() {
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

  /// Whether to list the parameter on this rank: with `onlyWritten`, only on
  /// the lowest of the ranks with the same bytes. `shardAxis` splits the
  /// parameter's region.
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
    for (size_t i = 0; i < region.parameters.size(); ++i) {
      int number = region.parameters[i];
      plan::Run run =
          plan::runInShard(region, i, plan.parameters, plan.mesh, rank);
      if (run.count == 0 || !isWanted(number, region.shardAxis))
        continue;
      auto add = [&](StateKind kind, int buffer) {
        if (buffer < 0)
          return;
        StateShard part{number,    kind,   run.first,
                        run.count, buffer, run.element};
        if (stage.buffers[size_t(buffer)].dtype == plan::DType::u16)
          part.upper = region.part;
        parts.push_back(part);
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
  std::vector<int> values; // by parameter; -1 when the stage does not have it
  std::vector<StateShard> parts;
};

} // namespace

ParametersRegion regionInParts(const plan::Stage& stage, int parameter) {
  for (const plan::Region& region : stage.regions)
    for (size_t i = 0; region.param < 0 && i < region.parameters.size(); ++i)
      if (region.parameters[i] == parameter)
        return {&region, i};
  return {};
}

std::vector<StateShard> valueParts(const plan::Plan& plan, int rank) {
  const plan::Stage& stage = plan::stageOf(plan, rank);
  std::vector<StateShard> parts(plan.parameters.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    parts[i].parameter = int(i);
    parts[i].buffer = -1;
  }
  for (const plan::Holding& holding : stage.holdings) {
    StateShard& part = parts[size_t(holding.parameter)];
    part.buffer = holding.value;
    if (holding.value >= 0)
      part.count = plan::blockElements(
          plan.parameters[size_t(holding.parameter)], plan.mesh);
  }
  for (const plan::Region& region : stage.regions)
    for (size_t i = 0; region.param < 0 && i < region.parameters.size(); ++i) {
      plan::Run run =
          plan::runInShard(region, i, plan.parameters, plan.mesh, rank);
      int number = region.parameters[i];
      parts[size_t(number)] = {number,    StateKind::weight, run.first,
                               run.count, region.part,       run.element};
    }
  return parts;
}

std::vector<StateShard> stateParts(const plan::Plan& plan, int rank) {
  return Lister(plan, rank, /*onlyWritten=*/false).run();
}

std::vector<StateShard> writtenShards(const plan::Plan& plan, int rank) {
  return Lister(plan, rank, /*onlyWritten=*/true).run();
}

std::vector<StateShard> amaxHistoryShards(const plan::Plan& plan, int rank) {
  const plan::Stage& stage = plan::stageOf(plan, rank);
  std::vector<StateShard> parts;
  for (int buffer : plan::amaxHistoryBuffers(stage))
    parts.push_back({-1, StateKind::history, 0,
                     plan::elementCount(stage.buffers[size_t(buffer)].shape),
                     buffer});
  return parts;
}

} // namespace reciperun::checkpoint
