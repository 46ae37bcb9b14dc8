// A parameter has one scale, and a rank has only a shard of the parameter. A
// function that casts shards does the following for each group of ranks that
// share regions:
//
// 1. compute the amax of the rank's shard of each parameter,
// 2. all-reduce all of these maxima at once,
// 3. cast the shards, now that the scales are known,
// 4. all-gather the regions of which each rank keeps the full copy in fp8.
//
// `begin` casts the parameters that the last step changed, and `prepare` the
// frozen ones. Evaluation may follow an update or run without a step, so it
// casts all parameters.

#include "compiler/passes/precision/GatherInFp8.h"

#include "compiler/passes/ValueNames.h"
#include "runtime/ops/OpKind.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace recipec::passes {
namespace {

using ir::Op;
using ir::OpKind;
using ir::ValueId;

/// Whether an op casts a whole parameter for which its shards can be cast
/// instead.
bool isCastOfParts(const ir::Module& program, const Op& op) {
  if (op.kind != OpKind::Quantize || op.attributes.contains("blocks") ||
      op.operands[1] != ValueId::none)
    return false;
  return std::ranges::all_of(op.results, [&](ValueId result) {
    return result == ValueId::none ||
           (program[result].kind != ir::ValueKind::state &&
            program[result].type != ir::DType::f8e5m2);
  });
}

class PartCasts {
public:
  explicit PartCasts(ir::Module& program) : program(program), names(program) {}

  void add(const char* function, const std::vector<Fp8Member>& members) {
    std::map<uint32_t, std::vector<Fp8Member>> groups;
    for (const Fp8Member& member : members)
      groups[member.region->shard.raw()].push_back(member);
    for (const auto& [axes, together] : groups)
      addGroup(ir::obtainFunction(program, function), together);
  }

private:
  void addGroup(ir::Function& function, const std::vector<Fp8Member>& members) {
    const ir::AxisSet group = members.front().region->shard;
    const ValueId maxima = addMaxima(int64_t(members.size()));
    const std::string& name = program[maxima].name;
    function.ops.push_back(op(OpKind::Zero, name, {}, {maxima}));
    for (size_t i = 0; i < members.size(); ++i)
      function.ops.push_back(ofMember(OpKind::ShardAmax, members[i], i,
                                      {members[i].region->paramPart},
                                      {maxima}));
    Op exchange = op(OpKind::AllReduce, name, {maxima}, {maxima});
    exchange.attributes["reduce"] = std::string("max");
    exchange.group = group;
    function.ops.push_back(std::move(exchange));
    for (size_t i = 0; i < members.size(); ++i)
      function.ops.push_back(
          ofMember(OpKind::QuantizeShard, members[i], i,
                   {members[i].region->paramPart, maxima},
                   {members[i].region->narrowPart, members[i].scale}));
    const ir::Region* gathered = nullptr;
    for (const Fp8Member& member : members)
      if (member.region != std::exchange(gathered, member.region) &&
          member.region->narrow != ValueId::none)
        function.ops.push_back(gather(*member.region));
  }

  Op gather(const ir::Region& region) const {
    Op made = op(OpKind::AllGather, program[region.narrow].name,
                 {region.narrowPart}, {region.narrow});
    made.attributes["dim"] = int64_t(0);
    made.group = region.shard;
    return made;
  }

  Op ofMember(OpKind kind, const Fp8Member& member, size_t place,
              std::vector<ValueId> operands,
              std::vector<ValueId> results) const {
    const ir::Param& param = program[member.param];
    Op made = op(kind, param.name, std::move(operands), std::move(results));
    made.range = program[param.value].range;
    made.group = member.region->shard;
    made.attributes["start"] = member.start;
    made.attributes["count"] = ir::localElements(program, param.value);
    made.attributes["place"] = int64_t(place);
    return made;
  }

  static Op op(OpKind kind, std::string name, std::vector<ValueId> operands,
               std::vector<ValueId> results) {
    Op op{};
    op.kind = kind;
    op.name = std::move(name);
    op.operands = std::move(operands);
    op.results = std::move(results);
    return op;
  }

  ValueId addMaxima(int64_t count) {
    ir::Value value;
    value.name = names.make("fp8_maxima");
    value.type = ir::DType::f32;
    value.dims = {ir::constantDim(program, count)};
    value.sharding.dims = {{}};
    return ir::addValue(program, std::move(value));
  }

  ir::Module& program;
  ValueNames names;
};

} // namespace

std::set<ValueId> findGatheredInFp8(const ir::Module& program) {
  std::set<ValueId> cast, others;
  for (const ir::Function& function : program.functions)
    for (const Op& op : function.ops)
      for (ValueId operand : op.operands)
        (isCastOfParts(program, op) ? cast : others).insert(operand);
  std::set<ValueId> narrow;
  for (const ir::Param& param : program.params)
    if (cast.contains(param.value) && !others.contains(param.value))
      narrow.insert(param.value);
  return narrow;
}

void castShards(ir::Module& program, const std::vector<Fp8Member>& members) {
  std::vector<Fp8Member> trained, frozen;
  for (const Fp8Member& member : members)
    (program[member.param].trainable ? trained : frozen).push_back(member);
  PartCasts casts(program);
  casts.add("begin", trained);
  casts.add("prepare", frozen);
  if (ir::findFunction(program, "evaluate_begin"))
    casts.add("evaluate_begin", members);
}

} // namespace recipec::passes
