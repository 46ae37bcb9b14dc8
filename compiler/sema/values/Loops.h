// The turns of a `for`: in comprehensions, in maps and in blocks of models.

#ifndef RECIPEC_SEMA_VALUES_LOOPS_H
#define RECIPEC_SEMA_VALUES_LOOPS_H

#include "compiler/sema/Evaluator.h"

#include <optional>
#include <vector>

namespace recipec::sema {

/// A list, a range or a map that is gone over. One variable is the element, two
/// are index and element, or key and value of a map.
class Turns {
public:
  /// None (reported) where the source is none of these.
  static std::optional<Turns> of(Evaluator& evaluator,
                                 const std::vector<ast::Name>& variables,
                                 ast::ExprId source, const Env& around);

  int64_t count() const;
  /// A scope of its own with the variables of a turn: what is made in it may be
  /// evaluated after the loop. None (reported) at a limit or an error.
  const Env* scope(int64_t turn);

private:
  Turns(Evaluator& evaluator, const std::vector<ast::Name>& variables,
        Value source, SourceRange range, const Env& around)
      : evaluator(&evaluator), variables(&variables), source(std::move(source)),
        range(range), around(&around) {}

  Value keyOf(int64_t turn) const;
  Value elementOf(int64_t turn) const;

  Evaluator* evaluator;
  const std::vector<ast::Name>* variables;
  Value source;
  SourceRange range; // of the source
  const Env* around;
};

} // namespace recipec::sema

#endif // RECIPEC_SEMA_VALUES_LOOPS_H
