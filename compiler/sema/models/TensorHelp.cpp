// See TensorHelp.h.

#include "compiler/sema/models/TensorHelp.h"

namespace recipec::sema {
namespace {

/// The operand in parentheses if needed, as a factor or after a sign.
std::string factorOf(const TensorOperand& operand) {
  const std::string& text = operand.written;
  const bool isSum =
      text.find_first_of("+-*/%") != text.npos && text.find('(') == text.npos;
  return isSum ? "(" + text + ")" : text;
}

/// The operand multiplied by `n`: `n` for 1, otherwise `g * n`.
std::string timesN(const TensorOperand& operand, bool isNegative) {
  if (operand.written == "1")
    return isNegative ? "-1 * n" : "n";
  const std::string product = factorOf(operand) + " * n";
  return isNegative ? "-1 * (" + product + ")" : product;
}

/// Rewrites a product with a sum: `(1 - g) * n` is `n + -1 * (g * n)`.
std::string wayOutOfSum(ast::BinaryOp op, const TensorOperand& left,
                        const TensorOperand& right) {
  const bool isDifference = op == ast::BinaryOp::subtract;
  const std::string sum =
      left.written + (isDifference ? " - " : " + ") + right.written;
  const std::string product =
      timesN(left, false) + " + " + timesN(right, isDifference);
  std::string text = "no number is added to a tensor: multiply out, `(" + sum +
                     ") * n` is `" + product + "`";
  if (isDifference && left.written == "1" && right.maker == "sigmoid")
    text += "; of a `sigmoid(x)` it is `sigmoid(-x)`";
  return text;
}

} // namespace

std::string wayOutOf(ast::BinaryOp op, const TensorOperand& left,
                     const TensorOperand& right) {
  const bool isLine = left.written.find('\n') == std::string::npos &&
                      right.written.find('\n') == std::string::npos;
  const bool isPair = left.value.is<Tensor>() && right.value.is<Tensor>();
  const bool isSum = op == ast::BinaryOp::subtract || op == ast::BinaryOp::add;
  if (op == ast::BinaryOp::divide && right.value.isNumber() && isLine)
    return "multiply by the inverse: write `* (1 / " + factorOf(right) + ")`";
  if (op == ast::BinaryOp::divide && right.value.is<Tensor>())
    return "nothing is divided by a tensor: `rmsnorm`, `layernorm` and "
           "`l2norm` "
           "divide by the size of their operand";
  if (op == ast::BinaryOp::subtract && isPair && isLine)
    return "add the negative: write `+ -" + factorOf(right) + "`";
  const bool hasNumber = left.value.isNumber() || right.value.isNumber();
  if (isSum && hasNumber && isLine)
    return wayOutOfSum(op, left, right);
  return "tensors are added and multiplied with one another, and multiplied by "
         "a number";
}

std::string wayOutOfIndex(const std::string& written, const std::string& dims) {
  const bool isOne = !dims.empty() && dims.front() != '[';
  const std::string from = isOne ? dims : std::string("from");
  const bool isLine = written.find('\n') == written.npos;
  return "make each part with a `linear` of its own; elements of the last "
         "dimension are taken by `narrow(" +
         (isLine ? written : std::string("x")) + ", " + from +
         " -> to, begin = ...)`";
}

} // namespace recipec::sema
