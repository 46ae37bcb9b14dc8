// One op: its operands exist, have the right types, and sizes that agree.
//
// Kernels treat leading dimensions as one and never look at a shape twice, so
// the checks count elements the way the kernels do: a linear's x has m*k
// elements, y has m*n. What passes here cannot reach beyond its buffers.
// Comments of Ops.def are the specification.

#include "runtime/plan/Mesh.h"
#include "runtime/plan/Validate.h"

#include <algorithm>

namespace reciperun::plan {
namespace {

using Types = std::vector<DType>;

const char* typeName(DType type) {
  switch (type) {
  case DType::f64:
    return "f64";
  case DType::f32:
    return "f32";
  case DType::bf16:
    return "bf16";
  case DType::i32:
    return "i32";
  case DType::i64:
    return "i64";
  }
  return "";
}

std::string shapeText(const Buffer& buffer) {
  std::string text = "[";
  for (size_t i = 0; i < buffer.shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(buffer.shape[i]);
  return text + "] " + typeName(buffer.dtype);
}

/// Collects the first thing that is wrong with an op.
class OpCheck {
public:
  OpCheck(const Plan& plan, const Op& op) : plan(plan), op(op) {}

  /// The op has these many operands; the last `optionalOutputs` and the inputs
  /// of `optionalInputs` may be -1.
  bool arity(size_t inputs, size_t outputs, size_t optionalOutputs = 0,
             std::initializer_list<size_t> optionalInputs = {}) {
    if (op.inputs.size() != inputs || op.outputs.size() != outputs)
      return fail("has " + std::to_string(op.inputs.size()) + " inputs and " +
                  std::to_string(op.outputs.size()) + " outputs, not " +
                  std::to_string(inputs) + " and " + std::to_string(outputs));
    for (size_t i = 0; i < inputs; ++i) {
      bool mayLack = std::find(optionalInputs.begin(), optionalInputs.end(),
                               i) != optionalInputs.end();
      if (!(mayLack && op.inputs[i] == -1) && !inRange(op.inputs[i]))
        return false;
    }
    for (size_t i = 0; i < op.outputs.size(); ++i) {
      bool absent = op.outputs[i] == -1 && i >= outputs - optionalOutputs;
      if (!absent && !inRange(op.outputs[i]))
        return false;
    }
    return op.workspace == -1 || inRange(op.workspace);
  }

  const Buffer& in(size_t i) const { return plan.buffers[op.inputs[i]]; }
  const Buffer& out(size_t i) const { return plan.buffers[op.outputs[i]]; }
  bool hasIn(size_t i) const { return op.inputs[i] >= 0; }
  bool hasOut(size_t i) const { return op.outputs[i] >= 0; }

  bool is(const Buffer& buffer, const Types& types) {
    if (std::find(types.begin(), types.end(), buffer.dtype) != types.end())
      return true;
    return fail("does not take `" + buffer.name + "` of type " +
                typeName(buffer.dtype));
  }
  bool same(const Buffer& a, const Buffer& b) {
    return is(b, {a.dtype}) && counts(b, elementCount(a.shape));
  }
  /// Of the type in which kernels compute for operands of `operand`'s type.
  bool isMath(const Buffer& buffer, const Buffer& operand) {
    return is(buffer, {operand.dtype == DType::f64 ? DType::f64 : DType::f32});
  }
  bool counts(const Buffer& buffer, int64_t rows, int64_t width) {
    int64_t elements = 0;
    return __builtin_mul_overflow(rows, width, &elements)
               ? fail("wants more than 2^63 elements in `" + buffer.name + "`")
               : counts(buffer, elements);
  }
  bool counts(const Buffer& buffer, int64_t elements) {
    return elementCount(buffer.shape) == elements ||
           fail("wants " + std::to_string(elements) + " elements in `" +
                buffer.name + "`, which is " + shapeText(buffer));
  }
  bool rank(const Buffer& buffer, size_t rank) {
    return buffer.shape.size() == rank ||
           fail("wants " + std::to_string(rank) + " dimensions in `" +
                buffer.name + "`, which is " + shapeText(buffer));
  }
  bool shaped(const Buffer& buffer, const std::vector<int64_t>& shape) {
    if (buffer.shape == shape)
      return true;
    Buffer wanted;
    wanted.dtype = buffer.dtype;
    wanted.shape = shape;
    return fail("wants " + shapeText(wanted) + " in `" + buffer.name +
                "`, which is " + shapeText(buffer));
  }
  bool divides(int64_t divisor, int64_t number, const char* what) {
    return (divisor > 0 && number % divisor == 0) ||
           fail(std::string(what) + ": " + std::to_string(divisor) +
                " does not divide " + std::to_string(number));
  }
  bool axis(const std::string& name) {
    return name.empty() || hasExtent(plan.mesh, name) ||
           fail("names the axis `" + name + "`, which the mesh lacks");
  }
  bool grouped() {
    return (op.group >= 0 && op.group < int(plan.mesh.groups.size())) ||
           fail("needs a group, and " + std::to_string(op.group) +
                " is none of the " + std::to_string(plan.mesh.groups.size()));
  }
  /// The op may scribble on at least that many f32 elements.
  bool workspace(int64_t elements) {
    if (op.workspace < 0)
      return fail("needs a workspace");
    const Buffer& buffer = plan.buffers[op.workspace];
    return is(buffer, {DType::f32}) &&
           (elementCount(buffer.shape) >= elements ||
            fail("wants a workspace of " + std::to_string(elements) +
                 " elements, `" + buffer.name + "` is " + shapeText(buffer)));
  }
  /// An attribute, which may be absent, is one of the words that are known.
  bool isWord(const char* name, std::initializer_list<const char*> known) {
    const std::string& word = op.string(name);
    if (word.empty() ||
        std::find(known.begin(), known.end(), word) != known.end())
      return true;
    return fail("has `" + std::string(name) + "` = `" + word +
                "`, which is not known");
  }
  int64_t ranksOfGroup() const {
    return groupSize(plan.mesh, plan.mesh.groups[op.group]);
  }
  bool fail(const std::string& what) {
    if (failure)
      failure = Status::error(what);
    return false;
  }

  const Plan& plan;
  const Op& op;
  Status failure;

private:
  bool inRange(int number) {
    return (number >= 0 && number < int(plan.buffers.size())) ||
           fail("names buffer " + std::to_string(number) + " of " +
                std::to_string(plan.buffers.size()));
  }
};

const Types real = {DType::f64, DType::f32, DType::bf16};
const Types wide = {DType::f64, DType::f32};

int64_t last(const Buffer& buffer) {
  return buffer.shape.empty() ? 1 : buffer.shape.back();
}

bool checkEmbedding(OpCheck& c, bool backward) {
  if (!c.arity(2, 1))
    return false;
  const Buffer& table = backward ? c.out(0) : c.in(1);
  const Buffer& rows = backward ? c.in(1) : c.out(0);
  return c.is(c.in(0), {DType::i32}) && c.rank(table, 2) && c.is(rows, real) &&
         (backward ? c.isMath(table, rows) : c.is(table, {rows.dtype})) &&
         c.counts(rows, elementCount(c.in(0).shape), table.shape[1]) &&
         c.axis(c.op.string("axis"));
}

/// `narrow` has k elements a row, `across` n, `matrix` is [n,k].
bool checkLinear(OpCheck& c, const Buffer& narrow, const Buffer& across,
                 const Buffer& matrix) {
  if (!c.rank(matrix, 2))
    return false;
  int64_t n = matrix.shape[0], k = matrix.shape[1];
  return c.divides(k, elementCount(narrow.shape), "the width of the input") &&
         c.counts(across, elementCount(narrow.shape) / k, n);
}

bool checkNorm(OpCheck& c) {
  if (!c.arity(2, 2))
    return false;
  const Buffer &x = c.in(0), &w = c.in(1);
  int64_t width = elementCount(w.shape);
  return c.is(x, real) && c.is(w, {x.dtype}) && c.same(x, c.out(0)) &&
         c.isMath(c.out(1), x) &&
         c.divides(width, elementCount(x.shape), "the width of the norm") &&
         c.counts(c.out(1), elementCount(x.shape) / width);
}

bool checkNormBackward(OpCheck& c) {
  if (!c.arity(4, 2, 1))
    return false;
  const Buffer &dy = c.in(0), &w = c.in(2);
  int64_t width = elementCount(w.shape);
  return c.is(dy, real) && c.same(dy, c.in(1)) && c.is(w, {dy.dtype}) &&
         c.divides(width, elementCount(dy.shape), "the width of the norm") &&
         c.isMath(c.in(3), dy) &&
         c.counts(c.in(3), elementCount(dy.shape) / width) &&
         c.same(dy, c.out(0)) &&
         (!c.hasOut(1) ||
          (c.isMath(c.out(1), dy) && c.counts(c.out(1), width)));
}

bool checkRope(OpCheck& c) {
  if (!c.arity(2, 1) || !c.rank(c.in(0), 4))
    return false;
  const Buffer& x = c.in(0);
  return c.is(x, real) && c.is(c.in(1), {DType::i32}) &&
         c.counts(c.in(1), x.shape[0] * x.shape[1]) && c.same(x, c.out(0)) &&
         c.divides(2, x.shape[3], "rotation pairs the head's dimensions") &&
         c.isWord("scaling", {"none", "linear", "llama3"});
}

/// Shapes of q [b,s,hq,d] beside k and v [b,s,hk,d].
bool checkHeads(OpCheck& c, const Buffer& q, const Buffer& k, const Buffer& v) {
  return c.rank(q, 4) && c.rank(k, 4) && c.is(q, real) && c.same(k, v) &&
         c.is(k, {q.dtype}) &&
         c.shaped(k, {q.shape[0], q.shape[1], k.shape[2], q.shape[3]}) &&
         c.divides(k.shape[2], q.shape[2], "heads of keys and of queries");
}

bool checkAttention(OpCheck& c) {
  if (!c.arity(4, 2) || !checkHeads(c, c.in(0), c.in(1), c.in(2)))
    return false;
  const Buffer& q = c.in(0);
  int64_t places = q.shape[0] * q.shape[1];
  return c.is(c.in(3), {DType::i32}) && c.counts(c.in(3), places) &&
         c.same(q, c.out(0)) && c.isMath(c.out(1), q) &&
         c.counts(c.out(1), places * q.shape[2]);
}

bool checkAttentionBackward(OpCheck& c) {
  if (!c.arity(7, 3) || !checkHeads(c, c.in(2), c.in(3), c.in(4)))
    return false;
  const Buffer &q = c.in(2), &k = c.in(3);
  int64_t places = q.shape[0] * q.shape[1];
  return c.same(q, c.in(0)) && c.same(q, c.in(1)) && c.isMath(c.in(5), q) &&
         c.counts(c.in(5), places * q.shape[2]) &&
         c.is(c.in(6), {DType::i32}) && c.counts(c.in(6), places) &&
         c.same(q, c.out(0)) && c.same(k, c.out(1)) && c.same(k, c.out(2)) &&
         (q.dtype != DType::bf16 || c.workspace(2 * elementCount(k.shape)));
}

bool checkAttentionCached(OpCheck& c) {
  if (!c.arity(4, 3) || !checkHeads(c, c.in(0), c.in(1), c.in(2)))
    return false;
  const Buffer &q = c.in(0), &k = c.in(1);
  return c.is(c.in(3), {DType::i32}) &&
         c.counts(c.in(3), q.shape[0] * q.shape[1]) && c.same(q, c.out(0)) &&
         c.rank(c.out(1), 3) &&
         c.shaped(c.out(1), {c.out(1).shape[0], k.shape[2], k.shape[3]}) &&
         c.is(c.out(1), {q.dtype}) && c.same(c.out(1), c.out(2)) &&
         (c.out(1).shape[0] >= c.plan.cacheTokens ||
          c.fail("has a cache of " + std::to_string(c.out(1).shape[0]) +
                 " tokens, and the plan's is of " +
                 std::to_string(c.plan.cacheTokens)));
}

/// All operands of one type and size.
bool checkElementwise(OpCheck& c, size_t inputs, size_t outputs) {
  if (!c.arity(inputs, outputs) || !c.is(c.in(0), real))
    return false;
  for (size_t i = 1; i < inputs; ++i)
    if (!c.same(c.in(0), c.in(i)))
      return false;
  for (size_t i = 0; i < outputs; ++i)
    if (!c.same(c.in(0), c.out(i)))
      return false;
  return true;
}

bool checkDropout(OpCheck& c) {
  if (!c.arity(2, 1) || !c.same(c.in(0), c.out(0)))
    return false;
  const Buffer& x = c.in(0);
  const std::vector<std::string>& axes = c.op.strings("axes");
  if (!axes.empty() && axes.size() != x.shape.size())
    return c.fail("has " + std::to_string(axes.size()) + " `axes` for " +
                  std::to_string(x.shape.size()) + " dimensions");
  for (const std::string& axis : axes)
    if (!c.axis(axis))
      return false;
  double p = c.op.real("p");
  return c.is(x, real) && c.is(c.in(1), {DType::i64}) && !x.shape.empty() &&
         c.counts(c.in(1), x.shape[0]) &&
         ((p >= 0 && p < 1) || c.fail("has `p` outside [0, 1)"));
}

/// An optional operand is absent, or is of that type and size.
bool isAbsentOr(OpCheck& c, size_t input, DType type, int64_t elements) {
  return !c.hasIn(input) ||
         (c.is(c.in(input), {type}) && c.counts(c.in(input), elements));
}

bool checkRoute(OpCheck& c, bool backward) {
  if (backward ? !c.arity(6, 1, 0, {0, 4, 5}) : !c.arity(5, 3, 1, {2, 3, 4}))
    return false;
  const Buffer& logits = c.in(backward ? 1 : 0);
  const Buffer& segments = c.in(backward ? 2 : 1);
  const Buffer& choices = backward ? c.in(3) : c.out(0);
  if (!c.rank(choices, 3) || !c.rank(logits, 3))
    return false;
  int64_t tokens = choices.shape[0] * choices.shape[1], k = choices.shape[2];
  int64_t experts = logits.shape[2];
  int64_t groups = c.op.integer("groups", 1);
  int64_t kept = c.op.integer("top_groups", 1);
  bool isGrouped = groups >= 1 && groups <= 64 && kept >= 1 && kept <= groups &&
                   experts % groups == 0;
  if (!isGrouped || k < 1 || k > experts / groups * kept)
    return c.fail("cannot choose " + std::to_string(k) + " of " +
                  std::to_string(experts) + " experts in " +
                  std::to_string(kept) + " of " + std::to_string(groups) +
                  " groups");
  DType math = logits.dtype == DType::f64 ? DType::f64 : DType::f32;
  size_t weights = backward ? 4 : 3;
  bool isShaped = c.is(logits, real) && c.is(segments, {DType::i32}) &&
                  c.is(choices, {DType::i32}) && c.counts(segments, tokens) &&
                  c.counts(logits, tokens, experts) &&
                  isAbsentOr(c, weights, DType::f32, tokens) &&
                  isAbsentOr(c, weights + 1, DType::f32, 1) &&
                  c.isWord("score", {"softmax", "sigmoid"});
  if (!isShaped)
    return false;
  if (c.hasIn(weights) != c.hasIn(weights + 1))
    return c.fail("has loss weights without a scale, or one without them");
  if (backward)
    return isAbsentOr(c, 0, math, elementCount(choices.shape)) &&
           c.same(logits, c.out(0));
  return isAbsentOr(c, 2, DType::f32, experts) && c.is(c.out(1), {math}) &&
         c.counts(c.out(1), elementCount(choices.shape)) &&
         (!c.hasOut(2) ||
          (c.is(c.out(2), {DType::f64}) && c.counts(c.out(2), 1) &&
           (c.hasIn(3) || c.fail("has a loss without weights"))));
}

/// Tokens [b,s,h] beside rows of experts [e,p,h] and choices [b,s,k].
bool checkExperts(OpCheck& c, const Buffer& tokens, const Buffer& rows,
                  const Buffer& numbers) {
  return c.rank(tokens, 3) && c.rank(rows, 3) && c.rank(numbers, 3) &&
         c.is(tokens, real) && c.is(rows, {tokens.dtype}) &&
         c.is(numbers, {DType::i32}) &&
         c.shaped(rows, {rows.shape[0], rows.shape[1], tokens.shape[2]}) &&
         c.shaped(numbers,
                  {tokens.shape[0], tokens.shape[1], numbers.shape[2]}) &&
         (numbers.shape[2] > 0 || c.fail("has tokens without choices"));
}

/// Gates [b,s,k], one a choice.
bool checkGates(OpCheck& c, const Buffer& gates, const Buffer& numbers,
                const Buffer& tokens) {
  return c.isMath(gates, tokens) &&
         c.counts(gates, elementCount(numbers.shape));
}

bool checkDispatch(OpCheck& c) {
  return c.arity(3, 2, 0, {2}) &&
         checkExperts(c, c.in(0), c.out(0), c.in(1)) &&
         c.is(c.out(1), {DType::i32}) && c.shaped(c.out(1), c.in(1).shape) &&
         (!c.hasIn(2) || checkGates(c, c.in(2), c.in(1), c.in(0)));
}

bool checkCombine(OpCheck& c) {
  return c.arity(3, 1, 0, {2}) &&
         checkExperts(c, c.out(0), c.in(0), c.in(1)) &&
         (!c.hasIn(2) || checkGates(c, c.in(2), c.in(1), c.in(0)));
}

/// The gradient of dispatch, where the tokens' is the result, or of combine.
bool checkExpertsBackward(OpCheck& c, bool isDispatch) {
  if (!c.arity(4, 2, 1, {2, 3}))
    return false;
  const Buffer& tokens = isDispatch ? c.out(0) : c.in(0);
  const Buffer& rows = isDispatch ? c.in(0) : c.out(0);
  if (!checkExperts(c, tokens, rows, c.in(1)))
    return false;
  if (c.hasIn(2) != c.hasIn(3) || (c.hasOut(1) && !c.hasIn(3)))
    return c.fail("has gates without what they multiply");
  return (!c.hasIn(3) || (checkGates(c, c.in(3), c.in(1), tokens) &&
                          c.same(isDispatch ? tokens : rows, c.in(2)))) &&
         (!c.hasOut(1) || checkGates(c, c.out(1), c.in(1), tokens));
}

/// `x` [e,p,k...], `y` [e,p,n...], `w` [e,n...,k...].
bool checkExpertLinear(OpCheck& c, const Buffer& x, const Buffer& y,
                       const Buffer& w) {
  if (x.shape.size() < 3 || y.shape.size() < 3 || w.shape.size() < 3)
    return c.fail("wants an expert, a place and a width");
  int64_t experts = x.shape[0], rows = experts * x.shape[1];
  if (rows < 1 || y.shape[0] != experts || y.shape[1] != x.shape[1] ||
      w.shape[0] != experts)
    return c.fail("has experts or places that differ, " + shapeText(x) + ", " +
                  shapeText(y) + " and " + shapeText(w));
  return c.is(x, real) && c.is(y, {x.dtype}) &&
         c.counts(w, elementCount(x.shape) / rows * experts,
                  elementCount(y.shape) / rows);
}

bool checkSoftmaxMax(OpCheck& c) {
  return c.arity(1, 1) && c.is(c.in(0), real) && c.isMath(c.out(0), c.in(0)) &&
         c.counts(c.out(0), elementCount(c.in(0).shape) /
                                std::max<int64_t>(1, last(c.in(0))));
}

bool checkSoftmaxSum(OpCheck& c) {
  if (!c.arity(3, 1))
    return false;
  int64_t places =
      elementCount(c.in(0).shape) / std::max<int64_t>(1, last(c.in(0)));
  return c.is(c.in(0), real) && c.isMath(c.in(1), c.in(0)) &&
         c.counts(c.in(1), places) && c.is(c.in(2), {DType::i32}) &&
         c.counts(c.in(2), places) && c.isMath(c.out(0), c.in(0)) &&
         c.counts(c.out(0), 2 * places) && c.axis(c.op.string("axis"));
}

bool checkNll(OpCheck& c) {
  if (!c.arity(4, 1))
    return false;
  int64_t places = elementCount(c.in(0).shape);
  return c.is(c.in(0), wide) && c.is(c.in(1), {c.in(0).dtype}) &&
         c.counts(c.in(1), 2 * places) && c.is(c.in(2), {DType::f32}) &&
         c.counts(c.in(2), places) && c.is(c.in(3), {DType::f32}) &&
         c.counts(c.in(3), 1) && c.is(c.out(0), {DType::f64}) &&
         c.counts(c.out(0), 1);
}

bool checkCrossEntropyBackward(OpCheck& c) {
  if (!c.arity(6, 1))
    return false;
  int64_t places =
      elementCount(c.in(0).shape) / std::max<int64_t>(1, last(c.in(0)));
  return c.is(c.in(0), real) && c.isMath(c.in(1), c.in(0)) &&
         c.counts(c.in(1), places) && c.is(c.in(2), {c.in(1).dtype}) &&
         c.counts(c.in(2), 2 * places) && c.is(c.in(3), {DType::i32}) &&
         c.counts(c.in(3), places) && c.is(c.in(4), {DType::f32}) &&
         c.counts(c.in(4), places) && c.is(c.in(5), {DType::f32}) &&
         c.counts(c.in(5), 1) && c.same(c.in(0), c.out(0)) &&
         c.axis(c.op.string("axis"));
}

bool checkAllReduce(OpCheck& c) {
  const std::string& reduce = c.op.string("reduce");
  return c.arity(1, 1) && c.grouped() && c.same(c.in(0), c.out(0)) &&
         (reduce == "sum" || reduce == "max" ||
          c.fail("has `reduce` = `" + reduce + "`, neither `sum` nor `max`"));
}

/// `whole` is `part` with dimension `dim` taken `shards` times.
bool checkSplit(OpCheck& c, const Buffer& part, const Buffer& whole,
                int64_t shards) {
  int64_t dim = c.op.integer("dim");
  if (dim < 0 || dim >= int64_t(part.shape.size()))
    return c.fail("has `dim` = " + std::to_string(dim) + ", and `" + part.name +
                  "` is " + shapeText(part));
  std::vector<int64_t> shape = part.shape;
  if (__builtin_mul_overflow(shape[dim], shards, &shape[dim]))
    return c.fail("wants more than 2^63 elements in `" + whole.name + "`");
  return c.is(whole, {part.dtype}) && c.shaped(whole, shape);
}

bool checkAdamW(OpCheck& c) {
  if (!c.arity(4, 4))
    return false;
  int64_t elements = elementCount(c.in(0).shape);
  const Buffer& master = c.out(1);
  return c.isMath(c.in(0), c.out(0)) && c.is(c.in(1), {DType::f64}) &&
         c.counts(c.in(1), 1) && c.is(c.in(2), {DType::f32}) &&
         c.counts(c.in(2), 1) && c.is(c.in(3), {DType::i32}) &&
         c.counts(c.in(3), 1) && c.is(c.out(0), real) &&
         c.counts(c.out(0), elements) && c.is(master, {c.in(0).dtype}) &&
         c.counts(master, elements) && c.same(master, c.out(2)) &&
         c.same(master, c.out(3));
}

/// An op without a case here does not compile (-Wswitch).
bool checkAllToAll(OpCheck& c) {
  if (!c.arity(1, 1) || !c.grouped())
    return false;
  const std::vector<int64_t>& in = c.in(0).shape;
  int64_t split = c.op.integer("split", -1);
  int64_t concat = c.op.integer("concat", -1);
  int64_t rank = int64_t(in.size());
  if (split < 0 || split >= rank || concat < 0 || concat >= rank ||
      split == concat)
    return c.fail("moves a split between dimensions " + std::to_string(split) +
                  " and " + std::to_string(concat) + " of " +
                  std::to_string(rank));
  int64_t ranks = c.ranksOfGroup();
  if (!c.divides(ranks, in[size_t(split)], "the dimension that it cuts"))
    return false;
  std::vector<int64_t> out = in;
  out[size_t(split)] /= ranks;
  out[size_t(concat)] *= ranks;
  return c.is(c.out(0), {c.in(0).dtype}) && c.shaped(c.out(0), out);
}

bool checkKind(OpCheck& c) {
  switch (c.op.kind) {
  case OpKind::Embedding:
    return checkEmbedding(c, false);
  case OpKind::EmbeddingBackward:
    return checkEmbedding(c, true);
  case OpKind::Linear:
    return c.arity(2, 1) && c.is(c.in(0), real) &&
           c.is(c.in(1), {c.in(0).dtype}) && c.is(c.out(0), {c.in(0).dtype}) &&
           checkLinear(c, c.in(0), c.out(0), c.in(1));
  case OpKind::LinearDgrad:
    return c.arity(2, 1) && c.is(c.in(0), real) &&
           c.is(c.in(1), {c.in(0).dtype}) && c.is(c.out(0), {c.in(0).dtype}) &&
           checkLinear(c, c.out(0), c.in(0), c.in(1));
  case OpKind::LinearWgrad:
    return c.arity(2, 1) && c.is(c.in(0), real) &&
           c.is(c.in(1), {c.in(0).dtype}) && c.isMath(c.out(0), c.in(0)) &&
           checkLinear(c, c.in(0), c.in(1), c.out(0));
  case OpKind::RmsNorm:
    return checkNorm(c);
  case OpKind::RmsNormBackward:
    return checkNormBackward(c);
  case OpKind::Rope:
    return checkRope(c);
  case OpKind::Attention:
    return checkAttention(c);
  case OpKind::AttentionBackward:
    return checkAttentionBackward(c);
  case OpKind::AttentionCached:
    return checkAttentionCached(c);
  case OpKind::Silu:
  case OpKind::Scale:
    return checkElementwise(c, 1, 1);
  case OpKind::SiluBackward:
  case OpKind::Swiglu:
  case OpKind::Mul:
  case OpKind::Add:
    return checkElementwise(c, 2, 1);
  case OpKind::SwigluBackward:
    return checkElementwise(c, 3, 2);
  case OpKind::Dropout:
    return checkDropout(c);
  case OpKind::Zero:
    return c.arity(0, 1);
  case OpKind::Cast:
    return c.arity(1, 1) && c.is(c.in(0), real) && c.is(c.out(0), real) &&
           c.counts(c.out(0), elementCount(c.in(0).shape));
  case OpKind::Route:
    return checkRoute(c, false);
  case OpKind::RouteBackward:
    return checkRoute(c, true);
  case OpKind::Dispatch:
    return checkDispatch(c);
  case OpKind::DispatchBackward:
    return checkExpertsBackward(c, true);
  case OpKind::Combine:
    return checkCombine(c);
  case OpKind::CombineBackward:
    return checkExpertsBackward(c, false);
  case OpKind::ExpertLinear:
    return c.arity(2, 1) && c.is(c.in(1), {c.in(0).dtype}) &&
           checkExpertLinear(c, c.in(0), c.out(0), c.in(1));
  case OpKind::ExpertLinearDgrad:
    return c.arity(2, 1) && c.is(c.in(1), {c.in(0).dtype}) &&
           checkExpertLinear(c, c.out(0), c.in(0), c.in(1));
  case OpKind::ExpertLinearWgrad:
    return c.arity(2, 1) && c.isMath(c.out(0), c.in(0)) &&
           checkExpertLinear(c, c.in(0), c.in(1), c.out(0));
  case OpKind::SoftmaxMax:
    return checkSoftmaxMax(c);
  case OpKind::SoftmaxSum:
    return checkSoftmaxSum(c);
  case OpKind::Nll:
    return checkNll(c);
  case OpKind::CrossEntropyBackward:
    return checkCrossEntropyBackward(c);
  case OpKind::AllReduce:
    return checkAllReduce(c);
  case OpKind::AllGather:
    return c.arity(1, 1) && c.grouped() &&
           checkSplit(c, c.in(0), c.out(0), c.ranksOfGroup());
  case OpKind::ReduceScatter:
    return c.arity(1, 1) && c.grouped() &&
           checkSplit(c, c.out(0), c.in(0), c.ranksOfGroup());
  case OpKind::Slice:
    return c.arity(1, 1) && c.axis(c.op.string("axis")) &&
           checkSplit(c, c.out(0), c.in(0),
                      axisSize(c.plan.mesh, c.op.string("axis")));
  case OpKind::AllToAll:
    return checkAllToAll(c);
  case OpKind::SumSquares:
    return c.arity(1, 1) && c.is(c.in(0), real) &&
           c.is(c.out(0), {DType::f64}) && c.counts(c.out(0), 1);
  case OpKind::AdamW:
    return checkAdamW(c);
  }
  return c.fail("is of no known kind");
}

} // namespace

Status validateOp(const Plan& plan, const Op& op) {
  OpCheck check(plan, op);
  checkKind(check);
  return check.failure;
}

} // namespace reciperun::plan
