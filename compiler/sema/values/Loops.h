// The iterations of a `for` in comprehensions, in maps and in blocks of models.

#ifndef RECIPEC_SEMA_VALUES_LOOPS_H
#define RECIPEC_SEMA_VALUES_LOOPS_H

#include "compiler/sema/Evaluator.h"

#include <optional>
#include <vector>

namespace recipec::sema {

/// Iterates over a list, a range or a map. One variable receives the element;
/// two receive index and element, or key and value of a map.
class Turns {
public:
  /// Returns nullopt (reported) when the source is none of these.
  static std::optional<Turns> of(Evaluator& evaluator,
                                 const std::vector<ast::Name>& variables,
                                 ast::ExprId source, const Env& around);

  int64_t count() const;
  /// Makes a scope with the variables of an iteration. The scope outlives the
  /// loop, since its values may be evaluated later. Returns nullptr (reported)
  /// at a limit or an error.
  const Env* scope(int64_t turn);

private:
  Turns(Evaluator& evaluator, const std::vector<ast::Name>& variables,
        ast::ExprId expr, Value source, SourceRange range, const Env& around)
      : evaluator(&evaluator), variables(&variables), expr(expr),
        source(std::move(source)), range(range), around(&around) {}

  Value keyOf(int64_t turn) const;
  Value elementOf(int64_t turn) const;

  Evaluator* evaluator;
  const std::vector<ast::Name>* variables;
  ast::ExprId expr; // of the source
  Value source;
  SourceRange range; // of the source
  const Env* around;
};

} // namespace recipec::sema

#endif // RECIPEC_SEMA_VALUES_LOOPS_H
