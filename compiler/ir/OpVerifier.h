// Base class of the verifiers of single ops; see Verify.h.

#ifndef RECIPEC_IR_OPVERIFIER_H
#define RECIPEC_IR_OPVERIFIER_H

#include "compiler/ir/Pieces.h"

#include <algorithm>
#include <string>
#include <vector>

namespace recipec::ir {

/// An op and the findings about it. An absent operand or result passes all
/// checks.
class OpVerifier {
protected:
  OpVerifier(const Module& module, const Op& op) : module(module), op(op) {}

  Pieces pieces(ValueId id) const { return piecesOf(module, id); }
  AxisSet partial(ValueId id) const { return module[id].sharding.partial; }

  void expect(bool condition, const char* text) {
    if (!condition)
      findings.emplace_back(text);
  }

  void expectSame(ValueId left, ValueId right) {
    if (left != ValueId::none && right != ValueId::none)
      expect(pieces(left) == pieces(right), "dimensions differ");
  }

  void expectSameType(ValueId left, ValueId right) {
    if (left != ValueId::none && right != ValueId::none)
      expect(module[left].type == module[right].type, "element types differ");
  }

  /// Expects that both values are present and have the same dimensions, type
  /// and partial sums.
  void expectAlike(ValueId left, ValueId right) {
    expectSame(left, right);
    expectSameType(left, right);
    expect(partial(left) == partial(right), "partial sums differ");
  }

  /// Expects that no operand from number `first` on is a partial sum.
  void expectWhole(size_t first = 0) {
    for (size_t i = first; i < op.operands.size(); ++i)
      if (op.operands[i] != ValueId::none)
        expect(partial(op.operands[i]).empty(),
               "a partial sum goes into an op that is not linear");
  }

  /// Expects that the first `count` operands match the result. The op is linear
  /// in them jointly: if all of them are partial sums, so is the result.
  void expectLinearIn(size_t count) {
    expectWhole(count);
    for (size_t i = 0; i < count; ++i)
      expectAlike(op.operands[i], op.results[0]);
  }

  /// Expects that the dimensions of `shorter` are the first ones of `longer`.
  void expectPrefix(ValueId longer, ValueId shorter) {
    Pieces all = pieces(longer), first = pieces(shorter);
    expect(first.size() <= all.size() &&
               std::equal(first.begin(), first.end(), all.begin()),
           "leading dimensions differ");
  }

  /// Expects that the dimensions of `shorter` are the last ones of `longer`,
  /// which has more.
  void expectSuffix(ValueId longer, ValueId shorter) {
    Pieces all = pieces(longer), last = pieces(shorter);
    expect(
        last.size() < all.size() &&
            std::equal(last.begin(), last.end(), all.end() - long(last.size())),
        "trailing dimensions differ");
  }

  /// Expects that a gradient is summed over the first `lead` dimensions of `x`:
  /// it is a partial sum over the axes that split them, and over those that `x`
  /// is a partial sum over.
  void expectSumOver(ValueId gradient, ValueId x, size_t lead) {
    AxisSet needed = splitOf(part(pieces(x), 0, lead)) | partial(x);
    expect((partial(gradient) & needed) == needed,
           "the partial sum is not that of the gradient");
  }

  /// Expects that counts [groups, blocks, members] and rows [groups, places,
  /// ...] are split alike.
  void counted(ValueId rows, ValueId counts) {
    Pieces from = pieces(rows), to = pieces(counts);
    expect(from.size() > 1 && to.size() == 3 && from[0] == to[0] &&
               from[1].split == to[1].split && to[2].split.empty(),
           "rows and their counts lie on different ranks");
  }

  /// dy [lead..., dims...], dw [dims...].
  void expectSuffixGradient(ValueId dy, ValueId dw) {
    expectSuffix(dy, dw);
    size_t all = module[dy].dims.size(), last = module[dw].dims.size();
    expectSumOver(dw, dy, all - std::min(all, last));
  }

  const Module& module;
  const Op& op;
  std::vector<std::string> findings;
};

} // namespace recipec::ir

#endif // RECIPEC_IR_OPVERIFIER_H
