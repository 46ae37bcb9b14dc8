// Stages laid out as the compiler does: flat regions, members inside them, and
// separate masters when the compute type is narrower.

#include "StatePlan.h"

#include "runtime/checkpoint/Elements.h"
#include "runtime/checkpoint/ShardLayout.h"
#include "runtime/device/MasterHalves.h"
#include "runtime/plan/Mesh.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <set>

namespace reciperun::checkpoint {
namespace {

constexpr int64_t alignment = 64;

class StageMaker {
public:
  StageMaker(plan::Plan& plan, int number, const Layout& layout)
      : plan(plan), number(number), shardState(layout.shardState),
        master(layout.master) {}

  void addRegion(const char* name, std::vector<int> members,
                 const std::string& shardAxis) {
    plan::Region region;
    region.name = name;
    region.parameters = members;
    region.shardAxis = shardState ? shardAxis : "";
    int64_t shards = plan::axisSize(plan.mesh, region.shardAxis);
    int64_t step = alignment / plan::byteSize(plan.compute);
    for (int member : members) {
      region.starts.push_back(region.elements);
      region.elements += roundUp(localElements(member), step);
    }
    region.elements = roundUp(region.elements, step * shards);
    region.param = add(plan.compute, region.elements);
    int64_t start = stage.buffers.back().offset;
    int64_t size = plan::byteSize(plan.compute);
    for (size_t i = 0; i < members.size(); ++i) {
      plan::Buffer value = stage.buffers[size_t(region.param)];
      value.offset = start + region.starts[i] * size;
      hold(members[i], value);
    }
    int64_t part = region.elements / shards;
    plan::Buffer own = stage.buffers[size_t(region.param)];
    own.shape = {part};
    own.shardAxis = region.shardAxis;
    own.shardStride = part * size;
    region.part = int(stage.buffers.size());
    stage.buffers.push_back(own);
    bool isNarrow = plan.compute == plan::DType::bf16;
    region.master = isNarrow ? add(master, part) : region.part;
    region.momentM = add(plan::DType::f32, part);
    region.momentV = add(plan::DType::f32, part);
    stage.regions.push_back(region);
  }

  void addFrozen(int parameter) {
    add(plan.compute, localElements(parameter));
    plan::Buffer value = stage.buffers.back();
    stage.buffers.pop_back();
    hold(parameter, value);
  }

  plan::Stage stage;

private:
  int64_t localElements(int parameter) const {
    return ShardLayout(plan.parameters[size_t(parameter)], plan.mesh, 0)
        .elements();
  }

  int add(plan::DType type, int64_t elements) {
    plan::Buffer buffer;
    buffer.dtype = type;
    buffer.shape = {elements};
    buffer.offset = stage.memory.arena;
    stage.memory.arena += roundUp(elements * plan::byteSize(type), alignment);
    stage.buffers.push_back(buffer);
    return int(stage.buffers.size()) - 1;
  }

  void hold(int parameter, plan::Buffer value) {
    value.shape = {localElements(parameter)};
    plan::Holding holding;
    holding.parameter = parameter;
    holding.value = int(stage.buffers.size());
    stage.buffers.push_back(value);
    stage.holdings.push_back(holding);
    plan.parameters[size_t(parameter)].stages.push_back(number);
  }

