// The interface to the differentiation pass for the rules of the op families,
// each of which has its own file. Differentiate.cpp has the algorithm.

#ifndef RECIPEC_PASSES_DIFFERENTIATE_COTANGENTS_H
#define RECIPEC_PASSES_DIFFERENTIATE_COTANGENTS_H

#include "compiler/ir/Ir.h"

#include <vector>

namespace recipec::passes {

struct GatePath;

class Cotangents {
public:
  explicit Cotangents(ir::Module& module) : module(module) {}
  virtual ~Cotangents() = default;

  /// Whether the value depends on a trainable parameter.
  virtual bool isActive(ir::ValueId value) const = 0;
  virtual bool isTrained(ir::ValueId weight) const = 0;
  /// A value of `forward` for the backward pass: itself, which is then saved,
  /// or a recomputed copy.
  virtual ir::ValueId read(ir::ValueId value) = 0;
  /// The cotangent of a result; `none` when nothing depends on it.
  virtual ir::ValueId take(ir::ValueId value) = 0;
  /// All-reduces a cotangent that is a partial sum; returns any other one as it
  /// is.
  virtual ir::ValueId complete(ir::ValueId cotangent, const ir::Op& source) = 0;
  /// A new cotangent of `value`, a partial sum over `partial`.
  virtual ir::ValueId makeCotangent(ir::ValueId value,
                                    ir::AxisSet partial = {}) = 0;
  /// A new value with one number for each row of experts in `rows`, a partial
  /// sum over `partial`.
  virtual ir::ValueId makeDots(ir::ValueId rows, ir::AxisSet partial) = 0;
  /// The path from the value to a combine whose gates get their gradient from
  /// the value's rows (GateGradients.h); null if there is none.
  virtual const GatePath* gatePathFrom(ir::ValueId value) const = 0;
  /// Whether such paths lead to a combine.
  virtual bool hasGatePaths(const ir::Op& combine) const = 0;
  /// Adds a contribution to the cotangent of an active operand.
  virtual void push(ir::ValueId value, ir::ValueId contribution,
                    const ir::Op& source) = 0;
  /// The value into which an accumulating op adds its contribution to the
  /// cotangent of `value`; `none` when it needs a value of its own.
  virtual ir::ValueId sumOf(ir::ValueId value, ir::ValueId dy,
                            ir::AxisSet partial) const = 0;
  /// Keeps a cotangent that two operands share from being overwritten.
  virtual void retain(ir::ValueId cotangent) = 0;
  virtual void release(ir::ValueId cotangent) = 0;
  virtual ir::ValueId gradientOf(ir::ValueId weight) const = 0;
  /// Records that the last op adds a partial sum over `partial` to the gradient
  /// of `weight`.
  virtual void contribute(ir::ValueId weight, ir::AxisSet partial) = 0;
  virtual ir::Op& emit(ir::Op op) = 0;

  /// For the properties of values other than their sharding, and for groups.
  const ir::Module& program() const { return module; }
  const ir::Sharding& shardingOf(ir::ValueId value) const {
    return module[value].sharding;
  }
  /// The size of the last dimension.
  int64_t widthOf(ir::ValueId value) const {
    return module[module[value].dims.back()].size;
  }

protected:
  ir::Module& module;
};

/// An op of the backward pass for an op of `forward`.
inline ir::Op opFor(const ir::Op& source, ir::OpKind kind,
                    std::vector<ir::ValueId> operands,
                    std::vector<ir::ValueId> results) {
  ir::Op op{};
  op.kind = kind;
  op.name = source.name;
  op.layer = source.layer;
  op.range = source.range;
  op.operands = std::move(operands);
  op.results = std::move(results);
  return op;
}

/// The axes that split the dimensions [from, end).
inline ir::AxisSet splitOf(const ir::Sharding& sharding, size_t from,
                           size_t end) {
  ir::AxisSet axes;
  for (size_t i = from; i < end; ++i)
    axes = axes | sharding.dims[i];
  return axes;
}
/// The axes that split the dimensions from `from` on.
inline ir::AxisSet splitFrom(const ir::Sharding& sharding, size_t from) {
  return splitOf(sharding, from, sharding.dims.size());
}

/// The axes that split all but the last `width` dimensions.
inline ir::AxisSet splitOfTokens(const ir::Sharding& sharding, size_t width) {
  return splitOf(sharding, 0, sharding.dims.size() - width);
}

/// The rules of each op family, in the file named after it
/// (DifferentiateAttention.cpp). `dy` is the cotangent of the first result and
/// not `none`.
void differentiateActivation(Cotangents& rules, const ir::Op& op,
                             ir::ValueId dy);
void differentiateAttention(Cotangents& rules, const ir::Op& op,
                            ir::ValueId dy);
void differentiateCollective(Cotangents& rules, const ir::Op& op,
                             ir::ValueId dy);
void differentiateDense(Cotangents& rules, const ir::Op& op, ir::ValueId dy);
void differentiateExperts(Cotangents& rules, const ir::Op& op, ir::ValueId dy);
void differentiateMove(Cotangents& rules, const ir::Op& op, ir::ValueId dy);
void differentiateNorm(Cotangents& rules, const ir::Op& op, ir::ValueId dy);
void differentiateStateSpace(Cotangents& rules, const ir::Op& op,
                             ir::ValueId dy);

/// A router affects the loss even when nothing reads its gates.
void differentiateRoute(Cotangents& rules, const ir::Op& op);
/// An expert linear has the rules of a linear (DifferentiateDense.cpp).
void differentiateExpertLinear(Cotangents& rules, const ir::Op& op,
                               ir::ValueId dy);
/// The rule of an op that equals its transpose: a scale, a mask.
void differentiateOwnTranspose(Cotangents& rules, const ir::Op& op,
                               ir::ValueId dy);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_DIFFERENTIATE_COTANGENTS_H
