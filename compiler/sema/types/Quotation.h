// Help for values with wrong or missing quotation marks, braces or brackets.

#ifndef RECIPEC_SEMA_TYPES_QUOTATION_H
#define RECIPEC_SEMA_TYPES_QUOTATION_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/sema/values/Value.h"

#include <optional>
#include <string>

namespace recipec::sema {

class Evaluator;

/// A help text and the replacement for the written value. The replacement is
/// empty when more than the value has to change.
struct Suggestion {
  std::string help;
  std::string replacement;
  /// A further edit that the replacement needs, such as an import.
  std::optional<diag::FixIt> also = std::nullopt;
  bool isSure = true; // whether no other replacement may be meant
};

/// Suggests a replacement for a value of the wrong type. `what` names its
/// place.
std::optional<Suggestion> correctionOf(Evaluator& evaluator, const Value& value,
                                       const Type& type, SourceRange range,
                                       const std::string& what);
/// Suggests `[0.9, 0.95]` for `{ beta1 = 0.9, beta2 = 0.95 }`.
std::optional<Suggestion> withoutNames(Evaluator& evaluator, const Value& value,
                                       const Type& type, SourceRange range);
/// The text of a value written without quotation marks: a literal of the slot's
/// type, or a path when the slot takes any string. Sets `place` to its range.
std::optional<std::string> bareLiteral(Evaluator& evaluator,
                                       const Object& object, const Slot& slot,
                                       SourceRange* place);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_TYPES_QUOTATION_H
