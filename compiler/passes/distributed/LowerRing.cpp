// Forward, for step i of R on the rank at index r of its group:
//   1. start to send the current block to r + 1 and to receive the next one
//      from r - 1, except in the last step;
//   2. attend to the current block and update the running softmax;
//   3. complete the shift.
// Backward: the same with the gradients of the queries. The gradients of the
// keys follow their block one step later: rank r computes its contribution in
// step i while the sum of the ranks before it arrives, adds it, and sends the
// sum on in step i + 1. After the last step each sum is one rank away from its
// owner. Every rank adds in ring order, so that the result does not depend on
// timing.
//
// All ranks have the same Program. A block op states its step, and a rank
// derives from it whose block it has (plan::blockOwner).

#include "compiler/passes/distributed/LowerRing.h"

#include "compiler/passes/ValueNames.h"
#include "runtime/ops/OpKind.h"

#include <string>
#include <utility>
#include <vector>

namespace recipec::passes {
namespace {

using ir::Op;
using ir::OpKind;
using ir::ValueId;
using Values = std::vector<ValueId>;

/// A block of keys and values, with the segments and places of its tokens.
struct Keys {
  ValueId k, v, segments, places;
  Values values() const { return {k, v, segments, places}; }
};
/// The gradients of a block in the accumulation type.
struct Gradients {
  ValueId dk, dv;
  Values values() const { return {dk, dv}; }
};

/// The expansion of one ring op.
class Expansion {
public:
  Expansion(ir::Module& program, ValueNames& names, const Op& ring,
            std::vector<Op>& out)
      : program(program), names(names), ring(ring), out(out),
        scope(ring.kind == OpKind::RingAttention ? ring.name
                                                 : "d." + ring.name),
        ranks(ir::sizeOf(program, ring.group)) {}

  void forward();
  void backward();

private:
  /// A shift that has started.
  struct Shift {
    Values sent, received;
  };

  ValueId make(ValueId like, const std::string& suffix);
  ValueId sumLike(ValueId like, const std::string& suffix);
  ValueId sumOf(ValueId result, const std::string& suffix);
  Keys nextBlock(const Keys& keys, int64_t step);
  Gradients gradientsOf(const Keys& keys, const std::string& suffix);

  Op& emit(OpKind kind, Values operands, Values results);
  void emitBlock(OpKind kind, int64_t step, Values operands, Values results);
  void startShift(Values sent, Values received);
  void finishShifts();
  void clear(const Gradients& gradients);
  void add(ValueId from, ValueId to);
  void round(ValueId sum, ValueId result);

