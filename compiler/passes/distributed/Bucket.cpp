// A region's run is a sequence of consecutive ops, each of which belongs to a
// layer that uses the region or to no layer.
//
// 1. Before the first op of a run that reads a parameter of its region,
//    all-gather the region into a temporary. The ops of the run read views of
//    the temporary. Its memory is free after the run: the next run, and the
//    backward pass of the same layers, gather the region again. A region that
//    is gathered in fp8 (GatherInFp8.h) is gathered from its fp8 shard. Views
//    of the gathered region replace the results of the casts of its members;
//    where an op reads the transposed matrix, a transpose of the view is added.
//    When each rank keeps the full region in fp8, the region is gathered once a
//    step, and its members and their transposes replace the results of the
//    casts.
// 2. Before the first op of a run that adds to a gradient, clear a temporary
//    for the gradients of the region. After the run they are complete:
//    reduce-scatter them, and add the rank's shard to the shard that it has
//    accumulated over the previous micro-batches.

#include "compiler/passes/distributed/Bucket.h"

#include "compiler/passes/ValueNames.h"
#include "compiler/passes/precision/GatherInFp8.h"
#include "compiler/passes/precision/StoredTypes.h"
#include "runtime/ops/OpKind.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

namespace recipec::passes {
namespace {

using ir::Op;
using ir::OpKind;
using ir::ValueId;

class Bucketing {
public:
  Bucketing(ir::Module& program, ir::DType reduction)
      : program(program), reduction(reduction), names(program) {
    for (ir::Region& region : program.regions)
      findMembers(region);
  }

  void run() {
    if (members.empty())
      return;
    for (const ir::Function& function : program.functions)
      findLayers(function);
    for (ir::Function& function : program.functions)
      run(function);
    castShards(program, narrow);
    std::ranges::move(
        transposes,
        std::back_inserter(ir::obtainFunction(program, "begin").ops));
  }

private:
  /// A parameter or gradient without a buffer of its own.
  struct Member {
    const ir::Region* region;
    int64_t start;
    bool isGradient;
  };

  void findMembers(ir::Region& region) {
    for (size_t i = 0; i < region.params.size(); ++i) {
      const ir::Param& param = program[region.params[i]];
      if (region.param == ValueId::none)
        members[param.value] = {&region, region.starts[i], false};
      if (region.narrowPart != ValueId::none)
        addNarrow(region, i);
      if (region.gradient == ValueId::none && param.trainable)
        members[param.gradient] = {&region, region.starts[i], true};
    }
  }

  void addNarrow(ir::Region& region, size_t number) {
    const ir::Param& param = program[region.params[number]];
    if (region.narrow != ValueId::none)
      kept[param.value] = &region.narrowParams[number];
    ir::Value scale;
    scale.name = names.make(param.name + ".scale");
    scale.kind = ir::ValueKind::parameter;
    scale.range = program[param.value].range;
    ValueId made = ir::addValue(program, std::move(scale));
    scales[param.value] = made;
    narrow.push_back(
        {&region, region.starts[number], region.params[number], made});
  }

  void findLayers(const ir::Function& function) {
    for (const Op& op : function.ops)
      for (const auto* list : {&op.operands, &op.results})
        for (ValueId value : *list)
          if (auto member = members.find(value);
              member != members.end() && op.layer >= 0)
            layersOf[member->second.region].insert(op.layer);
  }

  void run(ir::Function& function) {
    std::vector<Op> ops = std::move(function.ops);
    layer = -1;
    for (Op& op : ops) {
      if (op.layer >= 0 && op.layer != layer) {
        endRuns([&](const Whole& whole) {
          return !layersOf[whole.region].contains(op.layer);
        });
        layer = op.layer;
      }
      if (isCast(op)) {
        replaceCast(op);
        continue;
      }
      for (auto* list : {&op.operands, &op.results})
        for (ValueId& value : *list)
          value = inPlace(value, op);
      out.push_back(std::move(op));
    }
    endRuns([](const Whole&) { return true; });
    function.ops = std::exchange(out, {});
  }

  /// Whether the op quantizes a parameter that is gathered in fp8.
  bool isCast(const Op& op) const {
    return op.kind == OpKind::Quantize && scales.contains(op.operands[0]);
  }

  void replaceCast(const Op& cast) {
    const ValueId param = cast.operands[0], plain = cast.results[0],
                  turned = cast.results[2];
    if (const auto own = kept.find(param); own != kept.end()) {
      replaceKept(cast, *own->second);
      return;
    }
    const ValueId view = inPlace(param, cast);
    if (plain != ValueId::none)
      replaced[plain] = view;
    replaced[cast.results[1]] = scales.at(param);
    if (turned != ValueId::none)
      emit(OpKind::Transpose, cast, {view}, turned).attributes["lead"] =
          cast.attributes.at("lead");
  }

  /// `own` is the full fp8 matrix that each rank keeps; `none` at the first
  /// cast, the forward pass's, whose results the backward pass also reads.
  /// Later casts belong to the evaluation.
  void replaceKept(const Op& cast, ValueId& own) {
    const ValueId plain = cast.results[0], turned = cast.results[2];
    replaced[cast.results[1]] = scales.at(cast.operands[0]);
    if (own != ValueId::none) {
      replaced[plain] = own;
      return;
    }
    assert(plain != ValueId::none && "the forward pass reads it");
    own = plain;
    program[own].kind = ir::ValueKind::parameter;
    if (turned == ValueId::none)
      return;
    program[turned].kind = ir::ValueKind::parameter;
    Op& transpose =
        transposes.emplace_back(opOf(OpKind::Transpose, cast, {own}, turned));
    transpose.attributes["lead"] = cast.attributes.at("lead");
    transpose.layer = -1;
  }

