// The first matmul that adds to a gradient can write it instead, so that the
// gradient need not be cleared before.
//
// 1. Find the gradients that each `zero` clears together: the members of a
//    region, which `begin` clears, or of a bucket, which are views of the
//    cleared temporary. They must cover the cleared buffer without gaps, since
//    collectives read all of it.
// 2. For each gradient, find the ops that write it. If all of them are in one
//    function and the first is a matmul, that matmul writes instead of adding.
//    If the gradient accumulates over several micro-batches, the matmul is
//    split into a copy that writes in the first run and the original, which
//    adds in the later runs.
// 3. Replace the `zero` by one for each remaining gradient. A bucket keeps its
//    `zero` as an op that does nothing and starts the lifetime of the buffer.
//
// Gradients of adapters are always cleared: they are so small that a single
// `zero` for all of them costs less.

#include "compiler/passes/differentiate/InitializeGradients.h"
#include "runtime/ops/MoveOps.h"
#include "runtime/ops/OpKind.h"
#include "runtime/ops/QuantizationOps.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace recipec::passes {
namespace {

using ir::Op;
using ir::OpKind;
using ir::ValueId;

/// The position of an op: function and index.
struct Place {
  size_t function = 0, op = 0;
  auto operator<=>(const Place&) const = default;
};

/// A gradient that is a part of a cleared buffer.
struct Member {
  ValueId gradient = ValueId::none;
  int64_t start = 0; // in elements
  /// The matmul that can write the gradient; nullopt when it must be cleared.
  std::optional<Place> writer;
};

class InitializeGradients {
public:
  InitializeGradients(ir::Module& program, int64_t microBatches)
      : program(program), microBatches(microBatches) {
    for (size_t f = 0; f < program.functions.size(); ++f)
      for (size_t i = 0; i < program.functions[f].ops.size(); ++i)
        for (ValueId result : program.functions[f].ops[i].results)
          if (result != ValueId::none)
            writers[result].push_back({f, i});
    for (const ir::Param& param : program.params)
      if (param.adapter)
        ofAdapters.insert(param.gradient);
  }

  void run() {
    for (const ir::Region& region : program.regions)
      if (region.gradient != ValueId::none)
        spareRegion(region);
    for (size_t f = 0; f < program.functions.size(); ++f)
      spareBuckets(f);
    for (size_t f = 0; f < program.functions.size(); ++f)
      rewrite(f);
  }

private:
  // ---- what is cleared

  void spareRegion(const ir::Region& region) {
    std::vector<Member> members;
    for (size_t i = 0; i < region.params.size(); ++i)
      members.push_back(
          member(program[region.params[i]].gradient, region.starts[i]));
    const std::vector<Place>& cleared = writers[region.gradient];
    if (!cleared.empty() && at(cleared[0]).kind == OpKind::Zero)
      spare(cleared[0], members, microBatches > 1);
  }

  void spareBuckets(size_t function) {
    const std::vector<Op>& ops = program.functions[function].ops;
    for (size_t i = 0; i < ops.size(); ++i) {
      if (ops[i].kind != OpKind::Zero ||
          program[ops[i].results[0]].kind != ir::ValueKind::temporary)
        continue;
      std::vector<Member> members;
      for (const Op& op : ops)
        if (op.kind == OpKind::View && op.operands[0] == ops[i].results[0])
          members.push_back(
              member(op.results[0], ops::ViewAttributes(op.attributes).start));
      spare({function, i}, members, false);
    }
  }

  Member member(ValueId gradient, int64_t start) {
    std::vector<Place> places = writers[gradient];
    std::erase_if(places,
                  [&](Place place) { return at(place).kind == OpKind::View; });
    Member member{gradient, start, std::nullopt};
    if (!places.empty() && writesAll(at(places.front())) &&
        places.front().function == places.back().function &&
        !ofAdapters.contains(gradient))
      member.writer = places.front();
    return member;
  }

  static bool writesAll(const Op& op) {
    return op.kind == OpKind::LinearWgrad ||
           op.kind == OpKind::ExpertLinearWgrad ||
           (op.kind == OpKind::ScaledMatmul &&
            ops::ScaledMatmulAttributes(op.attributes).accumulate);
  }

  void spare(Place zero, const std::vector<Member>& members, bool isAddedTo) {
    const bool isSpared = std::ranges::any_of(
        members, [](const Member& each) { return each.writer.has_value(); });
    if (!isSpared || !covers(members, at(zero).results[0]))
      return;
    std::vector<ValueId>& left = spared[zero];
    for (const Member& each : members) {
      if (each.writer)
        (isAddedTo ? turns : always).insert(*each.writer);
      else
        left.push_back(each.gradient);
    }
  }

  bool covers(const std::vector<Member>& members, ValueId whole) const {
    std::map<int64_t, int64_t> ends; // by start
    for (const Member& each : members)
      ends[each.start] = each.start + ir::localElements(program, each.gradient);
    int64_t end = 0;
    for (const auto& [start, next] : ends) {
      if (start != end)
        return false;
      end = next;
    }
    return end == ir::localElements(program, whole);
  }

  const Op& at(Place place) const {
    return program.functions[place.function].ops[place.op];
  }

  // ---- what comes of it

  void rewrite(size_t function) {
    std::vector<Op> out;
    std::set<ValueId> views; // of buckets, cleared right after their view op
    for (size_t i = 0; i < program.functions[function].ops.size(); ++i) {
      const Place place{function, i};
      Op& op = program.functions[function].ops[i];
      if (auto zero = spared.find(place); zero != spared.end()) {
        const bool isBucket =
            program[op.results[0]].kind == ir::ValueKind::temporary;
        for (ValueId gradient : zero->second)
          if (isBucket)
            views.insert(gradient);
          else
            out.push_back(cleared(gradient, op));
        if (!isBucket)
          continue;
        op.attributes["nothing"] = true; // only starts its lifetime
      }
      if (turns.contains(place)) {
        out.push_back(op);
        out.back().attributes["accumulate"] = false;
        out.back().attributes["when"] = std::string("first");
        op.attributes["when"] = std::string("later");
      } else if (always.contains(place)) {
        op.attributes["accumulate"] = false;
      }
      out.push_back(std::move(op));
      if (const Op& made = out.back();
          made.kind == OpKind::View && views.contains(made.results[0]))
        out.push_back(cleared(made.results[0], made));
    }
    program.functions[function].ops = std::move(out);
  }

  /// An op that clears one member of the buffer of `zero`.
  Op cleared(ValueId gradient, const Op& zero) const {
    Op op = zero;
    op.kind = OpKind::Zero;
    op.name = program[gradient].name;
    op.operands.clear();
    op.results = {gradient};
    op.attributes.clear();
    return op;
  }

  ir::Module& program;
  int64_t microBatches;
  std::map<ValueId, std::vector<Place>> writers;
  std::set<ValueId> ofAdapters; // gradients of adapters
  /// By the removed `zero`: the gradients that must still be cleared.
  std::map<Place, std::vector<ValueId>> spared;
  /// Matmuls that write in each run, and those that write only in the first
  /// run.
  std::set<Place> always, turns;
};

} // namespace

void initializeGradients(ir::Module& program, int64_t microBatches) {
  InitializeGradients(program, microBatches).run();
}

} // namespace recipec::passes