  ir::Module& program;
  ValueNames& names;
  const Op& ring;
  std::vector<Op>& out;
  const std::string scope; // prefix of the names of values
  const int64_t ranks;
  std::vector<Shift> underway;
};

// ---- values

/// Adds a value with the type and layout of `like` for this op.
ValueId Expansion::make(ValueId like, const std::string& suffix) {
  ir::Value value = program[like];
  value.name = names.make(scope + "." + suffix);
  value.kind = ir::ValueKind::temporary;
  value.slots = 0;
  return ir::addValue(program, std::move(value));
}

ValueId Expansion::sumLike(ValueId like, const std::string& suffix) {
  const ValueId sum = make(like, suffix);
  program[sum].type = ir::accumulationType(program[like].type);
  return sum;
}

/// The value that accumulates a result: the result itself when it has the
/// accumulation type.
ValueId Expansion::sumOf(ValueId result, const std::string& suffix) {
  const ir::DType type = program[result].type;
  return type == ir::accumulationType(type) ? result : sumLike(result, suffix);
}

Keys Expansion::nextBlock(const Keys& keys, int64_t step) {
  const std::string number = std::to_string(step);
  return {make(keys.k, "k." + number), make(keys.v, "v." + number),
          make(keys.segments, "segments." + number),
          make(keys.places, "places." + number)};
}

Gradients Expansion::gradientsOf(const Keys& keys, const std::string& suffix) {
  return {sumLike(keys.k, "dk." + suffix), sumLike(keys.v, "dv." + suffix)};
}

// ---- ops

Op& Expansion::emit(OpKind kind, Values operands, Values results) {
  Op& op = out.emplace_back();
  op.kind = kind;
  op.name = ring.name;
  op.operands = std::move(operands);
  op.results = std::move(results);
  op.layer = ring.layer;
  op.range = ring.range;
  if (const auto when = ring.attributes.find("when");
      when != ring.attributes.end())
    op.attributes["when"] = when->second;
  return op;
}

void Expansion::emitBlock(OpKind kind, int64_t step, Values operands,
                          Values results) {
  Op& op = emit(kind, std::move(operands), std::move(results));
  op.attributes = ring.attributes;
  op.attributes["step"] = step;
  op.group = ring.group;
}

void Expansion::startShift(Values sent, Values received) {
  constexpr size_t most = 4;
  sent.resize(most, ValueId::none);
  received.resize(most, ValueId::none);
  emit(OpKind::RingShiftStart, sent, received).group = ring.group;
  underway.push_back({std::move(sent), std::move(received)});
}

/// Completes the shifts in the order in which they have started.
void Expansion::finishShifts() {
  for (const Shift& shift : std::exchange(underway, {})) {
    Values operands = shift.received;
    operands.insert(operands.end(), shift.sent.begin(), shift.sent.end());
    emit(OpKind::RingShiftDone, std::move(operands), shift.received).group =
        ring.group;
  }
}

void Expansion::clear(const Gradients& gradients) {
  for (ValueId value : gradients.values())
    emit(OpKind::Zero, {}, {value});
}

void Expansion::add(ValueId from, ValueId to) {
  emit(OpKind::Add, {to, from}, {to});
}

void Expansion::round(ValueId sum, ValueId result) {
  if (sum != result)
    emit(OpKind::Cast, {sum}, {result});
}

/// The result as scratch memory for the block ops, which is free until the
/// accumulated value is rounded to it; `none` when the result itself
/// accumulates.
ValueId roomIn(ValueId result, ValueId sum) {
  return result == sum ? ValueId::none : result;
}

// ---- the two directions

void Expansion::forward() {
  const Values &in = ring.operands, &results = ring.results;
  const ValueId sum = sumOf(results[0], "sum");
  Keys keys{in[1], in[2], in[3], in[4]};
  for (int64_t step = 0; step < ranks; ++step) {
    Keys next = keys;
    if (step + 1 < ranks) {
      next = nextBlock(keys, step + 1);
      startShift(keys.values(), next.values());
    }
    emitBlock(OpKind::AttentionBlock, step,
              {in[0], keys.k, keys.v, in[3], in[4], keys.segments, keys.places},
              {sum, results[1], roomIn(results[0], sum)});
    finishShifts();
    keys = next;
  }
  emit(OpKind::AttentionBlocksEnd, {sum}, results);
}

void Expansion::backward() {
  const Values &in = ring.operands, &results = ring.results;
  const ValueId dq = sumOf(results[0], "dq");
  const Gradients home{sumOf(results[1], "dk"), sumOf(results[2], "dv")};
  emit(OpKind::Zero, {}, {dq});
  Keys keys{in[3], in[4], in[6], in[7]};
  Gradients sum = gradientsOf(keys, "0");
  for (int64_t step = 0; step < ranks; ++step) {
    Keys next = keys;
    if (step + 1 < ranks) {
      next = nextBlock(keys, step + 1);
      startShift(keys.values(), next.values());
    }
    Gradients own = sum;
    if (step > 0) {
      const std::string number = std::to_string(step);
      const Gradients before = std::exchange(sum, gradientsOf(keys, number));
      own = gradientsOf(keys, "own." + number);
      startShift(before.values(), sum.values());
    }
    clear(own);
    emitBlock(OpKind::AttentionBlockBackward, step,
              {in[0], in[1], in[2], keys.k, keys.v, in[5], in[6], in[7],
               keys.segments, keys.places},
              {dq, own.dk, own.dv, roomIn(results[0], dq),
               roomIn(results[1], home.dk), roomIn(results[2], home.dv)});
    finishShifts();
    if (step > 0) {
      add(own.dk, sum.dk);
      add(own.dv, sum.dv);
    }
    keys = next;
  }
  startShift(sum.values(), home.values());
  round(dq, results[0]);
  finishShifts();
  round(home.dk, results[1]);
  round(home.dv, results[2]);
}

} // namespace

void lowerRing(ir::Module& program) {
  ValueNames names(program);
  for (ir::Function& function : program.functions) {
    std::vector<Op> out;
    for (Op& op : function.ops)
      if (op.kind == OpKind::RingAttention)
        Expansion(program, names, op, out).forward();
      else if (op.kind == OpKind::RingAttentionBackward)
        Expansion(program, names, op, out).backward();
      else
        out.push_back(std::move(op));
    function.ops = std::move(out);
  }
}

} // namespace recipec::passes
