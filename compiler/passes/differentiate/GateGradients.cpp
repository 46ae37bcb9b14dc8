// See GateGradients.h.
//
// 1. Move the redistribution of gates up to their router.
// 2. Walk back from each weighted combine whose gates are active, through
//    collectives, unpacking and the sum of both passes, to expert linears.
// 3. Keep the paths if the walk reached nothing else.

#include "compiler/passes/differentiate/GateGradients.h"

#include "runtime/ops/OpKind.h"
#include "runtime/ops/OpTable.h"

#include <map>
#include <utility>

namespace recipec::passes {
namespace {

using ir::Op;
using ir::OpKind;
using ir::ValueId;

bool redistributes(const Op& op) {
  return ops::traitsOf(op.kind).isCollective || op.kind == OpKind::Slice;
}

using Makers = std::unordered_map<ValueId, const Op*>;

Makers makersOf(const ir::Function& forward) {
  Makers makers;
  for (const Op& op : forward.ops)
    for (ValueId result : op.results)
      if (result != ValueId::none)
        makers[result] = &op;
  return makers;
}

class Walk {
public:
  Walk(const ir::Function& forward,
       const std::function<bool(ValueId)>& isActive)
      : isActive(isActive), makers(makersOf(forward)) {
    for (const Op& op : forward.ops)
      for (ValueId operand : op.operands)
        if (operand != ValueId::none)
          ++readers[operand];
  }

  /// The paths to a combine with their starts; none if one is not known.
  std::vector<std::pair<ValueId, GatePath>> pathsTo(const Op& combine) {
    found.clear();
    if (!follow(combine.operands[0], {&combine, {}}))
      found.clear();
    return std::move(found);
  }

private:
  /// Returns whether all rows of `rows` come along known paths.
  bool follow(ValueId rows, GatePath path) {
    const auto maker = makers.find(rows);
    if (maker == makers.end() || readers[rows] != 1)
      return false;
    const Op& op = *maker->second;
    if (op.kind == OpKind::Add)
      return follow(op.operands[0], path) && follow(op.operands[1], path);
    if (op.kind == OpKind::ExpertLinear)
      return start(op.operands[0], std::move(path));
    if (!redistributes(op) && op.kind != OpKind::UnpackRows)
      return false;
    path.moves.insert(path.moves.begin(), &op);
    return follow(op.operands[0], std::move(path));
  }

  bool start(ValueId input, GatePath path) {
    if (readers[input] != 1 || !isActive(input) || !makers.contains(input))
      return false;
    found.emplace_back(input, std::move(path));
    return true;
  }

  const std::function<bool(ValueId)>& isActive;
  Makers makers;
  std::unordered_map<ValueId, int> readers;
  std::vector<std::pair<ValueId, GatePath>> found;
};

} // namespace

void moveGatesToRouters(ir::Function& forward) {
  const Makers makers = makersOf(forward);
  std::map<const Op*, std::vector<const Op*>> behind; // by router
  std::unordered_set<const Op*> moved;
  for (const Op& op : forward.ops) {
    if (op.kind != OpKind::Combine || op.operands[2] == ValueId::none)
      continue;
    std::vector<const Op*> chain;
    const Op* maker = makers.at(op.operands[2]);
    for (; redistributes(*maker); maker = makers.at(maker->operands[0]))
      if (moved.insert(maker).second)
        chain.push_back(maker);
    std::vector<const Op*>& own = behind[maker];
    own.insert(own.end(), chain.rbegin(), chain.rend());
  }
  std::vector<Op> ops;
  for (const Op& op : forward.ops) {
    if (!moved.contains(&op))
      ops.push_back(op);
    if (const auto found = behind.find(&op); found != behind.end())
      for (const Op* each : found->second)
        ops.push_back(*each);
  }
  forward.ops = std::move(ops);
}

GatePaths::GatePaths(const ir::Function& forward,
                     const std::function<bool(ValueId)>& isActive) {
  Walk walk(forward, isActive);
  for (const Op& op : forward.ops) {
    if (op.kind != OpKind::Combine || op.operands[2] == ValueId::none ||
        !isActive(op.operands[2]))
      continue;
    auto found = walk.pathsTo(op);
    if (found.empty())
      continue;
    combines.insert(&op);
    for (auto& [input, path] : found)
      paths.emplace(input, std::move(path));
  }
}

const GatePath* GatePaths::from(ValueId input) const {
  const auto path = paths.find(input);
  return path == paths.end() ? nullptr : &path->second;
}

ir::AxisSet splitOfRows(const Cotangents& rules, ValueId rows) {
  return splitFrom(rules.shardingOf(rows), 2);
}

void differentiateGates(Cotangents& rules, const GatePath& path,
                        const Op& maker, ValueId dh) {
  const ValueId h = maker.results[0];
  const ValueId dots = rules.makeDots(h, splitOfRows(rules, h));
  rules.emit(opFor(maker, OpKind::RowDots, {dh, rules.read(h)}, {dots}));
  differentiateGatesByDots(rules, path, dots);
}

void differentiateGatesByDots(Cotangents& rules, const GatePath& path,
                              ValueId dots) {
  for (const Op* move : path.moves) {
    Op op = *move;
    op.operands[0] = dots;
    for (size_t i = 1; i < op.operands.size(); ++i)
      if (op.operands[i] != ValueId::none)
        op.operands[i] = rules.read(op.operands[i]);
    const ValueId rows = move->results[0];
    dots = op.results[0] = rules.makeDots(rows, rules.shardingOf(rows).partial);
    rules.emit(std::move(op));
  }
  const Op& combine = *path.combine;
  const ValueId gates = combine.operands[2];
  const ValueId dgates = rules.makeCotangent(gates);
  rules.emit(opFor(combine, OpKind::GatesBackward,
                   {dots, rules.read(combine.operands[1]), rules.read(gates)},
                   {dgates}));
  rules.push(gates, dgates, combine);
}

} // namespace recipec::passes
