// Ops that slice and join dimensions: the call names the dimensions of their
// results. Also attention whose values are narrower than its keys: the values
// are padded with zeros, and the result is cut.

#include "compiler/passes/build/CallAttributes.h"
#include "compiler/passes/build/GraphBuilder.h"
#include "compiler/passes/build/InferDims.h"
#include "runtime/ops/OpKind.h"

#include <algorithm>

namespace recipec::passes {

using ir::DimId;
using ir::OpKind;
using ir::ValueId;

bool GraphBuilder::nameDims(const recipe::Call& call, ir::Op& op) {
  switch (op.kind) {
  case OpKind::Narrow:
    return call.op == "select" ? select(call, op) : narrow(call, op);
  case OpKind::Concat:
    return concat(call, op);
  case OpKind::Broadcast:
    broadcast(call, op);
    return true;
  default:
    return true;
  }
}

std::string GraphBuilder::sized(DimId dim) const {
  return "`" + module[dim].name + "` = " + std::to_string(module[dim].size);
}

bool GraphBuilder::narrow(const recipe::Call& call, ir::Op& op) {
  const auto& mapping = std::get<recipe::DimsMapping>(at(call, "dims").data);
  std::vector<DimId> dims = module[op.operands[0]].dims;
  const std::optional<size_t> place =
      mapping.from.size() == 1 && mapping.to.size() == 1
          ? placeOf(dims, dimOf(mapping.from[0]))
          : std::nullopt;
  if (!place) {
    engine
        .report(diag::Kind::ShapeMismatch, call.range,
                "`narrow` takes some of one dimension of its operand, here " +
                    listed(dims) + ", and its `dims` are " +
                    listed(dimsOf(mapping.from)) + " -> " +
                    listed(dimsOf(mapping.to)))
        .help("write `" + module[dims.back()].name +
              " -> part`, where `part` is a smaller dimension");
    return false;
  }
  DimId& sliced = dims[*place];
  DimId to = dimOf(mapping.to[0]);
  int64_t begin = std::get<int64_t>(at(call, "begin").data);
  if (begin < 0 || begin > module[sliced].size - module[to].size) {
    engine
        .report(diag::Kind::ShapeMismatch, call.range,
                "`narrow` takes " + sized(to) +
                    " from `begin` = " + std::to_string(begin) +
                    ", and the operand has " + sized(sliced))
        .help("choose `begin` from 0 to " +
              std::to_string(
                  std::max<int64_t>(module[sliced].size - module[to].size, 0)) +
              ", or a narrower part")
        .label(module[to].range, sized(to))
        .label(module[sliced].range, sized(sliced));
    return false;
  }
  setSlice(op, begin, dims.size() - 1 - *place);
  sliced = to;
  module[op.results[0]].dims = std::move(dims);
  return true;
}

bool GraphBuilder::select(const recipe::Call& call, ir::Op& op) {
  std::vector<DimId> dims = module[op.operands[0]].dims;
  DimId over = dimOf(std::get<recipe::DimValue>(at(call, "over").data).dim);
  const std::optional<size_t> place = placeOf(dims, over);
  // A token, or a row of an expert, keeps a dimension of its own.
  if (!place || dims.size() <= 3) {
    engine
        .report(diag::Kind::ShapeMismatch, call.range,
                "`select` takes one of several parts of a token, and " +
                    listed(dims) +
                    (place ? " has no dimension besides " + sized(over)
                           : " has no " + sized(over)))
        .note("the operand is made here", module[op.operands[0]].range)
        .help("make the operand with both dimensions, as in `linear(..., "
              "hidden -> [parts, width], name = \"...\")`");
    return false;
  }
  int64_t index = std::get<int64_t>(at(call, "index").data);
  if (index < 0 || index >= module[over].size) {
    engine
        .report(diag::Kind::ShapeMismatch, call.range,
                "`select` takes `index` = " + std::to_string(index) +
                    ", and the operand has " + sized(over))
        .help("choose `index` from 0 to " +
              std::to_string(module[over].size - 1))
        .label(module[over].range, sized(over));
    return false;
  }
  setSlice(op, index, dims.size() - 1 - *place);
  dims.erase(dims.begin() + long(*place));
  module[op.results[0]].dims = std::move(dims);
  return true;
}

std::optional<size_t> GraphBuilder::placeOf(const std::vector<DimId>& dims,
                                            DimId dim) const {
  for (size_t i = dims.size(); i-- > 0;)
    if (sameDim(module, dims[i], dim))
      return i;
  return std::nullopt;
}

void GraphBuilder::setSlice(ir::Op& op, int64_t begin, size_t behind) {
  op.attributes["begin"] = begin;
  if (behind > 0)
    op.attributes["behind"] = int64_t(behind);
}

bool GraphBuilder::concat(const recipe::Call& call, ir::Op& op) {
  std::vector<DimId> a = module[op.operands[0]].dims;
  const std::vector<DimId>& b = module[op.operands[1]].dims;
  bool fits = a.size() == b.size();
  for (size_t i = 0; fits && i + 1 < a.size(); ++i)
    fits = sameDim(module, a[i], b[i]);
  if (!fits) {
    engine
        .report(diag::Kind::ShapeMismatch, call.range,
                "`concat` takes operands that differ in the last dimension "
                "alone, and not " +
                    listed(a) + " and " + listed(b))
        .help("make the other dimensions equal: a `linear` changes the last "
              "ones of its operand");
    return false;
  }
  DimId to = dimOf(std::get<recipe::DimValue>(at(call, "to").data).dim);
  if (module[to].size - module[a.back()].size != module[b.back()].size) {
    auto quoted = [&](DimId dim) {
      return sized(dim).substr(0, sized(dim).find(" ="));
    };
    auto bare = [&](DimId dim) {
      return quoted(dim).substr(1, quoted(dim).size() - 2);
    };
    const bool isPart =
        sameDim(module, to, a.back()) || sameDim(module, to, b.back());
    engine
        .report(diag::Kind::ShapeMismatch, call.range,
                "`concat` makes " + sized(to) + " of " + sized(a.back()) +
                    " and " + sized(b.back()))
        .help(isPart ? "declare a dimension for both, `both : dim = " +
                           bare(a.back()) + " + " + bare(b.back()) +
                           "`, and write `to = both`"
                     : "declare " + quoted(to) + " as the sum of the two")
        .label(module[to].range, sized(to));
    return false;
  }
  a.back() = to;
  module[op.results[0]].dims = std::move(a);
  return true;
}

void GraphBuilder::broadcast(const recipe::Call& call, ir::Op& op) {
  std::vector<DimId> dims = module[op.operands[0]].dims;
  dims.insert(dims.end() - 1,
              dimOf(std::get<recipe::DimValue>(at(call, "over").data).dim));
  module[op.results[0]].dims = std::move(dims);
}

// ---- values of attention

bool GraphBuilder::padValues(const recipe::Call& call, ir::Op& op) {
  ValueId value = op.operands[2];
  std::vector<DimId> k = module[op.operands[1]].dims, v = module[value].dims;
  int64_t width = module[v.back()].size;
  if (module[k.back()].size == width ||
      !std::equal(k.begin(), k.end() - 1, v.begin(), v.end() - 1))
    return true; // other differences are another error
  if (module[k.back()].size < width) {
    reportWider(call, k.back(), v.back());
    return false;
  }
  ir::Op pad{};
  pad.kind = OpKind::Pad;
  pad.layer = call.layer;
  pad.range = call.range;
  pad.name = names.make(module[value].name + ".padded");
  pad.operands = {value};
  pad.attributes["begin"] = int64_t(0);
  addResult(pad, pad.name);
  module[pad.results[0]].dims = std::move(k);
  op.operands[2] = pad.results[0];
  op.attributes["value_width"] = width;
  module.functions[0].ops.push_back(std::move(pad));
  return true;
}

void GraphBuilder::reportWider(const recipe::Call& call, DimId key,
                               DimId value) {
  bool isBesideRecipe = call.range.source == recipe.range.source;
  diag::Builder report = engine.report(
      diag::Kind::NotSupported,
      isBesideRecipe ? call.range : recipe.at("model").origin.range,
      "this version does not support `attention` with keys of " + sized(key) +
          " and values of " + sized(value));
  if (!isBesideRecipe)
    report.note("the model calls it here", call.range);
  report.help("choose or write a model with values as wide as its keys, or "
              "narrower");
}

void GraphBuilder::cutValues(const recipe::Call& call, const ir::Op& op) {
  if (!op.attributes.contains("value_width"))
    return;
  ir::Op cut{};
  cut.kind = OpKind::Narrow;
  cut.layer = call.layer;
  cut.range = call.range;
  cut.name = names.make(op.name + ".cut");
  cut.operands = {op.results[0]};
  cut.attributes["begin"] = int64_t(0);
  addResult(cut, cut.name);
  std::vector<DimId> dims = module[op.results[0]].dims;
  dims.back() = module[tensorOf(call.operands[2])].dims.back();
  module[cut.results[0]].dims = std::move(dims);
  tensorOf(call.result) = cut.results[0];
  module.functions[0].ops.push_back(std::move(cut));
}

} // namespace recipec::passes
