// Operators: arithmetic, comparison, concatenation, ranges and mappings.

#ifndef RECIPEC_SEMA_EXPRESSIONS_OPERATORS_H
#define RECIPEC_SEMA_EXPRESSIONS_OPERATORS_H

#include "compiler/sema/values/Value.h"

#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace recipec::sema {

class Evaluator;

class Operators {
public:
  explicit Operators(Evaluator& evaluator) : evaluator(evaluator) {}

  Value binary(const ast::Binary& node, SourceRange range, const Env& env);
  Value arithmetic(ast::BinaryOp op, const Value& left, const Value& right,
                   SourceRange range);
  Value negate(const Value& operand, SourceRange range);
  Value compare(ast::BinaryOp op, const Value& left, const Value& right,
                SourceRange range);
  bool isEqual(const Value& left, const Value& right);
  /// Whether one value is a quantity and the other is a number or has another
  /// unit.
  static bool mixesUnits(const Value& left, const Value& right);
  /// Reports that `what` takes no such operands, and returns poison.
  Value reportOperands(std::string_view what, const Value& left,
                       const Value& right, SourceRange range);
  /// Reports a field of the user's model that is no dimension, at its type. It
  /// is read at `use`. Returns false for a field of the library. Defined in
  /// Mappings.cpp.
  bool reportFieldWithoutDim(const Object& object, const Slot& slot,
                             SourceRange use);

private:
  std::string_view textOf(ast::ExprId id, const Env& env) const;
  /// Reports `given or 4`, where `or` is to choose a value as in Python and
  /// `given` is `left`. Returns false for other operands.
  bool reportDefault(const ast::Binary& node, const Value& left,
                     SourceRange range, const Env& env);
  bool areEqual(const Value& left, const Value& right);
  /// Whether the operands of a comparison are never equal (reported).
  bool isNeverEqual(const ast::Binary& node, const Value& left,
                    const Value& right, SourceRange range, const Env& env);
  /// Concatenates two strings or two lists; nullopt for other values.
  std::optional<Value> concatenation(const Value& left, const Value& right,
                                     SourceRange range);
  Value makeRange(const Value& left, const Value& right, SourceRange range);

  // Quantities.cpp
  /// Arithmetic with a quantity on one side or both; nullopt when the units
  /// forbid the operation.
  std::optional<Value> quantityArithmetic(ast::BinaryOp op, const Value& left,
                                          const Value& right,
                                          SourceRange range);

  // Mappings.cpp
  Value makeMapping(const ast::Binary& node, const Value& left,
                    const Value& right, SourceRange range, const Env& env);
  /// Appends the dimensions of one side. `id` is its expression, or that of an
  /// element of it.
  bool appendDims(ast::ExprId id, const Value& value, std::vector<DimRef>& dims,
                  const Env& env, bool isInList);

  Evaluator& evaluator;
  /// Comparisons whose operands were found to be of types that may be equal.
  std::unordered_set<const ast::Binary*> mayBeEqual;
};

} // namespace recipec::sema

#endif // RECIPEC_SEMA_EXPRESSIONS_OPERATORS_H
