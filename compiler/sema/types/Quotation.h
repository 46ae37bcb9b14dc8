// Help where quotation marks, braces or brackets are what is wrong with a
// value.

#ifndef RECIPEC_SEMA_TYPES_QUOTATION_H
#define RECIPEC_SEMA_TYPES_QUOTATION_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/sema/values/Value.h"

#include <optional>
#include <string>

namespace recipec::sema {

class Evaluator;

/// A way out, and the text that takes the place of what was written; empty
/// where that is more than the value.
struct Suggestion {
  std::string help;
  std::string replacement;
  /// An edit elsewhere that belongs to it: an import.
  std::optional<diag::FixIt> also = std::nullopt;
};

/// What to write instead of a value of the wrong type; `what` names its place.
std::optional<Suggestion> correctionOf(Evaluator& evaluator, const Value& value,
                                       const Type& type, SourceRange range,
                                       const std::string& what);
/// `[0.9, 0.95]` for `{ beta1 = 0.9, beta2 = 0.95 }`.
std::optional<Suggestion> withoutNames(Evaluator& evaluator, const Value& value,
                                       const Type& type, SourceRange range);
/// The text of a literal of the slot's type, or of a path where it takes any
/// string, that was written without quotation marks, at `place`.
std::optional<std::string> bareLiteral(Evaluator& evaluator,
                                       const Object& object, const Slot& slot,
                                       SourceRange* place);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_TYPES_QUOTATION_H