  /// The value that replaces a member or the result of its cast.
  ValueId inPlace(ValueId value, const Op& user) {
    if (auto made = replaced.find(value); made != replaced.end())
      return made->second;
    auto member = members.find(value);
    if (member == members.end())
      return value;
    auto known = views.find(value);
    if (known != views.end())
      return known->second;
    ValueId whole = wholeOf(member->second, user);
    ir::Value view = program[value];
    view.kind = ir::ValueKind::temporary;
    view.type = program[whole].type;
    view.name = names.make(view.name + ".view");
    ValueId made = ir::addValue(program, std::move(view));
    emit(OpKind::View, user, {whole}, made).attributes["start"] =
        member->second.start;
    return views[value] = made;
  }

  /// The temporary that holds the member's region until the end of the run.
  ValueId wholeOf(const Member& member, const Op& user) {
    const ir::Region& region = *member.region;
    for (const Whole& whole : wholes)
      if (whole.region == &region && whole.isGradient == member.isGradient)
        return whole.value;
    ValueId made =
        member.isGradient ? makeGradient(region, user) : gather(region, user);
    wholes.push_back({&region, member.isGradient, made});
    return made;
  }

  ValueId gather(const ir::Region& region, const Op& user) {
    const ValueId part = region.sentPart();
    ir::Sharding sharding = program[part].sharding;
    sharding.dims[0] = sharding.dims[0] - region.shard;
    ValueId made = makeLike(part, region, ".gathered", std::move(sharding));
    Op& op = emit(OpKind::AllGather, user, {part}, made);
    op.attributes["dim"] = int64_t(0);
    op.group = region.shard;
    return made;
  }

  ValueId makeGradient(const ir::Region& region, const Op& user) {
    ir::Sharding sharding = program[region.gradientPart].sharding;
    sharding.dims[0] = sharding.dims[0] - region.shard;
    sharding.partial = sharding.partial | region.shard;
    ValueId made =
        makeLike(region.gradientPart, region, ".gradient", std::move(sharding));
    emit(OpKind::Zero, user, {}, made);
    return made;
  }

  template <class Predicate> void endRuns(const Predicate& isOver) {
    for (const Whole& whole : wholes)
      if (isOver(whole) && whole.isGradient)
        reduce(*whole.region, whole.value);
    std::erase_if(views, [&](const auto& view) {
      return std::any_of(wholes.begin(), wholes.end(), [&](const Whole& whole) {
        const Member& member = members.at(view.first);
        return whole.region == member.region &&
               whole.isGradient == member.isGradient && isOver(whole);
      });
    });
    std::erase_if(wholes, isOver);
  }

  void reduce(const ir::Region& region, ValueId gradient) {
    Op user = out.back();
    user.layer = layer;
    gradient = cast(gradient, reduction, region, user);
    ValueId part = makeLike(region.gradientPart, region, ".scattered",
                            program[region.gradientPart].sharding);
    program[part].type = reduction;
    Op& scatter = emit(OpKind::ReduceScatter, user, {gradient}, part);
    scatter.attributes["dim"] = int64_t(0);
    scatter.group = region.shard;
    part = cast(part, program[region.gradientPart].type, region, user);
    emit(OpKind::Add, user, {region.gradientPart, part}, region.gradientPart);
  }

  /// Casts the value; returns the value itself when it has the type.
  ValueId cast(ValueId value, ir::DType type, const ir::Region& region,
               const Op& user) {
    if (program[value].type == type)
      return value;
    ValueId made = makeLike(value, region, ".cast", program[value].sharding);
    program[made].type = type;
    emit(OpKind::Cast, user, {value}, made);
    return made;
  }

  ValueId makeLike(ValueId value, const ir::Region& region, const char* suffix,
                   ir::Sharding sharding) {
    ir::Value made = program[value];
    made.kind = ir::ValueKind::temporary;
    made.name = names.make("region." + region.name + suffix);
    made.sharding = std::move(sharding);
    return ir::addValue(program, std::move(made));
  }

  /// Appends an op for the layer and source range of `user`.
  Op& emit(OpKind kind, const Op& user, std::vector<ValueId> operands,
           ValueId result) {
    return out.emplace_back(opOf(kind, user, std::move(operands), result));
  }

  Op opOf(OpKind kind, const Op& user, std::vector<ValueId> operands,
          ValueId result) const {
    Op op{};
    op.kind = kind;
    op.name = program[result].name;
    op.layer = user.layer;
    op.range = user.range;
    op.operands = std::move(operands);
    op.results = {result};
    return op;
  }

  /// A region's temporary in the current run.
  struct Whole {
    const ir::Region* region;
    bool isGradient;
    ValueId value;
  };

  ir::Module& program;
  ir::DType reduction; // type of the reduction of gradients
  ValueNames names;
  std::unordered_map<ValueId, Member> members;
  std::vector<Fp8Member> narrow;                 // gathered in fp8
  std::unordered_map<ValueId, ValueId> scales;   // of `narrow`, by parameter
  std::unordered_map<ValueId, ValueId> replaced; // by result of a cast
  /// By parameter: its entry in the `narrowParams` of its region.
  std::unordered_map<ValueId, ValueId*> kept;
  std::vector<Op> transposes;                          // of `kept`, for `begin`
  std::map<const ir::Region*, std::set<int>> layersOf; // by region
  int layer = -1; // current layer; -1 before the first
  std::vector<Whole> wholes;
  std::unordered_map<ValueId, ValueId> views; // by member, in the current runs
  std::vector<Op> out;
};

} // namespace

void bucket(ir::Module& program, const recipe::Recipe& recipe) {
  Bucketing(program, StoredTypes(recipe).reduction).run();
}

} // namespace recipec::passes
