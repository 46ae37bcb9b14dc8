// Graph → Program by named dimensions.
//
// 1. Parameters and inputs are split as the layout says for their dimensions.
//    The weight of a norm is sharded like the norm's operand, except for its
//    last dimension, which a norm reads in full.
// 2. Ops are processed in order. Each has a rule for the shardings of its
//    operands and results. An op that contracts a split dimension computes a
//    partial sum, which remains one as long as its readers are linear.
// 3. If an operand needs another sharding, it is converted by the cheapest
//    collectives from any existing form of the value. The new form is kept for
//    later readers, so that q, k and v share one all-gather.
//
// Input: a Graph whose sizes its axes divide. Output: a Program with `forward`.

#include "compiler/passes/shard/Shard.h"

#include "compiler/passes/shard/Sharder.h"
#include "runtime/ops/OpTable.h"

#include <algorithm>
#include <cassert>
#include <limits>

namespace recipec::passes {

using ir::AxisId;
using ir::AxisSet;
using ir::Op;
using ir::OpKind;
using ir::Sharding;
using ir::ValueId;

void Sharder::run() {
  module.isProgram = true;
  for (size_t i = 0; i < forms.size(); ++i)
    forms[i] = {ValueId(i)};
  for (ir::Value& value : module.values)
    value.sharding = {layoutOf(value.dims, false), {}};
  for (ir::Function& function : module.functions)
    shard(function);
}

// ---- layouts

std::vector<AxisSet> Sharder::layoutOf(const std::vector<ir::DimId>& dims,
                                       bool isActivation) const {
  std::vector<AxisSet> result(dims.size());
  AxisSet used;
  auto take = [&](const std::vector<AxisSet>& sets) {
    for (size_t i = 0; i < dims.size(); ++i) {
      AxisSet split = sets[size_t(dims[i])] - used;
      result[i] = result[i] | split;
      used = used | split;
    }
  };
  take(axes.everywhere);
  if (isActivation)
    take(axes.residual);
  return result;
}

std::vector<AxisSet> Sharder::layoutOf(ValueId value) const {
  return layoutOf(module[value].dims, true);
}

const Sharding& Sharder::shardingOf(ValueId value) const {
  return module[value].sharding;
}

// ---- collectives

double Sharder::cost(ValueId form, const Sharding& wanted) const {
  const Sharding& from = shardingOf(form);
  AxisSet reduced = from.partial - wanted.partial;
  if (!(wanted.partial - from.partial).empty())
    return std::numeric_limits<double>::infinity();
  double total = 0;
  if (!(reduced & splitOf(wanted.dims)).empty())
    total += 1; // reduce-scatter
  if (!(reduced - splitOf(wanted.dims)).empty())
    total += 2; // all-reduce: a reduce-scatter and an all-gather
  AxisSet kept = splitOf(wanted.dims);
  for (size_t i = 0; i < from.dims.size(); ++i) {
    AxisSet left = from.dims[i] - wanted.dims[i];
    if (!(left - kept).empty())
      total += 1; // all-gather
    if (AxisSet moved = left & kept; !moved.empty())
      total += 1.0 / double(ir::sizeOf(module, moved)); // all-to-all
  }
  return total;
}

ValueId Sharder::bring(ValueId value, const Sharding& wanted,
                       const Op& reader) {
  std::vector<ValueId>& known = forms[size_t(value)];
  ValueId best = known.front();
  for (ValueId form : known)
    if (cost(form, wanted) < cost(best, wanted))
      best = form;
  int maker = layers[size_t(value)].value_or(reader.layer);
  ValueId result = convert(best, wanted, {maker, reader.layer});
  if (std::find(known.begin(), known.end(), result) == known.end())
    known.push_back(result);
  return result;
}

ValueId Sharder::convert(ValueId form, const Sharding& wanted, Ends ends) {
  form = reduce(form, wanted, ends);
  form = gather(form, wanted, ends, /*isOrdered=*/true);
  form = slice(form, wanted, ends, /*isOrdered=*/false);
  for (size_t i = 0; i < wanted.dims.size(); ++i)
    for (size_t j = 0; j < wanted.dims.size(); ++j) {
      AxisSet moved =
          (shardingOf(form).dims[i] - wanted.dims[i]) & wanted.dims[j];
      if (!moved.empty())
        form = exchange(form, moved, int(j), int(i), ends);
    }
  form = gather(form, wanted, ends, /*isOrdered=*/false);
  return slice(form, wanted, ends, /*isOrdered=*/true);
}

ValueId Sharder::slice(ValueId form, const Sharding& wanted, Ends ends,
                       bool isOrdered) {
  for (size_t i = 0; i < wanted.dims.size(); ++i) {
    if (isPlaces(module[form].dims[i]) == isOrdered)
      continue;
    AxisSet sliced = wanted.dims[i] - splitOf(shardingOf(form).dims);
    for (size_t axis = 0; axis < module.axes.size(); ++axis)
      if (sliced.contains(AxisId(axis)))
        form = collective(OpKind::Slice, form, AxisSet(AxisId(axis)), int(i),
                          ends);
  }
  return form;
}

ValueId Sharder::gather(ValueId form, const Sharding& wanted, Ends ends,
                        bool isOrdered) {
  AxisSet kept = splitOf(wanted.dims);
  for (size_t i = 0; i < wanted.dims.size(); ++i) {
    if (isPlaces(module[form].dims[i]) == isOrdered)
      continue;
    AxisSet gathered = shardingOf(form).dims[i] - wanted.dims[i] - kept;
    if (!gathered.empty())
      form = collective(OpKind::AllGather, form, gathered, int(i), ends);
  }
  return form;
}

ValueId Sharder::reduce(ValueId form, const Sharding& wanted, Ends ends) {
  for (size_t i = 0; i < wanted.dims.size(); ++i) {
    AxisSet sums = shardingOf(form).partial - wanted.partial;
    AxisSet scattered = sums & wanted.dims[i];
    if (!scattered.empty())
      form = collective(OpKind::ReduceScatter, form, scattered, int(i), ends);
  }
  AxisSet sums = shardingOf(form).partial - wanted.partial;
  if (!sums.empty())
    form = collective(OpKind::AllReduce, form, sums, -1, ends);
  return form;
}

ValueId Sharder::exchange(ValueId form, AxisSet group, int split, int concat,
                          Ends ends) {
  Op op = opOn(OpKind::AllToAll, form, ends.reader);
  op.operands.push_back(countsOf(form));
  op.group = group;
  op.attributes["split"] = int64_t(split);
  op.attributes["concat"] = int64_t(concat);
  ir::Value value = module[form];
  std::vector<AxisSet>& dims = value.sharding.dims;
  dims[size_t(concat)] = dims[size_t(concat)] - group;
  dims[size_t(split)] = dims[size_t(split)] | group;
  return emit(std::move(op), std::move(value));
}

ValueId Sharder::collective(OpKind kind, ValueId form, AxisSet group, int dim,
                            Ends ends) {
  bool isLarger = kind == OpKind::AllGather;
  Op op = opOn(kind, form, isLarger ? ends.reader : ends.maker);
  ir::Value value = module[form];
  if (dim >= 0)
    op.attributes["dim"] = int64_t(dim);
  op.group = group;
  if (kind == OpKind::AllReduce)
    op.attributes["reduce"] = std::string("sum");
  else if (AxisSet& split = value.sharding.dims[size_t(dim)]; isLarger)
    split = split - group;
  else
    split = split | group;
  if (kind == OpKind::AllReduce || kind == OpKind::ReduceScatter)
    value.sharding.partial = value.sharding.partial - group;
  return emit(std::move(op), std::move(value));
}

Op Sharder::opOn(OpKind kind, ValueId form, int layer) const {
  Op op{};
  op.kind = kind;
  op.layer = layer;
  op.range = module[form].range;
  op.operands = {form};
  return op;
}

ValueId Sharder::emit(Op op, ir::Value value) {
  value.kind = ir::ValueKind::temporary;
  value.name = names.make(join(value.name, ops::opName(op.kind)));
  op.name = value.name;
  op.results = {ir::addValue(module, std::move(value))};
  out.push_back(std::move(op));
  return out.back().results[0];
}

// ---- ops

void Sharder::shard(ir::Function& function) {
  for (const Op& op : function.ops) {
    if (isNorm(op.kind) && op.operands[1] != ValueId::none)
      module[op.operands[1]].sharding = ofNorm(op);
    if (op.kind == OpKind::ExpertLinear)
      module[op.operands[1]].sharding = ofExperts(op);
  }
  std::vector<Op> ops = std::move(function.ops);
  out.clear();
  out.reserve(ops.size() + ops.size() / 2);
  for (Op& op : ops) {
    for (ValueId result : op.results)
      if (result != ValueId::none)
        layers[size_t(result)] = op.layer;
    rule(op);
  }
  function.ops = std::move(out);
  shareLosses(function);
}

void Sharder::shareLosses(ir::Function& function) {
  for (Op& op : function.ops) {
    if (op.kind != OpKind::Route || op.results[2] == ValueId::none)
      continue;
    AxisSet alike = shardingOf(op.results[2]).partial -
                    splitOf(shardingOf(op.operands[0]).dims);
    op.attributes["share"] = 1.0 / double(ir::sizeOf(module, alike));
  }
}

Sharding Sharder::ofNorm(const Op& op) const {
  std::vector<AxisSet> dims = ofRows(op.operands[0]);
  size_t width = module[op.operands[1]].dims.size();
  return {{dims.end() - long(width), dims.end()}, {}};
}

void Sharder::set(ValueId result, std::vector<AxisSet> dims, AxisSet partial) {
  module[result].sharding = {std::move(dims), partial};
}

void Sharder::require(Op& op, size_t operand, std::vector<AxisSet> dims,
                      AxisSet partial) {
  op.operands[operand] =
      bring(op.operands[operand], {std::move(dims), partial}, op);
}

void Sharder::rule(Op& op) {
  switch (ops::infoOf(op.kind).family) {
  case ops::OpFamily::activations:
    return shardActivation(op);
  case ops::OpFamily::attention:
    return shardAttention(op);
  case ops::OpFamily::dense:
    return shardDense(op);
  case ops::OpFamily::experts:
    return shardExperts(op);
  case ops::OpFamily::loss:
    return shardLoss(op);
  case ops::OpFamily::moves:
    return shardMoves(op);
  case ops::OpFamily::norms:
    return shardNorm(op);
  case ops::OpFamily::sampling:
    return shardSampling(op);
  case ops::OpFamily::stateSpace:
    return shardStateSpace(op);
  case ops::OpFamily::collectives:
  case ops::OpFamily::optimizer:
  case ops::OpFamily::quantization:
    assert(false && "a Graph holds the ops of models alone");
  }
}

bool Sharder::isNorm(OpKind kind) {
  return kind == OpKind::RmsNorm || kind == OpKind::LayerNorm;
}

std::vector<AxisSet> Sharder::ofRows(ValueId x) const {
  std::vector<ir::DimId> lead = module[x].dims;
  lead.pop_back();
  std::vector<AxisSet> dims = layoutOf(lead, true);
  dims.emplace_back();
  return dims;
}

void shard(ir::Module& module, const Layout& layout) {
  Sharder(module, layout).run();
}

} // namespace recipec::passes
