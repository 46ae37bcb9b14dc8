// 1. Join functions to timelines.
// 2. A value lives from the op that defines it to the last op that uses it;
//    bound values (logits, ...) live to the end of the timeline.
// 3. A result reuses the buffer of an operand that dies at its op, when the
//    op's description allows it and the sizes are equal. A view is part of its
//    operand's buffer, which lives as long as either.

#include "compiler/passes/memory/Lifetimes.h"
#include "runtime/ops/MoveOps.h"
#include "runtime/ops/OpTable.h"

#include <algorithm>
#include <cassert>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace recipec::passes {
namespace {

using ir::ValueId;

class LifeBuilder {
public:
  LifeBuilder(const ir::Module& program, Timeline& timeline)
      : program(program), timeline(timeline) {
    for (const auto& [role, value] : program.bindings)
      bound.insert(value);
  }

  void run() {
    findEnds();
    for (size_t i = 0; i < timeline.ops.size(); ++i)
      define(*timeline.ops[i], int(i));
  }

private:
  void findEnds();
  void define(const ir::Op& op, int position);
  /// The life of an operand that the op's first result reuses, or nullptr.
  Life* reused(const ir::Op& op, int position);
  bool multiplies(const ir::Op& op, size_t life, size_t sum) const;
  int64_t offsetOf(const ir::Op& op) const;

  const ir::Module& program;
  Timeline& timeline;
  std::set<ValueId> bound;
  std::unordered_map<ValueId, int> lastUse;
  std::unordered_map<ValueId, size_t> lifeOf;
};

void LifeBuilder::findEnds() {
  for (size_t i = 0; i < timeline.ops.size(); ++i) {
    for (const auto* list :
         {&timeline.ops[i]->operands, &timeline.ops[i]->results})
      for (ValueId value : *list)
        if (value != ValueId::none)
          lastUse[value] = int(i);
  }
  for (ValueId value : bound)
    if (lastUse.count(value))
      lastUse[value] = int(timeline.ops.size()) - 1;
}

/// Whether a matmul that adds operand `sum` also multiplies values in the
/// buffer `life`. A matmul reads its factors for each part of the result, so
/// its result cannot reuse their buffer.
bool LifeBuilder::multiplies(const ir::Op& op, size_t life, size_t sum) const {
  if (op.kind != ir::OpKind::LinearAdd &&
      op.kind != ir::OpKind::ScaledMatmulAdd)
    return false;
  for (size_t i = 0; i < op.operands.size(); ++i) {
    const auto found = lifeOf.find(op.operands[i]);
    if (i != sum && found != lifeOf.end() && found->second == life)
      return true;
  }
  return false;
}

Life* LifeBuilder::reused(const ir::Op& op, int position) {
  int reuse = ops::infoOf(op.kind).reuse;
  if (reuse < 0 || op.operands[size_t(reuse)] == ValueId::none)
    return nullptr;
  ValueId operand = op.operands[size_t(reuse)];
  auto found = lifeOf.find(operand);
  if (found == lifeOf.end()) {
    assert(op.kind != ir::OpKind::View && "views are of temporaries");
    return nullptr;
  }
  if (multiplies(op, found->second, size_t(reuse)))
    return nullptr;
  Life& life = timeline.lives[found->second];
  bool dies = life.end == position;
  bool fits = life.bytes == ir::localBytes(program, op.results[0]);
  return op.kind == ir::OpKind::View || (dies && fits) ? &life : nullptr;
}

/// The byte offset of the op's first result in the buffer that it reuses: 0, or
/// where a view begins.
int64_t LifeBuilder::offsetOf(const ir::Op& op) const {
  if (op.kind != ir::OpKind::View)
    return 0;
  return ops::ViewAttributes(op.attributes).start *
         ir::byteSize(program[op.results[0]].type);
}

void LifeBuilder::define(const ir::Op& op, int position) {
  for (size_t i = 0; i < op.results.size(); ++i) {
    ValueId value = op.results[i];
    if (value == ValueId::none || isPersistent(program, value) ||
        lifeOf.count(value))
      continue;
    Life* life = i == 0 ? reused(op, position) : nullptr;
    if (!life) {
      timeline.lives.push_back(
          {{}, ir::localBytes(program, value), position, position});
      life = &timeline.lives.back();
    }
    life->members.push_back({value, offsetOf(op)});
    life->end = std::max(life->end, lastUse[value]);
    lifeOf[value] = size_t(life - timeline.lives.data());
  }
}

/// Whether a function runs all layers, in some or in all of its runs:
/// `backward_first` and `backward` do, and `backward.1`, a single chunk, does
/// not.
bool isWholePass(const std::string& function, std::string_view direction) {
  return function.starts_with(direction) &&
         function.find('.') == std::string::npos;
}

/// Pairs of a forward and a backward function that the schedules always run one
/// right after the other on the same micro-batch, so that saved values die
/// before the next pair runs. Empty if some backward pass does not follow its
/// forward pass.
std::set<std::pair<std::string, std::string>>
jointPasses(const ir::Module& program) {
  std::set<std::pair<std::string, std::string>> pairs;
  for (const ir::Schedule& schedule : program.schedules) {
    const ir::ScheduleStep* before = nullptr;
    for (const ir::ScheduleStep& step : schedule.steps) {
      if (step.kind != ir::ScheduleStep::Kind::run)
        continue;
      const bool isNext = before && isWholePass(before->function, "forward") &&
                          before->microBatch == step.microBatch;
      if (isWholePass(step.function, "backward")) {
        if (!isNext)
          return {};
        pairs.emplace(before->function, step.function);
      }
      before = &step;
    }
  }
  return pairs;
}

} // namespace

bool isPersistent(const ir::Module& program, ValueId value) {
  ir::ValueKind kind = program[value].kind;
  return program[value].slots > 0 || program[value].frameChunk >= 0 ||
         (kind != ir::ValueKind::temporary && kind != ir::ValueKind::saved);
}

std::vector<Timeline> timelines(const ir::Module& program) {
  std::vector<Timeline> result;
  auto append = [](Timeline& timeline, const ir::Function& function) {
    for (const ir::Op& op : function.ops)
      timeline.ops.push_back(&op);
  };
  const auto joint = jointPasses(program);
  for (const ir::Function& function : program.functions) {
    bool isOfJoint = false;
    for (const auto& [forward, backward] : joint) {
      isOfJoint |= function.name == forward || function.name == backward;
      if (function.name != forward)
        continue;
      append(result.emplace_back(), function);
      append(result.back(), *ir::findFunction(program, backward));
    }
    if (!isOfJoint)
      append(result.emplace_back(), function);
  }
  for (Timeline& timeline : result)
    LifeBuilder(program, timeline).run();
  return result;
}

} // namespace recipec::passes