  plan::Plan& plan;
  int number;
  bool shardState;
  plan::DType master;
};

enum { embed, out, norm, base };

/// Weights are exact in bf16: they use 8 significant bits.
float numberOf(int parameter, StateKind kind, int64_t global) {
  if (kind == StateKind::weight)
    return float((global * 7 + parameter * 31) % 251 + 1);
  return float(global + 1000 * (parameter + 1) + 10000 * int(kind));
}

} // namespace

int64_t roundUp(int64_t number, int64_t multiple) {
  return (number + multiple - 1) / multiple * multiple;
}

plan::Plan statePlan(const Layout& layout) {
  plan::Plan plan;
  plan.compute = layout.compute;
  plan.mesh.axes = {{"pp", layout.pp}, {"dp", layout.dp}, {"tp", layout.tp}};
  plan.mesh.groups = {{"dp+tp", {"dp", "tp"}}};
  plan.mesh.ranks = layout.pp * layout.dp * layout.tp;
  auto parameter = [&](const char* name, std::vector<int64_t> shape,
                       std::vector<std::string> axes, bool trainable) {
    plan::Parameter made;
    made.name = name;
    made.hfName = std::string("hf.") + name;
    made.globalShape = made.hfShape = shape;
    made.shardAxes = axes;
    made.trainable = trainable;
    plan.parameters.push_back(made);
  };
  parameter("embed", {8, 5}, {"tp", ""}, true);
  parameter("out", {3, 4, 7}, {"", "tp", ""}, true);
  parameter("norm", {11}, {""}, true);
  parameter("base", {5, 8}, {"", "tp"}, false);
  for (int number = 0; number < layout.pp; ++number) {
    StageMaker maker(plan, number, layout);
    bool isFirst = number == 0, isLast = number + 1 == layout.pp;
    std::vector<int> split;
    if (isLast)
      split.push_back(out);
    if (isFirst || isLast)
      split.push_back(embed);
    if (!split.empty())
      maker.addRegion("split", split, "dp");
    if (isLast)
      maker.addRegion("whole", {norm}, "dp+tp");
    if (isFirst)
      maker.addFrozen(base);
    plan.stages.push_back(std::move(maker.stage));
  }
  return plan;
}

StateRanks::StateRanks(const Layout& layout) : whole(statePlan(layout)) {
  for (int rank = 0; rank < whole.mesh.ranks; ++rank) {
    auto arena =
        memory::Arena::allocate(plan::stageOf(whole, rank).memory.arena);
    arenas.push_back(std::move(*arena));
  }
}

/// Calls visit(address, type, number, kind, isValue) for every element.
template <class Visit> void StateRanks::visit(const Visit& visit) const {
  for (int rank = 0; rank < count(); ++rank) {
    const plan::Stage& own = plan::stageOf(whole, rank);
    auto each = [&](const StateShard& part, bool isValue) {
      const plan::Buffer& buffer = own.buffers[size_t(part.buffer)];
      ShardLayout layout(whole.parameters[size_t(part.parameter)], whole.mesh,
                         rank);
      auto* data = static_cast<std::byte*>(
          arena(rank).address(buffer, 0, whole.mesh, rank));
      for (int64_t i = 0; i < part.count; ++i)
        visit(data + (part.element + i) * plan::byteSize(buffer.dtype),
              buffer.dtype,
              numberOf(part.parameter, part.kind,
                       layout.pieceAt(part.first + i).global),
              part.kind, isValue);
    };
    for (const StateShard& part : stateParts(whole, rank))
      each(part, false);
    for (const plan::Holding& holding : own.holdings) {
      StateShard value;
      value.parameter = holding.parameter;
      value.buffer = holding.value;
      value.count = own.buffers[size_t(holding.value)].shape[0];
      each(value, true);
    }
  }
}

namespace {

float masterOf(int parameter, int64_t global) {
  float number = std::sqrt(float(global + 100 * parameter + 2));
  auto word = std::bit_cast<uint32_t>(number);
  return std::bit_cast<float>(global % 4 ? word : word >> 16 << 16 | 0x8000);
}

} // namespace

/// Calls visit(master, bf16 parameter, other half or master) for every master
/// element that a rank keeps, and visit(master, value, null) for every value.
/// The second argument is also null when there is no upper half.
template <class Visit> void StateRanks::visitMasters(const Visit& visit) const {
  for (int rank = 0; rank < count(); ++rank) {
    const plan::Stage& own = plan::stageOf(whole, rank);
    auto at = [&](int buffer, int64_t element) {
      const plan::Buffer& described = own.buffers[size_t(buffer)];
      return static_cast<std::byte*>(
                 arena(rank).address(described, 0, whole.mesh, rank)) +
             element * plan::byteSize(described.dtype);
    };
    auto each = [&](int parameter, int64_t first, int64_t count,
                    auto visitOne) {
      ShardLayout layout(whole.parameters[size_t(parameter)], whole.mesh, rank);
      for (int64_t i = 0; i < count; ++i)
        visitOne(masterOf(parameter, layout.pieceAt(first + i).global), i);
    };
    for (const StateShard& part : stateParts(whole, rank))
      if (part.kind == StateKind::weight &&
          whole.parameters[size_t(part.parameter)].trainable)
        each(part.parameter, part.first, part.count,
             [&](float master, int64_t i) {
               visit(master,
                     part.upper < 0 ? nullptr
                                    : at(part.upper, part.element + i),
                     at(part.buffer, part.element + i));
             });
    for (const plan::Holding& holding : own.holdings)
      if (whole.parameters[size_t(holding.parameter)].trainable)
        each(holding.parameter, 0, own.buffers[size_t(holding.value)].shape[0],
             [&](float master, int64_t i) {
               visit(master, at(holding.value, i), nullptr);
             });
  }
}

void StateRanks::fillMasters() {
  visitMasters([](float master, std::byte* parameter, std::byte* rest) {
    device::MasterHalves halves = device::splitMaster(master);
    if (parameter)
      std::memcpy(parameter, &halves.parameter, 2);
    if (rest && parameter)
      std::memcpy(rest, &halves.remainder, 2);
    else if (rest)
      std::memcpy(rest, &master, 4);
  });
}

int64_t StateRanks::wrongMasters() const {
  int64_t wrong = 0;
  visitMasters([&](float master, std::byte* parameter, std::byte* rest) {
    device::MasterHalves halves = device::splitMaster(master);
    wrong += parameter && std::memcmp(parameter, &halves.parameter, 2) != 0;
    if (rest && parameter)
      wrong += std::memcmp(rest, &halves.remainder, 2) != 0;
    else if (rest)
      wrong += std::memcmp(rest, &master, 4) != 0;
  });
  return wrong;
}

void StateRanks::fill() {
  visit([](std::byte* at, plan::DType type, float number, StateKind, bool) {
    convertElements(ElementType::f32,
                    reinterpret_cast<const std::byte*>(&number), type, at, 1);
  });
}

int64_t StateRanks::wrong(bool weightsAlone) const {
  int64_t count = 0;
  visit(
      [&](std::byte* at, plan::DType type, float number, StateKind kind, bool) {
        std::byte expected[8];
        convertElements(ElementType::f32,
                        reinterpret_cast<const std::byte*>(&number), type,
                        expected, 1);
        bool isWanted = kind == StateKind::weight || !weightsAlone;
        count += isWanted &&
                 std::memcmp(at, expected, size_t(plan::byteSize(type))) != 0;
      });
  return count;
}

} // namespace reciperun::checkpoint
