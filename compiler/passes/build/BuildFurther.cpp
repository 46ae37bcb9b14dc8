// The prediction of further tokens (Gloeckle et al. 2024; DeepSeek-V3, section
// 2.2): a module behind the model reads its residual stream and the next token,
// and predicts the one after it. Its loss is a sum of its own.

#include "compiler/passes/build/GraphBuilder.h"

namespace recipec::passes {

using ir::ValueId;

void GraphBuilder::findFurther() {
  const std::vector<recipe::Call>& calls = recipe.model.calls;
  // Whether the logits depend on a tensor, and whether anything does.
  std::vector<bool> isRead(tensors.size()), isReadAtAll(tensors.size());
  isRead[size_t(recipe.model.output)] = true;
  isReadAtAll[size_t(recipe.model.output)] = true;
  isFurther.assign(calls.size(), false);
  for (size_t i = calls.size(); i-- > 0;) {
    const recipe::Call& call = calls[i];
    const auto result = size_t(call.result);
    isFurther[i] = isReadAtAll[result] && !isRead[result];
    for (size_t operand = 0; operand < call.operands.size(); ++operand) {
      if (call.operands[operand] == recipe::TensorId::none)
        continue;
      const auto tensor = size_t(call.operands[operand]);
      const bool isLossAlone = call.op == "further_loss" && operand > 0;
      isRead[tensor] = isRead[tensor] || (isRead[result] && !isLossAlone);
      isReadAtAll[tensor] = isReadAtAll[tensor] || isReadAtAll[result];
    }
  }
}

void GraphBuilder::buildNextTokens(const recipe::Call& call) {
  const ValueId tokens = tensorOf(call.operands[0]);
  if (tokens == ValueId::none)
    return;
  if (tokens != input("tokens")) {
    engine
        .report(diag::Kind::ShapeMismatch, call.range,
                "`next_tokens` takes the model's `tokens`, and `" +
                    module[tokens].name + "` is something else")
        .help("write `next_tokens(tokens)` in `forward`");
    return;
  }
  const auto number = size_t(&call - recipe.model.calls.data());
  if (!isFurther[number]) {
    engine
        .report(diag::Kind::InvalidValue, call.range,
                "the logits of `forward` depend on the tokens that they "
                "predict")
        .help("use the result of `next_tokens` in the second operand of "
              "`further_loss` alone");
    return;
  }
  tensorOf(call.result) = input("labels");
}

void GraphBuilder::buildFurtherLoss(const recipe::Call& call) {
  const ValueId logits = tensorOf(call.operands[0]);
  tensorOf(call.result) = logits;
  if (!extent.loss || logits == ValueId::none)
    return;
  const ValueId added = tensorOf(call.operands[1]);
  if (added == ValueId::none || !areFurtherLogits(call, logits, added))
    return;
  if (further != ValueId::none) {
    engine
        .report(diag::Kind::NotSupported, call.range,
                "this version does not support a second `further_loss`")
        .note("the first one's logits", module[further].range)
        .help("predict one token beyond the next one");
    return;
  }
  further = added;
}

bool GraphBuilder::areFurtherLogits(const recipe::Call& call, ValueId logits,
                                    ValueId further) {
  if (module[logits].dims == module[further].dims &&
      module[further].kind == ir::ValueKind::temporary)
    return true;
  engine
      .report(diag::Kind::ShapeMismatch, call.range,
              "`further_loss` takes logits of the same dimensions twice, and "
              "not " +
                  listed(module[logits].dims) + " and " +
                  listed(module[further].dims))
      .help("make both by a `linear` to the vocabulary");
  return false;
}

} // namespace recipec::passes
