// Checks that each operand of a call is of the kind that the op takes in its
// position, and reports those that are not. If swapping two operands makes both
// fit, the message says so.

#include "compiler/passes/build/DimMessages.h"
#include "compiler/passes/build/GraphBuilder.h"
#include "runtime/ops/OpTable.h"

namespace recipec::passes {

using ir::OpKind;
using ir::ValueId;

int GraphBuilder::weightPlace(OpKind kind) {
  bool hasWeight = kind == OpKind::Embedding || kind == OpKind::Linear ||
                   kind == OpKind::RmsNorm || kind == OpKind::LayerNorm;
  return hasWeight ? 1 : -1;
}

bool GraphBuilder::operands(const recipe::Call& call, ir::Op& op) {
  for (size_t i = 0; i < call.operands.size(); ++i) {
    if (call.operands[i] == recipe::TensorId::none)
      continue;
    ValueId value = tensorOf(call.operands[i]);
    if (value == ValueId::none)
      return false;
    if (!fits(op.kind, int(i), value)) {
      if (const auto other = swappedWith(call, op.kind, i))
        reportSwapped(call, i, *other, engine);
      else
        reportRole(call, op.kind, int(i), value);
      return false;
    }
    op.operands.push_back(value);
  }
  return true;
}

bool GraphBuilder::fits(OpKind kind, int place, ValueId value) const {
  const bool isParam = module[value].kind == ir::ValueKind::parameter;
  const bool isTokens = module[value].kind == ir::ValueKind::input;
  if (isRoutingPlace(kind, place) || routings.contains(value))
    return isRoutingPlace(kind, place) && routings.contains(value);
  if (place == weightPlace(kind))
    return isParam;
  return !isParam && isTokens == (kind == OpKind::Embedding);
}

std::optional<size_t> GraphBuilder::swappedWith(const recipe::Call& call,
                                                OpKind kind, size_t place) {
  const ValueId value = tensorOf(call.operands[place]);
  for (size_t i = 0; i < call.operands.size(); ++i) {
    if (i == place || call.operands[i] == recipe::TensorId::none ||
        call.written.size() != call.operands.size())
      continue;
    const ValueId other = tensorOf(call.operands[i]);
    if (other != ValueId::none && fits(kind, int(place), other) &&
        fits(kind, int(i), value))
      return i;
  }
  return std::nullopt;
}

void GraphBuilder::reportRole(const recipe::Call& call, OpKind kind, int place,
                              ValueId value) {
  std::string name = "`" + module[value].name + "`", op = "`" + call.op + "`";
  bool isParam = module[value].kind == ir::ValueKind::parameter;
  bool isTokens = module[value].kind == ir::ValueKind::input;
  std::string message;
  if (routings.contains(value) != isRoutingPlace(kind, place)) {
    message =
        isRoutingPlace(kind, place)
            ? op + " takes the routing of a `router`, and " + name + " is none"
            : op + " takes a tensor of data, and " + name + " is a routing";
  } else if (place == weightPlace(kind)) {
    message = "the weight of " + op + " is a parameter, and " + name +
              (isTokens ? " is an input" : " is computed");
  } else if (isParam) {
    const size_t beside = place == 0 ? 1 : 0;
    const bool hasOther = call.operands.size() == 2 &&
                          call.operands[beside] != recipe::TensorId::none;
    const ValueId other =
        hasOther ? tensorOf(call.operands[beside]) : ValueId::none;
    // Without the other operand, an error was reported before.
    if (!hasOther || other != ValueId::none)
      reportParameter(module, call, kind, place, value, other, engine);
    return;
  } else {
    message = isTokens ? op + " takes numbers, and " + name + " are ids"
                       : op + " takes the tokens, and " + name + " is computed";
  }
  diag::Builder report =
      engine.report(diag::Kind::ShapeMismatch, call.range, std::move(message));
  if (!isTokens)
    report.note("made here", module[value].range);
  report.help("`recipec doc " + call.op + "` shows its arguments in order");
}

} // namespace recipec::passes
