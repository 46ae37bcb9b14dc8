// Sharding of mixtures of experts.
//
// 1. A router chooses for whole sequences. A dispatch copies each rank's tokens
//    to rows, and a combine returns the rows to the ranks of their tokens.
// 2. In between, each rank of `ep` has its group of experts and each rank of
//    `etp` a part of each expert. Collectives move the rows there and back,
//    like any operand with another sharding, and read from the counts how many
//    rows hold tokens.

#include "compiler/passes/build/ExpertRouting.h"
#include "compiler/passes/shard/Sharder.h"
#include "runtime/ops/ExpertOps.h"

#include <algorithm>

namespace recipec::passes {

using ir::AxisSet;
using ir::Op;
using ir::Sharding;
using ir::ValueId;

void Sharder::shardExperts(Op& op) {
  switch (ops::ForwardExpertOp(op.kind)) {
  case ops::ForwardExpertOp::Route:
    route(op);
    break;
  case ops::ForwardExpertOp::Dispatch:
    dispatch(op);
    break;
  case ops::ForwardExpertOp::PackRows:
    packRows(op);
    break;
  case ops::ForwardExpertOp::UnpackRows:
    unpackRows(op);
    break;
  case ops::ForwardExpertOp::ExpertLinear:
    expertLinear(op);
    break;
  case ops::ForwardExpertOp::Combine:
    combine(op);
    break;
  }
  out.push_back(std::move(op));
}

bool Sharder::isPlaces(ir::DimId dim) const {
  std::string_view name = module[dim].name;
  return name.starts_with(placesDim) || name.starts_with(blocksDim);
}

void Sharder::route(Op& op) {
  AxisSet batch = layoutOf(op.operands[0])[0];
  require(op, 0, {batch, {}, {}});
  for (size_t tokens : {1, 3})
    if (op.operands[tokens] != ValueId::none)
      require(op, tokens, {batch, {}});
  set(op.results[0], {batch, {}, {}});
  set(op.results[1], {batch, {}, {}});
  for (size_t sum : {3, 4})
    if (op.results[sum] != ValueId::none)
      set(op.results[sum], {{}}, batch);
}

void Sharder::dispatch(Op& op) {
  std::vector<AxisSet> tokens = layoutOf(op.operands[0]);
  tokens[1] = tokens[1] | (ir::axesOf(module, "tp") - splitOf(tokens));
  for (size_t i = 0; i < 3; ++i)
    if (op.operands[i] != ValueId::none)
      require(op, i, {tokens[0], tokens[1], {}});
  AxisSet parts = tokens[0] | tokens[1];
  layPlaces(op, parts);
  set(op.results[0], {{}, parts, {}});
  set(op.results[1], {tokens[0], tokens[1], {}});
  set(op.results[2], {{}, parts, {}});
  counts[module[op.results[0]].dims[1]] = op.results[2];
}

ValueId Sharder::countsOf(ValueId form) const {
  const std::vector<ir::DimId>& dims = module[form].dims;
  const auto counted = dims.size() > 1 ? counts.find(dims[1]) : counts.end();
  if (counted == counts.end())
    return ValueId::none;
  const std::vector<AxisSet>& rows = shardingOf(form).dims;
  const std::vector<ValueId>& known = forms[size_t(counted->second)];
  const auto beside = std::ranges::find_if(known, [&](ValueId each) {
    const std::vector<AxisSet>& blocks = shardingOf(each).dims;
    return blocks[0] == rows[0] && blocks[1] == rows[1];
  });
  return beside == known.end() ? ValueId::none : *beside;
}

void Sharder::layPlaces(const Op& op, AxisSet parts) {
  AxisSet groups = ir::axesOf(module, "ep");
  const std::vector<ir::DimId>& counts = module[op.results[2]].dims;
  axes.everywhere[size_t(counts[0])] = groups;
  for (ir::DimId dim : {module[op.results[0]].dims[1], counts[1]})
    axes.everywhere[size_t(dim)] = parts - (groups | ir::axesOf(module, "etp"));
}

void Sharder::packRows(Op& op) {
  std::vector<AxisSet> rows = layoutOf(op.operands[0]);
  std::vector<AxisSet> counts = layoutOf(op.operands[1]);
  axes.everywhere[size_t(module[op.results[0]].dims[1])] = rows[1];
  axes.everywhere[size_t(module[op.results[1]].dims[1])] = rows[1];
  require(op, 0, rows);
  require(op, 1, counts);
  set(op.results[2], {{}}, rows[0] | rows[1]);
  set(op.results[0], std::move(rows));
  set(op.results[1], std::move(counts));
}

void Sharder::unpackRows(Op& op) {
  std::vector<AxisSet> rows = layoutOf(op.results[0]);
  AxisSet sums = shardingOf(forms[size_t(op.operands[0])].front()).partial;
  require(op, 0, rows, sums);
  require(op, 1, layoutOf(op.operands[1]));
  set(op.results[0], std::move(rows), sums);
}

Sharding Sharder::ofExperts(const Op& op) const {
  AxisSet within = ir::axesOf(module, "ep") | ir::axesOf(module, "etp");
  Sharding sharding = shardingOf(op.operands[1]);
  for (AxisSet& split : sharding.dims)
    split = split & within;
  return sharding;
}

void Sharder::expertLinear(Op& op) {
  const std::vector<AxisSet> weight = shardingOf(op.operands[1]).dims;
  std::vector<AxisSet> x = layoutOf(op.operands[0]);
  size_t from = x.size() - 2, to = weight.size() - 1 - from;
  bool isStacked = ops::ExpertLinearAttributes(op.attributes).stacked;
  auto part = [&](size_t first, size_t count) {
    auto begin = weight.begin() + 1 + long(first);
    return std::vector<AxisSet>(begin, begin + long(count));
  };
  std::vector<AxisSet> inner = part(isStacked ? 0 : to, from);
  std::vector<AxisSet> outer = part(isStacked ? from : 0, to);
  std::vector<AxisSet> y = {x[0], x[1]};
  y.insert(y.end(), outer.begin(), outer.end());
  std::copy(inner.begin(), inner.end(), x.begin() + 2);
  require(op, 0, std::move(x));
  require(op, 2, layoutOf(op.operands[2]));
  set(op.results[0], std::move(y), splitOf(inner));
}

void Sharder::combine(Op& op) {
  const std::vector<AxisSet> tokens = shardingOf(op.operands[1]).dims;
  require(op, 0, {{}, tokens[0] | tokens[1], {}});
  if (op.operands[2] != ValueId::none)
    require(op, 2, tokens);
  set(op.results[0], tokens);
}

} // namespace recipec::passes
