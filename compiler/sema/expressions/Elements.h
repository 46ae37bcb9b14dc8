// Elements: membership, indices and slices of lists, maps and strings.

#ifndef RECIPEC_SEMA_EXPRESSIONS_ELEMENTS_H
#define RECIPEC_SEMA_EXPRESSIONS_ELEMENTS_H

#include "compiler/sema/values/Value.h"

namespace recipec::sema {

class Evaluator;

class Elements {
public:
  explicit Elements(Evaluator& evaluator) : evaluator(evaluator) {}

  Value contains(const Value& element, const Value& container,
                 SourceRange range);
  Value at(const Value& base, const Value& index, SourceRange range,
           SourceRange indexRange);

private:
  Value elementAt(const Value& base, int64_t position, SourceRange range,
                  SourceRange indexRange);
  Value sliceOf(const Value& base, Range bounds, SourceRange range,
                SourceRange indexRange);

  Evaluator& evaluator;
};

} // namespace recipec::sema

#endif // RECIPEC_SEMA_EXPRESSIONS_ELEMENTS_H
